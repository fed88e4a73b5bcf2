package ib

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const stateFile = "state.json"

// State is what a folder holds.
type State struct {
	Hosts  int       `json:"hosts"`
	SMs    int       `json:"sms"`
	Shape  string    `json:"shape"` // in words
	Spec   string    `json:"spec"`  // the weft.yaml that was written for it
	Sum    string    `json:"sum"`   // SHA-256 of it
	Looks  bool      `json:"looks"` // what weft keeps of its looks, in .weft beside it, is of this fabric alone
	Holder int       `json:"holder"`
	Broken []Broken  `json:"broken"`
	Began  time.Time `json:"began"`
	Ready  time.Time `json:"ready"` // zero: it never came up
}

// Broken is a fault that was made and not healed.
type Broken struct {
	Fault  string `json:"fault"`
	Target string `json:"target"`
	Check  string `json:"check"` // what weft should say of it
}

// lab is an open folder.
type lab struct {
	folder string
	state  State
	shape  shape
}

func (l *lab) path(name string) string { return filepath.Join(l.folder, name) }

// save writes the state so that a reader, or a kill, finds the old one or the new.
func (l *lab) save() error {
	b, err := json.MarshalIndent(l.state, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path(stateFile+".new"), b, 0o600); err != nil {
		return err
	}
	return os.Rename(l.path(stateFile+".new"), l.path(stateFile))
}

// lockLimit is how long lock waits. A process that a killed weft was about to start
// holds the lock until it runs, and only then has the mark by which it is found.
const lockLimit = 2 * time.Second

// lock keeps other wefts from changing a folder at the same time, until the returned
// function is called or the process ends.
func lock(folder string) (unlock func(), err error) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		dir, err := os.OpenFile(folder, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0) // what a link leads to would not be removed
		if errors.Is(err, os.ErrNotExist) {
			return nil, ErrDown
		} else if err != nil {
			return nil, err
		}
		if syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && isAt(dir, folder) {
			return func() { dir.Close() }, nil
		}
		dir.Close()
		if time.Since(began) > lockLimit {
			return nil, fmt.Errorf("%s: %w", folder, ErrBusy)
		}
	}
}

// isAt reports whether an open folder is still the one of its name: the weft that had
// the lock may have removed it.
func isAt(dir *os.File, folder string) bool {
	opened, err := dir.Stat()
	named, lost := os.Lstat(folder)
	return err == nil && lost == nil && os.SameFile(opened, named)
}

// open reads a folder. A state that cannot be read comes with a nil lab, so that
// Down can still remove it.
func open(folder string) (*lab, error) {
	b, err := os.ReadFile(filepath.Join(folder, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrDown
	} else if err != nil {
		return nil, err
	}
	l := &lab{folder: folder}
	if err := l.read(b); err != nil {
		return nil, fmt.Errorf("%s: %w", l.path(stateFile), err)
	}
	return l, nil
}

func (l *lab) read(b []byte) (err error) {
	if err = json.Unmarshal(b, &l.state); err != nil {
		return err
	}
	l.shape, err = shapeOf(l.state.Hosts)
	return err
}

// Look returns the state of a folder and how many of its processes run.
func Look(folder string) (State, []Process, error) {
	l, err := open(folder)
	if err != nil {
		return State{}, nil, err
	}
	procs, err := l.processes()
	return l.state, procs, err
}
