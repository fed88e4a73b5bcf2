// Package lab is a virtual RDMA cluster on this machine: Linux machines under QEMU
// with real kernel RDMA, their networks, and faults to make and heal. Edge.
package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Lab is one lab and the folder that holds all of it: image/ is kept from one up to
// the next, run/ is there while the lab is up.
type Lab struct {
	Dir  string // absolute
	Show Show   // says what goes on; nil says nothing
}

// Show says that something that takes time begins; the function it returns is
// called when that is done.
type Show func(what string) (done func())

// Error is a failure that a person can do something about.
type Error struct {
	What string
	Next string // a command to paste
}

func (e *Error) Error() string { return e.What }

func stop(next, format string, args ...any) error {
	return &Error{What: fmt.Sprintf(format, args...), Next: next}
}

func (l Lab) image(name ...string) string {
	return filepath.Join(append([]string{l.Dir, "image"}, name...)...)
}

func (l Lab) run(name ...string) string {
	return filepath.Join(append([]string{l.Dir, "run"}, name...)...)
}

func (l Lab) show(format string, args ...any) func() {
	if l.Show == nil {
		return func() {}
	}
	return l.Show(fmt.Sprintf(format, args...))
}

// usable says what is wrong with the folder's name: it becomes part of the options of
// QEMU and ssh, and of the paths of sockets, which are short.
func (l Lab) usable() error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@"
	const longest = 80 // of a socket's 107 bytes; run/rail0.template.vm needs 22
	switch odd := strings.Trim(l.Dir, letters); {
	case odd != "":
		return stop("export WEFT_LAB=/var/tmp/weft-lab", "the lab's folder %q has characters in its name that QEMU's options cannot carry", l.Dir)
	case len(l.Dir) > longest:
		return stop("export WEFT_LAB=/var/tmp/weft-lab", "the lab's folder %q has a name of more than %d bytes, too long for the sockets in it", l.Dir, longest)
	}
	return nil
}

// lock keeps two of weft from changing the same lab at once. It ends with the
// process.
func (l Lab) lock() (*os.File, error) {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(l.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err != nil && err != syscall.EWOULDBLOCK:
		f.Close()
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	case err != nil:
		f.Close()
		return nil, stop("weft lab status", "another weft is at work on the lab in %s", l.Dir)
	}
	return f, nil
}

// State is what is written down of a lab that is up, or was meant to be.
type State struct {
	Profile  string    `json:"profile"`
	Net      string    `json:"net"`
	Rails    int       `json:"rails"`
	MTU      int       `json:"mtu"`
	Accel    string    `json:"accel"`
	Nodes    []Node    `json:"nodes"`
	Started  time.Time `json:"started"`
	Ready    float64   `json:"ready_s"`   // seconds from the start of the machines to RDMA and ssh; 0 while it is not
	WeftYAML string    `json:"weft_yaml"` // the file written for the person
	Looks    string    `json:"looks"`     // where weft check keeps its looks, beside that file, if nothing was there before
	Faults   []Broken  `json:"faults"`
}

// Node is one machine of the lab.
type Node struct {
	Name string `json:"name"`
	ID   int    `json:"id"`   // its number, the last part of its addresses
	Port int    `json:"port"` // of its ssh server, on loopback
	Slot string `json:"slot"` // where its first data card sits: "" is the usual place
}

// Broken is a fault that was made and not yet healed.
type Broken struct {
	Fault string `json:"fault"`
	Node  string `json:"node"`
}

// errDown says that no lab is up.
var errDown = &Error{What: "no lab is up", Next: "weft lab up"}

// State reads what is written down of the lab.
func (l Lab) State() (State, error) {
	var s State
	b, err := os.ReadFile(l.run("state.json"))
	if errors.Is(err, os.ErrNotExist) {
		return s, errDown
	} else if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, stop("weft lab down", "%s: %v", l.run("state.json"), err)
	}
	return s, nil
}

// save writes the state, whole or not at all.
func (l Lab) save(s State) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return replace(l.run("state.json"), append(b, '\n'))
}

// replace writes a file, whole or not at all.
func replace(path string, b []byte) error {
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// node finds a machine by its name.
func (s State) node(name string) (*Node, error) {
	var names []string
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i], nil
		}
		names = append(names, s.Nodes[i].Name)
	}
	return nil, stop("weft lab status", "no machine of the lab is called %q: there are %s", name, strings.Join(names, ", "))
}
