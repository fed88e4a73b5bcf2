// Package format is where facts come from: a table of readers, each a list of
// files and commands and the function that turns what they held into facts. The
// packages below it read one foreign format each. Pure: no reader opens a file;
// collect fetches, readers read a dump.
package format

import (
	"maps"
	"path"
	"slices"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
)

// Reader is one source of facts. Because Files and Cmds are data, weft can show
// everything it will touch before it touches it.
type Reader struct {
	Name  string
	Why   string // what the facts are for, in a few words
	Files []File
	Cmds  []Cmd
	Once  func(*dump.Node) bool // not nil: ask only the first node for which this is true, because the answer is about all
	Given map[string]string     // what weft itself puts into the dump, so that a replay knows what was asked
	Read  func(d *dump.Node, n *fact.Node)
}

// File is a set of files: the named ones in every folder that matches.
type File struct {
	Dir    string   // glob of folders: "/sys/bus/pci/devices/*"
	Names  []string // globs below them: "vendor", "ports/*/state"
	Where  string   // only folders whose file of this name …
	Starts []string // … starts with one of these
	Link   bool     // record where the symbolic link points, not what it holds
	Binary bool     // not text
	Root   bool     // needs root
	Quiet  bool     // that it cannot be read is normal: no gap
	Drop   string   // this content says nothing: leave it out
	Secret bool     // one with a line like SecretLines is not read: its gap says so
}

// Cmd is a command.
type Cmd struct {
	Run   string // "ethtool -a {}": words separated by single spaces, no quoting
	For   string // run once for every match of this glob, its last element in place of {}
	Sh    string // a shell line to run instead; Run is then its name in the dump
	Root  bool   // needs root
	Quiet bool   // that the tool is missing or refuses is normal: no gap
}

// Covers reports whether a path belongs to the set.
func (f File) Covers(p string) bool {
	head := f.Dir
	if i := strings.IndexAny(head, `*?[\`); i >= 0 {
		head = head[:i]
	}
	if !strings.HasPrefix(p, head) {
		return false // most paths are elsewhere, and a match costs more
	}
	for _, name := range f.Names {
		if ok, _ := path.Match(f.Dir+"/"+name, p); ok {
			return true
		}
	}
	return false
}

// Key is the command's name in the dump for one match of For.
func (c Cmd) Key(match string) string {
	return "$ " + strings.ReplaceAll(c.Run, "{}", path.Base(match))
}

// covers reports whether a dump key is this command's.
func (c Cmd) covers(key string) bool {
	before, after, each := strings.Cut("$ "+c.Run, "{}")
	if !each {
		return key == before
	}
	return len(key) >= len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after)
}

// Settle takes out of a node's answers what its readers say is not worth keeping:
// content that says nothing, and gaps that are normal; and what must not be kept.
func Settle(readers []Reader, d *dump.Node) {
	dropSecrets(readers, d)
	maps.DeleteFunc(d.Gap, func(key, _ string) bool {
		return slices.ContainsFunc(readers, func(r Reader) bool { return r.quiet(key) })
	})
	for _, r := range readers {
		for _, f := range r.Files {
			if f.Drop == "" {
				continue
			}
			maps.DeleteFunc(d.Text, func(key, text string) bool {
				return strings.TrimSpace(text) == f.Drop && f.Covers(key)
			})
		}
	}
}

func (r Reader) quiet(key string) bool {
	for _, f := range r.Files {
		if f.Quiet && f.Covers(key) {
			return true
		}
	}
	for _, c := range r.Cmds {
		if c.Quiet && c.covers(key) {
			return true
		}
	}
	return false
}

// Facts reads a whole dump.
func Facts(d *dump.Dump) fact.Cluster {
	c := fact.Cluster{}
	for _, dn := range d.Nodes {
		c.Nodes = append(c.Nodes, Node(dn))
	}
	c.Fabric = Fabric(d)
	return c
}

// Node reads the answers of one node.
func Node(d *dump.Node) *fact.Node {
	n := &fact.Node{Name: d.Name, Down: d.Gap[Reach]}
	for _, r := range Readers {
		r.Read(d, n)
	}
	readSysctl(d, &n.Settings)
	readPeers(d, n)
	n.Gaps = gaps(d)
	return n
}

// Reach is the gap of a node that could not be asked at all.
const Reach = "/weft/reach"
