package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/fact"
	"weft/internal/report"
)

// views are what weft show can show.
var views = map[string]func(io.Writer, *fact.Cluster) error{
	"nodes": report.Nodes,
	"ports": report.Ports,
	"links": report.Links,
	"gpus":  report.GPUs,
	"topo":  report.Topo,
}

func (a *app) show() *cobra.Command {
	names := []string{"nodes", "ports", "links", "gpus", "topo"}
	return &cobra.Command{
		Use:   "show " + strings.Join(names, "|"),
		Short: "Show facts as tables; topo draws the PCIe tree and NIC–GPU distances",
		Long: `Shows what is there. topo draws each node's PCIe tree, with the speed and width
of every link, and how far each NIC is from each GPU (PIX, PXB, PHB, NODE, SYS),
from sysfs alone. --json writes the facts themselves.`,
		Example:   "  weft show ports\n  weft show topo -n spark1",
		Args:      cobra.ExactArgs(1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			view, ok := views[args[0]]
			if !ok {
				return fail("weft show nodes", "cannot show %q: want one of %s", args[0], strings.Join(names, ", "))
			}
			l, err := a.look(cmd.Context())
			if err != nil {
				return err
			}
			if slices.ContainsFunc(l.kase.Nodes, func(n *fact.Node) bool { return n.Down != "" }) {
				a.code = exitIncomplete
			}
			switch {
			case a.json:
				return report.JSON(a.out, args[0], l.kase.Cluster)
			case a.jsonl:
				for _, n := range l.kase.Nodes {
					if err := report.Event(a.out, "node", n); err != nil {
						return err
					}
				}
				return nil
			}
			if err := view(a.out, &l.kase.Cluster); err != nil {
				return err
			}
			for _, n := range l.kase.Nodes {
				if n.Down != "" {
					a.sayDown(n.Down)
				}
			}
			for _, n := range l.notes {
				fmt.Fprintln(a.err, "weft: "+n)
			}
			return nil
		},
	}
}
