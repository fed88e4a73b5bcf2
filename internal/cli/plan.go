package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/check"
	"weft/internal/format"
	"weft/internal/plan"
	"weft/internal/report"
	"weft/internal/store"
	"weft/internal/term"
)

func (a *app) plan() *cobra.Command {
	var file string
	var exitCode, full bool
	cmd := &cobra.Command{
		Use:   "plan [ID...]",
		Short: "Say exactly what weft apply would change, and how it is undone",
		Long: `Looks at the nodes and works out what would make the checks pass: each step with its
nodes, what changes from what to what, the commands for now, the files for the next
boot, the undo, its risk, and the check that passes afterwards. Nothing is changed.
What only a person can do (a cable, a slot, a BIOS setting) is listed by hand. IDs
limit it to some checks and may be patterns: weft plan 'roce.*'.

Steps that are equal on many nodes are shown once; of more than three that differ in
their values alone, like addresses, the first is shown whole, unless you say --full.

The plan is kept in .weft/plans beside weft.yaml, where weft apply finds it, or
written to -o FILE. It is bound to the facts that it was made from: once they have
changed, it is refused. With -F a plan can be seen and written, and nothing is asked.

Exit code 0, unless you ask with --exit-code: 1 there are steps, 3 there are none, but
something could not be read, 0 there is nothing for weft to change.`,
		Example:           "  weft plan\n  weft plan 'roce.*' node.memlock -o roce.json\n  weft plan -F lab.dump --full\n  weft plan --exit-code --json",
		ValidArgsFunction: completeChecks,
		RunE: func(cmd *cobra.Command, args []string) error {
			checks, err := pick(args)
			if err != nil {
				return err
			}
			if file != "" {
				if _, err := os.Lstat(file); err == nil {
					return fail("weft plan -o NEW", "%s is there already", file)
				}
			}
			a.keep = true
			l, err := a.look(cmd.Context())
			if err != nil {
				return err
			}
			p, err := a.makePlan(l, checks)
			if err != nil {
				return err
			}
			kept, err := a.keepPlan(l, p, file)
			if err != nil {
				return err
			}
			if exitCode {
				a.code = exitOfPlan(p)
			}
			r := report.PlanReport{Plan: p, Next: a.nextAfterPlan(l, p, args, file, kept)}
			return a.writePlan(l, r, full)
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write; never one that is there")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "answer by exit code, too: 1 there are steps, 3 something could not be read")
	cmd.Flags().BoolVar(&full, "full", false, "every step whole, however many are alike")
	return cmd
}

// makePlan plans what turns the findings about a look into passes. What the owner
// accepts is left as it is.
func (a *app) makePlan(l *look, checks []check.Check) (plan.Plan, error) {
	now := time.Now()
	findings, _ := check.Accept(check.Run(checks, l.kase), l.kase.Want.Accept, now)
	again := &check.Case{Cluster: format.Facts(l.dump), Want: l.kase.Want, Before: l.kase.Before, Since: l.kase.Since}
	p := plan.Make(l.kase, again, checks, findings)
	p.ID, p.Source = store.PlanID(now), l.source
	if accept := l.kase.Want.Accept; len(accept) > 0 { // what is accepted is not left to do
		_, accepted := check.Accept(check.Run(checks, again), accept, now)
		for _, f := range accepted {
			p.After[f.Status.String()]--
		}
	}
	// What is shown, kept and applied is one and the same, and is judged before.
	b, err := plan.Format(p)
	if err != nil {
		return p, err
	}
	if p, err = plan.Parse(b); err != nil {
		return p, fail("weft plan ID...", "the plan makes no sense, which is a mistake in weft: %v", err)
	}
	return p, nil
}

// plannedBefore is the plan that is named by its file or its ID, else the last one that
// was kept beside weft.yaml; nil when there is none.
func (a *app) plannedBefore(args []string) (*plan.Plan, error) {
	_, text, folder, err := a.spec(nil)
	if err != nil {
		return nil, err
	}
	kept := store.At(folder)
	path, ok := "", false
	switch {
	case len(args) == 0 && text == "":
		return nil, nil
	case len(args) == 0:
		if path, ok = kept.LastPlan(); !ok {
			return nil, nil
		}
	default:
		if path, ok = kept.Plan(args[0]); !ok {
			path = args[0]
		}
	}
	b, err := readLimited(path, plan.MaxBytes)
	if err != nil {
		return nil, fail("weft plan", "%s: %v", path, plain(err))
	}
	p, err := plan.Parse(b)
	if err != nil {
		return nil, fail("weft plan", "%s:%v", path, err)
	}
	return &p, nil
}

// keepPlan writes a plan to a file, or keeps it beside weft.yaml, where weft apply finds
// it. That it cannot be kept is no reason not to show it.
func (a *app) keepPlan(l *look, p plan.Plan, file string) (kept bool, err error) {
	b, err := plan.Format(p)
	switch {
	case err != nil:
		return false, err
	case file != "":
		return true, writePlanFile(file, b)
	case l.source != "weft.yaml":
		return false, nil
	}
	if _, err := store.At(a.folder).SavePlan(p.ID, b); err != nil {
		fmt.Fprintf(a.err, "weft: this plan was not kept: %v\n", err)
		return false, nil
	}
	return true, nil
}

// writePlanFile writes a file that must not be there. A plan holds addresses and settings:
// for the owner's eyes.
func writePlanFile(file string, b []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fail("weft plan -o NEW", "%s: %v", file, plain(err))
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(file)
		return fail("weft plan -o NEW", "%v", err)
	}
	return nil
}

// exitOfPlan: something to do is no, something unread is incomplete.
func exitOfPlan(p plan.Plan) int {
	switch {
	case len(p.Steps) > 0:
		return exitNo
	case p.After[check.Unknown.String()] > 0:
		return exitIncomplete
	}
	return exitYes
}

// nextAfterPlan is the command that helps most now: to apply the plan, if it can be.
func (a *app) nextAfterPlan(l *look, p plan.Plan, args []string, file string, kept bool) string {
	switch {
	case len(p.Steps) == 0 && len(p.Hand) > 0:
		return "weft explain " + p.Hand[0].Check
	case len(p.Steps) == 0:
		return nextAfter(l, nil)
	case a.from != "": // seen, not applied
		return "weft explain " + p.Steps[0].Then[0]
	}
	next := []string{"weft", "apply"}
	// Without a plan weft apply makes its own, of everything, which this one may not be.
	if all := len(args) == 0 && a.nodes == ""; !kept && (l.source == "weft.yaml" || !all) {
		next = slices.Concat([]string{"weft", "plan", "-o", "plan.json"}, args)
		if a.nodes != "" {
			next = append(next, "-n", a.nodes)
		}
	} else {
		if file != "" {
			next = append(next, file)
		}
		if risks := p.Risks(); len(risks) > 0 {
			next = append(next, "--accept-risk="+joinRisks(risks))
		}
	}
	if a.config != "" {
		next = append(next, "-c", a.config)
	}
	for i, w := range next {
		next[i] = shellWord(w)
	}
	return strings.Join(next, " ")
}

func joinRisks(risks []plan.Risk) string {
	var names []string
	for _, r := range risks {
		names = append(names, string(r))
	}
	return strings.Join(names, ",")
}

func (a *app) writePlan(l *look, r report.PlanReport, full bool) error {
	switch {
	case a.json:
		return report.JSON(a.out, "plan", r.Plan)
	case a.jsonl:
		for _, s := range r.Steps {
			if err := report.Event(a.out, "step", s); err != nil {
				return err
			}
		}
		for _, h := range r.Hand {
			if err := report.Event(a.out, "hand", h); err != nil {
				return err
			}
		}
		r.Steps, r.Hand = nil, nil
		return report.Event(a.out, "plan", r.Plan)
	}
	if err := r.Text(a.out, report.Options{Full: full, Colour: term.Colour(a.out), Width: term.Width(a.out)}); err != nil {
		return err
	}
	for _, n := range l.notes {
		fmt.Fprintln(a.err, "weft: "+n)
	}
	return nil
}
