package trial

import (
	"math"
	"slices"
)

// firstLevels guesses how bad good ties of each kind are. A bad port of four spoils half of
// all ties, so their median says nothing: of every end the better quarter of what it sends
// is taken, and of these the middle of the better half of ends. Half of the ends may be bad.
func (m *mesh) firstLevels() []float64 {
	best := make([][]float64, m.likes)
	own := make([][]float64, m.likes)
	for e := range m.ends {
		list := m.from[e]
		if !m.directed {
			list = m.touching(int32(e))
		}
		for _, i := range list {
			t := &m.ties[i]
			own[t.like] = append(own[t.like], middle(t.runs))
		}
		for g := range own {
			if len(own[g]) > 0 {
				slices.Sort(own[g])
				best[g] = append(best[g], own[g][(len(own[g])-1)/4])
				own[g] = own[g][:0]
			}
		}
	}
	levels := make([]float64, m.likes)
	for g, x := range best {
		if len(x) > 0 {
			slices.Sort(x)
			levels[g] = median(x[:(len(x)+1)/2])
		}
	}
	return levels
}

// spread is how much one run of a good tie differs from another, as a standard deviation of
// logarithms. Faults must not look like noise, so it is taken from what they leave alone;
// 0 where nothing tells it.
func (m *mesh) spread() float64 {
	if s := m.spreadOfRuns(); s > 0 {
		return s
	}
	square, side := m.spreadOfSquares(), m.spreadOfBest()
	switch {
	case square > 0 && side > 0:
		return min(square, side)
	case square > 0:
		return square
	}
	return side
}

// normal makes a standard deviation of a median of absolute values.
const normal = 1.4826

// fewRuns is how many differences between runs weigh as much as what is usual.
const fewRuns = 4

// spreadOfRuns is that between the runs of the same ties, and while there are few of them
// rather what is usual.
func (m *mesh) spreadOfRuns() float64 {
	var d []float64
	for i := range m.ties {
		runs := m.ties[i].runs
		for k := 1; k < len(runs); k++ {
			d = append(d, math.Abs(runs[k]-runs[k-1]))
		}
	}
	if len(d) < fewRuns {
		return 0
	}
	n, s := float64(len(d)), normal*median(d)/math.Sqrt2
	return math.Sqrt((fewRuns*m.usual*m.usual + n*s*s) / (fewRuns + n))
}

// spreadOfSquares is that left in a→c, a→d, b→c, b→d when what a, b, c and d do to all of
// theirs is taken out.
func (m *mesh) spreadOfSquares() float64 {
	const enough = 500
	var d []float64
	n := len(m.ends)
	step := max(1, n/7)
	for k := 0; k < 4*enough && len(d) < enough; k++ {
		a := int32(k % n)
		hop := 1 + (k/n)%max(n-1, 1)
		b, c := int32((int(a)+hop)%n), int32((int(a)+hop+step)%n)
		e := int32((int(c) + 1 + k/n) % n)
		if a == b || a == c || a == e || b == c || b == e || c == e {
			continue
		}
		ac, ok1 := m.between(a, c)
		ae, ok2 := m.between(a, e)
		bc, ok3 := m.between(b, c)
		be, ok4 := m.between(b, e)
		if ok1 && ok2 && ok3 && ok4 {
			d = append(d, math.Abs(ac-ae-bc+be)/2)
		}
	}
	if len(d) < 5 {
		return 0
	}
	return normal * median(d)
}

// between is e of the tie from a to b.
func (m *mesh) between(a, b int32) (float64, bool) {
	for _, i := range m.from[a] {
		if m.ties[i].b == b {
			return m.ties[i].e, true
		}
	}
	if !m.directed {
		for _, i := range m.to[a] {
			if m.ties[i].a == b {
				return m.ties[i].e, true
			}
		}
	}
	return 0, false
}

// spreadOfBest is that among the better quarter of what each end sends: of a normal
// distribution, 0.97 standard deviations lie between its 5th and its 25th percentile.
func (m *mesh) spreadOfBest() float64 {
	var all []float64
	step := max(1, len(m.ends)/200)
	for e := 0; e < len(m.ends); e += step {
		if len(m.from[e]) < 16 {
			continue
		}
		var own []float64
		for _, i := range m.from[e] {
			own = append(own, m.ties[i].e)
		}
		slices.Sort(own)
		all = append(all, (own[len(own)/4]-own[len(own)/20])/0.97)
	}
	if len(all) == 0 {
		return 0
	}
	return median(all)
}
