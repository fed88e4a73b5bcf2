package dump

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// header is the first line of a dump that weft wrote.
const header = "weft dump 1"

// MaxText is the most one member may hold. The largest honest answer seen is
// ibnetdiscover of a thousand hosts, about 1 MiB.
const MaxText = 16 << 20

// Format writes the dump: the same dump always gives the same bytes.
func (d *Dump) Format() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, header)
	for line := range strings.Lines(d.Note) {
		b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
	members := 0
	for _, n := range d.Nodes {
		members += n.format(&b)
	}
	sum := sha256.Sum256(b.Bytes())
	fmt.Fprintf(&b, "-- end --\n%d members sha256 %x\n", members, sum)
	return b.Bytes()
}

func (n *Node) format(b *bytes.Buffer) int {
	for _, k := range slices.Sorted(maps.Keys(n.Text)) {
		mark, text := "", n.Text[k]
		if !plain(text) {
			mark, text = "=", base64.StdEncoding.EncodeToString([]byte(text))
		}
		member(b, mark+n.Name+slash(k), text)
	}
	for _, k := range slices.Sorted(maps.Keys(n.Link)) {
		member(b, "@"+n.Name+slash(k), tame(n.Link[k]))
	}
	for _, k := range slices.Sorted(maps.Keys(n.Gap)) {
		member(b, "!"+n.Name+slash(k), tame(n.Gap[k]))
	}
	return len(n.Text) + len(n.Link) + len(n.Gap)
}

// slash puts a slash before a command; a path has its own.
func slash(key string) string {
	if strings.HasPrefix(key, "/") {
		return key
	}
	return "/" + key
}

func member(b *bytes.Buffer, name, text string) {
	b.WriteString("-- " + name + " --\n" + text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

// tame makes words of a node, which may be anything, safe to stand in the archive
// as they are: no control characters, and no line that starts another member.
func tame(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(strings.ToValidUTF8(text, "?")) {
		if _, forged := marker(line); forged {
			b.WriteByte('>')
		}
		b.WriteString(strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
				return '?'
			}
			return r
		}, line))
	}
	return b.String()
}

// plain reports whether text can stand in the archive as it is: readable, and
// with no line that would start another member.
func plain(text string) bool {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f
	}) {
		return false
	}
	for line := range strings.Lines(text) {
		if _, ok := marker(line); ok {
			return false
		}
	}
	return true
}

// marker returns the name in a txtar marker line.
func marker(line string) (string, bool) {
	line = strings.TrimRight(line, "\r\n")
	if len(line) < 7 || !strings.HasPrefix(line, "-- ") || !strings.HasSuffix(line, " --") {
		return "", false
	}
	return strings.TrimSpace(line[3 : len(line)-3]), true
}

// Parse reads a dump. Errors carry the line.
func Parse(b []byte) (*Dump, error) {
	d := &Dump{}
	p := parser{dump: d, nodes: map[string]*Node{}}
	var note strings.Builder
	offset, number := 0, 0
	for line := range bytes.Lines(b) {
		number++
		name, isMarker := marker(string(line))
		switch {
		case isMarker:
			if err := p.finish(); err != nil {
				return nil, err
			}
			if p.ended {
				return nil, fmt.Errorf("line %d: a member after the end member", number)
			}
			p.name, p.line, p.text = name, number, p.text[:0]
			if name == "end" {
				p.ended, p.sum = true, sha256.Sum256(b[:offset])
			}
		case p.line == 0:
			note.Write(line)
		default:
			if len(p.text)+len(line) > MaxText {
				return nil, fmt.Errorf("line %d: %s holds more than %d bytes", number, p.name, MaxText)
			}
			p.text = append(p.text, line...)
		}
		offset += len(line)
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	first, rest, _ := strings.Cut(note.String(), "\n")
	written := strings.TrimRight(first, "\r") == header
	switch {
	case strings.HasPrefix(first, "weft dump ") && !written:
		return nil, fmt.Errorf("line 1: %q is not a dump this weft can read, want %q", first, header)
	case written && !p.ended:
		return nil, fmt.Errorf("line %d: cut short: no end member after %d members", number, p.members)
	case len(d.Nodes) == 0:
		return nil, fmt.Errorf("line %d: no member like %q: not a dump", max(number, 1), "-- NODE/path --")
	}
	d.Note = note.String()
	if written {
		d.Note = rest
	}
	return d, nil
}

type parser struct {
	dump    *Dump
	nodes   map[string]*Node
	name    string // member being read
	line    int    // its line, 0 before the first
	text    []byte
	members int
	ended   bool
	sum     [sha256.Size]byte
}

// finish files the member that was being read.
func (p *parser) finish() error {
	if p.line == 0 {
		return nil
	}
	if p.name == "end" {
		want := fmt.Sprintf("%d members sha256 %x", p.members, p.sum)
		if got := strings.TrimSpace(string(p.text)); got != want {
			return fmt.Errorf("line %d: the dump was changed after weft wrote it; if that was on purpose, remove its first line and the end member", p.line)
		}
		return nil
	}
	mark, name := byte(0), p.name
	if name != "" && strings.IndexByte("!@=", name[0]) >= 0 {
		mark, name = name[0], name[1:]
	}
	node, key, ok := strings.Cut(name, "/")
	if !ok || !ValidName(node) || key == "" || !utf8.ValidString(key) {
		return fmt.Errorf("line %d: member %s is not NODE/path", p.line, strconv.Quote(p.name))
	}
	if !strings.HasPrefix(key, "$ ") {
		key = "/" + key
	}
	n := p.nodes[node]
	if n == nil {
		n = NewNode(node)
		p.nodes[node] = n
		p.dump.Nodes = append(p.dump.Nodes, n)
	}
	into, text := n.Text, string(p.text)
	switch mark {
	case '!':
		into, text = n.Gap, strings.TrimSpace(text)
	case '@':
		into, text = n.Link, strings.TrimSpace(text)
	case '=':
		raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", p.line, p.name, err)
		}
		text = string(raw)
	}
	if _, twice := into[key]; twice {
		return fmt.Errorf("line %d: %s is there twice", p.line, p.name)
	}
	into[key] = text
	p.members++
	return nil
}
