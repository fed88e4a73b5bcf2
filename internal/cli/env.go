package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/job"
	"weft/internal/report"
)

func (a *app) env() *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Write the NCCL, RCCL, UCX, Gloo and Ray variables of each node, with reasons",
		Long: `Derives the environment of distributed jobs from the facts: which ports carry the
data, which interface bootstraps, which GID index, how near GPU and NIC are. Every
variable comes with the reason for its value. The output is shell: it can be
sourced on the node it is for.`,
		Example: "  weft env\n  weft env --node spark1 > nccl.sh",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.look(cmd.Context())
			if err != nil {
				return err
			}
			return a.writeEnv(l, node)
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "only this node")
	return cmd
}

// nodeEnv is the environment of one node.
type nodeEnv struct {
	Node string    `json:"node"`
	Vars []job.Var `json:"vars"`
}

// writeEnv writes the environment of the named node, or of all.
func (a *app) writeEnv(l *look, node string) error {
	var all []nodeEnv
	for _, n := range l.kase.Nodes {
		if node != "" && n.Name != node {
			continue
		}
		if n.Down != "" {
			a.sayDown(n.Down)
		}
		all = append(all, nodeEnv{n.Name, job.Env(l.kase, n)})
	}
	if len(all) == 0 {
		return fail("weft show nodes", "--node %s: no such node", node)
	}
	if a.json || a.jsonl {
		return report.JSON(a.out, "env", map[string]any{"nodes": all})
	}
	var b strings.Builder
	for i, e := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# %s\n", e.Node)
		if len(e.Vars) == 0 {
			b.WriteString("# nothing is known of this node\n")
		}
		for _, v := range e.Vars {
			fmt.Fprintf(&b, "# %s\nexport %s=%s\n", v.Why, v.Name, shellWord(v.Value))
		}
	}
	_, err := a.out.Write([]byte(b.String()))
	return err
}

// shellWord quotes a value when the shell would not take it as it is.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("=_-./:,@", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
