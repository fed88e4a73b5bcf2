package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"weft/internal/bring"
	"weft/internal/exec"
	"weft/internal/job"
	"weft/internal/serve"
	"weft/internal/spec"
	"weft/internal/store"
	"weft/internal/term"
)

func (a *app) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start a model on the proven fabric, follow it, measure it, take it down",
		Long: `Puts an inference engine (vLLM with Ray or by itself, SGLang, llama.cpp over RPC) on
the nodes: weft serve up MODEL writes every unit, container and command out (--print),
sees that checks and the last proof are good, starts everything in order, follows what it
says, and proves that RDMA carries the traffic. weft serve down removes exactly that.`,
		Example: `  weft serve up Qwen/Qwen3-30B-A3B --print
  weft serve up Qwen/Qwen3-30B-A3B
  weft serve status
  weft serve logs -f
  weft serve down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.serveUp(), a.serveStatus(), a.serveLogs(), a.serveDown(), a.serveBench(), a.serveGet())
	return cmd
}

// serveGet is weft on the head's side: it asks the engine what standard input says. People
// do not call it.
func (a *app) serveGet() *cobra.Command {
	return &cobra.Command{Use: "get", Short: "Ask the engine of this node", Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		var q serve.Query
		if err := json.NewDecoder(a.in).Decode(&q); err != nil {
			return fail("weft serve --help", "not a question: %v", err)
		}
		return json.NewEncoder(a.out).Encode(serve.Ask(cmd.Context(), q))
	}}
}

// served is what was started from this folder under a name; with "" the only one there is.
func (a *app) served(name string) (*job.Launch, error) {
	s := store.At(a.folder)
	all := s.Serves()
	switch {
	case name == "" && len(all) == 1:
		name = all[0]
	case name == "" && len(all) == 0:
		return nil, fail("weft serve up MODEL", "nothing was started from this folder")
	case name == "":
		return nil, fail("weft serve status "+all[0], "several were started from this folder: %s", strings.Join(all, ", "))
	}
	b, err := s.Serve(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var l job.Launch
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err == nil && (l.Name != name || len(l.Nodes) == 0 || len(l.Nodes[0].Parts) == 0) {
		err = errors.New("not what weft keeps")
	}
	if err != nil {
		return nil, fail("weft serve down "+shellWord(name), ".weft/serves/%s.json: %v", name, plain(err))
	}
	return &l, nil
}

// wayTo finds the nodes of a launch in weft.yaml, without asking them anything.
func (a *app) wayTo() (spec.Spec, map[string]exec.Target, error) {
	if a.from != "" {
		return spec.Spec{}, nil, fail("weft serve", "it is about nodes, not about %s", a.from)
	}
	want, _, folder, err := a.spec(nil)
	if err != nil {
		return want, nil, err
	}
	a.folder = folder
	if err := a.sshFrom(want, folder); err != nil {
		return want, nil, err
	}
	to := map[string]exec.Target{}
	for _, n := range want.Nodes {
		to[n.Name] = targetOf(n)
	}
	return want, to, nil
}

// serveRun is a launch with the way to its nodes. Nodes that are not in weft.yaml (a launch on
// this machine alone) are this machine.
func (a *app) serveRun(l *job.Launch, to map[string]exec.Target, note func(done, all int, what string)) *serve.Run {
	if len(to) == 0 {
		for _, n := range l.Nodes {
			to[n.Node] = exec.Target{Name: n.Node}
		}
	}
	run := exec.New(exec.Options{Config: a.sshConfig, Width: 2*len(l.Nodes) + exec.DefaultWidth})
	var mu sync.Mutex
	bins := map[string]string{}
	find := func(ctx context.Context, node string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if bins[node] == "" {
			bin, err := bring.Weft(ctx, run, to[node], "", bring.Self, bring.User)
			if err != nil {
				return "", err
			}
			bins[node] = bin
		}
		return bins[node], nil
	}
	return &serve.Run{Launch: l, Run: run, Targets: to, Get: serve.From(run, to, find), Say: note}
}

// notes shows what goes on: one line that changes on a terminal, else a line when it changes.
func (a *app) notes(what string) (note func(done, all int, what string), done func()) {
	if term.Width(a.err) > 0 {
		p := term.Start(a.err, what, 0)
		return func(done, all int, s string) { p.Set(done, all); p.Note(s) }, p.Done
	}
	var mu sync.Mutex
	last := ""
	return func(_, _ int, s string) {
		mu.Lock()
		defer mu.Unlock()
		if key := plainNote(s); key != last {
			last = key
			fmt.Fprintln(a.err, "weft: "+s)
		}
	}, func() {}
}

// plainNote is a note without its numbers, so that a count does not make a new line each time.
func plainNote(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// completeServes lists what was started.
func (a *app) completeServes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := store.At(".").Serves()
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}
