package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/apply"
	"weft/internal/check"
	"weft/internal/exec"
	"weft/internal/nodeset"
	"weft/internal/plan"
	"weft/internal/report"
	"weft/internal/store"
	"weft/internal/term"
)

// exitPartWay is of an apply that stopped before all nodes were changed.
const exitPartWay = 4

func (a *app) apply() *cobra.Command {
	var yes bool
	var accept []string
	var deadline time.Duration
	cmd := &cobra.Command{
		Use:   "apply [PLAN]",
		Short: "Make the changes of a plan, safely: one node first, then the others",
		Long: `Makes the changes of the last weft plan, or of PLAN (its file or name), after it
has shown them and you have said yes.

One node goes first. Each node writes down what it is about to change, changes
itself under a supervisor of its own, and puts everything back unless weft, over a
new connection, finds it right and confirms within --deadline. So a node that cannot
be reached any more comes back by itself; so does one that loses its power.
weft undo takes everything back later, byte for byte.

Risks are accepted by name: --accept-risk=link (a data link drops for a moment),
ssh (the management network changes), boot (the next boot is different).
docs/apply.md tells what can happen and how to get back by hand.

Exit codes: 0 all nodes are changed, 4 some are not, 1 changed but not as foreseen.`,
		Example: "  weft plan && weft apply\n  weft apply --yes --accept-risk=link\n  weft apply lab-plan.json --deadline 3m",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.changes("apply", deadline); err != nil {
				return err
			}
			p, l, err := a.planToApply(cmd.Context(), args)
			if err != nil {
				return err
			}
			if len(p.Steps) == 0 { // what is left by hand, or could not be read, is said
				a.code = exitOfPlan(p)
				return a.writePlan(l, report.PlanReport{Plan: p, Short: true, Next: "weft check"}, false)
			}
			if err := risksAccepted(p, accept); err != nil {
				return err
			}
			if err := a.sure(p, yes); err != nil {
				return err
			}
			return a.applyPlan(cmd.Context(), p, l, deadline)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().StringSliceVar(&accept, "accept-risk", nil, "risks to take: link, ssh, boot")
	cmd.Flags().DurationVar(&deadline, "deadline", 90*time.Second, "how long a node waits for the confirmation before it reverts")
	return cmd
}

// changes refuses flags that make no sense for a command that changes nodes.
func (a *app) changes(command string, deadline time.Duration) error {
	if a.from != "" {
		return fail("weft "+command, "it changes nodes, not %s", a.from)
	}
	if deadline < 10*time.Second || deadline > time.Hour {
		return fail("weft "+command+" --deadline 2m", "--deadline %v: want 10s to 1h", deadline)
	}
	return nil
}

// planToApply is the plan that is asked for and a look at the nodes as they are now. A
// plan that was made from other facts is refused.
func (a *app) planToApply(ctx context.Context, args []string) (plan.Plan, *look, error) {
	var p plan.Plan
	named, err := a.plannedBefore(args)
	if err != nil {
		return p, nil, err
	}
	l, err := a.look(ctx)
	if err != nil {
		return p, nil, err
	}
	if named == nil || len(args) == 0 && a.applied(named.ID) {
		if p, err = a.makePlan(l, check.All); err != nil {
			return p, nil, err
		}
		return p, l, nil
	}
	p = *named
	var moved []string
	for _, n := range p.Nodes {
		if len(p.Of(n.Name)) == 0 {
			continue
		}
		now := l.kase.Node(n.Name)
		if now == nil || now.Down != "" {
			moved = append(moved, n.Name+": cannot be looked at now")
			continue
		}
		for _, m := range n.Moved(plan.Bound(now)) {
			moved = append(moved, n.Name+": "+m)
		}
	}
	if len(moved) > 0 {
		const most = 10
		more := ""
		if len(moved) > most {
			more = fmt.Sprintf("\nand %d more", len(moved)-most)
			moved = moved[:most]
		}
		return p, nil, fail("weft plan", "plan %s was made from other facts:\n%s%s", p.ID, strings.Join(moved, "\n"), more)
	}
	return p, l, nil
}

// applied reports whether a plan was applied from this folder, on all its nodes: the next
// one is to be made anew.
func (a *app) applied(id string) bool {
	s := store.At(a.folder)
	for _, run := range s.Runs() {
		var r report.Run
		b, err := s.Run(run)
		if err == nil && json.Unmarshal(b, &r) == nil && r.Plan == id && !slices.ContainsFunc(r.Nodes, func(n report.RunNode) bool { return !n.OK }) {
			return true
		}
	}
	return false
}

// risksAccepted wants every risk of a plan to be accepted by name.
func risksAccepted(p plan.Plan, accept []string) error {
	known := func(name string) bool {
		return slices.ContainsFunc(plan.Risks, func(r plan.RiskOf) bool { return string(r.Risk) == name })
	}
	for _, name := range accept {
		if !known(name) {
			return fail("weft apply --help", "--accept-risk=%s: want link, ssh or boot", name)
		}
	}
	var open, why []string
	for _, r := range plan.Risks {
		if slices.Contains(p.Risks(), r.Risk) && !slices.Contains(accept, string(r.Risk)) {
			open = append(open, string(r.Risk))
			why = append(why, fmt.Sprintf("%s: %s (%s)", r.Risk, r.What, strings.Join(stepsAt(p, r.Risk), ", ")))
		}
	}
	if len(open) == 0 {
		return nil
	}
	return fail("weft apply --accept-risk="+strings.Join(append(accept, open...), ","), "this plan has risks that must be accepted by name:\n%s", strings.Join(why, "\n"))
}

// stepsAt names the steps that have a risk, each once.
func stepsAt(p plan.Plan, risk plan.Risk) (names []string) {
	for _, s := range p.Steps {
		if s.Risk == risk && !slices.Contains(names, s.What) {
			names = append(names, s.What)
		}
	}
	return names[:min(len(names), 8)]
}

// sure shows a plan and asks.
func (a *app) sure(p plan.Plan, yes bool) error {
	if !a.json && !a.jsonl {
		r := report.PlanReport{Plan: p, Short: true}
		if err := r.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)}); err != nil {
			return err
		}
	}
	return a.askYes("apply", yes, fmt.Sprintf("Make these %d changes?", len(p.Steps)))
}

// askYes wants the word yes from the person.
func (a *app) askYes(command string, yes bool, question string) error {
	if yes {
		return nil
	}
	if f, ok := a.in.(*os.File); !ok || !term.Is(f) {
		return fail("weft "+command+" --yes", "nobody is there to say yes")
	}
	fmt.Fprintf(a.err, "%s Type yes: ", question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return fail("weft "+command, "nothing was changed, because the answer was not yes")
	}
	return nil
}

// applyPlan changes one node, then a few, then the rest, and looks at them all.
func (a *app) applyPlan(ctx context.Context, p plan.Plan, l *look, deadline time.Duration) error {
	lock, err := store.At(a.folder).Lock()
	if err != nil {
		return fail("weft status", "%v", err)
	}
	defer lock.Close()
	c := a.crew(l)
	defer c.close()
	f := foreseen(l, p)
	var orders []apply.Order
	id := runID()
	for _, n := range p.Nodes {
		if steps := p.Of(n.Name); len(steps) > 0 {
			o := c.order(n.Name, id, deadline)
			o.Request.Steps, o.Request.Probes = steps, probes(l.kase, p, n.Name)
			o.Right = func(ctx context.Context, fresh *exec.Runner) error { return f.right(ctx, fresh, c, n.Name) }
			orders = append(orders, o)
		}
	}
	r := report.Run{ID: id, Plan: p.ID}
	r.Nodes = c.widen(ctx, orders)
	c.close()
	r.Undo = "weft undo " + id
	return a.finish(ctx, r, f)
}

// finish says what became of the nodes, and after an apply looks at them once more.
func (a *app) finish(ctx context.Context, r report.Run, f *foresight) error {
	a.code = exitYes
	for _, n := range r.Nodes {
		if !n.OK {
			a.code = exitPartWay
		}
	}
	if err := a.saveRun(r); err != nil {
		fmt.Fprintf(a.err, "weft: this run was not kept here, only on the nodes: %v\n", err)
	}
	if f != nil && ctx.Err() == nil && a.code == exitYes {
		l, err := a.look(ctx)
		if err != nil {
			return err
		}
		j := judge(l, check.All)
		r.After, r.Worse = j.Counts, f.worse(l.kase, "")
		if len(r.Worse) > 0 {
			a.code = exitNo
		}
	}
	if ctx.Err() != nil {
		a.undone = undoneWords(r)
		return context.Cause(ctx)
	}
	return a.writeRun(r)
}

// undoneWords says how an interrupt left the nodes.
func undoneWords(r report.Run) string {
	var kept, back []string
	for _, n := range r.Nodes {
		if n.OK {
			kept = append(kept, n.Node)
		} else {
			back = append(back, n.Node)
		}
	}
	words := "no node was changed"
	if len(kept) > 0 {
		words = nodeset.Fold(kept) + " changed (" + r.Undo + ")"
	}
	if len(back) > 0 {
		words += "; " + nodeset.Fold(back) + " as before"
	}
	return words
}

func (a *app) writeRun(r report.Run) error {
	if a.json || a.jsonl {
		return report.JSON(a.out, "run", r)
	}
	return r.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
}

// targets are the nodes of a look and how they are reached.
func targets(l *look) map[string]exec.Target {
	all := map[string]exec.Target{}
	for _, n := range l.kase.Want.Nodes {
		all[n.Name] = targetOf(n)
	}
	for _, n := range l.kase.Nodes {
		if _, ok := all[n.Name]; !ok {
			all[n.Name] = exec.Target{Name: n.Name} // this machine
		}
	}
	return all
}
