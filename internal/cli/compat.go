package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/compat"
	"weft/internal/report"
	"weft/internal/term"
)

// compatFlags are what weft compat is asked.
type compatFlags struct {
	model, kernel, rocm                         string
	quants, gpus, engines, nics, oses, features []string
}

func (a *app) compat() *cobra.Command {
	var f compatFlags
	var all bool
	cmd := &cobra.Command{
		Use:   "compat",
		Short: "Say what works with what: GPU, feature, quantisation, engine, kernel, ROCm, NIC, system",
		Long: `Asks a matrix in which every cell has a source and a date: GPU and feature; GPU,
quantisation and engine; kernel and ROCm; NIC and operating system. Four answers:
yes, partly (it says how), no, and unknown, where nobody has told weft.

Without flags it judges the cluster of weft.yaml, this machine, or what -F holds:
what its GPUs, NICs, kernels and the model in weft.yaml can and cannot do. With
flags it answers what was asked. What is named must work; what is left open is
listed, and one that works is enough. GPUs that are not named are those of -F or
of weft.yaml in this folder, else all that weft knows; --gpu all is all of them.

--model takes a name, or a config.json, from which it reads whether the model is a
mixture of experts and how it is quantised. Flags that name something may be
repeated, or hold several names with commas between.

Exit codes: 0 it works, fully or partly; 1 it is known not to work; 2 a name that
is not known; 3 nobody knows.`,
		Example: `  weft compat
  weft compat --gpu gfx1151 --quant awq --model Qwen/Qwen3-235B-A22B
  weft compat --model ./config.json --gpu "RTX PRO 6000" --engine vllm
  weft compat --gpu gfx1151 --kernel 6.17.9 --rocm 7.2.0
  weft compat --nic ConnectX-3 --os rhel10
  weft compat --feature mig,nvlink --gpu T4,P100`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked := false
			for _, name := range []string{"model", "quant", "gpu", "engine", "nic", "os", "kernel", "rocm", "feature"} {
				switch flag := cmd.Flags().Lookup(name); {
				case flag.Changed && (flag.Value.String() == "" || flag.Value.String() == "[]"):
					return fail("weft compat --help", "--%s is empty: leave it out, or name something", name)
				case flag.Changed:
					asked = true
				}
			}
			if !asked {
				return a.compatCluster(cmd, all)
			}
			return a.compatAsk(cmd, f, all)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "a model's name, or its config.json")
	flags.StringSliceVar(&f.quants, "quant", nil, "quantisation: awq, gptq, w4a16, fp8, nvfp4, mxfp4, gguf, bf16, …")
	flags.StringSliceVar(&f.gpus, "gpu", nil, "GPU: H100, 4090, Strix Halo, gfx942, Hopper, all, …")
	flags.StringSliceVar(&f.engines, "engine", nil, "engine: vllm, sglang, llama.cpp, tensorrt-llm, ollama")
	flags.StringSliceVar(&f.nics, "nic", nil, "NIC: ConnectX-3, E810, mlx5, …")
	flags.StringSliceVar(&f.oses, "os", nil, "operating system: rhel10, ubuntu24.04, debian13, fedora, …")
	flags.StringVar(&f.kernel, "kernel", "", "kernel, as uname -r says it")
	flags.StringVar(&f.rocm, "rocm", "", "ROCm release: 7.2.1")
	flags.StringSliceVar(&f.features, "feature", nil, "feature: gpudirect, mig, nvlink, fp8, confidential, roce, …")
	flags.BoolVarP(&all, "all", "a", false, "every cell in words, with its source")
	return cmd
}

// compatCluster judges a cluster against everything.
func (a *app) compatCluster(cmd *cobra.Command, all bool) error {
	l, err := a.look(cmd.Context())
	if err != nil {
		return err
	}
	m := compat.Matrix()
	w := l.kase.Want.Workload
	r := report.Compat{Whole: true, Source: l.source, Asked: clusterAsked(l), Model: m.Workload(w), Reply: m.Cluster(l.kase.Nodes, w)}
	if len(r.Cells) == 0 {
		r.Why = "there is no GPU and no RDMA card that weft knows"
		r.Next = "weft compat --gpu all --feature gpudirect"
	} else {
		r.Why, r.Next = clusterWhy(r.Cells, r.Verdict, l)
	}
	for _, n := range l.kase.Nodes {
		if n.Down != "" {
			a.sayDown(n.Down)
		}
	}
	a.compatExit(r.Verdict)
	return a.writeCompat(r, all)
}

func clusterAsked(l *look) string {
	w := l.kase.Want.Workload
	s := l.source + ": what its GPUs, NICs and kernels can do"
	switch {
	case w.Model != "" && w.Quant != "":
		s += ", and " + w.Model + " as " + w.Quant
	case w.Model != "":
		s += ", and " + w.Model
	case w.Quant != "":
		s += ", and " + w.Quant
	}
	return s
}

// clusterWhy puts the verdict on a cluster into words, and names the command that
// helps most.
func clusterWhy(cells []compat.Cell, verdict string, l *look) (why, next string) {
	from := ""
	if l.source != "this machine" && l.source != "weft.yaml" {
		from = " -F " + l.source
	}
	explain := map[string]string{compat.GPUFeature: "gpu.matrix", compat.GPUQuant: "stack.quant", compat.KernelROCm: "stack.rocm", compat.NICOS: "ib.cx3", compat.Firmware: "port.firmware", compat.NICFeature: "gpu.direct"}
	asked := slices.DeleteFunc(slices.Clone(cells), func(c compat.Cell) bool { return !c.Asked })
	if len(asked) == 0 {
		return "weft.yaml asks for nothing in particular (workload)", "weft check" + from
	}
	for _, c := range asked {
		if c.Answer == verdict && verdict != compat.Yes && (c.Table != compat.GPUQuant || verdict == compat.No || verdict == compat.Unknown) {
			return compatSentence(c), "weft explain " + explain[c.Table]
		}
	}
	if verdict == compat.Partly {
		return "all that is asked for works, some of it with conditions", "weft check" + from
	}
	return "all that is asked for works", "weft check" + from
}

// compatSentence says one cell in words.
func compatSentence(c compat.Cell) string {
	subject := strings.Join(slices.DeleteFunc([]string{c.Quant, c.Feature, c.NIC, c.GPU}, func(s string) bool { return s == "" }), " on ")
	switch {
	case c.OS != "":
		subject += " on " + c.OS
	case c.Kernel != "":
		subject += " with kernel " + c.Kernel
	}
	if c.How != "" {
		subject += ": " + c.How
	}
	return subject
}

// compatAsk answers what the flags ask.
func (a *app) compatAsk(cmd *cobra.Command, f compatFlags, all bool) error {
	m := compat.Matrix()
	ask, err := a.compatNames(m, f)
	if err != nil {
		return err
	}
	source := ""
	if len(ask.GPUs) == 0 && (len(f.features) > 0 || len(f.quants) > 0 || len(f.engines) > 0 || f.model != "") && len(f.gpus) == 0 && len(f.nics) == 0 {
		if source, err = a.compatFill(cmd, m, &ask); err != nil {
			return err
		}
	}
	r := report.Compat{Source: source, Asked: askedWords(ask, source), Model: ask.Model, Reply: m.Answer(ask)}
	r.Why, r.Next = askedWhy(ask, r.Reply)
	a.compatExit(r.Verdict)
	return a.writeCompat(r, all)
}

// compatNames finds what the flags name.
func (a *app) compatNames(m *compat.Data, f compatFlags) (ask compat.Ask, err error) {
	next := map[string]string{"--gpu": "weft compat --feature gpudirect --gpu all", "--engine": "weft compat --help", "--quant": "weft compat --gpu H100", "--nic": "weft compat --os rhel10", "--os": "weft compat --nic ConnectX-3", "--feature": "weft compat --gpu H100"}
	all := func(flag string, names []string, into *[]string, find func(string) ([]string, error)) {
		for _, name := range names {
			found, e := find(strings.TrimSpace(name))
			if e != nil && err == nil {
				err = fail(next[flag], "%s: %v", flag, e)
			}
			for _, id := range found {
				if !slices.Contains(*into, id) {
					*into = append(*into, id)
				}
			}
		}
	}
	one := func(find func(string) (string, error)) func(string) ([]string, error) {
		return func(s string) ([]string, error) {
			id, err := find(s)
			if err != nil {
				return nil, err
			}
			return []string{id}, nil
		}
	}
	all("--gpu", f.gpus, &ask.GPUs, m.FindGPU)
	all("--quant", f.quants, &ask.Quants, one(m.FindQuant))
	all("--engine", f.engines, &ask.Engines, one(m.FindEngine))
	all("--nic", f.nics, &ask.NICs, m.FindNIC)
	all("--os", f.oses, &ask.OSes, one(m.FindOS))
	all("--feature", f.features, &ask.Features, one(m.FindFeature))
	if err != nil {
		return ask, err
	}
	if ask.Kernel, ask.ROCm = f.kernel, f.rocm; f.kernel != "" && !startsWithNumber(f.kernel) {
		return ask, fail("uname -r", "--kernel %q does not begin with a version like 6.18.4", f.kernel)
	}
	if f.rocm != "" && !startsWithNumber(f.rocm) {
		return ask, fail("cat /opt/rocm/.info/version", "--rocm %q is not a release like 7.2.1", f.rocm)
	}
	if f.model != "" {
		model, e := a.compatModel(m, f.model)
		if e != nil {
			return ask, e
		}
		if model.Fixed && len(ask.Quants) > 0 && !slices.Contains(ask.Quants, model.Quant) {
			return ask, fail("weft compat --model "+shellWord(f.model), "--quant %s contradicts --model: %s is %s", ask.Quants[0], f.model, model.Quant)
		}
		ask.Model = &model
	}
	return ask, nil
}

func startsWithNumber(s string) bool { return s != "" && len(s) < 100 && s[0] >= '0' && s[0] <= '9' }

// compatModel tells a model by its config.json, where there is such a file, else by
// its name.
func (a *app) compatModel(m *compat.Data, s string) (compat.Model, error) {
	file := s
	info, err := os.Stat(s)
	if err == nil && info.IsDir() {
		file = strings.TrimSuffix(s, "/") + "/config.json"
		info, err = os.Stat(file)
	}
	switch {
	case err == nil && info.Mode().IsRegular():
		b, err := readLimited(file, compat.MaxConfig)
		if err != nil {
			return compat.Model{}, fail("$EDITOR "+shellWord(file), "%s: %v", file, plain(err))
		}
		model, err := m.ConfigModel(file, b)
		if err != nil {
			return model, fail("$EDITOR "+shellWord(file), "%s:%v", file, err)
		}
		return model, nil
	case strings.HasSuffix(s, ".json"):
		return compat.Model{}, fail("weft compat --help", "--model %s: no such file", s)
	}
	model, err := m.FindModel(s)
	var unknown *compat.UnknownName
	if errors.As(err, &unknown) {
		return model, fail("weft compat --model ./config.json", "--model: %v\na model that weft does not know by name is told by its config.json", err)
	}
	return model, err
}

// compatFill takes the GPUs from the cluster at hand, where there is one: -F, or
// weft.yaml with nodes.
func (a *app) compatFill(cmd *cobra.Command, m *compat.Data, ask *compat.Ask) (source string, err error) {
	if a.from == "" {
		want, _, _, err := a.spec(nil)
		if err != nil || len(want.Nodes) == 0 {
			return "", err
		}
	}
	l, err := a.look(cmd.Context())
	if err != nil {
		return "", err
	}
	for _, n := range l.kase.Nodes {
		if n.Down != "" {
			a.sayDown(n.Down)
		}
	}
	ask.GPUs = m.GPUsOf(l.kase.Nodes)
	if len(ask.GPUs) == 0 {
		fmt.Fprintf(a.err, "weft: %s has no GPU that weft knows; these are all of them\n", l.source)
		return "", nil
	}
	return l.source, nil
}

// askedWords is the question in words.
func askedWords(ask compat.Ask, source string) string {
	var parts []string
	add := func(word string, list []string) {
		if len(list) > 0 && len(list) <= 8 {
			parts = append(parts, strings.TrimSpace(word+" "+strings.Join(list, ", ")))
		}
	}
	if ask.Model != nil {
		kind := map[string]string{"moe": "a mixture of experts", "dense": "dense"}[ask.Model.Kind]
		s := ask.Model.Name + " (" + kind + ": " + ask.Model.Why
		if ask.Model.Quant != "" && len(ask.Quants) == 0 {
			s += "; " + ask.Model.Quant
		}
		parts = append(parts, s+")")
	}
	add("", ask.Quants)
	add("", ask.Features)
	add("with", ask.Engines)
	add("", ask.NICs)
	if len(ask.NICs) > 0 || len(ask.OSes) > 0 {
		add("on", ask.OSes)
	}
	add("on", ask.GPUs)
	if ask.Kernel != "" {
		parts = append(parts, "kernel "+ask.Kernel)
	}
	if ask.ROCm != "" {
		parts = append(parts, "ROCm "+ask.ROCm)
	}
	if len(parts) == 1 && ask.Model == nil { // its own heading says it
		return ""
	}
	s := strings.TrimPrefix(strings.Join(parts, " "), "on ")
	if source != "" {
		s += " of " + source
	}
	return s
}

// askedWhy puts the verdict into words, and names the command that helps most.
func askedWhy(ask compat.Ask, r compat.Reply) (why, next string) {
	if len(r.Cells) == 0 {
		return "weft knows of no bond between kernel and ROCm on that GPU", "weft compat --gpu gfx1151 --kernel 6.18.4"
	}
	worst := worstCell(r)
	switch r.Verdict {
	case compat.Yes, compat.Partly:
		why = "it works"
		if r.Verdict == compat.Partly {
			why = "it works with conditions"
		}
		if len(r.Cells) > 1 {
			why = fmt.Sprintf("%d yes, %d partly, %d no, %d unknown", r.Counts[compat.Yes], r.Counts[compat.Partly], r.Counts[compat.No], r.Counts[compat.Unknown])
		}
	case compat.Unknown:
		why = "nobody has told weft whether it works; try a small model of this kind first, with a time limit"
		if worst.Quant == "" {
			why = "nobody has told weft whether it works"
		}
	case compat.No:
		why = "it is known not to work"
		if worst.Quant != "" && len(ask.Engines) == 0 {
			why = "no engine that weft knows runs it"
		}
	}
	return why, askedNext(ask, r, worst)
}

func askedNext(ask compat.Ask, r compat.Reply, worst compat.Cell) string {
	gpu := ""
	if len(ask.GPUs) > 0 && len(ask.GPUs) < 5 {
		gpu = " --gpu " + shellWord(strings.Join(ask.GPUs, ","))
	}
	bad := r.Verdict == compat.No || r.Verdict == compat.Unknown
	model := ""
	if ask.Model != nil && (!ask.Model.Fixed || !bad) {
		model = " --model " + shellWord(ask.Model.Name)
	}
	switch {
	case bad && worst.Quant != "" && worst.Instead != "" && worst.Instead != worst.Quant:
		return "weft compat --quant " + worst.Instead + gpu + model
	case bad && worst.Table == compat.KernelROCm:
		return "weft explain stack.rocm"
	case bad && worst.NIC != "":
		return "weft compat --nic " + shellWord(worst.NIC)
	case bad && worst.GPU != "":
		return "weft compat --gpu " + shellWord(worst.GPU)
	case model != "":
		return "weft forecast" + model
	case len(ask.GPUs) == 1 && len(ask.Features) == 0 && len(ask.Quants) == 0:
		return "weft compat" + gpu + " --quant fp8"
	}
	return "weft compat"
}

// worstCell is a cell that made the verdict, one that says what to use instead
// before others.
func worstCell(r compat.Reply) (worst compat.Cell) {
	for _, c := range r.Cells {
		if c.Answer == r.Verdict && (worst.Answer == "" || worst.Instead == "" && c.Instead != "") {
			worst = c
		}
	}
	return worst
}

// compatExit: what is known not to work is no, whatever else was not read; what
// nobody knows, and a node that did not answer, is incomplete.
func (a *app) compatExit(verdict string) {
	switch verdict {
	case compat.No:
		a.code = exitNo
	case compat.Unknown:
		a.code = exitIncomplete
	}
}

func (a *app) writeCompat(r report.Compat, all bool) error {
	switch {
	case a.json:
		return report.JSON(a.out, "compat", r)
	case a.jsonl:
		for _, c := range r.Cells {
			if err := report.Event(a.out, "cell", c); err != nil {
				return err
			}
		}
		r.Cells = nil
		return report.Event(a.out, "compat", r)
	}
	return r.Text(a.out, report.Options{All: all, Colour: term.Colour(a.out), Width: term.Width(a.out)})
}
