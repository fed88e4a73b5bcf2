package trial

import (
	"math"
	"slices"
)

// tie is one cell as blame sees it: who sends to whom, and how bad that was.
type tie struct {
	cell int       // where it is in the cells
	a, b int32     // the ends: data goes from a to b; equal over a port or a GPU
	like int32     // ties of one kind should be equally good
	runs []float64 // how bad each run was: the logarithm of a latency, or of one over a bandwidth
	e    float64   // how much worse than like ties, by the median of the runs
}

// mesh is the ties of one trial in one kind of medium, and how they hang together.
type mesh struct {
	directed bool // a tie tells of one direction; else of both
	likes    int  // how many kinds of ties there are
	ties     []tie

	ends  []*side
	at    map[*side]int32
	nodes places // of each end
	rails places
	leafs places

	from, to [][]int32 // ties by sender and by receiver

	levels []float64 // how bad good ties of each kind are
	sigma  float64   // how much good runs differ
	left   []int     // runs of each kind of ties that are not explained yet
	rules
}

// rules say what it takes to blame something.
type rules struct {
	quiet   float64 // good runs differ by this at least, as a standard deviation of logarithms …
	usual   float64 // … by this when nothing tells …
	loud    float64 // … and by this at most
	least   float64 // the smallest worsening that counts
	accept  float64 // how much likelier ties must be with the blame than without, as a logarithm
	careful float64 // by how many standard errors the worsening must be more than half of least
	contra  float64 // the share of ties that may speak against it
	noisy   bool    // software devices: what disturbs a run may last
	whole   bool    // a rail or the cluster may be blamed: ties are held against something outside
}

// places numbers the nodes, rails or switches that ends belong to.
type places struct {
	of    []int32 // of each end; -1 none
	names []string
	at    map[string]int32
}

func (p *places) add(name string, none bool) {
	if none {
		p.of = append(p.of, -1)
		return
	}
	n, ok := p.at[name]
	if !ok {
		if p.at == nil {
			p.at = map[string]int32{}
		}
		n = int32(len(p.names))
		p.at[name] = n
		p.names = append(p.names, name)
	}
	p.of = append(p.of, n)
}

// members lists the ends of each place.
func (p *places) members() [][]int32 {
	all := make([][]int32, len(p.names))
	for e, n := range p.of {
		if n >= 0 {
			all[n] = append(all[n], int32(e))
		}
	}
	return all
}

// join returns the number of an end, which is new or known.
func (m *mesh) join(s *side) int32 {
	if i, ok := m.at[s]; ok {
		return i
	}
	if m.at == nil {
		m.at = map[*side]int32{}
	}
	i := int32(len(m.ends))
	m.at[s] = i
	m.ends = append(m.ends, s)
	m.nodes.add(s.Node, false)
	m.rails.add(s.rail, s.rail == "")
	m.leafs.add(s.leaf, s.leaf == "")
	return i
}

// index lists the ties of every end.
func (m *mesh) index() {
	out, in := make([]int, len(m.ends)), make([]int, len(m.ends))
	for i := range m.ties {
		out[m.ties[i].a]++
		in[m.ties[i].b]++
	}
	m.from, m.to = make([][]int32, len(m.ends)), make([][]int32, len(m.ends))
	for e := range m.ends {
		m.from[e], m.to[e] = make([]int32, 0, out[e]), make([]int32, 0, in[e])
	}
	for i := range m.ties {
		t := &m.ties[i]
		m.from[t.a] = append(m.from[t.a], int32(i))
		m.to[t.b] = append(m.to[t.b], int32(i))
	}
}

// touching lists the ties of an end in both directions.
func (m *mesh) touching(e int32) []int32 { return slices.Concat(m.from[e], m.to[e]) }

// other is the far end of a tie.
func (t *tie) other(e int32) int32 {
	if t.a == e {
		return t.b
	}
	return t.a
}

// look finds the level of good ties and how much they differ.
func (m *mesh) look() {
	m.index()
	m.levels = m.firstLevels()
	m.settle()
	m.sigma = m.spread()
	if m.sigma == 0 {
		m.sigma = m.usual
	}
	m.sigma = min(max(m.quiet, m.sigma), m.loud)
}

// blame finds the smallest explanation of the bad ties: it explains what is worse than the
// level of good ties, takes that level anew from what is left, and explains again.
func (m *mesh) blame() (faults []*claim, explained []bool) {
	m.look()
	for k := 0; ; k++ {
		faults, explained := m.explain()
		if k == 2 || len(faults) == 0 || !m.relevel(explained) {
			return faults, explained
		}
		m.settle()
	}
}

// settle works out e of every tie from the levels.
func (m *mesh) settle() {
	for i := range m.ties {
		t := &m.ties[i]
		t.e = middle(t.runs) - m.levels[t.like]
	}
}

// relevel takes the levels from what is neither explained nor bad and reports whether one
// moved.
func (m *mesh) relevel(explained []bool) (moved bool) {
	left := make([][]float64, m.likes)
	for i := range m.ties {
		if t := &m.ties[i]; !explained[i] && t.e <= m.least {
			left[t.like] = append(left[t.like], t.e+m.levels[t.like])
		}
	}
	for g, x := range left {
		if len(x) == 0 {
			continue
		}
		if level := median(x); math.Abs(level-m.levels[g]) > 1e-9 {
			m.levels[g], moved = level, true
		}
	}
	return moved
}

// middle is the median of a few numbers, which it leaves in their order.
func middle(x []float64) float64 {
	switch len(x) {
	case 1:
		return x[0]
	case 2:
		return (x[0] + x[1]) / 2
	}
	return median(slices.Clone(x))
}

// median sorts x.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
