package dump

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weft/internal/nodeset"
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

// ErrNot is a text that has nothing of a dump in it.
var ErrNot = errors.New("not a dump")

// Parse reads a dump. Errors carry the line.
func Parse(b []byte) (*Dump, error) { return Read(bytes.NewReader(b)) }

// maxTotal is the most a dump may hold: a few thousand nodes fit.
const maxTotal = 1 << 30

// Read reads a dump from a stream. A member that is too large is refused where it
// becomes so: nothing beyond the limit is kept.
func Read(r io.Reader) (*Dump, error) {
	d := &Dump{}
	p := parser{dump: d, nodes: map[string]*Node{}, sum: sha256.New(), number: 1}
	in := bufio.NewReaderSize(r, 1<<16)
	var note strings.Builder
	fresh := true // at the start of a line
	for {
		chunk, err := in.ReadSlice('\n') // a whole line, or a piece of a very long one
		if name, isMarker := marker(string(chunk)); fresh && isMarker && err != bufio.ErrBufferFull {
			if err := p.begin(name); err != nil {
				return nil, err
			}
		} else if p.line == 0 {
			if note.Len()+len(chunk) > MaxText {
				return nil, fmt.Errorf("line %d: no member like %q in %d bytes: %w", p.number, "-- NODE/path --", MaxText, ErrNot)
			}
			note.Write(chunk)
		} else if err := p.add(chunk); err != nil {
			return nil, err
		}
		if !p.ended {
			p.sum.Write(chunk)
		}
		fresh = err == nil
		switch {
		case fresh:
			p.number++
		case err == io.EOF:
			return p.end(note.String())
		case err != bufio.ErrBufferFull:
			return nil, fmt.Errorf("line %d: %w", p.number, err)
		}
	}
}

type parser struct {
	dump    *Dump
	nodes   map[string]*Node
	number  int    // line being read, from 1
	name    string // member being read
	line    int    // its line, 0 before the first
	text    []byte
	total   int
	members int
	ended   bool
	sum     hash.Hash // of everything before the end member
}

// begin files the member before and starts the next.
func (p *parser) begin(name string) error {
	if err := p.finish(); err != nil {
		return err
	}
	if p.ended {
		return fmt.Errorf("line %d: a member after the end member", p.number)
	}
	p.name, p.line, p.text, p.ended = name, p.number, p.text[:0], name == "end"
	return nil
}

// add adds to the member being read.
func (p *parser) add(chunk []byte) error {
	p.total += len(chunk)
	switch {
	case len(p.text)+len(chunk) > MaxText:
		return fmt.Errorf("line %d: %s holds more than %d bytes", p.number, p.name, MaxText)
	case p.total > maxTotal:
		return fmt.Errorf("line %d: the dump holds more than %d bytes", p.number, maxTotal)
	}
	p.text = append(p.text, chunk...)
	return nil
}

// end files the last member and judges the whole.
func (p *parser) end(note string) (*Dump, error) {
	if err := p.finish(); err != nil {
		return nil, err
	}
	first, rest, _ := strings.Cut(note, "\n")
	written := strings.TrimRight(first, "\r") == header
	switch {
	case strings.HasPrefix(first, "weft dump ") && !written:
		return nil, fmt.Errorf("line 1: %q is not a dump this weft can read, want %q", first, header)
	case written && !p.ended:
		return nil, fmt.Errorf("line %d: cut short: no end member after %d members", p.number, p.members)
	case len(p.dump.Nodes) == 0:
		return nil, fmt.Errorf("line %d: no member like %q: %w", p.number, "-- NODE/path --", ErrNot)
	}
	p.dump.Note = note
	if written {
		p.dump.Note = rest
	}
	return p.dump, nil
}

// finish files the member that was being read.
func (p *parser) finish() error {
	if p.line == 0 {
		return nil
	}
	if p.name == "end" {
		want := fmt.Sprintf("%d members sha256 %x", p.members, p.sum.Sum(nil))
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
	if !ok || !nodeset.ValidName(node) || key == "" || !utf8.ValidString(key) {
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
