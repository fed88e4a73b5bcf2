package trial

import (
	"slices"

	"weft/internal/check"
)

// How often a pair is tested, the first time included, before weft believes what it sees.
// Cards repeat themselves; software devices need as many as their noise asks for.
const (
	testsHard   = 2 // a card that is bad twice is bad
	testsUnsure = 3 // while it is not clear what is bad
	testsSoft   = 3
	testsNoisy  = 5
)

// fewTies is how many numbers of a noisy medium are too few to know its noise from.
const fewTies = 12

// fewPairs is how many pairs of a large set are tested again: they tell of the others.
const fewPairs = 6

// Suspects returns the pairs that should be measured again before anything is said of them,
// of one trial's cells: those that look bad, and in noisy media some good ones beside them,
// so that both are seen under the same weather. A pair stands for both its directions. None
// is left when more measuring would say nothing new.
func Suspects(c *check.Case, cells []Cell) []Pair {
	j := newJudge(c, cells)
	j.own()
	var list pairList
	for _, t := range j.trials {
		if t.Over != Pairs || !compared(t) {
			continue
		}
		for _, m := range j.meshes(t) {
			m.suspects(j, &list)
		}
		for _, i := range j.of[t.ID] {
			cell := &j.cells[i]
			bad := cell.Status == check.Warn || cell.Status == check.Fail
			if bad && cell.Tests < testsHard {
				list.add(cell.Pair)
			}
		}
	}
	return list.pairs
}

// pairList is pairs without regard to their direction, in the order they came.
type pairList struct {
	pairs []Pair
	seen  map[Pair]bool
}

func (l *pairList) has(p Pair) bool { return l.seen[p] || l.seen[p.Turned()] }

func (l *pairList) add(p Pair) {
	if l.has(p) {
		return
	}
	if l.seen == nil {
		l.seen = map[Pair]bool{}
	}
	l.seen[p] = true
	l.pairs = append(l.pairs, p)
}

// suspects adds the pairs of a mesh that should be measured again.
func (m *mesh) suspects(j *judge, list *pairList) {
	believed, unsure := testsHard, testsUnsure
	if m.noisy {
		believed, unsure = testsSoft, testsNoisy
	}
	faults, _ := m.blame()
	sure := map[int32]bool{}
	for _, c := range faults {
		enough := believed
		if c.kind == "pair" { // nothing else tells of it
			enough = unsure
		}
		for _, part := range c.parts {
			for _, i := range part {
				sure[i] = true
			}
			m.some(part, func(i int32) {
				if cell := &j.cells[m.ties[i].cell]; cell.Tests < enough {
					list.add(cell.Pair)
				}
			})
		}
	}
	doubt := func(i int32) {
		if cell := &j.cells[m.ties[i].cell]; !sure[i] && cell.Tests < unsure {
			list.add(cell.Pair)
		}
	}
	// Easily suspicious: less of a worsening, held against the best level, as if the medium
	// were quiet.
	strict := m.rules
	m.look()
	m.sigma = min(m.sigma, 1.5*m.quiet)
	m.least, m.accept, m.careful, m.contra = 0.7*m.least, 1, 0, 0.34
	claims, _ := m.explain()
	m.rules = strict
	for _, c := range claims {
		for _, part := range c.parts {
			m.some(part, doubt)
		}
	}
	for i := range m.ties {
		t := &m.ties[i]
		if t.e >= m.least && m.worth(t, t.e) > 2 || slices.Max(t.runs)-slices.Min(t.runs) > m.least && len(t.runs) < testsUnsure {
			doubt(int32(i)) // bad, or its runs do not agree
		}
	}
	if !m.noisy {
		return
	}
	if len(m.ties) <= fewTies { // one run of each says too little of the noise
		for i := range m.ties {
			if cell := &j.cells[m.ties[i].cell]; cell.Tests < testsHard {
				list.add(cell.Pair)
			}
		}
	}
	if len(list.pairs) > 0 {
		m.controls(j, list)
	}
}

// some calls f with the bad ties of a part, or with a few that are spread over it.
func (m *mesh) some(part []int32, f func(i int32)) {
	step := max(1, len(part)/fewPairs)
	for k := 0; k < len(part); k += step {
		if m.low(&m.ties[part[k]]) {
			f(part[k])
		}
	}
}

// controls adds good pairs that were tested less often than the suspects, about as many.
func (m *mesh) controls(j *judge, list *pairList) {
	most := 0
	for i := range m.ties {
		if cell := &j.cells[m.ties[i].cell]; list.has(cell.Pair) {
			most = max(most, cell.Tests)
		}
	}
	room := max(3, len(list.pairs)) + len(list.pairs)
	for i := range m.ties {
		if cell := &j.cells[m.ties[i].cell]; len(list.pairs) < room && cell.Tests <= most {
			list.add(cell.Pair)
		}
	}
}

// fewPartners is how many ends that are known to be good an end should meet before it, or
// its pair, is blamed.
const fewPartners = 3

// Partners returns new pairs: the ends of suspects with ends that are known to be good
// because all their other pairs are. A bad port is bad with them too; a bad pair is not.
func Partners(c *check.Case, cells []Cell) []Pair {
	j := newJudge(c, cells)
	j.own()
	var list pairList
	for _, t := range j.trials {
		if t.Over != Pairs || !compared(t) {
			continue
		}
		for _, m := range j.meshes(t) {
			m.partnersOf(j, &list)
		}
	}
	return list.pairs
}

func (m *mesh) partnersOf(j *judge, list *pairList) {
	m.blame()
	bad := make([]bool, len(m.ties))
	for i := range m.ties {
		status := j.cells[m.ties[i].cell].Status
		bad[i] = m.ties[i].e >= m.least || status == check.Warn || status == check.Fail
	}
	// An end most of whose pairs are bad may be bad itself. One that is bad with such alone is
	// good; one that has no other pairs is not known to be.
	var good, odd []int32
	strange := make([]bool, len(m.ends))
	for e := range m.ends {
		bads, all := 0, m.touching(int32(e))
		for _, i := range all {
			bads += boolInt(bad[i])
		}
		if bads > 0 && 2*bads >= len(all) {
			odd = append(odd, int32(e))
			strange[e] = true
		}
	}
	for e := range m.ends {
		if !strange[e] && !slices.ContainsFunc(m.touching(int32(e)), func(i int32) bool { return bad[i] && !strange[m.ties[i].other(int32(e))] }) {
			good = append(good, int32(e))
		}
	}
	for _, e := range odd {
		nodes, want := map[int32]bool{m.nodes.of[e]: true}, fewPartners
		for _, i := range m.touching(e) {
			other := m.ties[i].other(e)
			if node := m.nodes.of[other]; !nodes[node] && !strange[other] {
				want--
			}
			nodes[m.nodes.of[other]] = true
		}
		near := slices.Clone(good)
		slices.SortStableFunc(near, func(a, b int32) int {
			return boolInt(m.leafs.of[a] != m.leafs.of[e]) - boolInt(m.leafs.of[b] != m.leafs.of[e])
		})
		for ; len(near) > 0 && want > 0; near = near[1:] {
			if g := near[0]; !nodes[m.nodes.of[g]] && m.rails.of[g] == m.rails.of[e] {
				nodes[m.nodes.of[g]] = true
				list.add(Pair{m.ends[e].End, m.ends[g].End})
				want--
			}
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
