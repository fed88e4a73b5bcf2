package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/history"
	"weft/internal/nodeset"
	"weft/internal/report"
)

func (a *app) diff() *cobra.Command {
	return &cobra.Command{
		Use:   "diff A [B]",
		Short: "Say what changed between two dumps, a dump and now, or two proofs",
		Long: `Compares the facts of two dumps. Without B, A is compared with now: the nodes of
weft.yaml, or this machine. Counters, clocks and temperatures are not compared:
they move by themselves. Exit code 1 when something changed.

Two proofs of weft prove, by their files, their names or the word last, are compared
number by number: what fell or rose by more than 5 %, beyond the noise of both.
Exit code 1 when something fell.`,
		Example: "  weft diff yesterday.dump today.dump\n  weft diff good.dump\n  weft diff 20261001-120000 last",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if done, err := a.diffProofs(args[0], args[1]); done || err != nil {
					return err
				}
			}
			was, _, err := a.readFrom(args[0])
			if err != nil {
				return err
			}
			if err := a.only(was); err != nil {
				return err
			}
			if len(args) == 2 {
				a.from = args[1]
			}
			now, err := a.look(cmd.Context())
			if err != nil {
				return err
			}
			before := format.Facts(was)
			changes := history.Diff(&before, &now.kase.Cluster)
			if len(changes) > 0 {
				a.code = exitNo
			}
			return a.writeChanges(&before, changes)
		},
	}
}

func (a *app) writeChanges(before *fact.Cluster, changes []history.Change) error {
	if a.json {
		return report.JSON(a.out, "diff", map[string]any{"changes": changes})
	}
	if a.jsonl {
		for _, c := range changes {
			if err := report.Event(a.out, "change", c); err != nil {
				return err
			}
		}
		return nil
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintf(a.out, "nothing changed on %d nodes\n", len(before.Nodes))
		return err
	}
	// The same change on many nodes is one line.
	type change struct{ path, from, to string }
	on := map[change][]string{}
	var order []change
	for _, c := range changes {
		k := change{c.Path, c.From, c.To}
		if on[k] == nil {
			order = append(order, k)
		}
		on[k] = append(on[k], c.Node)
	}
	rows := [][]string{}
	for _, k := range order {
		rows = append(rows, []string{nodeset.Fold(on[k]), k.path, strings.TrimSpace(orGone(k.from) + " → " + orGone(k.to))})
	}
	slices.SortStableFunc(rows, func(x, y []string) int { return strings.Compare(x[0], y[0]) })
	return report.Table(a.out, rows)
}

func orGone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
