package plan

import (
	"cmp"
	"slices"
	"strings"

	"weft/internal/edit"
	"weft/internal/fact"
)

// runtimeOnly is the note of a step that the next boot forgets.
const runtimeOnly = "runtime only: nothing keeps it over a boot"

// boot is how a change of a netdev is kept for the next boot, and how the manager that
// runs is told.
type boot struct {
	file *File
	do   []string // when the file is in place
	undo []string // when the old one is back
	risk Risk
	note string
}

// keep adds a step for a netdev, with the file that keeps the change over a boot. A
// manager that reads a file anew sets the netdev up anew, and takes away what it did not
// give: addresses and routes that were there come back after it.
func (d *draft) keep(n *fact.Node, dev *fact.Netdev, want edit.Netdev, s Step) error {
	if d.has(n, s.What) {
		d.add(n, s)
		return nil
	}
	b, err := d.boot(n, dev, want)
	if err != nil {
		return err
	}
	if s.Note = strings.TrimPrefix(s.Note+"; "+b.note, "; "); b.note == "" {
		s.Note = strings.TrimSuffix(s.Note, "; ")
	}
	if b.file != nil {
		before, err := d.now(n)
		if err != nil {
			return err
		}
		after, err := d.now(n, s)
		if err != nil {
			return err
		}
		s.Files = []File{*b.file}
		s.Do = once(b.do, s.Do, remake(after, dev.Name))
		s.Undo = once(b.undo, s.Undo, remake(before, dev.Name))
		s.Risk = worse(s.Risk, b.risk)
		s.Seconds = 120 // a manager on a busy machine answers late
	}
	d.add(n, s)
	return nil
}

// once joins lines, each only where it stands last: a route comes after the address that
// it needs.
func once(lists ...[]string) (out []string) {
	all := slices.Concat(lists...)
	for i, line := range all {
		if !slices.Contains(all[i+1:], line) {
			out = append(out, line)
		}
	}
	return out
}

// worse is the graver of two risks.
func worse(a, b Risk) Risk {
	order := []Risk{RiskNone, RiskLink, RiskSSH, RiskBoot}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// boot finds who configures a netdev and writes what they should say of it.
func (d *draft) boot(n *fact.Node, dev *fact.Netdev, want edit.Netdev) (boot, error) {
	want.Name, want.Kind = dev.Name, "ethernet"
	if dev.Type == "infiniband" {
		want.Kind = "infiniband"
	}
	if !n.Settings.FilesRead {
		return boot{}, byHand("who configures %s was not read", dev.Name)
	}
	switch manager := cmp.Or(dev.Manager, n.Settings.NetManager); manager {
	case "":
		return boot{note: runtimeOnly}, nil
	case "networkd":
		return d.networkd(n, dev, want)
	case "netplan":
		return d.netplan(n, dev, want)
	case "NetworkManager":
		return d.keyfile(n, dev, want)
	default:
		return boot{}, byHand("%s configures %s, and weft does not edit its files", manager, dev.Name)
	}
}

// config makes a file hold what make says of its text; nil when it does already.
func (d *draft) config(n *fact.Node, file string, mode uint32, make func(text string, there bool) (string, error)) (*File, error) {
	old, there, err := d.read(n, file)
	if err != nil {
		return nil, byHand("%v", err)
	}
	text, err := make(old, there)
	if err != nil {
		return nil, byHand("%s: %v", file, err)
	}
	if there && text == old {
		return nil, nil
	}
	f, err := d.write(n, file, text)
	if !there {
		f.Mode = mode
	}
	return &f, err
}
