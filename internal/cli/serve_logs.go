package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/exec"
	"weft/internal/job"
	"weft/internal/nodeset"
	"weft/internal/report"
)

func (a *app) serveLogs() *cobra.Command {
	var follow bool
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "logs [NAME]",
		Short: "Show what the parts of a model say",
		Long: `Prints what Ray, the engine and every other part said, each line with its node and
part before it. -n names nodes. The output can be given to weft nccl.`,
		Example:           "  weft serve logs -f\n  weft serve logs --since 10m -n spark2\n  weft serve logs | weft nccl",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeServes,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, to, err := a.wayTo()
			if err != nil {
				return err
			}
			if since <= 0 || since > 365*24*time.Hour {
				return fail("weft serve logs --since 1h", "--since %v: want up to a year", since)
			}
			name := strings.Join(args, "")
			l, err := a.served(name)
			if err != nil {
				return err
			}
			if l == nil {
				return fail("weft serve up MODEL", "nothing called %q was started from this folder", name)
			}
			if a.nodes != "" {
				names, err := nodeset.Expand(a.nodes)
				if err != nil {
					return fail("weft help", "-n %v", err)
				}
				var some []job.NodeLaunch
				for _, n := range l.Nodes {
					for _, x := range names {
						if n.Node == x {
							some = append(some, n)
						}
					}
				}
				if l.Nodes = some; len(some) == 0 {
					return fail("weft serve status", "-n %s: no such node in %s", a.nodes, l.Name)
				}
			}
			r := a.serveRun(l, to, func(_, _ int, s string) { fmt.Fprintln(a.err, "weft: "+s) })
			defer r.Run.Close()
			var mu sync.Mutex
			r.Lines(cmd.Context(), since, follow, func(node, part, line string) {
				mu.Lock()
				defer mu.Unlock()
				if a.json || a.jsonl {
					report.Event(a.out, "line", map[string]string{"node": node, "part": part, "line": line})
					return
				}
				fmt.Fprintf(a.out, "%s %s | %s\n", node, part, exec.Sanitise(line))
			})
			return cmd.Context().Err()
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until Ctrl-C")
	cmd.Flags().DurationVar(&since, "since", 24*time.Hour, "how far back")
	return cmd
}
