package trial

import (
	"cmp"
	"math"
	"slices"
)

// tails is how heavy the tails of noise are: degrees of freedom of Student's distribution.
// Four lets one run in a hundred be five standard deviations off, as busy hosts do.
const tails = 4

// odd is how unlikely a run is that is x off, as a logarithm.
func (m *mesh) odd(x float64) float64 {
	x /= m.sigma
	return (tails + 1) / 2.0 * math.Log1p(x*x/tails)
}

// worth is how much likelier the runs of a tie are when it is worse by size at least:
// something else may have made it worse still.
func (m *mesh) worth(t *tie, size float64) (w float64) {
	level := m.levels[t.like]
	for _, r := range t.runs {
		w += m.odd(r-level) - m.odd(min(0, r-level-size))
	}
	return w
}

// low reports whether a tie is bad enough to be looked at.
func (m *mesh) low(t *tie) bool { return t.e > 0.6*m.least }

// against is how unlikely a tie must be with a blame to speak against it.
const against = -2

// weigh works out gain, which is less than zero when ties speak against the claim.
func (m *mesh) weigh(c *claim, explained []bool, room []float64) {
	c.gain, c.sizes, c.stale = -1, c.sizes[:0], false
	total, free, runs := 0.0, 0, 0
	smallest := math.Inf(1)
	own := make([]int, m.likes)
	for _, part := range c.parts {
		room = room[:0]
		bad := 0
		for _, i := range part {
			if explained[i] {
				continue
			}
			room = append(room, m.ties[i].e)
			if m.low(&m.ties[i]) {
				bad++
			}
		}
		if len(room) == 0 || 2*bad < len(room) { // a claim without the part says the same
			return
		}
		slices.Sort(room)
		size := room[(len(room)-1)/3] // two thirds are as bad, or worse
		if size < m.least || !c.alone && !m.partners(c, part, size, explained) {
			return
		}
		contra := 0
		for _, i := range part {
			if explained[i] {
				continue
			}
			t := &m.ties[i]
			w := m.worth(t, size)
			if w < against || bestRun(c, t)-m.levels[t.like] < m.always(c, size) {
				contra++
			}
			total += w
			runs += len(t.runs)
			own[t.like] += len(t.runs)
		}
		if float64(contra) > m.contra*float64(len(room)) {
			return
		}
		free += len(room)
		smallest = min(smallest, size)
		c.sizes = append(c.sizes, size)
	}
	if c.kind == "pair" && !m.apart(c, explained) {
		return
	}
	if free == 0 || m.careful > 0 && !m.sure(smallest, runs, own) {
		return
	}
	c.gain = total - c.cost
}

// always is how bad the best run of a tie must be: what is wrong is wrong every time, what
// disturbs is not. Of cards' pairs no run is good.
func (m *mesh) always(c *claim, size float64) float64 {
	if c.kind == "pair" && !m.noisy && !m.whole {
		return m.least
	}
	return size / 3
}

// manyRuns is from how many runs on one may be lucky: a link that loses packets now and
// then loses none.
const manyRuns = 4

// bestRun is how bad the best run of a tie was that counts: of many the second, except
// where a pair is accused, for which nobody else speaks.
func bestRun(c *claim, t *tie) float64 {
	if c.kind == "pair" || len(t.runs) < manyRuns {
		return slices.Min(t.runs)
	}
	return slices.Sorted(slices.Values(t.runs))[1]
}

// sure reports whether a worsening is more than the runs that tell it, and those that it is
// held against, may have given by chance.
func (m *mesh) sure(size float64, runs int, own []int) bool {
	others := -runs
	for g, n := range own {
		if n > 0 {
			others += m.left[g]
		}
	}
	if others <= 0 {
		return false
	}
	// The median of normal noise is 1.25 times as uncertain as its mean.
	err := 1.25 * m.sigma * math.Sqrt(1/float64(runs)+1/float64(others))
	return size-m.careful*err >= m.least/2
}

// apart reports whether each end of a pair is good with somebody else, or has nobody else:
// one that is bad with everybody is bad itself.
func (m *mesh) apart(c *claim, explained []bool) bool {
	t := &m.ties[c.parts[0][0]]
	for _, e := range []int32{t.a, t.b} {
		others, good := false, false
		for _, list := range [][]int32{m.from[e], m.to[e]} {
			for _, i := range list {
				if o := &m.ties[i]; o.other(e) != t.other(e) && !explained[i] {
					others, good = true, good || o.e < m.least
				}
			}
		}
		if others && !good {
			return false
		}
	}
	return true
}

// partners reports whether a part of a claim is bad with at least two other nodes: with one
// alone it is that pair.
func (m *mesh) partners(c *claim, part []int32, size float64, explained []bool) bool {
	first := int32(-1)
	for _, i := range part {
		t := &m.ties[i]
		if t.e < size/2 || explained[i] {
			continue
		}
		node := m.nodes.of[t.b]
		if c.self >= 0 {
			node = m.nodes.of[t.other(c.self)]
		}
		switch {
		case first < 0:
			first = node
		case node != first, c.self < 0 && m.nodes.of[t.a] != first:
			return true
		}
	}
	return false
}

// explain takes the claim that explains most, then the one that explains most of the rest,
// until none is likely enough. What is explained speaks neither for nor against others: two
// faults on one path do not add up.
func (m *mesh) explain() (faults []*claim, explained []bool) {
	explained = make([]bool, len(m.ties))
	if !slices.ContainsFunc(m.ties, func(t tie) bool { return m.low(&t) }) {
		return nil, explained
	}
	m.left = make([]int, m.likes)
	for i := range m.ties {
		m.left[m.ties[i].like] += len(m.ties[i].runs)
	}
	all := m.claims()
	room := make([]float64, 0, len(m.ties))
	for _, c := range all {
		m.weigh(c, explained, room)
	}
	for {
		var best *claim
		for _, c := range all {
			if c.gain >= m.accept && (best == nil || better(c, best) < 0) {
				best = c
			}
		}
		if best == nil {
			return faults, explained
		}
		if best.stale {
			m.weigh(best, explained, room)
			continue
		}
		m.widen(best, explained)
		faults = append(faults, best)
		for _, part := range best.parts {
			for _, i := range part {
				if t := &m.ties[i]; !explained[i] {
					explained[i] = true
					m.left[t.like] -= len(t.runs)
				}
			}
		}
		for _, c := range all {
			c.stale = true
		}
		best.gain = -1
	}
}

// widen makes what is bad in one direction bad in both when the other looks so too: for
// itself it may be too noisy to say.
func (m *mesh) widen(c *claim, explained []bool) {
	if c.way == "" {
		return
	}
	var back []int32
	switch {
	case c.kind == "pair":
		t := &m.ties[c.parts[0][0]]
		for _, i := range m.from[t.b] {
			if m.ties[i].b == t.a {
				back = append(back, i)
			}
		}
	case c.kind == "port" && c.way == sending:
		back = m.to[c.self]
	case c.kind == "port":
		back = m.from[c.self]
	}
	var sizes []float64
	for _, i := range back {
		if !explained[i] {
			sizes = append(sizes, m.ties[i].e)
		}
	}
	if len(sizes) == 0 {
		return
	}
	slices.Sort(sizes)
	size, w := sizes[(len(sizes)-1)/3], 0.0
	for _, i := range back {
		if !explained[i] {
			w += m.worth(&m.ties[i], size)
		}
	}
	if size >= m.least && w > 0 {
		c.way, c.parts, c.sizes = "", append(slices.Clip(c.parts), back), append(c.sizes, size)
	}
}

func better(a, b *claim) int {
	if math.Abs(a.gain-b.gain) < 1e-6 {
		return cmp.Compare(a.rank, b.rank)
	}
	return cmp.Compare(b.gain, a.gain)
}

func sortedPairs(pairs map[[2]int32][]int32) [][2]int32 {
	keys := make([][2]int32, 0, len(pairs))
	for k := range pairs {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return keys
}
