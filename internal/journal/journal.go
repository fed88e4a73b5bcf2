// Package journal changes the node that it runs on, and puts everything back unless the
// changes are confirmed. Edge: what to change comes from a plan; what it was before is
// on disk before the first change, so that it can be had again at any time, also after a
// reboot, and without the machine that ran weft.
//
// A run lives in /var/lib/weft/runs/ID: run.json says what is to be done and what was
// there before, was/ and will/ hold contents, state says how far it got, log what was
// said. One process on the node, the supervisor, makes the changes, waits for the
// confirmation and reverts. A timer, a restart of the supervisor and a unit at boot do
// the same for a supervisor that is no more.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"weft/internal/plan"
)

// Journal is where the runs of a machine are kept.
type Journal struct {
	Root  string            // "" is the machine's own; tests have one elsewhere
	Point func(name string) // called at each point where a machine may be lost; nil is nothing
}

// Request is what weft asks of a node.
type Request struct {
	ID       string      `json:"id"`       // of the run: the same on all nodes
	Who      string      `json:"who"`      // user and machine that ask
	Steps    []plan.Step `json:"steps"`    // of this node
	Probes   []Probe     `json:"probes"`   // what must work afterwards if it works before
	Deadline int         `json:"deadline"` // seconds to wait for the confirmation
	Binary   string      `json:"binary"`   // weft on this node, for the boot

	// For tests of lost machines: stop for a while at a point. See Supervise.
	PauseAt      string `json:"pause_at,omitempty"`
	PauseSeconds int    `json:"pause_seconds,omitempty"`
}

// Run is one set of changes to a node and what was there before.
type Run struct {
	Request
	Undoes  string            `json:"undoes,omitempty"` // the run that this one undoes
	Began   time.Time         `json:"began"`
	Acts    []Act             `json:"acts"`
	Changes []Change          `json:"changes"`          // in the order they are made
	Kept    map[string]Snap   `json:"kept,omitempty"`   // files that commands rewrite, as they were: path → snapshot
	Values  map[string]string `json:"values"`           // line that shows a value → what it showed before
	Worked  []Probe           `json:"worked"`           // the probes that worked before
	Expect  map[string]string `json:"expect,omitempty"` // of an undo: line that shows a value → what it should show afterwards
	dir     string
}

// Act is one step as the node takes it: its changes, then its commands.
type Act struct {
	What    string   `json:"what"`
	Changes []int    `json:"changes,omitempty"` // into Run.Changes
	Do      []string `json:"do,omitempty"`
	Undo    []string `json:"undo,omitempty"`
	Shows   string   `json:"shows,omitempty"`
	Lasts   bool     `json:"lasts,omitempty"`
	Seconds int      `json:"seconds"`
}

// Change is one path, before and after.
type Change struct {
	Path string `json:"path"`
	Was  Snap   `json:"was"`
	Will Snap   `json:"will"`

	Loose bool `json:"loose,omitempty"` // commands of the run write to it, too
}

// The states of a run. In New nothing has been changed; in Kept, Reverted and Undone
// nothing more will be.
const (
	New       = "new"
	Open      = "open"      // changes are being made
	Waiting   = "waiting"   // all are made; a confirmation is awaited
	Kept      = "kept"      // confirmed
	Reverting = "reverting" // being put back
	Reverted  = "reverted"  // the node is as it was
	Stuck     = "stuck"     // something could not be put back: see Left
	Undone    = "undone"    // kept, and undone later by another run
)

// State is how far a run got.
type State struct {
	State string    `json:"state"`
	Why   string    `json:"why,omitempty"`  // of a revert
	Act   int       `json:"act"`            // acts begun
	Left  []string  `json:"left,omitempty"` // what is not as it was after a revert
	At    time.Time `json:"at"`
}

// Over reports whether nothing more will happen by itself.
func (s State) Over() bool {
	return s.State == Kept || s.State == Reverted || s.State == Undone || s.State == Stuck
}

// path is a path of the machine below the journal's root.
func (j *Journal) path(p string) string { return filepath.Join("/", j.Root, p) }

const home = "/var/lib/weft"

func (j *Journal) runs() string { return j.path(home + "/runs") }

// Load reads a run.
func (j *Journal) Load(id string) (*Run, error) {
	if !validID(id) {
		return nil, fmt.Errorf("%q is no run", id)
	}
	r := &Run{dir: filepath.Join(j.runs(), id)}
	b, err := os.ReadFile(filepath.Join(r.dir, "run.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	if err == nil {
		err = json.Unmarshal(b, r)
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", id, err)
	}
	return r, nil
}

// validID keeps a run's name from being a path.
func validID(id string) bool {
	ok := id != "" && len(id) <= 64
	for _, c := range id {
		ok = ok && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-')
	}
	return ok
}

// List returns the IDs of all runs on this node, oldest first.
func (j *Journal) List() ([]string, error) {
	entries, err := os.ReadDir(j.runs())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && validID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	slices.Sort(ids)
	return ids, err
}

// State returns how far a run got.
func (r *Run) State() (State, error) {
	var s State
	b, err := os.ReadFile(filepath.Join(r.dir, "state"))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, fmt.Errorf("run %s: state: %w", r.ID, err)
	}
	return s, nil
}

// set writes the state down so that it survives a loss of power.
func (r *Run) set(s State) error {
	s.At = time.Now().UTC()
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(r.dir, "state"), append(b, '\n'), 0o600)
}

// mark leaves a word for the supervisor, confirm or revert, with the reason.
func (r *Run) mark(word, why string) error {
	return writeFile(filepath.Join(r.dir, word), []byte(why), 0o600)
}

func (r *Run) marked(word string) bool {
	_, err := os.Stat(filepath.Join(r.dir, word))
	return err == nil
}

// logf notes what was done. That it cannot be noted is no reason to stop.
func (r *Run) logf(format string, args ...any) {
	f, err := os.OpenFile(filepath.Join(r.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf(format, args...))
}

// writeFile writes a file whole or not at all, and returns when it is on disk.
func writeFile(path string, b []byte, mode os.FileMode) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir puts the names of a folder on disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (j *Journal) point(name string) {
	if j.Point != nil {
		j.Point(name)
	}
}
