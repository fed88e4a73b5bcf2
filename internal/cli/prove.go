package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/bring"
	"weft/internal/check"
	"weft/internal/exec"
	"weft/internal/fact"
	"weft/internal/job"
	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/store"
	"weft/internal/term"
	"weft/internal/trial"
)

// proveFlags are the flags of weft prove.
type proveFlags struct {
	pairs, engine, baseline string
	quick, thorough         bool
	print, busy, once       bool
	atOnce                  int
	seed                    uint64
}

// usualTrials are run when none is named: is the path whole, is it wide, is it quick, and
// what would it be without RDMA.
var usualTrials = []string{"path.mtu", "rdma.write.bw", "rdma.write.lat", "tcp.bw", "tcp.lat"}

// fewNodes is up to how many nodes every pair is measured unless something else is asked
// for: 32 nodes are 31 rounds of a few seconds.
const fewNodes = 32

func (a *app) prove() *cobra.Command {
	var f proveFlags
	cmd := &cobra.Command{
		Use:   "prove [TRIAL...]",
		Short: "Measure every pair and rail, and say whether the numbers are right",
		Long: `Measures what the fabric really does, pair by pair and rail by rail, holds every
number against what that path should reach and against the cluster's own best, and
says in one sentence what is wrong where it falls short: which node, which port,
which direction, and what to look at first.

Trials are named whole (rdma.write.bw) or by their beginning (rdma, nccl); without
one, weft runs path.mtu, rdma.write.bw, rdma.write.lat, tcp.bw and tcp.lat. What
looks bad is measured again, and then with other partners, so that a bad port is told
from a bad moment and from a bad pair. Nodes that are busy are left alone.

weft measures with its own engine, which it puts on the nodes; --engine perftest
uses ib_write_bw and its sisters there instead. The answer is kept in .weft/proofs.
weft explain TRIAL tells what a trial means.

Exit codes: 0 nothing is wrong, 1 something falls short, 3 something could not be
measured, 130 interrupted: nothing is left running on any node.`,
		Example: `  weft prove
  weft prove rdma --pairs spark1,spark2 --thorough
  weft prove nccl.allreduce
  weft prove --baseline last
  weft prove --pairs sample --quick`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, t := range trial.All {
				ids = append(ids, t.ID+"\t"+t.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			trials, err := namedTrials(args)
			if err != nil {
				return err
			}
			return a.proveAll(cmd.Context(), trials, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.pairs, "pairs", "", "all, ring, sample, or nodes like spark1,spark2 (default: all; sample for more than 32 nodes)")
	fl.BoolVar(&f.quick, "quick", false, "about 0.4 s a measurement, to 10 %")
	fl.BoolVar(&f.thorough, "thorough", false, "up to 10 s a measurement, to 2 %")
	fl.StringVar(&f.engine, "engine", "weft", "what measures RDMA: weft or perftest")
	fl.BoolVar(&f.print, "print", false, "say what would be measured, and do nothing")
	fl.StringVar(&f.baseline, "baseline", "", "an earlier proof to compare with: a file, its name, or last")
	fl.BoolVar(&f.busy, "busy", false, "measure nodes that are busy with a job too")
	fl.BoolVar(&f.once, "once", false, "do not measure suspects again, nor with other partners: quicker, but a healthy pair may be accused")
	fl.IntVar(&f.atOnce, "at-once", 0, "how many pairs are measured at the same time (default: all of a round)")
	fl.Uint64Var(&f.seed, "seed", 0, "the order of the pairs, to repeat an earlier one (default: drawn)")
	cmd.MarkFlagsMutuallyExclusive("quick", "thorough")
	return cmd
}

// namedTrials finds trials by name or by the beginning of it.
func namedTrials(args []string) (trials []trial.Trial, err error) {
	if len(args) == 0 {
		args = usualTrials
	}
	wanted := map[string]bool{}
	for _, arg := range args {
		n := len(wanted)
		for _, t := range trial.All {
			if arg == "all" || t.ID == arg || strings.HasPrefix(t.ID, strings.TrimSuffix(arg, ".")+".") {
				wanted[t.ID] = true
			}
		}
		if len(wanted) == n && !slices.ContainsFunc(trial.All, func(t trial.Trial) bool { return wanted[t.ID] && strings.HasPrefix(t.ID, arg) }) {
			return nil, fail("weft explain trials", "there is no trial %q", arg)
		}
	}
	for _, t := range trial.All {
		if wanted[t.ID] {
			trials = append(trials, t)
		}
	}
	return trials, nil
}

// order makes an order of the flags.
func (f proveFlags) order(l *look, trials []trial.Trial) (prove.Order, uint64, error) {
	o := prove.Order{Case: l.kase, Trials: trials, Engine: f.engine, AtOnce: f.atOnce, Disturb: f.busy, Once: f.once}
	if f.engine != "weft" && f.engine != "perftest" {
		return o, 0, fail("weft prove --engine perftest", "--engine %s: want weft or perftest", f.engine)
	}
	word := "usual"
	if f.quick {
		word = "quick"
	} else if f.thorough {
		word = "thorough"
	}
	o.Effort, _ = trial.EffortByWord(word)
	pairs := f.pairs
	if pairs == "" {
		pairs = "all"
		if len(l.kase.Nodes) > fewNodes {
			pairs = "sample"
		}
	}
	var err error
	if o.Which, err = trial.ParseWhich(pairs); err != nil {
		return o, 0, fail("weft prove --pairs all", "--%v", err)
	}
	for _, n := range o.Which.Nodes {
		if l.kase.Node(n) == nil {
			return o, 0, fail("weft show", "--pairs %s: there is no node %s", f.pairs, n)
		}
	}
	seed := f.seed
	for seed == 0 {
		seed = rand.Uint64N(1 << 32)
	}
	o.Perm = rand.New(rand.NewPCG(seed, 0)).Perm
	o.Env = func(node string) (env []string) {
		for _, v := range job.Env(l.kase, l.kase.Node(node)) {
			env = append(env, v.Name+"="+v.Value)
		}
		return env
	}
	return o, seed, nil
}

func (a *app) proveAll(ctx context.Context, trials []trial.Trial, f proveFlags) error {
	if a.from != "" {
		return fail("weft prove", "it measures nodes, not %s", a.from)
	}
	l, err := a.look(ctx)
	if err != nil {
		return err
	}
	base, err := a.baseline(f.baseline)
	if err != nil {
		return err
	}
	o, seed, err := f.order(l, trials)
	if err != nil {
		return err
	}
	if f.print {
		return a.printOrder(o)
	}
	way := &prove.Way{Run: exec.New(exec.Options{Config: a.sshConfig, Width: len(l.kase.Nodes) + exec.DefaultWidth}), Binary: bring.Self, Targets: targets(l), Archs: map[string]string{}}
	defer way.Run.Close()
	for _, n := range l.kase.Nodes {
		way.Archs[n.Name] = n.Host.Arch
	}
	progress := term.Start(a.err, "measuring", 0)
	o.Say = func(done, all int, what string) {
		progress.Set(done, all)
		progress.Note(what)
	}
	start := time.Now()
	res := prove.Run(ctx, way, o)
	progress.Done()
	p := trial.Proof{
		ID: store.PlanID(start), Made: start.UTC().Format(time.RFC3339), Weft: Version(), Engine: o.Engine, Seed: seed, Which: o.Which.String(), Effort: o.Effort.Word,
		Seconds: time.Since(start).Seconds(), Cells: res.Cells, Problems: res.Problems, Left: res.Left,
	}
	for _, t := range trials {
		p.Trials = append(p.Trials, t.ID)
	}
	p.Nodes = nodesAt(l, res)
	return a.proven(ctx, l, p, base)
}

// proven keeps a proof, compares it and writes it.
func (a *app) proven(ctx context.Context, l *look, p trial.Proof, base *trial.Proof) error {
	r := report.ProofReport{Proof: p}
	if base != nil {
		r.Against, r.Changes = base.ID, trial.Compare(*base, p)
	}
	if a.code = exitOfProof(r); a.code == exitYes && slices.ContainsFunc(l.kase.Nodes, func(n *fact.Node) bool { return n.Down != "" }) {
		a.code = exitIncomplete // it is under left out, with the reason
	}
	var b bytes.Buffer
	kept := len(l.kase.Want.Nodes) > 0
	err := report.Event(&b, "proof", p)
	if err == nil && kept {
		_, err = store.At(a.folder).SaveProof(p.ID, b.Bytes())
	}
	if err != nil {
		kept = false
		fmt.Fprintf(a.err, "weft: this proof was not kept: %v\n", err)
	}
	r.Next = nextAfterProof(p, kept)
	werr := a.writeProof(r)
	if ctx.Err() != nil {
		a.undone = "what was measured until then is above; nothing is left running on any node"
		return context.Cause(ctx)
	}
	return werr
}

// writeProof writes a proof as text, as one document, or cell by cell.
func (a *app) writeProof(r report.ProofReport) error {
	switch {
	case a.json:
		return report.JSON(a.out, "proof", r)
	case !a.jsonl:
		return r.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
	}
	for _, c := range r.Cells {
		if err := report.Event(a.out, "cell", c); err != nil {
			return err
		}
	}
	r.Cells = nil
	return report.Event(a.out, "proof", r)
}

func nextAfterProof(p trial.Proof, kept bool) string {
	for _, x := range p.Problems {
		if x.Trial != "" {
			return "weft explain " + x.Trial
		}
	}
	if !kept {
		return "weft prove --json > proof.json"
	}
	return "weft prove --baseline " + p.ID
}

// exitOfProof is 1 when something falls short, 3 when something could not be measured.
func exitOfProof(r report.ProofReport) int {
	code := exitYes
	if !slices.ContainsFunc(r.Cells, func(c trial.Cell) bool { return c.Got.Known() }) {
		code = exitIncomplete // nothing was measured, so nothing is known to be right
	}
	for _, c := range r.Cells {
		switch {
		case c.Status == check.Fail && c.Got.Known():
			return exitNo
		case !c.Got.Known() && !c.Skipped:
			code = exitIncomplete
		}
	}
	for _, p := range r.Problems {
		if p.Status == "fail" {
			return exitNo
		}
	}
	if report.Fell(r.Changes) {
		return exitNo
	}
	return code
}

// baseline reads an earlier proof by its file, its name, or the word last.
func (a *app) baseline(name string) (*trial.Proof, error) {
	if name == "" {
		return nil, nil
	}
	p, err := a.proofNamed(name)
	if err != nil {
		return nil, fail("weft prove", "--baseline %s: %v", name, err)
	}
	return p, nil
}

// proofNamed reads a proof; the folder is that of weft.yaml.
func (a *app) proofNamed(name string) (*trial.Proof, error) {
	s := store.At(a.folder)
	path, ok := s.Proof(name)
	if name == "last" {
		if path, ok = s.LastProof(); !ok {
			return nil, errors.New("no proof was kept yet")
		}
	}
	if !ok {
		path = name
	}
	b, err := readLimited(path, maxProof)
	if err != nil {
		return nil, err
	}
	return trial.ParseProof(b)
}

// maxProof bounds a proof's file: all pairs of a thousand nodes with their samples.
const maxProof = 2 << 30
