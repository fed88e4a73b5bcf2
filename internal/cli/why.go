package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/forecast"
	"weft/internal/format/nccllog"
	"weft/internal/report"
	"weft/internal/term"
	"weft/internal/transport"
	"weft/internal/why"
)

// whyFlags are what weft why is told beside what weft forecast is.
type whyFlags struct {
	forecastFlags
	measured   string
	logs       []string
	contextSet bool // --context was given
}

func (a *app) why() *cobra.Command {
	f := whyFlags{forecastFlags: forecastFlags{prompt: 1024}}
	cmd := &cobra.Command{
		Use:   "why",
		Short: "Say why a model is as fast as it is: where a token's time goes, and what would change it",
		Long: `Takes the tokens/s that you, or the last weft serve bench, measured, and says where the
time of one token went: reading memory, what memory does not give, kernels, dispatch, collectives, bytes on the
wire, hops; what is set up wrongly, as weft check and the log of NCCL find it, with the
milliseconds it costs and how they were derived; and what is left unexplained. The parts
add up to what was measured. Then what would change it, the best first, with the
tokens/s that each should give, and what would not help.

Every number says what it rests on: measured (a proof, a rehearsal, a log), derived,
published, fitted (docs/forecast.md) or assumed.

The hardware is that of -F, of weft.yaml or of this machine, and weft check looks at it;
--hardware says it by name. -n 4 is how many nodes. --log is NCCL's or RCCL's
(NCCL_DEBUG=INFO), several times for several files.

Exit codes: 0 nothing wrong explains a part, 1 a misconfiguration does, 2 trouble,
3 a node or a fact that was asked for could not be read.`,
		Example: `  weft why --model Qwen2.5-7B --measured 22.9 --hardware "2x strix-halo" --link 100g-tcp
  weft why --model Qwen2.5-7B --measured 29 -F strix-tp.dump --log job.log
  weft why --model gpt-oss-120b --measured 43.7ms --tp 2 --proof last --svg token.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.contextSet = cmd.Flags().Changed("context")
			r, err := a.explainToken(cmd.Context(), &f)
			if err != nil {
				return whyTrouble(err, &f)
			}
			if f.svg != "" {
				var b strings.Builder
				if err := r.SVG(&b); err != nil {
					return err
				}
				if err := os.WriteFile(f.svg, []byte(b.String()), 0o644); err != nil {
					return fail("weft why --help", "--svg %s: %v", f.svg, plain(err))
				}
			}
			if a.json || a.jsonl {
				return report.JSON(a.out, "why", r)
			}
			return r.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.model, "model", "m", "", "name of a model, or its config.json")
	fl.StringVar(&f.measured, "measured", "", "tokens/s of one sequence, as measured, like 22.9; or the time of a token, like 43.7ms (default: the last weft serve bench of this model, with one request at a time)")
	fl.StringVarP(&f.quant, "quant", "q", "", "how its weights are stored: bf16, fp8, w4a16, nvfp4, mxfp4, q4_k_m, q8_0, mlx-4, or bits (default: as it is published)")
	fl.StringVar(&f.kv, "kv", "bf16", "how the KV cache is stored: bf16 or fp8")
	fl.StringVarP(&f.engine, "engine", "e", "vllm", "what served it: "+strings.Join(forecast.EngineNames(), ", "))
	fl.StringVar(&f.hardware, "hardware", "", `hardware by name, like "2x gb10", instead of looking`)
	fl.StringVar(&f.link, "link", "", "what joined the nodes, like 100g-rdma, 10g-tcp (default: as the nodes have it, else 100g-rdma)")
	fl.IntVar(&f.tp, "tp", 0, "tensor parallel over so many ranks (default: over all)")
	fl.IntVar(&f.pp, "pp", 0, "pipeline parallel over so many stages (default: 1, with llama.cpp all ranks)")
	fl.StringVar(&f.split, "split", "", "layers of each stage, like 40,24")
	fl.IntVarP(&f.batch, "batch", "b", 1, "sequences decoded together")
	fl.IntVar(&f.context, "context", 4096, "tokens in the KV cache of each sequence")
	fl.IntVar(&f.draft, "draft", 0, "speculative decoding: tokens guessed for each step")
	fl.Float64Var(&f.accepted, "accepted", 0, "speculative decoding: tokens that come out of a step, on average")
	fl.StringVar(&f.proof, "proof", "", "take the small all-reduce of this proof (an ID, a file, or last) instead of the constants")
	fl.StringVar(&f.rehearsal, "rehearsal", "", "take the collectives of this rehearsal (a file, or last; none takes none; default: last, if there is one)")
	fl.Float64Var(&f.sync, "sync", 0, "microseconds of a small collective among the nodes, as measured")
	fl.StringArrayVar(&f.logs, "log", nil, "log of NCCL or RCCL that says what carried the job")
	fl.StringVar(&f.svg, "svg", "", "draw the waterfall into this file")
	return cmd
}

// whyTrouble makes the next command of a trouble this command's.
func whyTrouble(err error, f *whyFlags) error {
	var t *trouble
	if !errors.As(err, &t) {
		return err
	}
	out := *t
	if f.seen != nil && strings.HasPrefix(out.what, f.seen.source+": ") {
		out.code = exitIncomplete // the facts were asked for, and do not tell the hardware
	}
	out.next = strings.Replace(out.next, "weft forecast --help", "weft why --help", 1)
	if rest, ok := strings.CutPrefix(out.next, "weft forecast --model"); ok {
		measured := f.measured
		if measured == "" {
			measured = "22.9"
		}
		out.next = "weft why --measured " + shellWord(measured) + " --model" + rest
	}
	return &out
}

// explainToken makes the answer.
func (a *app) explainToken(ctx context.Context, f *whyFlags) (report.Why, error) {
	var r report.Why
	var measured float64
	var benched []string
	var err error
	if f.measured == "" {
		if measured, benched, err = a.whyBench(f); err != nil {
			return r, err
		}
	} else if measured, err = why.ParseMeasured(f.measured); err != nil {
		return r, fail("weft why --help", "--measured %v", err)
	}
	if f.sync > 0 && f.proof != "" {
		return r, fail("weft why --help", "--sync and --proof both say what a collective takes: leave one away")
	}
	ask, says, err := a.ask1(ctx, &f.forecastFlags)
	if err != nil {
		return r, err
	}
	says = append(benched, says...)
	engine, err := a.whyEngine(f, &ask)
	if err != nil {
		return r, err
	}
	say, err := why.Usual(&ask)
	if err != nil {
		return r, fail("weft why --help", "%v", err)
	}
	switch {
	case engine.TP+engine.PP > 0:
		says = append(says, fmt.Sprintf("layout taken from line %d of the log: tp %d, pp %d", engine.Line, ask.TP, ask.PP))
	case say != "" && (f.tp == 0 || f.pp == 0):
		says = append(says, say)
	}
	q := why.Ask{Ask: ask, Measured: measured, Quant: f.quant, Eager: engine.Eager}
	if err := a.whyFacts(ctx, f, &q); err != nil {
		return r, err
	}
	if err := a.whyLog(ctx, f, &q, engine.Line > 0); err != nil {
		return r, err
	}
	switch {
	case f.link != "":
		q.Told = "--link " + f.link
	case f.proof != "":
		q.Told = q.Fabric.Source
		if q.Fabric.Transport == "tcp" && (q.Facts == nil || q.Facts.Transport != "rdma") {
			q.Facts = &forecast.Fabric{Transport: "rdma", Gbps: q.Fabric.Gbps, Source: "the proof saw RDMA ports"}
		}
	}
	if f.rehearsal != "" || q.Fabric.Sync == 0 {
		more, err := a.rehearsed(f.rehearsal, f.model, "weft why --help", &q.Fabric, float64(q.Model.Hidden*2*max(q.Batch, 1)), len(q.Nodes))
		if err != nil {
			return r, err
		}
		says = append(says, more...)
	}
	answer, err := q.Answer()
	if err != nil {
		return r, fail("weft why --help", "%v", err)
	}
	if answer.Mended() > 0 {
		a.code = exitNo
	}
	r = report.Why{Model: ask.Model, Format: ask.Format, Engine: ask.Engine, Nodes: ask.Nodes, Batch: ask.Batch, Context: ask.Context, Spec: ask.Spec, Answer: answer, Says: says}
	r.Next = a.nextWhy(f, q, answer)
	return r, nil
}

// whyFacts gives the facts of the nodes that the layout uses to weft check.
func (a *app) whyFacts(ctx context.Context, f *whyFlags, q *why.Ask) error {
	l := f.seen
	if l == nil && a.from != "" { // hardware by name, and facts to judge
		var err error
		if l, err = a.look(ctx); err != nil {
			return err
		}
	}
	if l == nil {
		return nil
	}
	k := &check.Case{Cluster: fact.Cluster{Fabric: l.kase.Fabric}, Want: l.kase.Want}
	for _, n := range l.kase.Nodes {
		if n.Down != "" {
			a.code = exitIncomplete
		}
		if f.hardware != "" || slices.ContainsFunc(q.Nodes, func(m forecast.Node) bool { return m.Name == n.Name }) {
			k.Nodes = append(k.Nodes, n)
		}
	}
	read, _ := check.ByID("node.read")
	for _, found := range check.Run([]check.Check{read}, k) {
		if found.Status == check.Fail || found.Status == check.Unknown {
			a.code = exitIncomplete
		}
	}
	q.Case = k
	if _, fabric, _, err := forecast.FromFacts(&k.Cluster); err == nil {
		q.Facts = &fabric
	}
	return nil
}

// whyLog reads what NCCL says carried the job.
func (a *app) whyLog(ctx context.Context, f *whyFlags, q *why.Ask, engine bool) error {
	if len(f.logs) == 0 {
		return nil
	}
	e := transport.Expect{}
	if q.Case != nil {
		e.Facts = &q.Case.Cluster
	}
	if q.Facts != nil && q.Facts.Transport == "rdma" {
		e.Want, e.Why = "rdma", "every node has an RDMA port that is up"
	}
	log, _, err := a.readLogs(ctx, f.logs)
	if err != nil && engine && strings.Contains(err.Error(), nccllog.ErrNot.Error()) {
		return nil // the engine's own log, without NCCL's lines
	}
	if err != nil {
		return err
	}
	v := transport.Judge(log, e)
	q.Log = &v
	return nil
}

// whyEngine reads from the logs how the engine was started: what no flag says is taken
// from there, what contradicts one is trouble.
func (a *app) whyEngine(f *whyFlags, ask *forecast.Ask) (e why.Engine, err error) {
	for _, path := range f.logs {
		if path == "-" || e.Line > 0 { // standard input is read once, for NCCL
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			return e, fail("weft why --help", "--log %s: %v", path, plain(err))
		}
		e, _, err = why.ReadEngine(file)
		file.Close()
		if err != nil {
			return e, fail("weft why --help", "--log %s: %v", path, plain(err))
		}
		for _, x := range []struct {
			flag string
			told *int
			log  int
		}{{"--tp", &ask.TP, e.TP}, {"--pp", &ask.PP, e.PP}} {
			switch {
			case x.log == 0:
			case *x.told != 0 && *x.told != x.log:
				return e, fail("weft why --help", "%s %d: %s says %d in line %d", x.flag, *x.told, path, x.log, e.Line)
			default:
				*x.told = x.log
			}
		}
	}
	return e, nil
}

// nextWhy is the command that helps most.
func (a *app) nextWhy(f *whyFlags, q why.Ask, out why.Answer) string {
	from := ""
	if a.from != "" {
		from = " -F " + shellWord(a.from)
	}
	for _, c := range out.Causes {
		if c.Check != "tcp" && c.Check != "eager" && !strings.HasPrefix(c.Check, "nccl.") {
			return "weft plan" + from
		}
	}
	again := "weft forecast --model " + shellWord(f.model)
	for _, p := range []struct{ flag, value string }{{"--quant", f.quant}, {"--hardware", f.hardware}, {"-F", a.from}, {"-n", a.nodes}, {"--engine", f.engine}, {"--link", f.link}} {
		if p.value != "" && p.value != "vllm" {
			again += " " + p.flag + " " + shellWord(p.value)
		}
	}
	for _, c := range out.Changes {
		if c.Effect == why.Quicker && c.If != "" && c.Known != "unknown" {
			return fmt.Sprintf("%s --what-if %s", again, shellWord(c.If))
		}
	}
	return again
}
