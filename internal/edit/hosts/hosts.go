// Package hosts writes weft's block of /etc/hosts. Pure: text in, text out.
package hosts

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Name is a name and the address that it should have.
type Name struct {
	Name string
	Addr netip.Addr
}

// Line is a line that weft did not write, and what it says.
type Line struct {
	Num   int // from 1
	Text  string
	Addr  string
	Names []string
}

const (
	begin = "# weft: begin"
	end   = "# weft: end"
)

// plain is what a name may be: nothing that ends a word, a line or a comment.
var plain = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]{0,252}[A-Za-z0-9_])?$`)

// Set makes weft's block hold these names and no others, in this order; without names
// there is no block. Every other byte stays. The block stands where it stood, else at
// the end: whoever reads the file takes the first line that has a name, so that what a
// person wrote goes before it.
func Set(text string, names []Name) (string, error) {
	before, after, err := cut(text)
	if err != nil {
		return "", err
	}
	block := ""
	for _, n := range names {
		if !plain.MatchString(n.Name) {
			return "", fmt.Errorf("%q: no name of a host", n.Name)
		}
		if !n.Addr.IsValid() || n.Addr.Zone() != "" {
			return "", fmt.Errorf("%s: no address", n.Name)
		}
		block += n.Addr.Unmap().String() + " " + n.Name + "\n"
	}
	if block != "" {
		block = begin + "\n" + block + end + "\n"
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
	}
	return before + block + after, nil
}

// Others returns the lines outside weft's block that give one of the names another
// address than the names here do.
func Others(text string, names []Name) ([]Line, error) {
	before, after, err := cut(text)
	if err != nil {
		return nil, err
	}
	skip := strings.Count(text, "\n") - strings.Count(after, "\n")
	var out []Line
	for i, part := range []string{before, after} {
		num := i * skip
		for s := range strings.Lines(part) {
			num++
			l := read(s)
			l.Num = num
			if slices.ContainsFunc(names, func(n Name) bool { return l.gives(n) }) {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// gives reports whether the line gives a name another address. Names have no case
// (RFC 1123, 2.1).
func (l Line) gives(n Name) bool {
	a, err := netip.ParseAddr(l.Addr)
	return slices.ContainsFunc(l.Names, func(s string) bool { return strings.EqualFold(s, n.Name) }) && (err != nil || a.Unmap() != n.Addr.Unmap())
}

func read(s string) Line {
	l := Line{Text: strings.TrimSpace(s)}
	words, _, _ := strings.Cut(s, "#")
	f := strings.Fields(words)
	if len(f) > 1 {
		l.Addr, l.Names = f[0], f[1:]
	}
	return l
}

// cut parts the text at weft's block, which is gone then.
func cut(text string) (before, after string, err error) {
	at, from, to := 0, -1, -1
	num := 0
	for s := range strings.Lines(text) {
		num++
		switch strings.TrimSpace(s) {
		case begin:
			if from >= 0 {
				return "", "", fmt.Errorf("line %d: %q for the second time", num, begin)
			}
			from = at
		case end:
			if from < 0 || to >= 0 {
				return "", "", fmt.Errorf("line %d: %q ends nothing", num, end)
			}
			to = at + len(s)
		}
		at += len(s)
	}
	switch {
	case from < 0:
		return text, "", nil
	case to < 0:
		return "", "", fmt.Errorf("%q has no %q", begin, end)
	}
	return text[:from], text[to:], nil
}
