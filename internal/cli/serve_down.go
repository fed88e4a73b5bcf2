package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/exec"
	"weft/internal/job"
	"weft/internal/nodeset"
	"weft/internal/report"
	"weft/internal/serve"
	"weft/internal/store"
	"weft/internal/term"
)

func (a *app) serveDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down [NAME]",
		Short: "Stop a model and remove exactly what weft serve up made",
		Long: `Stops every part, the engine first, and removes the units, containers, secrets and
folders that weft serve up made. Downloaded models stay; so does a file that somebody
changed since, and that is said. Without weft's own record (.weft) the nodes are asked:
each keeps one, under /var/lib/weft/serve.

Exit codes: 0 nothing is left, 1 something is, 3 a node could not be asked.`,
		Example:           "  weft serve down\n  weft serve down qwen3-30b-a3b",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeServes,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.takeDown(cmd.Context(), strings.Join(args, ""))
		},
	}
}

func (a *app) takeDown(ctx context.Context, name string) error {
	_, to, err := a.wayTo()
	if err != nil {
		return err
	}
	if name != "" && !nodeset.ValidName(name) {
		return fail("weft serve down", "%q is no name", name)
	}
	l, err := a.served(name)
	if err != nil {
		return err
	}
	lock, err := store.At(a.folder).Lock()
	if err != nil {
		return fail("weft status", "%v", err)
	}
	defer lock.Close()
	note, done := a.notes("taking it down")
	defer func() { done() }()
	if l == nil {
		if l, err = a.remembered(ctx, name, to); err != nil {
			return err
		}
	}
	r := a.serveRun(l, to, note)
	defer r.Run.Close()
	out := report.ServeGone{Name: l.Name, Down: downs(r.Down(ctx))}
	done()
	done = func() {}
	if ctx.Err() != nil {
		a.undone = "not everything is stopped and removed: weft serve down " + l.Name + " goes on"
		return context.Cause(ctx)
	}
	a.code = exitYes
	switch {
	case slices.ContainsFunc(out.Down, func(d report.ServeDown) bool { return d.Failed != "" }):
		a.code, out.Next = exitIncomplete, "weft serve down "+l.Name
	case slices.ContainsFunc(out.Down, func(d report.ServeDown) bool { return len(d.Left) > 0 }):
		a.code = exitNo
	}
	if a.code != exitIncomplete { // what is left by then is the person's own
		if err := store.At(a.folder).DropServe(l.Name); err != nil && a.code == exitYes && !strings.Contains(err.Error(), "no such file") {
			fmt.Fprintf(a.err, "weft: .weft/serves/%s.json: %v\n", l.Name, plain(err))
		}
	}
	if a.json || a.jsonl {
		return report.JSON(a.out, "serve down", out)
	}
	return out.Text(a.out, report.Options{Colour: term.Colour(a.out), Width: term.Width(a.out)})
}

// remembered asks the nodes of weft.yaml for a launch that this folder knows nothing of.
func (a *app) remembered(ctx context.Context, name string, to map[string]exec.Target) (*job.Launch, error) {
	run := exec.New(exec.Options{Config: a.sshConfig})
	defer run.Close()
	var targets []exec.Target
	for _, t := range to {
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(x, y exec.Target) int { return strings.Compare(x.Name, y.Name) })
	var l *job.Launch
	for _, found := range exec.Each(ctx, targets, func(ctx context.Context, t exec.Target) *job.Launch {
		found, err := serve.Found(ctx, run, t, name)
		if err != nil {
			return nil
		}
		for i := range found.Nodes {
			found.Nodes[i].Node = t.Name
		}
		return found
	}) {
		switch {
		case found == nil:
		case l == nil:
			l = found
		case len(found.Nodes[0].Parts) > len(l.Nodes[0].Parts): // the head has the engine beside Ray
			found.Nodes = append(found.Nodes, l.Nodes...)
			l = found
		default:
			l.Nodes = append(l.Nodes, found.Nodes...)
		}
	}
	if l == nil {
		return nil, fail("weft serve up MODEL", "neither this folder nor a node of weft.yaml knows of %q", name)
	}
	return l, nil
}
