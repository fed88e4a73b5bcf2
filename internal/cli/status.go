package cli

import (
	"github.com/spf13/cobra"

	"weft/internal/check"
	"weft/internal/report"
	"weft/internal/term"
)

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "One screen: what is there, how it is, and the next command",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.look(cmd.Context())
			if err != nil {
				return err
			}
			r := judge(l, check.All)
			a.code = exitOf(r)
			s := report.StatusOf(l.kase, r)
			if a.json || a.jsonl {
				return report.JSON(a.out, "status", s)
			}
			return s.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
		},
	}
}
