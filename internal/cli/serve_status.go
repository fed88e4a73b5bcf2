package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/report"
	"weft/internal/term"
)

func (a *app) serveStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status [NAME]",
		Short: "Say how what weft serve up started is now",
		Long: `Looks at every part on every node, at Ray, and whether the engine answers. A part that
crashed and was started again is said, with what it said last.

Exit codes: 0 it serves, 1 it does not, 3 a node could not be asked.`,
		Example:           "  weft serve status\n  weft serve status qwen3-30b-a3b --json",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeServes,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, to, err := a.wayTo()
			if err != nil {
				return err
			}
			name := strings.Join(args, "")
			l, err := a.served(name)
			if err != nil {
				return err
			}
			if l == nil {
				return fail("weft serve up MODEL", "nothing called %q was started from this folder", name)
			}
			note, done := a.notes("asking " + l.Name)
			r := a.serveRun(l, to, note)
			defer r.Run.Close()
			s := r.Status(cmd.Context())
			done()
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			out := report.ServeStatus{Launch: l, Ray: s.Ray, RayOK: s.RayOK, Health: s.Health, Serves: s.Serves, Next: "weft serve bench"}
			a.code = exitYes
			for _, p := range s.Parts {
				row := report.ServePart{Node: p.Node, Part: p.Part, Role: p.Role, Active: p.Active, Sub: p.Sub, Restarts: p.Restarts, Exit: p.Exit, Why: p.Why, Gone: p.Gone, Said: p.Said}
				for _, e := range p.Bad {
					row.Bad = append(row.Bad, e.Event)
				}
				out.Parts = append(out.Parts, row)
				if p.Active != "active" {
					a.code = max(a.code, exitNo)
				}
				if p.Why != "" {
					a.code = exitIncomplete
				}
			}
			if !s.Serves || !s.RayOK {
				a.code = max(a.code, exitNo)
			}
			if a.code != exitYes {
				out.Next = "weft serve logs " + l.Name
			}
			if a.json || a.jsonl {
				return report.JSON(a.out, "serve status", out)
			}
			return out.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
		},
	}
}
