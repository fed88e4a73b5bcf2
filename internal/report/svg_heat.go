package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/trial"
)

// How large a heat map may be: with numbers, and as an image of squares. A report holds
// at most mostHeat bytes of squares in all: what is beyond is told by its worst cells.
const (
	mostHeatNumbers = 16
	mostHeatEnds    = 256
	mostHeat        = 1 << 20
	mostWorst       = 8
)

// heatmap is the numbers of one trial over one rail.
type heatmap struct {
	Title  string // "mlx5_0/1, Gb/s, from the row's node to the column's"
	Foot   string
	Head   []string // names of the columns
	Full   []string // the same, whole
	Rows   []heatRow
	Map    *heatImage
	Worst  []heatWorst
	TooBig bool
}

type heatRow struct {
	Name  string
	Cells []heatCell
}

type heatCell struct{ Class, Text, Title string }

// heatImage is a square for each pair, drawn as lines of one colour after another.
type heatImage struct {
	N      int
	Label  string
	Layers []heatLayer
	Ticks  []heatTick
}

type heatLayer struct{ Class, D string }

type heatTick struct {
	At   float64 // the base line of the name
	Size float64 // of its letters
	X    float64
	Name string
}

// Box has room for the names on the left.
func (h heatImage) Box() string {
	n := float64(h.N)
	return fmt.Sprintf("%.1f -1 %.1f %.1f", -0.22*n, 1.22*n+1, n+2)
}

type heatWorst struct{ Class, Pair, Got, Want, Why string }

// heatmaps makes one for each rail. left is how many bytes of squares there may still be.
func heatmaps(t trial.Trial, cells []trial.Cell, left *int) (list []heatmap) {
	for _, m := range matrices(t, cells) {
		s := scaleOf(m)
		port := m.port()
		h := heatmap{Title: strings.TrimPrefix(after(", ", port)+", "+s.name+after(", ", m.directions()), ", ")}
		var foot strings.Builder
		m.foot(&foot, Options{}, s)
		h.Foot = strings.TrimSpace(foot.String())
		ref := m.middle()
		switch {
		case len(m.ends) <= mostHeatNumbers:
			m.heatTable(&h, s, ref, port == "")
		case len(m.ends) <= mostHeatEnds && *left > 0:
			h.Map = m.heatImage(ref)
			for _, l := range h.Map.Layers {
				*left -= len(l.D)
			}
			h.Worst = m.worstCells(s)
		default:
			h.TooBig = true
			h.Worst = m.worstCells(s)
		}
		list = append(list, h)
	}
	return list
}

// middle is the median of a matrix, for cells that nothing else is expected of.
func (m *matrix) middle() trial.Amount {
	var got []trial.Amount
	for p, c := range m.cells {
		if g, ok := c.Got.Get(); ok && p.B.Node != "" {
			got = append(got, g)
		}
	}
	if len(got) == 0 {
		return 0
	}
	slices.Sort(got)
	return got[len(got)/2]
}

// heatClass is the colour of a cell: what is bad has its own, the others are the fuller
// the nearer they are to what they are held against.
func heatClass(t trial.Trial, c trial.Cell, middle trial.Amount) string {
	got, ok := c.Got.Get()
	switch {
	case !ok && c.Skipped:
		return "skip"
	case c.Status == check.Fail:
		return "fail"
	case !ok:
		return "none"
	case c.Status == check.Warn:
		return "warn"
	}
	ref := float64(c.Want.Or(c.Best.Or(middle)))
	if ref <= 0 || got <= 0 {
		return "h1"
	}
	share := float64(got) / ref
	if !t.Unit.More() {
		share = 1 / share
	}
	for i, least := range []float64{0.95, 0.85, 0.7, 0.4} {
		if share >= least {
			return fmt.Sprintf("h%d", 5-i)
		}
	}
	return "h1"
}

func (m *matrix) heatTable(h *heatmap, s scale, middle trial.Amount, ports bool) {
	name := func(e trial.End) string {
		if ports {
			return e.String()
		}
		return e.Node
	}
	for _, e := range m.ends {
		h.Full = append(h.Full, name(e))
		h.Head = append(h.Head, fit(name(e), 92, 12))
	}
	for _, from := range m.ends {
		row := heatRow{Name: name(from)}
		for _, to := range m.ends {
			c, ok := m.cells[trial.Pair{A: from, B: to}]
			cell := heatCell{Class: "self", Text: "·"}
			switch got, known := c.Got.Get(); {
			case from == to || !ok:
			case known:
				cell = heatCell{Class: heatClass(m.trial, c, middle), Text: s.number(got) + marks[c.Status]}
			case c.Skipped:
				cell = heatCell{Class: "skip", Text: "skip"}
			default:
				cell = heatCell{Class: heatClass(m.trial, c, middle), Text: "none"}
			}
			if ok && from != to && c.Status != check.Pass {
				cell.Title = cellTitle(m.trial, c)
			}
			row.Cells = append(row.Cells, cell)
		}
		h.Rows = append(h.Rows, row)
	}
}

// cellTitle says all about a cell that is not simply good.
func cellTitle(t trial.Trial, c trial.Cell) string {
	s := c.A.String() + " → " + c.B.String() + ": "
	if got, ok := c.Got.Get(); ok {
		s += t.Unit.Text(got) + after(" of ", want(t, c))
	} else {
		s += "no number"
	}
	return s + after("; ", cmp.Or(c.Why, c.Missing)) + after("; ", c.Limiter)
}

// heatImage draws the matrix.
func (m *matrix) heatImage(middle trial.Amount) *heatImage {
	count := map[string]int{}
	img := imageOf(len(m.ends), func(y, x int) string {
		class := m.classAt(m.ends[y], m.ends[x], middle)
		count[class]++
		return class
	}, func(i int) string { return m.ends[i].Node })
	img.Label = fmt.Sprintf("%s among %d ends: %d far less than expected, %d less, %d without a number", m.trial.ID, len(m.ends), count["fail"], count["warn"], count["none"])
	return img
}

// imageOf draws n lines of n squares: a stroke for every run of one colour, which a
// report of many nodes has room for.
func imageOf(n int, classAt func(y, x int) string, name func(i int) string) *heatImage {
	img := &heatImage{N: n}
	layers := map[string]*strings.Builder{}
	for y := range n {
		class, from := "", 0
		for x := 0; x <= n; x++ {
			next := ""
			if x < n {
				next = classAt(y, x)
			}
			if x < n && next == class {
				continue
			}
			if class != "" {
				if layers[class] == nil {
					layers[class] = &strings.Builder{}
				}
				fmt.Fprintf(layers[class], "M%d %d.5h%d", from, y, x-from)
			}
			class, from = next, x
		}
	}
	for _, class := range []string{"h5", "h4", "h3", "h2", "h1", "skip", "none", "warn", "fail"} {
		if b := layers[class]; b != nil {
			img.Layers = append(img.Layers, heatLayer{class, b.String()})
		}
	}
	step := 16
	for n/step > 12 {
		step *= 2
	}
	for i := 0; i < n; i += step {
		img.Ticks = append(img.Ticks, heatTick{float64(i) + float64(n)/50, float64(n) / 40, -float64(n) / 80, fit(name(i), 80, 12)})
	}
	return img
}

func (m *matrix) classAt(from, to trial.End, middle trial.Amount) string {
	c, ok := m.cells[trial.Pair{A: from, B: to}]
	if !ok || from == to {
		return ""
	}
	return heatClass(m.trial, c, middle)
}

// worstCells are those that most need a look: without a number, then the furthest from
// what they should be.
func (m *matrix) worstCells(s scale) (list []heatWorst) {
	type bad struct {
		c     trial.Cell
		share float64
	}
	var all []bad
	for p, c := range m.cells {
		if p.B.Node == "" || p != c.Pair || (c.Status != check.Fail && c.Status != check.Warn) {
			continue
		}
		got, ref := float64(c.Got.Or(0)), float64(c.Want.Or(c.Best.Or(1)))
		share := got / max(ref, 1)
		if !m.trial.Unit.More() && got > 0 {
			share = ref / got
		}
		all = append(all, bad{c, share})
	}
	slices.SortFunc(all, func(a, b bad) int {
		return cmp.Or(cmp.Compare(b.c.Status, a.c.Status), cmp.Compare(a.share, b.share), natural(a.c.A.Node, b.c.A.Node), natural(a.c.B.Node, b.c.B.Node), strings.Compare(a.c.A.Port+a.c.B.Port, b.c.A.Port+b.c.B.Port))
	})
	for i, b := range all {
		if i == mostWorst {
			list = append(list, heatWorst{Pair: fmt.Sprintf("… and %d more", len(all)-i)})
			break
		}
		got := "none"
		if g, ok := b.c.Got.Get(); ok {
			got = m.trial.Unit.Text(g)
		}
		list = append(list, heatWorst{b.c.Status.String(), b.c.A.String() + " → " + b.c.B.String(), got, want(m.trial, b.c), cmp.Or(b.c.Why, b.c.Missing, b.c.Limiter)})
	}
	return list
}
