package netplan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// splice replaces one piece of a text.
type splice struct {
	from, to int
	text     string
}

// apply makes the changes of one pass.
func (d *doc) apply(all []splice) (string, error) {
	slices.SortStableFunc(all, func(a, b splice) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, s := range all {
		if s.from < at || s.to < s.from || s.to > len(d.text) {
			return "", errors.New("two changes of one place")
		}
		b.WriteString(d.text[at:s.from])
		b.WriteString(s.text)
		at = s.to
	}
	return b.String() + d.text[at:], nil
}

// start is the offset at which a line begins.
func (d *doc) start(line int) (off int) {
	for _, l := range d.lines[:line] {
		off += len(l)
	}
	return off
}

// after puts lines after a line. A last line without an end stays without one.
func (d *doc) after(line int, add []string) []splice {
	off := d.start(line + 1)
	text := strings.Join(add, "\n")
	if strings.HasSuffix(d.lines[line], "\n") {
		return []splice{{off, off, text + "\n"}}
	}
	return []splice{{off, off, "\n" + text}}
}

// drop removes lines, but for those that are comments.
func (d *doc) drop(first, last int) (out []splice) {
	for i := first; i <= last; i++ {
		if d.bare(i) {
			continue
		}
		from, to := d.start(i), d.start(i+1)
		if !strings.HasSuffix(d.lines[i], "\n") && i > 0 {
			from-- // the end of the line before
		}
		out = append(out, splice{from, to, ""})
	}
	return out
}

// replace puts a word in the place of a scalar, in the same quotes.
func (d *doc) replace(n *node, word string) ([]splice, error) {
	if n.to == 0 {
		return nil, fmt.Errorf("line %d: a value of several lines: weft does not change it", n.line+1)
	}
	if q := d.text[n.from]; q == '"' || q == '\'' {
		word = string(q) + strings.Trim(word, `"`) + string(q)
	}
	return []splice{{n.from, n.to, word}}, nil
}

// step is by how many columns a level is indented in this text.
func (d *doc) step() int {
	if net := d.root.at("network"); net != nil && net.kind == table && !net.flow && net.col > 0 {
		return net.col
	}
	return 2
}

// dashes is by how many columns the dashes of a list are indented in this text.
func (d *doc) dashes() int {
	var find func(n *node) (int, bool)
	find = func(n *node) (int, bool) {
		for _, it := range n.items {
			if it.key != nil && it.value.kind == list && !it.value.flow && len(it.value.items) > 0 {
				return it.value.items[0].col - it.col, true
			}
			if by, ok := find(it.value); ok {
				return by, ok
			}
		}
		return 0, false
	}
	if by, ok := find(d.root); ok {
		return by
	}
	return d.step()
}

// part is what is added: a word, a list of parts or a table of parts.
type part struct {
	word  string
	items []part
	keys  []string // of a table, as many as items
}

// inline is a part in brackets.
func (p part) inline() string {
	if p.items == nil {
		return p.word
	}
	var all []string
	for i, it := range p.items {
		if p.keys != nil {
			all = append(all, p.keys[i]+": "+it.inline())
		} else {
			all = append(all, it.inline())
		}
	}
	if p.keys != nil {
		return "{" + strings.Join(all, ", ") + "}"
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// block is a key with a part in lines of their own.
func (d *doc) block(col int, key string, p part) []string {
	pad := strings.Repeat(" ", col)
	if p.items == nil {
		if p.word == "" {
			return []string{pad + key + ":"}
		}
		return []string{pad + key + ": " + p.word}
	}
	out := []string{pad + key + ":"}
	for i, it := range p.items {
		if p.keys != nil {
			out = append(out, d.block(col+d.step(), p.keys[i], it)...)
		} else {
			out = append(out, d.dash(col+d.dashes(), it)...)
		}
	}
	return out
}

// dash is an element of a list in lines of its own.
func (d *doc) dash(col int, p part) (out []string) {
	pad := strings.Repeat(" ", col)
	if p.keys == nil {
		return []string{pad + "- " + p.inline()}
	}
	for i, key := range p.keys {
		lead := pad + "  "
		if i == 0 {
			lead = pad + "- "
		}
		out = append(out, lead+key+": "+p.items[i].inline())
	}
	return out
}

// addKey adds a key to the table that is the value of an item.
func (d *doc) addKey(to *item, key string, p part) ([]splice, error) {
	t := to.value
	switch {
	case t.kind == null && t.to == 0 && to.key != nil:
		return d.after(to.line, d.block(to.col+d.step(), key, p)), nil
	case t.kind != table:
		return nil, fmt.Errorf("line %d: %s holds no keys", to.line+1, to.key.value)
	case !t.flow:
		return d.after(t.last, d.block(t.col, key, p)), nil
	}
	if p.items == nil && p.word == "" {
		p.word = "{}"
	}
	return d.addFlow(t, key+": "+p.inline())
}

// addItem adds an element to a list.
func (d *doc) addItem(l *node, p part) ([]splice, error) {
	if !l.flow && len(l.items) > 0 {
		return d.after(l.last, d.dash(l.items[0].col, p)), nil
	}
	return d.addFlow(l, p.inline())
}

// addFlow adds to what is in brackets.
func (d *doc) addFlow(n *node, text string) ([]splice, error) {
	if len(n.items) == 0 {
		return []splice{{n.from + 1, n.from + 1, text}}, nil
	}
	end := n.items[len(n.items)-1].value.to
	if end == 0 {
		return nil, fmt.Errorf("line %d: the end of this value cannot be told", n.line+1)
	}
	return []splice{{end, end, ", " + text}}, nil
}

// remove removes an element or a key. The only one leaves empty brackets behind.
func (d *doc) remove(of *item, i int) ([]splice, error) {
	n := of.value
	it := n.items[i]
	if !n.flow {
		if len(n.items) > 1 {
			if i == 0 && d.start(it.line) < d.start(n.line) {
				return nil, fmt.Errorf("line %d: weft does not remove this", it.line+1)
			}
			return d.drop(it.line, it.last), nil
		}
		brackets := " {}"
		if n.kind == list {
			brackets = " []"
		}
		return append(d.drop(it.line, it.last), splice{of.colon, of.colon, brackets}), nil
	}
	from, to := it.value.from, it.value.to
	if it.key != nil {
		from = it.key.from
	}
	switch {
	case i+1 < len(n.items) && n.items[i+1].key != nil:
		to = n.items[i+1].key.from
	case i+1 < len(n.items):
		to = n.items[i+1].value.from
	case i > 0:
		from = n.items[i-1].value.to
	}
	if from == 0 || to <= from || strings.Contains(d.text[from:to], "#") {
		return nil, fmt.Errorf("line %d: weft does not remove this", it.line+1)
	}
	return []splice{{from, to, ""}}, nil
}
