package netplan

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// kind is what a node of the tree is.
type kind int

const (
	null kind = iota
	scalar
	list
	table
)

// node is a value in the text and where it stands.
type node struct {
	kind  kind
	value string // of a scalar, without quotes
	flow  bool   // of a list or table: in brackets
	line  int    // where it begins, from 0
	col   int    // in bytes, from 0
	// Where it is in the text: of scalars on one line and of what is in brackets.
	from, to int // both 0 when it cannot be told
	last     int // of a block: the last line that is its own
	items    []item
}

// item is an element of a list, or a key with its value.
type item struct {
	key   *node // nil in a list
	colon int   // the offset after the colon
	value *node
	line  int // where the item begins: its key or its dash
	col   int
	last  int // its last line
}

// doc is a text, its lines and its tree.
type doc struct {
	text  string
	lines []string // with their ends
	root  *node    // nil when there is nothing but comments
}

func (n *node) get(key string) *item {
	if n == nil || n.kind != table {
		return nil
	}
	for i := range n.items {
		if n.items[i].key.value == key {
			return &n.items[i]
		}
	}
	return nil
}

// at returns the value of a key, nil when there is none.
func (n *node) at(key string) *node {
	if it := n.get(key); it != nil {
		return it.value
	}
	return nil
}

// str returns the scalar of a key.
func (n *node) str(key string) string {
	if v := n.at(key); v != nil && v.kind == scalar {
		return v.value
	}
	return ""
}

// read reads a text, or says what in it weft does not change.
func read(text string) (d *doc, err error) {
	// The library is a big parser and the text is a stranger's.
	defer func() {
		if r := recover(); r != nil {
			d, err = nil, fmt.Errorf("the YAML reader gave up: %v", r)
		}
	}()
	d = &doc{text: text, lines: strings.SplitAfter(text, "\n")}
	if d.lines[len(d.lines)-1] == "" {
		d.lines = d.lines[:len(d.lines)-1]
	}
	for i, line := range d.lines {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, "\t") {
			return nil, fmt.Errorf("line %d: a tab: weft does not change such a file", i+1)
		}
		if !utf8.ValidString(line) || strings.ContainsFunc(line, odd) {
			return nil, fmt.Errorf("line %d: not plain text", i+1)
		}
	}
	if err := refuse(lexer.Tokenize(text)); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, short(err)
	}
	if len(file.Docs) > 1 {
		return nil, errors.New("several documents in one file: weft does not change such a file")
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.NullType {
		return d, nil
	}
	root, err := d.node(file.Docs[0].Body)
	if err != nil {
		return nil, err
	}
	if root.kind != table {
		return nil, errors.New("line 1: not a table of keys")
	}
	d.root = root
	d.extent(root, len(d.lines)-1)
	return d, nil
}

// odd tells the characters that YAML readers treat each in their own way.
func odd(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// short is the parser's message in one line, with the line it is about.
func short(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	where, what, ok := strings.Cut(strings.TrimPrefix(text, "["), "] ")
	line, _, isPos := strings.Cut(where, ":")
	if !ok || !isPos {
		return errors.New(text)
	}
	return fmt.Errorf("line %s: %s", line, what)
}

// refuse finds what makes one part of a text depend on another, or cannot be changed in
// place.
func refuse(tokens token.Tokens) error {
	for i, t := range tokens {
		what := ""
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			what = "an anchor or alias"
		case token.TagType:
			what = "a tag"
		case token.DirectiveType:
			what = "a directive"
		case token.DocumentEndType:
			what = "the end of a document"
		case token.MappingKeyType:
			what = "a key with a question mark"
		case token.DocumentHeaderType:
			for _, before := range tokens[:i] {
				if before.Type != token.CommentType {
					what = "several documents in one file"
				}
			}
		}
		if what != "" {
			return fmt.Errorf("line %d: %s: weft does not change such a file", t.Position.Line, what)
		}
	}
	return nil
}

// offset is where a token stands: the line and the byte in it, and the byte in the text.
func (d *doc) offset(t *token.Token) (line, col, off int, err error) {
	p := t.Position
	if p == nil || p.Line < 1 || p.Line > len(d.lines) || p.Column < 1 {
		return 0, 0, 0, errors.New("a value without a place in the text")
	}
	for _, l := range d.lines[:p.Line-1] {
		off += len(l)
	}
	runes := 1
	for col = range d.lines[p.Line-1] {
		if runes == p.Column {
			return p.Line - 1, col, off + col, nil
		}
		runes++
	}
	return 0, 0, 0, fmt.Errorf("line %d: a value without a place in the text", p.Line)
}

func (d *doc) node(n ast.Node) (*node, error) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return d.table(n.Values, n.Start, n.End, n.IsFlowStyle)
	case *ast.MappingValueNode:
		return d.table([]*ast.MappingValueNode{n}, n.Start, nil, false)
	case *ast.SequenceNode:
		return d.list(n)
	case *ast.NullNode:
		t := n.Token
		line, col, off, err := d.offset(t)
		if err != nil || !strings.HasPrefix(d.text[off:], t.Value) {
			return &node{}, nil // nothing stands there
		}
		return &node{line: line, col: col, from: off, to: off + len(t.Value)}, nil
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return d.scalar(n.GetToken())
	case *ast.LiteralNode:
		line, col, _, err := d.offset(n.Start)
		return &node{kind: scalar, value: n.Value.Value, line: line, col: col}, err
	}
	return nil, fmt.Errorf("line %d: weft does not understand this part", n.GetToken().Position.Line)
}

func (d *doc) scalar(t *token.Token) (*node, error) {
	line, col, off, err := d.offset(t)
	if err != nil {
		return nil, err
	}
	n := &node{kind: scalar, value: t.Value, line: line, col: col}
	origin := strings.Trim(t.Origin, " \n")
	if origin != "" && !strings.Contains(origin, "\n") && strings.HasPrefix(d.text[off:], origin) {
		n.from, n.to = off, off+len(origin)
	}
	return n, nil
}

func (d *doc) list(s *ast.SequenceNode) (*node, error) {
	n := &node{kind: list, flow: s.IsFlowStyle}
	if err := d.bounds(n, s.Start, s.End); err != nil {
		return nil, err
	}
	for i, v := range s.Values {
		value, err := d.node(v)
		if err != nil {
			return nil, err
		}
		it := item{value: value, line: value.line, col: value.col}
		if !n.flow {
			if i >= len(s.Entries) {
				return nil, fmt.Errorf("line %d: weft does not understand this list", n.line+1)
			}
			// The dash is where the item begins.
			it.line, it.col, _, err = d.offset(s.Entries[i].Start)
			if err != nil {
				return nil, err
			}
		}
		n.items = append(n.items, it)
	}
	return n, nil
}

func (d *doc) table(values []*ast.MappingValueNode, start, end *token.Token, flow bool) (*node, error) {
	n := &node{kind: table, flow: flow}
	if err := d.bounds(n, start, end); err != nil {
		return nil, err
	}
	for i, v := range values {
		key, err := d.node(v.Key)
		if err != nil {
			return nil, err
		}
		if key.kind != scalar {
			return nil, fmt.Errorf("line %d: a key that is not a word", key.line+1)
		}
		value, err := d.node(v.Value)
		if err != nil {
			return nil, err
		}
		_, _, colon, err := d.offset(v.Start)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(d.text[colon:], ":") {
			return nil, fmt.Errorf("line %d: a key without a colon", key.line+1)
		}
		if i == 0 && !flow {
			n.line, n.col = key.line, key.col
		}
		n.items = append(n.items, item{key: key, colon: colon + 1, value: value, line: key.line, col: key.col})
	}
	return n, nil
}

// bounds tells where a list or table begins and, in brackets, ends.
func (d *doc) bounds(n *node, start, end *token.Token) (err error) {
	off := 0
	if n.line, n.col, off, err = d.offset(start); err != nil || !n.flow {
		return err
	}
	if end == nil {
		return fmt.Errorf("line %d: a bracket that is not closed", n.line+1)
	}
	_, _, to, err := d.offset(end)
	n.from, n.to = off, to+1
	return err
}

// extent tells each block where it ends: at the line before what comes next, without
// the empty lines and comments between them.
func (d *doc) extent(n *node, last int) {
	for last > 0 && d.bare(last) {
		last--
	}
	n.last = last
	for i := range n.items {
		it := &n.items[i]
		it.last = last
		if i+1 < len(n.items) {
			it.last = max(it.line, n.items[i+1].line-1)
		}
		for it.last > it.line && d.bare(it.last) {
			it.last--
		}
		d.extent(it.value, it.last)
	}
}

// bare tells whether a line holds nothing, or nothing but a comment.
func (d *doc) bare(line int) bool {
	s := strings.Trim(d.lines[line], " \n")
	return s == "" || s[0] == '#'
}
