package trial

import (
	"math"
	"slices"

	"weft/internal/check"
	"weft/internal/fact"
)

// fault is what one trial blames on something.
type fault struct {
	trial  Trial
	status check.Status
	kind   string
	way    string
	at     []End
	cells  []int  // the bad ones
	of     int    // how many cells it might have spoiled
	got    Amount // in the middle of them; 0 where they have none
	want   Amount // what they should be; 0 where nobody knows
	like   bool   // want is what like paths reach
	reason string // why, where that is known already: counters, a node that died

	gotText, wantText string  // where it is not about the trial's own numbers
	losses            float64 // in the middle of its runs, where it is about them
}

// blame finds what spoils the cells of a trial, and marks them.
func (j *judge) blame(t Trial) (faults []fault) {
	explained := map[int]bool{}
	for _, m := range j.meshes(t) {
		claims, done := m.blame()
		j.best(t, m, done)
		for _, c := range claims {
			faults = append(faults, j.worse(t, m, c))
		}
		for i, yes := range done {
			if yes {
				explained[m.ties[i].cell] = true
			}
		}
	}
	faults = append(faults, j.banded(t, explained)...)
	faults = append(faults, j.missing(t)...)
	faults = append(faults, j.unmoved(t)...)
	return append(faults, j.losses(t)...)
}

// best notes in every cell what like paths reach.
func (j *judge) best(t Trial, m *mesh, explained []bool) {
	best := make([]float64, m.likes)
	for g := range best {
		best[g] = math.Inf(1)
	}
	for i := range m.ties {
		if tie := &m.ties[i]; !explained[i] {
			best[tie.like] = min(best[tie.like], slices.Min(tie.runs))
		}
	}
	amounts := make([]fact.Val[Amount], m.likes)
	for g, b := range best {
		if !math.IsInf(b, 1) && t.ID != "gpu.direct" {
			amounts[g] = fact.Some(amount(t.Unit, b))
		}
	}
	for i := range m.ties {
		j.cells[m.ties[i].cell].Best = amounts[m.ties[i].like]
	}
}

// worse marks the cells that a claim explains and makes a fault of it.
func (j *judge) worse(t Trial, m *mesh, c *claim) fault {
	f := fault{trial: t, kind: c.kind, way: c.way, at: c.at, like: true}
	var got, want []float64
	for k, part := range c.parts {
		f.of += len(part)
		for _, i := range part {
			tie := &m.ties[i]
			if tie.e < max(m.least/2, c.sizes[k]/2) {
				continue
			}
			cell := &j.cells[tie.cell]
			level := m.levels[tie.like]
			if host, ok := cell.Host.Get(); ok && t.ID == "gpu.direct" {
				level += badness(t.Unit, host)
			}
			got, want = append(got, level+tie.e), append(want, level)
			f.cells = append(f.cells, tie.cell)
			status := worseBand(t, tie.e)
			if t.Unit == Bytes && packetOf(int(amount(t.Unit, level+tie.e))) == packetOf(int(amount(t.Unit, level))) {
				status = check.Warn // RDMA packets are as large as elsewhere
			}
			if rank(status) > rank(cell.Status) {
				cell.Status = status
				cell.Why = "like paths reach " + t.Unit.Text(amount(t.Unit, level))
			}
			if rank(cell.Status) > rank(f.status) {
				f.status = cell.Status
			}
		}
	}
	f.got, f.want = amount(t.Unit, median(got)), amount(t.Unit, median(want))
	return f
}

// worseBand is the status of a number that is worse than like paths beyond doubt.
func worseBand(t Trial, e float64) check.Status {
	broken := -math.Log(brokenShare)
	if t.Unit == Nanoseconds {
		broken = math.Log(3)
	}
	if e > broken {
		return check.Fail
	}
	return check.Warn
}

// rank orders statuses by how loud they are: what is measured and unknown is quiet.
func rank(s check.Status) int {
	return map[check.Status]int{check.Pass: 0, check.Skip: 0, check.Unknown: 1, check.Warn: 2, check.Fail: 3}[s]
}

// banded blames what fell out of its band although like paths are no better.
func (j *judge) banded(t Trial, explained map[int]bool) (faults []fault) {
	if t.Over == Cluster {
		return j.collectives(t)
	}
	loud := func(c *Cell) bool { return c.Got.Known() && (c.Status == check.Warn || c.Status == check.Fail) }
	if !slices.ContainsFunc(j.of[t.ID], func(i int) bool { return !explained[i] && loud(&j.cells[i]) }) {
		return nil
	}
	m := &mesh{directed: directed(t), rules: yesNo, likes: 1}
	for _, i := range j.of[t.ID] {
		c := &j.cells[i]
		if explained[i] || !c.Got.Known() || c.Status == check.Skip || c.Status == check.Unknown {
			continue
		}
		m.tie(j.ss, t, i, c.Pair, loud(c))
	}
	for _, c := range m.known() {
		f := fault{trial: t, kind: c.kind, way: c.way, at: c.at}
		var got, want []Amount
		m.each(c, func(i int) {
			cell := &j.cells[i]
			f.cells = append(f.cells, i)
			got = append(got, cell.Got.Or(0))
			if w, ok := cell.Want.Get(); ok {
				want = append(want, w)
			}
			if rank(cell.Status) > rank(f.status) {
				f.status = cell.Status
			}
		}, &f.of)
		f.got, _, _ = Median(got)
		f.want, _, _ = Median(want)
		faults = append(faults, f)
	}
	return faults
}

// collectives makes a fault of every collective that falls short: there is one cell.
func (j *judge) collectives(t Trial) (faults []fault) {
	for _, i := range j.of[t.ID] {
		if c := &j.cells[i]; c.Status == check.Warn || c.Status == check.Fail {
			faults = append(faults, fault{trial: t, status: c.Status, kind: "cluster", cells: []int{i}, of: 1,
				got: c.Got.Or(0), want: c.Want.Or(0), reason: c.Why})
		}
	}
	return faults
}

// missing blames what has no number.
func (j *judge) missing(t Trial) (faults []fault) {
	absent := func(i int) bool { return !j.cells[i].Skipped && !j.cells[i].Got.Known() }
	if t.Over == Cluster || !slices.ContainsFunc(j.of[t.ID], absent) {
		return nil
	}
	m := &mesh{directed: false, rules: yesNo, likes: 1}
	m.contra = 0.1
	for _, i := range j.of[t.ID] {
		if !j.cells[i].Skipped {
			m.tie(j.ss, t, i, j.cells[i].Pair, absent(i))
		}
	}
	for _, c := range m.known() {
		f := fault{trial: t, status: check.Warn, kind: c.kind, at: c.at}
		whys := map[string]int{}
		m.each(c, func(i int) {
			cell := &j.cells[i]
			f.cells = append(f.cells, i)
			if cell.Broken {
				f.status = check.Fail
			}
			whys[cell.Why]++
		}, &f.of)
		f.reason = usual(whys)
		faults = append(faults, f)
	}
	return faults
}

// usual is the most frequent reason.
func usual(count map[string]int) (best string) {
	for why, n := range count {
		if n > count[best] || n == count[best] && why < best {
			best = why
		}
	}
	return best
}

// tie adds a cell that is good or bad.
func (m *mesh) tie(ss *sides, t Trial, cell int, p Pair, bad bool) {
	a, b := ss.at(p.A), ss.at(p.B)
	if isRead(t.ID) {
		a, b = b, a
	}
	runs := good
	if bad {
		runs = bads
	}
	m.ties = append(m.ties, tie{cell: cell, a: m.join(a), b: m.join(b), runs: runs, e: runs[0]})
}

var good, bads = []float64{0}, []float64{1}

// known explains ties whose level is known: 0 is good.
func (m *mesh) known() []*claim {
	m.index()
	m.levels, m.sigma = make([]float64, m.likes), m.quiet
	faults, explained := m.explain()
	for _, c := range m.pairClaims(nil) { // what is bad without doubt is somebody's fault
		if !slices.ContainsFunc(c.parts, func(part []int32) bool { return explained[part[0]] }) {
			c.sizes = make([]float64, len(c.parts))
			for _, part := range c.parts {
				explained[part[0]] = true
			}
			faults = append(faults, c)
		}
	}
	return faults
}

// each calls f with the bad cells of a claim and counts all of its cells.
func (m *mesh) each(c *claim, f func(cell int), of *int) {
	for _, part := range c.parts {
		*of += len(part)
		for _, i := range part {
			if m.ties[i].e > m.least/2 {
				f(m.ties[i].cell)
			}
		}
	}
}
