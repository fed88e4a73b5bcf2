package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/check"
	"weft/internal/demo"
	"weft/internal/dump"
	"weft/internal/format"
	"weft/internal/report"
	"weft/internal/spec"
)

func (a *app) demo() *cobra.Command {
	var export string
	cmd := &cobra.Command{
		Use:   "demo [CLUSTER]",
		Short: "Walk through check, explain, env and status on an embedded cluster",
		Long: `Shows the main job on clusters that are part of weft: no root, no network, nothing
is touched. There is one cluster for each document that weft was made from, with
the faults that the document tells of. They are constructed, not recorded: no such
machine was read.

--export writes the cluster's dump and weft.yaml into a folder, to try every
command on it: weft check -F spark-ws.dump. The dump holds its weft.yaml too.`,
		Example: "  weft demo\n  weft demo ib-lab\n  weft demo --export . strix-tp",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range demo.All() {
				names = append(names, c.Name+"\t"+c.Title)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := demoCluster(args)
			if err != nil {
				return err
			}
			if export != "" {
				return a.exportDemo(export, c)
			}
			l, err := demoLook(c)
			if err != nil {
				return err
			}
			if a.json || a.jsonl {
				return report.JSON(a.out, "demo", map[string]any{"cluster": c.Name, "title": c.Title, "story": c.Story, "constructed": true, "check": judge(l, check.All)})
			}
			return a.walkDemo(c, l)
		},
	}
	cmd.Flags().StringVar(&export, "export", "", "write the cluster's dump and weft.yaml into this folder")
	return cmd
}

// demoDefault is the cluster that weft demo shows: two machines on a desk, which
// is where most people begin.
const demoDefault = "spark-ws"

func demoCluster(args []string) (demo.Cluster, error) {
	name := demoDefault
	if len(args) == 1 {
		name = args[0]
	}
	var names []string
	for _, c := range demo.All() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return demo.Cluster{}, fail("weft demo", "no demo cluster is called %q: there are %s", name, strings.Join(names, ", "))
}

func demoLook(c demo.Cluster) (*look, error) {
	d, err := dump.Parse(c.Dump())
	if err != nil {
		return nil, fail("", "demo %s: %v: this is a bug in weft", c.Name, err)
	}
	want, err := spec.Parse(c.Spec())
	if err != nil {
		return nil, fail("", "demo %s: weft.yaml:%v: this is a bug in weft", c.Name, err)
	}
	return &look{source: c.Name + ".dump", dump: d, kase: &check.Case{Cluster: format.Facts(d), Want: want}}, nil
}

// walkDemo shows what a person would type and what weft answers.
func (a *app) walkDemo(c demo.Cluster, l *look) error {
	fmt.Fprintf(a.out, "%s: %s (constructed, not recorded)\n%s\n", c.Name, c.Title, c.Story)
	r := judge(l, check.All)
	r.Source = "weft.yaml"
	step := func(command string) { fmt.Fprintf(a.out, "\n$ %s\n", command) }
	step("weft check")
	if err := r.Text(a.out, report.Options{}); err != nil {
		return err
	}
	if len(r.Findings) > 0 {
		step("weft explain " + r.Findings[0].Check)
		a.explainShort(r.Findings[0].Check)
	}
	node := l.kase.Nodes[0].Name
	step("weft env --node " + node)
	if err := a.writeEnv(l, node); err != nil {
		return err
	}
	step("weft status")
	if err := report.StatusOf(l.kase, r).Text(a.out, report.Options{}); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "\nThe other clusters:\n")
	for _, o := range demo.All() {
		if o.Name != c.Name {
			fmt.Fprintf(a.out, "    weft demo %-9s  %s\n", o.Name, o.Title)
		}
	}
	fmt.Fprintf(a.out, "\nTry it on your own machine:\n    weft check\n")
	return nil
}

// exportDemo writes NAME.dump and NAME.yaml.
func (a *app) exportDemo(folder string, c demo.Cluster) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fail("", "%v", err)
	}
	base := filepath.Join(folder, c.Name)
	for ext, text := range map[string][]byte{".dump": c.Dump(), ".yaml": c.Spec()} {
		if err := os.WriteFile(base+ext, text, 0o644); err != nil {
			return fail("", "%v", err)
		}
	}
	fmt.Fprintf(a.err, "weft: wrote %s.dump and %s.yaml\n      next:\n          weft check -F %s.dump\n", base, base, base)
	return nil
}
