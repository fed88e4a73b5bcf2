// Package ib is an InfiniBand fabric without cards: ibsim simulates switches, cables
// and ports, and the real opensm, diagnostics and sshd run against it. Edge.
//
// Everything of one fabric lives in one folder and in a network namespace of its
// own, so that ibsim's socket is not seen outside and several can run side by side.
package ib

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"weft/internal/lab/own"
)

// Options are what a person chooses.
type Options struct {
	Hosts int
	SMs   int    // 1, or 2: one MASTER and one STANDBY
	Spec  string // the weft.yaml to write; it must not be there yet
}

var (
	// ErrUp: the folder holds a fabric, or what is left of one.
	ErrUp = errors.New("a fabric is there already")
	// ErrDown: the folder holds none.
	ErrDown = errors.New("no fabric is up")
	// ErrSpec: a weft.yaml that is not ours is in the way.
	ErrSpec = errors.New("is there already")
	// ErrBusy: another weft starts, changes or ends the fabric.
	ErrBusy = errors.New("another weft is at work on this fabric")
	// ErrFault: no fault has this name.
	ErrFault = errors.New("no such fault")
)

// plainPath is a folder that needs no quotes in any of the files that name it.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/@+-]+$`)

// Up starts a fabric and writes the weft.yaml for it. When it cannot, or is
// interrupted, it takes back all it did. step is called as it goes on, Steps times.
func Up(ctx context.Context, folder string, o Options, step func()) (err error) {
	s, err := shapeOf(o.Hosts)
	if err != nil {
		return err
	}
	if o.SMs < 1 || o.SMs > 2 {
		return fmt.Errorf("%d subnet managers: want 1 or 2", o.SMs)
	}
	if !plainPath.MatchString(folder) {
		return fmt.Errorf("folder %q: want a path of letters, digits and . _ @ + - only", folder)
	}
	switch {
	case exists(filepath.Join(folder, stateFile)):
		return fmt.Errorf("%s: %w", folder, ErrUp)
	case exists(o.Spec):
		return fmt.Errorf("%s %w", o.Spec, ErrSpec)
	}
	if err := claim(folder); err != nil {
		return err
	}
	unlock, err := lock(folder)
	if err != nil {
		return err
	}
	defer unlock()
	l := &lab{folder: folder, state: State{Hosts: o.Hosts, SMs: o.SMs, Shape: s.words(), Spec: o.Spec, Began: time.Now()}, shape: s}
	if looks := filepath.Join(filepath.Dir(o.Spec), ".weft"); !exists(looks) {
		l.state.Looks = looks
	}
	if err := l.save(); err != nil {
		return errors.Join(err, os.RemoveAll(folder)) // nothing but the state is in it
	}
	defer func() {
		if err != nil {
			_, down := down(folder)
			err = errors.Join(err, down)
		}
	}()
	for _, do := range []func(context.Context) error{l.hold, l.writeSSH, l.startAll, l.greet, l.writeSpec} {
		if err := do(ctx); err != nil {
			return err
		}
		step()
	}
	l.state.Ready = time.Now()
	return l.save()
}

// Steps is how often Up calls step.
const Steps = 5

// claim makes the folder. One with something in it is not ours to fill.
func claim(folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err == nil || !errors.Is(err, os.ErrExist) {
		return err
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty and no fabric of weft", folder))
	}
	return nil
}

// Down ends a fabric, whatever state it is in, and removes all of it. kept is the
// weft.yaml when somebody has changed it since, and it stays for that reason.
func Down(folder string) (kept string, err error) {
	unlock, err := lock(folder)
	if errors.Is(err, ErrDown) { // somebody may have removed the folder of one that runs
		return "", errors.Join(err, own.End(folder, endGrace))
	} else if err != nil {
		return "", err
	}
	defer unlock()
	return down(folder)
}

func down(folder string) (kept string, err error) {
	l, err := open(folder)
	if errors.Is(err, ErrDown) { // an up that was killed at once; kept when it holds anything else
		os.Remove(filepath.Join(folder, stateFile+".new"))
		os.Remove(folder)
		return "", err
	}
	for range 2 { // one that was about to become another program had no mark at that moment
		if err := own.End(folder, endGrace); err != nil {
			return "", err
		}
		time.Sleep(30 * time.Millisecond)
	}
	if l != nil { // else its state cannot be read, and weft.yaml may be anyone's
		if kept, err = l.removeSpec(); err != nil {
			return kept, err
		}
	}
	return kept, os.RemoveAll(folder)
}

// endGrace is how long the simulator, the managers and shells may take to end.
// They need a few ms.
const endGrace = 2 * time.Second
