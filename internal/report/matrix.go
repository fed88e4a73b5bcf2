package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/nodeset"
	"weft/internal/trial"
	"weft/internal/unit"
)

// How large a matrix may be: with numbers, and with one letter a cell.
const (
	mostNumbers = 16
	mostLetters = 64
)

// matrix is the cells among ends that reach each other: one rail.
type matrix struct {
	trial trial.Trial
	ends  []trial.End
	cells map[trial.Pair]trial.Cell
}

func writeMatrices(b *strings.Builder, o Options, t trial.Trial, cells []trial.Cell) {
	for _, m := range matrices(t, cells) {
		port := m.port()
		scale := scaleOf(m)
		fmt.Fprintf(b, "  %s\n", strings.TrimPrefix(after(", ", port)+", "+scale.name+after(", ", m.directions()), ", "))
		switch {
		case len(m.ends) <= mostNumbers:
			m.numbers(b, o, scale, port == "")
		case len(m.ends) <= mostLetters:
			m.letters(b, o)
		default:
			m.worst(b, scale)
		}
		m.foot(b, o, scale)
	}
}

// matrices parts cells into sets of ends that are linked by them.
func matrices(t trial.Trial, cells []trial.Cell) []*matrix {
	group := map[trial.End]trial.End{}
	var root func(e trial.End) trial.End
	root = func(e trial.End) trial.End {
		up, ok := group[e]
		if !ok || up == e {
			return e
		}
		group[e] = root(up)
		return group[e]
	}
	for _, c := range cells {
		a, b := root(c.A), root(c.B)
		group[c.A], group[c.B] = a, a
		group[b], group[a] = a, a
	}
	at := map[trial.End]*matrix{}
	var all []*matrix
	for _, c := range cells {
		m := at[root(c.A)]
		if m == nil {
			m = &matrix{trial: t, cells: map[trial.Pair]trial.Cell{}}
			at[root(c.A)] = m
			all = append(all, m)
		}
		for _, e := range []trial.End{c.A, c.B} {
			if _, ok := m.cells[trial.Pair{A: e}]; !ok {
				m.cells[trial.Pair{A: e}] = trial.Cell{} // seen
				m.ends = append(m.ends, e)
			}
		}
		m.cells[c.Pair] = c
		if !t.Both {
			m.cells[c.Turned()] = c
		}
	}
	for _, m := range all {
		slices.SortFunc(m.ends, func(a, b trial.End) int { return cmp.Or(natural(a.Node, b.Node), strings.Compare(a.Port, b.Port)) })
	}
	slices.SortFunc(all, func(a, b *matrix) int { return strings.Compare(a.ends[0].String(), b.ends[0].String()) })
	return all
}

// natural orders gpu2 before gpu10.
func natural(a, b string) int {
	folded := func(s string) string {
		i := strings.IndexFunc(s, func(r rune) bool { return r >= '0' && r <= '9' })
		if i < 0 {
			return s
		}
		return s[:i] + fmt.Sprintf("%08s", s[i:])
	}
	return strings.Compare(folded(a), folded(b))
}

// port is the port that all ends have; "" when they differ.
func (m *matrix) port() string {
	for _, e := range m.ends {
		if e.Port != m.ends[0].Port {
			return ""
		}
	}
	return clean(m.ends[0].Port)
}

func (m *matrix) directions() string {
	if m.trial.Both {
		return "from the row's node to the column's"
	}
	return ""
}

// scale is one unit for a whole matrix.
type scale struct {
	name   string
	per    float64
	digits int
}

func scaleOf(m *matrix) scale {
	var most trial.Amount
	for _, c := range m.cells {
		most = max(most, c.Got.Or(0))
	}
	switch {
	case m.trial.Unit == trial.Bytes:
		return scale{"bytes", 1, 0}
	case m.trial.Unit == trial.Nanoseconds && most >= 100_000:
		return scale{"ms", 1e6, 2}
	case m.trial.Unit == trial.Nanoseconds:
		return scale{"µs", 1e3, 2}
	case unit.Rate(most) >= unit.Gbps:
		return scale{"Gb/s", 1e9, 1}
	}
	return scale{"Mb/s", 1e6, 0}
}

func (s scale) number(a trial.Amount) string {
	return fmt.Sprintf("%.*f", s.digits, float64(a)/s.per)
}

// marks stand after a number, so that colour only repeats what is written.
var marks = map[check.Status]string{check.Fail: "!", check.Warn: "~"}

// numbers writes the matrix with one number a cell.
func (m *matrix) numbers(b *strings.Builder, o Options, s scale, ports bool) {
	name := func(e trial.End) string {
		if ports {
			return clean(e.String())
		}
		return clean(e.Node)
	}
	head, width := 0, 5
	for _, e := range m.ends {
		head = max(head, len(name(e)))
		width = max(width, min(len(name(e)), 9))
	}
	for _, c := range m.cells {
		if got, ok := c.Got.Get(); ok {
			width = max(width, len(s.number(got))+1)
		}
	}
	fmt.Fprintf(b, "    %*s", head, "")
	for i, e := range m.ends {
		title := name(e)
		if len(title) > width {
			title = fmt.Sprintf("#%d", i+1)
		}
		fmt.Fprintf(b, "  %*s", width, title)
	}
	b.WriteString("\n")
	for _, from := range m.ends {
		fmt.Fprintf(b, "    %-*s", head, name(from))
		for _, to := range m.ends {
			c, ok := m.cells[trial.Pair{A: from, B: to}]
			text := "·"
			switch got, known := c.Got.Get(); {
			case from == to || !ok:
			case known:
				text = s.number(got) + marks[c.Status]
			case c.Skipped:
				text = "skip"
			default:
				text = "none"
			}
			fmt.Fprintf(b, "  %s", heat(o, c, ok && from != to, fmt.Sprintf("%*s", width, text)))
		}
		b.WriteString("\n")
	}
}

// heat colours a cell: the further from what it should be, the warmer.
func heat(o Options, c trial.Cell, there bool, text string) string {
	code := map[check.Status]string{check.Fail: "41", check.Warn: "43;30", check.Pass: "42;30"}[c.Status]
	switch {
	case !there:
		return text
	case !c.Got.Known() && !c.Skipped:
		code = "45"
	}
	return tint(o.Colour && code != "", code, text)
}

// letters writes the matrix with one letter a cell.
func (m *matrix) letters(b *strings.Builder, o Options) {
	for i, from := range m.ends {
		fmt.Fprintf(b, "    %3d ", i+1)
		for _, to := range m.ends {
			c, ok := m.cells[trial.Pair{A: from, B: to}]
			letter := "."
			switch {
			case from == to || !ok:
			case !c.Got.Known():
				letter = "-"
			case c.Status == check.Fail, c.Status == check.Warn:
				letter = marks[c.Status]
			default:
				letter = "o"
			}
			b.WriteString(heat(o, c, ok && from != to, letter))
		}
		fmt.Fprintf(b, "  %s\n", clean(from.String()))
	}
	b.WriteString("    o good or measured, ~ less than it should be, ! far less, - no number, . not measured\n")
}

// worst lists who has bad cells, for matrices that no terminal holds.
func (m *matrix) worst(b *strings.Builder, s scale) {
	bad := map[string]int{}
	for p, c := range m.cells {
		if p.B.Node != "" && (c.Status == check.Fail || c.Status == check.Warn) {
			bad[p.A.Node]++
		}
	}
	by := map[int][]string{}
	for n, k := range bad {
		by[k] = append(by[k], n)
	}
	for _, k := range slices.Sorted(func(yield func(int) bool) {
		for k := range by {
			if !yield(-k) {
				return
			}
		}
	}) {
		slices.Sort(by[-k])
		fmt.Fprintf(b, "    %s bad: %s\n", plural(-k, "cell"), clean(nodeset.Fold(by[-k])))
	}
}

// foot says best and worst, and what they are held against.
func (m *matrix) foot(b *strings.Builder, o Options, s scale) {
	var got []trial.Amount
	wants, whys := map[string]string{}, map[string]string{}
	add := func(to map[string]string, p trial.Pair, number, limiter string) {
		what := number + limiter
		for _, e := range []trial.End{p.A, p.B} { // the same of many ports is one thing
			limiter = strings.Replace(limiter, " of "+e.Node+" "+e.Port, "", 1)
		}
		if had, ok := to[number+limiter]; ok && had != what {
			what = number + limiter
		}
		to[number+limiter] = what
	}
	for p, c := range m.cells {
		if g, ok := c.Got.Get(); ok && p.B.Node != "" {
			got = append(got, g)
			if w, ok := c.Want.Get(); ok {
				add(wants, p, s.number(w), after(": ", c.Limiter))
			} else if why := cmp.Or(c.Limiter, c.Why); why != "" && c.Status == check.Unknown {
				add(whys, p, "", why)
			}
		}
	}
	if len(got) == 0 {
		return
	}
	slices.Sort(got)
	line := fmt.Sprintf("lowest %s, median %s, highest %s", s.number(got[0]), s.number(got[len(got)/2]), s.number(got[len(got)-1]))
	for _, set := range []struct {
		word string
		of   map[string]string
	}{{"; expected ", wants}, {"; nothing to expect: ", whys}} {
		all := slices.Sorted(maps.Values(set.of))
		if len(all) > 3 {
			all = append(all[:3], fmt.Sprintf("and %d more", len(all)-3))
		}
		if len(all) > 0 {
			line += set.word + strings.Join(all, "; ")
		}
	}
	fmt.Fprintf(b, "    %s\n", wrap(clean(line), o.Width, 4))
}
