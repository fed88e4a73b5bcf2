package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/check"
	"weft/internal/collect"
	"weft/internal/dump"
	"weft/internal/exec"
	"weft/internal/format"
	"weft/internal/nodeset"
	"weft/internal/spec"
	"weft/internal/store"
	"weft/internal/term"
)

// look is what was looked at and what was seen.
type look struct {
	source string // "this machine", "weft.yaml", "lab.dump"
	dump   *dump.Dump
	kase   *check.Case
	notes  []string // what could not be concluded from a hand-made folder
}

// look gets the facts that a command asks for: from -F, or live from the nodes of
// weft.yaml, or live from this machine.
func (a *app) look(ctx context.Context) (*look, error) {
	if a.again != nil {
		return a.again, nil
	}
	l := &look{}
	var err error
	if a.from != "" {
		l.source = a.from
		if l.dump, l.notes, err = a.readFrom(a.from); err != nil {
			return nil, err
		}
	}
	want, text, folder, err := a.spec(l.dump)
	if err != nil {
		return nil, err
	}
	a.folder = folder
	if a.from == "" {
		if err := a.sshFrom(want, folder); err != nil {
			return nil, err
		}
		if l.source, l.dump, err = a.live(ctx, want); err != nil {
			return nil, err
		}
		if text != "" {
			l.dump.Nodes[0].Text[format.SpecKey] = text
		}
	}
	if err := a.only(l.dump); err != nil {
		return nil, err
	}
	l.kase = &check.Case{Cluster: format.Facts(l.dump), Want: want}
	if a.from == "" && len(want.Nodes) > 0 {
		a.remember(l, store.At(folder))
	}
	return l, nil
}

// spec reads weft.yaml: the one named by -c, else the one in the dump that is
// replayed, else the one in this folder. It returns the text too, and the folder.
func (a *app) spec(replay *dump.Dump) (want spec.Spec, text, folder string, err error) {
	path := a.config
	switch {
	case path == "" && replay != nil:
		text, ok := format.Spec(replay)
		if !ok {
			return want, "", ".", nil // judged by its own facts alone
		}
		if want, err = spec.Parse([]byte(text)); err != nil {
			err = fail("weft collect -o FILE", "%s: the weft.yaml in it: %v", a.from, err)
		}
		return want, text, ".", err
	case path == "":
		path = "weft.yaml"
	}
	b, err := readLimited(path, spec.MaxBytes+1)
	switch {
	case errors.Is(err, os.ErrNotExist) && a.config == "":
		return want, "", ".", nil
	case err != nil:
		return want, "", ".", fail("weft init HOST...", "%s: %v", path, plain(err))
	}
	want, err = spec.Parse(b)
	if err != nil {
		return want, "", ".", fail("$EDITOR "+path, "%s:%v", path, err)
	}
	return want, string(b), filepath.Dir(path), nil
}

// live asks the nodes of weft.yaml, or this machine.
func (a *app) live(ctx context.Context, want spec.Spec) (string, *dump.Dump, error) {
	asks, source, err := a.asks(want)
	if err != nil {
		return "", nil, err
	}
	d, err := a.ask(ctx, asks)
	return source, d, err
}

// asks is what to ask of whom.
func (a *app) asks(want spec.Spec) (asks []collect.Ask, source string, err error) {
	if len(want.Nodes) == 0 {
		name, err := os.Hostname()
		if err != nil || !nodeset.ValidName(name) {
			name = "localhost"
		}
		return []collect.Ask{{Target: exec.Target{Name: name}, Readers: format.Readers}}, "this machine", nil
	}
	names, err := nodeset.Expand(a.nodes)
	if err != nil {
		return nil, "", fail("weft help", "-n %v", err)
	}
	for _, n := range want.Nodes {
		if a.nodes != "" && !slices.Contains(names, n.Name) {
			continue
		}
		asks = append(asks, collect.Ask{Target: targetOf(n), Readers: format.For(want, n.Name)})
	}
	if len(asks) == 0 {
		return nil, "", fail("weft show nodes", "-n %s: no such node in weft.yaml", a.nodes)
	}
	return asks, "weft.yaml", nil
}

func targetOf(n spec.Node) exec.Target {
	switch n.SSH {
	case "local":
		return exec.Target{Name: n.Name}
	case "":
		return exec.Target{Name: n.Name, SSH: n.Name}
	}
	return exec.Target{Name: n.Name, SSH: n.SSH}
}

// ask collects from all targets, with progress, and then asks one of them what
// needs to be asked only once.
func (a *app) ask(ctx context.Context, asks []collect.Ask) (*dump.Dump, error) {
	run := exec.New(exec.Options{Config: a.sshConfig})
	defer run.Close()
	p := term.Start(a.err, "asking nodes", len(asks))
	nodes := collect.Cluster(ctx, run, asks, func(string, error) { p.Step() })
	collect.Once(ctx, run, asks, nodes)
	p.Done()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	note := fmt.Sprintf("collected %s by weft %s\n", time.Now().UTC().Format(time.RFC3339), Version())
	return &dump.Dump{Note: note, Nodes: nodes}, nil
}

// sayDown says why a node did not answer and what to do: two lines, as collect
// writes them.
func (a *app) sayDown(why string) {
	a.code = exitIncomplete
	what, next, _ := strings.Cut(why, "\n")
	fmt.Fprintf(a.err, "weft: %s\n      next:\n          %s\n", exec.Sanitise(what), exec.Sanitise(next))
}

// only keeps the nodes that -n names.
func (a *app) only(d *dump.Dump) error {
	if a.nodes == "" {
		return nil
	}
	names, err := nodeset.Expand(a.nodes)
	if err != nil {
		return fail("weft help", "-n %v", err)
	}
	d.Nodes = slices.DeleteFunc(d.Nodes, func(n *dump.Node) bool { return !slices.Contains(names, n.Name) })
	if len(d.Nodes) == 0 {
		return fail("weft show nodes", "-n %s: no such node", a.nodes)
	}
	return nil
}

// remember finds the last look that was kept, to judge what changed since, and keeps
// this one if the command says so. That it cannot be kept is no reason to stop.
func (a *app) remember(l *look, s store.Store) {
	if path, at, ok := s.Last(); ok {
		if before, _, err := a.readFrom(path); err == nil {
			facts := format.Facts(before)
			l.kase.Before, l.kase.Since = &facts, time.Since(at)
		}
	}
	if !a.keep || a.nodes != "" { // part of a cluster is no look to compare with
		return
	}
	if _, err := s.Save(l.dump.Format(), time.Now()); err != nil {
		fmt.Fprintf(a.err, "weft: this look was not kept: %v\n", err)
	}
}

// readLimited reads a file of at most max bytes.
func readLimited(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		err = fmt.Errorf("larger than %d bytes", max)
	}
	return b, err
}

// plain drops the path that the os package repeats.
func plain(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
