package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/bring"
	"weft/internal/collective"
	"weft/internal/exec"
	"weft/internal/forecast"
	"weft/internal/prove"
	"weft/internal/rehearsal"
	"weft/internal/report"
	"weft/internal/store"
	"weft/internal/term"
	"weft/internal/trial"
	"weft/internal/unit"
)

// rehearseFlags are what weft rehearse is told.
type rehearseFlags struct {
	model, bytes          string
	layout                rehearsal.Layout
	batch                 int
	quick, thorough, busy bool
}

func (a *app) rehearse() *cobra.Command {
	f := rehearseFlags{batch: 1}
	cmd := &cobra.Command{
		Use:   "rehearse",
		Short: "Perform a model's communication on the real fabric, without GPUs",
		Long: `Has the nodes exchange what decoding a token needs, over RDMA and over TCP, and says
how long each exchange takes, how long all of them take one after the other, and so how
many tokens/s the network alone allows, however quick the GPUs are.

Tensor parallelism (--tp) has an all-reduce of hidden x batch x 2 bytes after the
attention and after the feed-forward of each layer; pipeline parallelism (--pp) a hop
between stages; spread experts (--ep) two all-to-alls in each layer that has them. Every
way to do an all-reduce is tried, the quickest is taken, and its sum is looked at.

A rank is a node: what the GPUs of one node exchange crosses no wire. The answer is kept
in .weft/rehearsals; weft forecast and weft why take it in place of their constants.

Exit codes: 0 all was rehearsed, 2 trouble, 3 something could not be, 130 interrupted:
nothing is left running on any node.`,
		Example: `  weft rehearse --model gpt-oss-120b
  weft rehearse --model Llama-3.1-70B --tp 2 --pp 2 --batch 8
  weft rehearse --model Qwen3-235B-A22B --ep 4 --batch 16
  weft rehearse --bytes 16KiB`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rehearseAll(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.model, "model", "m", "", "name of a model (weft forecast list), or its config.json")
	fl.StringVar(&f.bytes, "bytes", "", "one all-reduce of this size instead of a model, like 16KiB")
	fl.IntVar(&f.layout.TP, "tp", 0, "nodes that hold a layer together (default: all nodes)")
	fl.IntVar(&f.layout.PP, "pp", 0, "stages that a token passes one after the other")
	fl.IntVar(&f.layout.EP, "ep", 0, "nodes that each hold some of the experts")
	fl.IntVarP(&f.batch, "batch", "b", f.batch, "sequences decoded together")
	fl.BoolVar(&f.quick, "quick", false, "about 0.4 s a measurement")
	fl.BoolVar(&f.thorough, "thorough", false, "about 10 s a measurement")
	fl.BoolVar(&f.busy, "busy", false, "rehearse on nodes that are busy with a job too")
	cmd.MarkFlagsMutuallyExclusive("quick", "thorough")
	cmd.MarkFlagsMutuallyExclusive("model", "bytes")
	cmd.MarkFlagsMutuallyExclusive("bytes", "pp")
	cmd.MarkFlagsMutuallyExclusive("bytes", "ep")
	return cmd
}

func (f rehearseFlags) effort() trial.Effort {
	word := "usual"
	if f.quick {
		word = "quick"
	} else if f.thorough {
		word = "thorough"
	}
	e, _ := trial.EffortByWord(word)
	return e
}

// read reads what is to be rehearsed: a model, or an all-reduce of a size.
func (f rehearseFlags) read() (m forecast.Model, size unit.Size, err error) {
	for _, n := range []struct {
		flag string
		got  int
	}{{"tp", f.layout.TP}, {"pp", f.layout.PP}, {"ep", f.layout.EP}} {
		if n.got < 0 || n.got > collective.MaxRanks {
			return m, 0, fail("weft rehearse --help", "--%s %d: want 2 to %d", n.flag, n.got, collective.MaxRanks)
		}
	}
	switch {
	case f.bytes != "":
		size, err = unit.ParseSize(f.bytes)
		if err == nil {
			err = collective.Op{Kind: collective.AllReduce, Bytes: int(size), Ranks: []int{0, 1}, How: collective.OneShot}.Check(2)
		}
		if err != nil {
			err = fail("weft rehearse --bytes 16KiB", "--bytes %s: %v", f.bytes, err)
		}
	case f.model != "":
		m, err = readModel(f.model)
	default:
		err = fail("weft rehearse --model gpt-oss-120b", "which model? --model takes a name of weft forecast list, or a config.json")
	}
	return m, size, err
}

// steps are those of a token among so many nodes, and the layout that they are of.
func (f rehearseFlags) steps(m forecast.Model, size unit.Size, nodes int) (rehearsal.Layout, []rehearsal.Step, error) {
	l := f.layout
	if l.TP == 0 && l.EP == 0 {
		l.TP = max(1, nodes/max(l.PP, 1))
	}
	if l.Ranks() > nodes {
		return l, nil, fail("weft show", "%s takes %d nodes: there are %d that can be reached", l, l.Ranks(), nodes)
	}
	var steps []rehearsal.Step
	var err error
	if size > 0 {
		steps, err = rehearsal.Alone(int(size), l.TP)
	} else {
		steps, err = rehearsal.Token(m, l, f.batch)
	}
	if err != nil {
		return l, nil, fail("weft rehearse --help", "%v", err)
	}
	return l, steps, nil
}

func (a *app) rehearseAll(ctx context.Context, f rehearseFlags) error {
	if a.from != "" {
		return fail("weft rehearse", "it measures nodes, not %s", a.from)
	}
	m, size, err := f.read()
	if err != nil {
		return err
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	var nodes []string
	way := &prove.Way{Run: exec.New(exec.Options{Config: a.sshConfig, Width: len(l.kase.Nodes) + exec.DefaultWidth}), Binary: bring.Self, Targets: targets(l), Archs: map[string]string{}}
	defer way.Run.Close()
	for _, n := range l.kase.Up() {
		nodes = append(nodes, n.Name)
		way.Archs[n.Name] = n.Host.Arch
	}
	layout, steps, err := f.steps(m, size, len(nodes))
	if err != nil {
		return err
	}
	progress := term.Start(a.err, "rehearsing", 0)
	start := time.Now()
	r := prove.Rehearse(ctx, way, prove.Rehearsal{
		Case: l.kase, Nodes: nodes[:layout.Ranks()], Steps: steps, Batch: f.batch, Effort: f.effort(), Disturb: f.busy,
		Say: func(done, all int, what string) {
			progress.Set(done, all)
			progress.Note(what)
		},
	})
	progress.Done()
	r.ID, r.Made, r.Weft = store.PlanID(start), start.UTC().Format(time.RFC3339), Version()
	r.Model, r.Layout = m.Name, layout
	if left := nodes[layout.Ranks():]; len(left) > 0 {
		r.Left = append(r.Left, fmt.Sprintf("%s: %s takes %d nodes", strings.Join(left, ", "), layout, layout.Ranks()))
	}
	for _, n := range l.kase.Nodes {
		if n.Down != "" {
			r.Left = append(r.Left, n.Name+": "+n.Down)
			a.code = exitIncomplete
		}
	}
	if len(r.Tokens) < 2 {
		a.code = exitIncomplete
	}
	next := "weft check"
	if len(r.Tokens) > 0 && f.model != "" {
		next = "weft forecast --model " + shellWord(f.model)
	} else if len(r.Tokens) > 0 {
		next = "weft rehearse --model gpt-oss-120b"
	}
	var b bytes.Buffer
	if err := report.Event(&b, "rehearsal", r); err == nil && len(l.kase.Want.Nodes) > 0 && len(r.Tokens) > 0 {
		if _, err := store.At(a.folder).SaveRehearsal(r.ID, b.Bytes()); err != nil {
			fmt.Fprintf(a.err, "weft: this rehearsal was not kept: %v\n", err)
		}
	}
	out := report.Rehearsal{Rehearsal: r, Next: next}
	if a.json || a.jsonl {
		err = report.JSON(a.out, "rehearsal", out)
	} else {
		err = out.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
	}
	if ctx.Err() != nil {
		a.undone = "what was rehearsed until then is above; nothing is left running on any node"
		return context.Cause(ctx)
	}
	return err
}

// rehearsed puts the collectives of a rehearsal in place of a fabric's constants: of the
// one that is named, or of the last, if there is one; "none" takes none.
func (a *app) rehearsed(name, model, next string, f *forecast.Fabric, bytes float64, nodes int) (says []string, err error) {
	path, asked := name, name != ""
	if name == "none" || !asked && nodes < 2 {
		return nil, nil
	}
	if !asked || name == "last" {
		last, ok := store.At(a.folder).LastRehearsal()
		switch {
		case ok:
			path = last
		case asked:
			return nil, fail("weft rehearse --model "+shellWord(model), "--rehearsal last: no rehearsal was kept yet")
		default:
			return nil, nil
		}
	}
	b, err := readLimited(path, rehearsal.MaxFile)
	var r *rehearsal.Rehearsal
	if err == nil {
		r, err = rehearsal.Parse(b)
	} else {
		err = plain(err)
	}
	if err != nil {
		return nil, fail(next, "--rehearsal %s: %v", path, err)
	}
	if r.ID == "" {
		r.ID = path
	}
	fabric, ok := r.Apply(*f, bytes, nodes)
	switch {
	case !ok && asked:
		return nil, fail(next, "--rehearsal %s: it has no all-reduce over %s of %.0f bytes to 64 KiB", path, f.Transport, bytes)
	case !ok:
		return nil, nil
	}
	*f = fabric
	return []string{"a collective takes what " + fabric.Source}, nil
}
