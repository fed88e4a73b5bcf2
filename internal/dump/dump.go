// Package dump is the one text archive of weft: what nodes answered, as it
// travels, rests, replays and becomes a test. Pure.
//
// A dump is a txtar file. Every member is named NODE/path for a file,
// "NODE/$ command" for what a command printed, and may start with one mark:
//
//	!NODE/path   why the path or command could not be read
//	@NODE/path   where the symbolic link points
//	=NODE/path   the content in base64, because it is not plain text
//
// A missing final newline is added. The first line "weft dump 1" says that weft
// wrote the file, and then the last member, "end", must match: a dump that was
// cut or changed is refused. Without that first line the dump is hand-written.
package dump

import (
	"slices"
	"strings"
)

// Node is what one node answered.
type Node struct {
	Name string
	Text map[string]string // "/sys/…" or "$ command": what was read
	Link map[string]string // "/sys/…": where it points
	Gap  map[string]string // "/sys/…" or "$ command": why it could not be read

	keys []string // sorted keys of Text and Link, made when first needed
}

// NewNode returns a node that has answered nothing yet.
func NewNode(name string) *Node {
	return &Node{Name: name, Text: map[string]string{}, Link: map[string]string{}, Gap: map[string]string{}}
}

// Dump is what a cluster answered.
type Dump struct {
	Note  string // free text before the first member: who, when, whether it is constructed
	Nodes []*Node
}

// Node returns the named node, or nil.
func (d *Dump) Node(name string) *Node {
	for _, n := range d.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Get returns the content of a file without its final newline.
func (n *Node) Get(path string) (string, bool) {
	s, ok := n.Text[path]
	return strings.TrimSuffix(s, "\n"), ok
}

// Cmd returns what a command printed.
func (n *Node) Cmd(command string) (string, bool) {
	s, ok := n.Text["$ "+command]
	return s, ok
}

// Cmds returns the commands that start with the given words, sorted.
func (n *Node) Cmds(prefix string) []string {
	var out []string
	for _, k := range n.under("$ " + prefix) {
		out = append(out, k[len("$ "):])
	}
	return out
}

// Dir returns the sorted names directly below a folder.
func (n *Node) Dir(path string) []string {
	var out []string
	path += "/"
	for _, k := range n.under(path) {
		name, _, _ := strings.Cut(k[len(path):], "/")
		if len(out) == 0 || out[len(out)-1] != name {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// under returns the keys that start with prefix, sorted.
func (n *Node) under(prefix string) []string {
	if len(n.keys) != len(n.Text)+len(n.Link) {
		n.keys = n.keys[:0]
		for k := range n.Text {
			n.keys = append(n.keys, k)
		}
		for k := range n.Link {
			n.keys = append(n.keys, k)
		}
		slices.Sort(n.keys)
	}
	lo, _ := slices.BinarySearch(n.keys, prefix)
	hi := lo
	for hi < len(n.keys) && strings.HasPrefix(n.keys[hi], prefix) {
		hi++
	}
	return n.keys[lo:hi]
}
