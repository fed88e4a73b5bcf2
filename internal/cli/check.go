package cli

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/check"
	"weft/internal/plan"
	"weft/internal/report"
	"weft/internal/term"
)

func (a *app) check() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "check [ID...]",
		Short: "Say what is wrong, why it matters and what to do",
		Long: `Judges this machine, the cluster of weft.yaml, or what -F holds. IDs limit it to
some checks and may be patterns: weft check 'roce.*'.

Five answers: pass, skip (does not apply), warn (works, but is not right),
unknown (could not look) and fail. Unknown is never a pass.`,
		Example:           "  weft check\n  weft check 'roce.*' port.up\n  weft check -F lab.dump --json",
		ValidArgsFunction: completeChecks,
		RunE: func(cmd *cobra.Command, args []string) error {
			checks, err := pick(args)
			if err != nil {
				return err
			}
			a.keep = true
			l, err := a.look(cmd.Context())
			if err != nil {
				return err
			}
			r := judge(l, checks)
			a.code = exitOf(r)
			return a.writeFindings(l, r, all)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show passes and skips too")
	return cmd
}

// pick returns the checks whose ID matches one of the patterns.
func pick(patterns []string) ([]check.Check, error) {
	if len(patterns) == 0 {
		return check.All, nil
	}
	var checks []check.Check
	used := make([]bool, len(patterns))
	for _, ck := range check.All {
		for i, p := range patterns {
			if ok, _ := path.Match(p, ck.ID); ok {
				checks = append(checks, ck)
				used[i] = true
				break
			}
		}
	}
	for i, p := range patterns {
		if !used[i] {
			return nil, fail("weft explain", "no check is called %q", p)
		}
	}
	return checks, nil
}

// judge runs checks on what was seen.
func judge(l *look, checks []check.Check) report.Findings {
	findings, accepted := check.Accept(check.Run(checks, l.kase), l.kase.Want.Accept, time.Now())
	r := report.Findings{Source: l.source, Nodes: len(l.kase.Nodes), Checks: len(checks), Findings: findings, Counts: map[string]int{}}
	for _, f := range accepted {
		r.Accepted = append(r.Accepted, report.Accepted{Finding: f.Finding, Reason: f.Reason})
	}
	for s, n := range check.Count(findings) {
		r.Counts[check.Status(s).String()] = n
	}
	r.Next = nextAfter(l, findings)
	return r
}

// nextAfter is the command that helps most now.
func nextAfter(l *look, findings []check.Finding) string {
	from := ""
	if l.source != "this machine" && l.source != "weft.yaml" {
		from = " -F " + l.source
	}
	if from == "" && slices.ContainsFunc(findings, hasRemedy) {
		return "weft plan"
	}
	for _, f := range findings { // worst first
		switch f.Status {
		case check.Fail, check.Warn:
			return "weft explain " + f.Check
		case check.Unknown:
			if strings.Contains(f.Why, "root") && l.source == "this machine" {
				return "sudo weft check"
			}
			return "weft explain " + f.Check
		}
	}
	if l.source == "this machine" {
		return "weft init HOST..."
	}
	return "weft env" + from
}

// hasRemedy reports whether weft knows what to change about a finding.
func hasRemedy(f check.Finding) bool {
	return (f.Status == check.Fail || f.Status == check.Warn) && slices.ContainsFunc(plan.Remedies, func(r plan.Remedy) bool { return r.Check == f.Check })
}

// exitOf: a failure is no, something unread is incomplete.
func exitOf(r report.Findings) int {
	switch {
	case r.Counts["fail"] > 0:
		return exitNo
	case r.Counts["unknown"] > 0:
		return exitIncomplete
	}
	return exitYes
}

func (a *app) writeFindings(l *look, r report.Findings, all bool) error {
	switch {
	case a.json:
		return report.JSON(a.out, "check", r)
	case a.jsonl:
		for _, f := range r.Findings {
			if err := report.Event(a.out, "finding", f); err != nil {
				return err
			}
		}
		r.Findings = nil
		return report.Event(a.out, "check", r)
	}
	if err := r.Text(a.out, report.Options{All: all, Colour: term.Colour(a.out), Width: term.Width(a.out)}); err != nil {
		return err
	}
	for _, n := range l.notes {
		fmt.Fprintln(a.err, "weft: "+n)
	}
	return nil
}

func completeChecks(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, ck := range check.All {
		ids = append(ids, ck.ID+"\t"+ck.Title)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
