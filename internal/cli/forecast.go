package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/check"
	"weft/internal/forecast"
	"weft/internal/report"
	"weft/internal/term"
)

// forecastFlags are what weft forecast is told.
type forecastFlags struct {
	model, quant, kv, engine, hardware, link, whatIf, svg, proof, rehearsal, split string
	tp, pp, batch, context, prompt, draft                                          int
	accepted, sync                                                                 float64

	held bool  // a GPU is held at low clocks or power
	seen *look // the facts that hardware and link were taken from; nil when there were none
}

func (a *app) forecast() *cobra.Command {
	var f forecastFlags
	cmd := &cobra.Command{
		Use:   "forecast",
		Short: "Say how fast a model will be on these nodes, or on others, and what limits it",
		Long: `For each layout that fits (tensor parallel, pipeline parallel, replicas): tokens/s
with the range that eight of ten published measurements lay in, the time to the first
token, what a rank must hold, and what limits it. Then one token of the best layout,
part by part, and the curve over nodes for RDMA and for TCP.

The hardware is that of -F, of weft.yaml or of this machine; --hardware says it by
name, with no cluster at all: "2x gb10", "gb10 + rtx-pro-6000", "4x 8*h100" (four
nodes of eight), "2x 273GB/s:119GiB". --model takes a name of the table (weft
forecast list) or the config.json of any Hugging Face model. -n 4 is how many nodes.

What the constants are, where they are from and how wrong they are: docs/forecast.md.

Exit codes: 0 it fits, 1 nothing fits, 2 trouble.`,
		Example: `  weft forecast --model gpt-oss-120b --hardware "2x gb10"
  weft forecast --model ./config.json --quant fp8 -F lab.dump
  weft forecast --model Qwen3-235B-A22B --quant q4_k_m --hardware "4x strix-halo" --what-if link=tcp
  weft forecast --model Llama-3.1-70B --hardware "2x gb10" --svg curve.svg
  weft forecast eval throughput.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := a.foresee(cmd.Context(), &f)
			if err != nil {
				return err
			}
			if !r.Plans[0].Fits {
				a.code = exitNo
			}
			if f.svg != "" {
				if err := writeSVG(f.svg, r); err != nil {
					return err
				}
			}
			if a.json || a.jsonl {
				return report.JSON(a.out, "forecast", r)
			}
			return r.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.model, "model", "m", "", "name of a model, or its config.json")
	fl.StringVarP(&f.quant, "quant", "q", "", "how its weights are stored: bf16, fp8, w4a16, nvfp4, mxfp4, q4_k_m, q8_0, mlx-4, or bits (default: as it is published)")
	fl.StringVar(&f.kv, "kv", "bf16", "how the KV cache is stored: bf16 or fp8")
	fl.StringVarP(&f.engine, "engine", "e", "vllm", "what serves it: "+strings.Join(forecast.EngineNames(), ", "))
	fl.StringVar(&f.hardware, "hardware", "", `hardware by name, like "2x gb10", instead of looking`)
	fl.StringVar(&f.link, "link", "", "what joins the nodes, like 100g-rdma, 10g-tcp, 200g-oneshot (default: as the nodes have it, else 100g-rdma)")
	fl.IntVar(&f.tp, "tp", 0, "only tensor parallel over so many ranks")
	fl.IntVar(&f.pp, "pp", 0, "only pipeline parallel over so many stages")
	fl.StringVar(&f.split, "split", "", "layers of each stage, like 40,24")
	fl.IntVarP(&f.batch, "batch", "b", 1, "sequences decoded together")
	fl.IntVar(&f.context, "context", 4096, "tokens in the KV cache of each sequence")
	fl.IntVar(&f.prompt, "prompt", 1024, "tokens of a prompt, for the time to the first token")
	fl.IntVar(&f.draft, "draft", 0, "speculative decoding: tokens guessed for each step")
	fl.Float64Var(&f.accepted, "accepted", 0, "speculative decoding: tokens that come out of a step, on average")
	fl.StringVar(&f.proof, "proof", "", "take the small all-reduce of this proof (an ID, a file, or last) instead of the constants")
	fl.StringVar(&f.rehearsal, "rehearsal", "", "take the collectives of this rehearsal (a file, or last; none takes none; default: last, if there is one and --hardware is not given)")
	fl.Float64Var(&f.sync, "sync", 0, "microseconds of a small collective among the nodes, as measured")
	fl.StringVar(&f.whatIf, "what-if", "", "compare with a change: link=tcp,nodes=4,tp=,pp=,quant=,engine=,batch=,context=,hardware=")
	fl.StringVar(&f.svg, "svg", "", "draw the curve over nodes into this file")
	cmd.AddCommand(a.forecastEval(), a.forecastFit(), a.forecastList())
	return cmd
}

// foresee makes the answer.
func (a *app) foresee(ctx context.Context, f *forecastFlags) (report.Forecast, error) {
	var r report.Forecast
	ask, says, err := a.ask1(ctx, f)
	if err != nil {
		return r, err
	}
	if f.rehearsal != "" || ask.Fabric.Sync == 0 && f.hardware == "" {
		more, err := a.rehearsed(f.rehearsal, f.model, "weft forecast --help", &ask.Fabric, float64(ask.Model.Hidden*2*f.batch), len(ask.Nodes))
		if err != nil {
			return r, err
		}
		says = append(says, more...)
	}
	answer, err := ask.Answer()
	if err != nil {
		return r, fail("weft forecast --help", "%v", err)
	}
	for i := range answer.Plans {
		if p := &answer.Plans[i]; f.held && p.Fits {
			p.Limit = "clock/power"
		}
	}
	r = report.Forecast{
		Model: ask.Model, Format: ask.Format, Engine: ask.Engine, Fabric: ask.Fabric, Nodes: ask.Nodes,
		Total: ask.Model.Total(), Active: ask.Model.Read(1).Sum(), Bytes: ask.Format.Bytes(ask.Model.Read(1)),
		Batch: ask.Batch, Context: ask.Context, Prompt: ask.Prompt, Spec: ask.Spec, Answer: answer, Says: says,
	}
	if f.whatIf != "" {
		w, err := forecast.ParseWhatIf(f.whatIf)
		if err != nil {
			return r, fail("weft forecast --help", "--what-if %v", err)
		}
		other, err := w.Apply(ask)
		if err != nil {
			return r, fail("weft forecast --help", "--what-if %v", err)
		}
		changed, err := other.Answer()
		if err != nil {
			return r, fail("weft forecast --help", "--what-if %s: %v", f.whatIf, err)
		}
		r.WhatIf, r.If = w.Text, &changed
	}
	r.Next = a.nextForecast(f, ask, r)
	return r, nil
}

// next is what helps most: something that fits, or a question that was not asked.
func (a *app) nextForecast(f *forecastFlags, ask forecast.Ask, r report.Forecast) string {
	again := "weft forecast --model " + shellWord(f.model)
	for _, p := range []struct{ flag, value string }{{"--hardware", f.hardware}, {"-F", a.from}, {"--engine", f.engine}} {
		if p.value != "" && p.value != "vllm" {
			again += " " + p.flag + " " + shellWord(p.value)
		}
	}
	quant := ""
	if f.quant != "" {
		quant = " --quant " + shellWord(f.quant)
	}
	switch {
	case !r.Plans[0].Fits && r.Format.Experts > 5:
		small := " --quant w4a16"
		if ask.Engine.Weights == "gguf" {
			small = " --quant q4_k_m"
		}
		return again + small
	case !r.Plans[0].Fits:
		return fmt.Sprintf("%s%s -n %d", again, quant, 2*len(ask.Nodes))
	case f.whatIf == "" && len(ask.Nodes) > 1 && ask.Fabric.Transport == "tcp":
		return again + quant + " --what-if link=rdma"
	case f.whatIf == "" && len(ask.Nodes) > 1:
		return again + quant + " --what-if link=tcp"
	case f.whatIf == "":
		return again + quant + " --what-if nodes=2"
	}
	return ""
}

// ask1 reads the flags.
func (a *app) ask1(ctx context.Context, f *forecastFlags) (forecast.Ask, []string, error) {
	var says []string
	ask := forecast.Ask{TP: f.tp, PP: f.pp, Batch: f.batch, Context: f.context, Prompt: f.prompt, Spec: forecast.Spec{Draft: f.draft, Accepted: f.accepted}}
	if err := f.bounds(); err != nil {
		return ask, nil, err
	}
	var err error
	if ask.Model, err = readModel(f.model); err != nil {
		return ask, nil, err
	}
	if ask.Model.Rough != "" {
		says = append(says, "model: "+ask.Model.Rough)
	}
	if ask.Engine, err = forecast.EngineByName(f.engine, ""); err != nil {
		return ask, nil, fail("weft forecast list", "--engine: %v", err)
	}
	if ask.Format, err = forecast.FormatOf(f.quant, ask.Model, ask.Engine); err != nil {
		return ask, nil, fail("weft forecast list", "--quant: %v", err)
	}
	if ask.Format.Why != "" {
		says = append(says, "weights: "+ask.Format.Why)
	}
	switch f.kv {
	case "bf16", "fp16", "auto", "":
	case "fp8", "q8_0", "int8":
		ask.Format.KV = 8
	default:
		return ask, nil, fail("weft forecast --help", "--kv %s: want bf16 or fp8", f.kv)
	}
	if f.split != "" {
		for _, s := range strings.Split(f.split, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(s))
			if err != nil || n < 1 {
				return ask, nil, fail("weft forecast --help", "--split %s: want numbers of layers, like 40,24", f.split)
			}
			ask.Split = append(ask.Split, n)
		}
		if ask.PP == 0 {
			ask.PP = len(ask.Split)
		}
	}
	more, err := a.machines(ctx, f, &ask)
	return ask, append(says, more...), err
}

// bounds refuses numbers that mean nothing.
func (f *forecastFlags) bounds() error {
	switch {
	case f.model == "":
		return fail(`weft forecast --model gpt-oss-120b --hardware "2x gb10"`, "no model: --model takes a name (weft forecast list) or a config.json")
	case f.tp < 0 || f.pp < 0:
		return fail("weft forecast --help", "--tp %d --pp %d: want at least 1", f.tp, f.pp)
	case f.batch < 1 || f.batch > 65536:
		return fail("weft forecast --help", "--batch %d: want 1 to 65536", f.batch)
	case f.context < 1 || f.context > 1<<27:
		return fail("weft forecast --help", "--context %d: want 1 to %d", f.context, 1<<27)
	case f.prompt < 1 || f.prompt > 1<<27:
		return fail("weft forecast --help", "--prompt %d: want 1 to %d", f.prompt, 1<<27)
	case f.sync < 0 || f.sync > 1e6:
		return fail("weft forecast --help", "--sync %g: want microseconds, at most a million", f.sync)
	case f.draft != 0 && f.accepted == 0 || f.draft == 0 && f.accepted != 0:
		return fail("weft forecast --help", "--draft and --accepted go together: how many tokens are guessed, and how many come out of a step")
	}
	return nil
}

// readModel is a model of the table, or of a config.json.
func readModel(name string) (forecast.Model, error) {
	m, err := forecast.ModelByName(name)
	if err == nil {
		return m, nil
	}
	info, statErr := os.Stat(name)
	if statErr == nil && info.IsDir() {
		name += "/config.json"
	}
	b, readErr := readLimited(name, forecast.MaxConfig)
	switch {
	case errors.Is(readErr, fs.ErrNotExist):
		next := "weft forecast list"
		if strings.HasSuffix(name, ".json") || strings.ContainsRune(name, os.PathSeparator) && !strings.Contains(name, "//") && statErr == nil {
			return m, fail(next, "--model %s: no such file", name)
		}
		return m, fail(next, "--model: %v\nany other goes by its config.json: --model ./config.json", err)
	case readErr != nil:
		return m, fail("weft forecast list", "--model %s: %v", name, plain(readErr))
	}
	m, err = forecast.ParseConfig("", b)
	if err != nil {
		return m, fail("weft forecast list", "%s: %v", name, err)
	}
	return m, nil
}

// machines are those of --hardware, or those that weft can look at.
func (a *app) machines(ctx context.Context, f *forecastFlags, ask *forecast.Ask) (says []string, err error) {
	count, isCount := 0, false
	if n, err := strconv.Atoi(a.nodes); err == nil {
		if n < 1 || n > 4096 {
			return nil, fail("weft forecast --help", "-n %d: want 1 to 4096 nodes", n)
		}
		count, isCount = n, true
	}
	ask.Fabric = forecast.Fabric{Transport: "rdma", Gbps: 100, Source: "assumed: --link says otherwise"}
	if f.hardware != "" {
		if ask.Nodes, err = forecast.ParseHardware(f.hardware); err != nil {
			return nil, fail("weft forecast list", "--hardware: %v", err)
		}
	} else {
		names := a.nodes
		if isCount {
			a.nodes = ""
		}
		l, err := a.look(ctx)
		a.nodes = names
		if err != nil {
			return nil, err
		}
		f.seen = l
		var more []string
		ask.Nodes, ask.Fabric, more, err = forecast.FromFacts(&l.kase.Cluster)
		if err != nil {
			return nil, fail(`weft forecast --model `+shellWord(f.model)+` --hardware "2x gb10"`, "%s: %v", l.source, err)
		}
		says = append(more, fmt.Sprintf("hardware and link are those of %s", l.source))
		clamp, _ := check.ByID("gpu.clamp")
		for _, found := range check.Run([]check.Check{clamp}, l.kase) {
			if found.Status == check.Fail {
				f.held = true
				says = append(says, fmt.Sprintf("clock/power: %s, %s: it will be slower than this; weft explain gpu.clamp", found.Subject, found.Got))
			}
		}
	}
	if isCount {
		ask.Nodes = forecast.Resize(ask.Nodes, count)
	}
	if f.link != "" {
		if ask.Fabric, err = forecast.ParseLink(f.link); err != nil {
			return nil, fail("weft forecast --help", "--%v", err)
		}
	}
	switch {
	case f.sync > 0:
		ask.Fabric.Sync, ask.Fabric.Nodes, ask.Fabric.Source = f.sync, len(ask.Nodes), "--sync"
		says = append(says, fmt.Sprintf("a collective takes %g µs, as --sync says", f.sync))
	case f.proof != "":
		p, err := a.proofNamed(f.proof)
		if err != nil {
			return nil, fail("weft prove nccl.allreduce", "--proof %s: %v", f.proof, err)
		}
		fabric, ok := ask.Fabric.Measured(p, float64(ask.Model.Hidden*2*f.batch))
		if !ok {
			return nil, fail("weft prove nccl.allreduce", "--proof %s: it has no all-reduce of a small message between nodes", f.proof)
		}
		ask.Fabric = fabric
		says = append(says, "a collective takes what "+fabric.Source)
	case len(ask.Nodes) > 1 && f.link == "" && f.hardware != "":
		says = append(says, "link assumed: 100g-rdma; --link says otherwise")
	}
	return says, nil
}

// writeSVG writes the drawing.
func writeSVG(path string, r report.Forecast) error {
	var b strings.Builder
	if err := r.SVG(&b); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fail("weft forecast --help", "--svg %s: %v", path, plain(err))
	}
	return nil
}

// forecastRows reads measurements from a file, or from standard input.
func (a *app) forecastRows(path, next string) ([]forecast.Row, error) {
	var in io.Reader = a.in
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fail(next, "%s: %v", path, plain(err))
		}
		defer file.Close()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, maxBundleFile+1))
	if err == nil && len(b) > maxBundleFile {
		err = fmt.Errorf("larger than %d bytes", maxBundleFile)
	}
	if err != nil {
		return nil, fail(next, "%s: %v", path, plain(err))
	}
	rows, err := forecast.ReadRows(bytes.NewReader(b))
	switch {
	case err != nil:
		return nil, fail(next, "%s: %v", path, plain(err))
	case len(rows) == 0:
		return nil, fail(next, "%s: a header and no rows", path)
	}
	return rows, nil
}
