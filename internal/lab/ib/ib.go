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
	// ErrDead: a fabric is there, and nothing of it works.
	ErrDead = errors.New("the fabric does not run: its start was cut off, or something ended it")
	// ErrFolder: the folder's name would need quotes in a file that names it.
	ErrFolder = errors.New("want a path of letters, digits and . _ @ + - only")
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
		return fmt.Errorf("folder %q: %w", folder, ErrFolder)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	unlock, err := lock(folder)
	if err != nil {
		return err
	}
	defer unlock()
	if err := claim(folder, o.Spec); err != nil {
		os.Remove(folder) // if it is empty
		return err
	}
	l := &lab{folder: folder, state: State{Hosts: o.Hosts, SMs: o.SMs, Shape: s.words(), Spec: o.Spec, Broken: []Broken{}, Began: time.Now()}, shape: s}
	l.state.Looks = !exists(l.looks())
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

// claim makes a locked folder ours. One with something in it is not ours to fill.
func claim(folder, spec string) error {
	os.Remove(filepath.Join(folder, stateFile+".new")) // of an up that was killed at once
	files, err := os.ReadDir(folder)
	switch {
	case err != nil:
		return err
	case exists(filepath.Join(folder, stateFile)):
		return fmt.Errorf("%s: %w", folder, ErrUp)
	case len(files) > 0:
		return fmt.Errorf("%s is not empty and no fabric of weft", folder)
	case exists(spec):
		return fmt.Errorf("%s %w", spec, ErrSpec)
	}
	return os.Chmod(folder, 0o700) // it may have been there
}

// Down ends a fabric, whatever state it is in, and removes all of it. kept is the
// weft.yaml when somebody has changed it since, and it stays for that reason.
func Down(folder string) (kept string, err error) {
	unlock, err := lock(folder)
	switch {
	case err == nil:
		defer unlock()
	case !errors.Is(err, ErrDown): // somebody may have removed the folder of one that runs
		return "", err
	}
	return down(folder)
}

func down(folder string) (kept string, err error) {
	l, none := open(folder)
	if err := own.End(folder, endGrace); err != nil {
		return "", err
	}
	if errors.Is(none, ErrDown) { // an up that was killed at once, or a folder of somebody else
		os.Remove(filepath.Join(folder, stateFile+".new"))
		os.Remove(folder) // if it is empty
		return "", ErrDown
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
