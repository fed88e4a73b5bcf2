package trial

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/unit"
)

// Verdict is what a number is held against and what comes of it.
type Verdict struct {
	Want    fact.Val[Amount] `json:"want"`              // what the path should reach; unknown for media without a rate, as Soft-RoCE
	Limiter string           `json:"limiter,omitempty"` // what sets Want: "port rate of spark1 mlx5_0/1, 100 Gb/s"
	Best    fact.Val[Amount] `json:"best"`              // what the cluster itself reaches on like paths
	Status  check.Status     `json:"status"`            // unknown: measured, and nothing to hold it against
	Why     string           `json:"why,omitempty"`
}

// Judge gives every cell its verdict and says what is to blame for those that are not good.
// The cells stay as they are; those returned are in the same order.
//
// A number is held against what the path should reach, in the bands of CHECKS.md, and
// against like paths of the same cluster. What is worse than like paths must be so beyond
// the noise that the cluster itself shows: see mesh. In media without a rate that is all
// there is to hold it against, and what is not found bad there stays unknown.
func Judge(c *check.Case, cells []Cell) ([]Cell, []Problem) {
	j := newJudge(c, cells)
	j.own()
	var faults []fault
	for _, t := range j.trials {
		faults = append(faults, j.blame(t)...)
	}
	return j.cells, j.problems(faults)
}

// judge is a judgement under way.
type judge struct {
	c      *check.Case
	ss     *sides
	cells  []Cell
	hopes  []hope
	trials []Trial          // that there are cells of, in the order of All
	of     map[string][]int // trial → its cells
	known  *known           // made by findings
	mtus   map[string]int   // made by railMTU: rail → usual MTU
	cabled fact.Val[bool]   // see direct
}

func newJudge(c *check.Case, cells []Cell) *judge {
	j := &judge{c: c, ss: newSides(c), cells: slices.Clone(cells), hopes: make([]hope, len(cells)), of: map[string][]int{}}
	j.ss.place()
	for i := range cells {
		j.of[cells[i].Trial] = append(j.of[cells[i].Trial], i)
	}
	for _, t := range All {
		if len(j.of[t.ID]) > 0 {
			j.trials = append(j.trials, t)
		}
	}
	return j
}

// own gives every cell the verdict that it has by itself.
func (j *judge) own() {
	for i := range j.cells {
		c := &j.cells[i]
		c.Verdict = Verdict{Status: check.Unknown, Why: "weft does not know the trial " + c.Trial}
	}
	for _, t := range j.trials {
		for _, i := range j.of[t.ID] {
			j.hopes[i] = j.ss.expect(t, j.cells[i].Pair)
			j.cells[i].Verdict = j.verdict(t, i)
		}
	}
}

// verdict is what a cell deserves by its own number.
func (j *judge) verdict(t Trial, i int) Verdict {
	c := &j.cells[i]
	v := j.hopes[i].verdict()
	got, measured := c.Got.Get()
	want, known := v.Want.Get()
	switch {
	case c.Skipped:
		v.Status, v.Why = check.Skip, c.Missing
	case t.Over == Cluster && c.Collective != nil:
		return judgeCollective(j.c, t, c)
	case !measured && c.Broken:
		v.Status, v.Why = check.Fail, cmp.Or(c.Missing, "nothing came through")
	case !measured:
		v.Status, v.Why = check.Unknown, cmp.Or(c.Missing, "it was not measured")
	case v.Status == check.Skip:
	case t.ID == "gpu.direct" && c.Host.Known():
		return judgeDirect(got, c.High, c.Host.Or(0))
	case !known:
	case t.Unit == Nanoseconds:
		broken := latencyBroken(t, j.ss.at(c.A), j.ss.at(c.B), want)
		if v.Status = latencyBand(got, c.Low, want, broken); v.Status == check.Fail {
			v.Why = "slower than " + t.Unit.Text(broken) + ", which no healthy path of this hardware is"
		}
	case t.Unit == Bytes:
		v.Status = check.Pass
		if got < want {
			v.Status, v.Why = check.Fail, "both ends take "+t.Unit.Text(want)+", and on the way larger packets than "+t.Unit.Text(got)+" are lost"
		}
	default:
		v.Status = band(got, c.High, want)
	}
	return v
}

// badness is how bad an amount is: a logarithm, more is worse.
func badness(u Unit, a Amount) float64 {
	x := math.Log(float64(max(a, 1)))
	if u.More() {
		return -x
	}
	return x
}

// amount is what has a badness.
func amount(u Unit, bad float64) Amount {
	if u.More() {
		bad = -bad
	}
	return Amount(math.Round(math.Exp(bad)))
}

// numbers are those of a cell, one for each time it was run.
func (c *Cell) numbers() []Amount {
	if len(c.Runs) > 0 {
		return c.Runs
	}
	if got, ok := c.Got.Get(); ok {
		return []Amount{got}
	}
	return nil
}

// meshes makes ties of the measured cells of a trial: those of hardware and those of
// software devices apart, for their noise differs.
func (j *judge) meshes(t Trial) []*mesh {
	var all [2]*mesh
	kinds := [2]map[kind]int32{{}, {}}
	var room []float64
	for _, i := range j.of[t.ID] {
		c := &j.cells[i]
		numbers := c.numbers()
		if len(numbers) == 0 || c.Status == check.Skip || !compared(t) {
			continue
		}
		a, b := j.ss.at(c.A), j.ss.at(c.B)
		if isRead(t.ID) {
			a, b = b, a
		}
		soft := 0
		if a.soft != "" || b.soft != "" {
			soft = 1
		}
		if all[soft] == nil {
			all[soft] = &mesh{directed: directed(t), rules: rulesOf(t, soft == 1), ties: make([]tie, 0, len(j.of[t.ID]))}
		}
		m := all[soft]
		k := kindOf(t, a, b, j.hopes[i])
		like, ok := kinds[soft][k]
		if !ok {
			like = int32(m.likes)
			kinds[soft][k] = like
			m.likes++
		}
		if len(room)+len(numbers) > cap(room) { // one piece for many ties
			room = make([]float64, 0, max(4096, len(numbers)))
		}
		from := len(room)
		for _, n := range numbers {
			room = append(room, badness(t.Unit, n))
		}
		runs := room[from:len(room):len(room)]
		if host, ok := c.Host.Get(); ok && t.ID == "gpu.direct" {
			for r := range runs { // against what this very pair reaches, not against other pairs
				runs[r] -= badness(t.Unit, host)
			}
		}
		m.ties = append(m.ties, tie{cell: i, a: m.join(a), b: m.join(b), like: like, runs: runs})
	}
	return slices.DeleteFunc(all[:], func(m *mesh) bool { return m == nil })
}

// compared reports whether a trial's numbers are held against each other.
func compared(t Trial) bool { return t.Over != Cluster && !strings.HasPrefix(t.ID, "tcp.") }

// directed reports whether a cell tells of one direction alone. A latency goes there and
// back whoever asks, and a packet that should cross is answered by one of its size.
func directed(t Trial) bool { return t.Both && t.Unit == BitsPerSecond }

// kind is what makes paths alike.
type kind struct {
	could  Amount
	medium string
	speed  unit.Rate
}

func kindOf(t Trial, a, b *side, h hope) kind {
	if h.could > 0 && t.Unit != Bytes {
		return kind{could: h.could}
	}
	if a.soft == "" && b.soft == "" {
		return kind{medium: driverOf(a) + " " + driverOf(b)}
	}
	return kind{medium: a.soft + " " + b.soft, speed: min(speedOf(a), speedOf(b))}
}

func driverOf(s *side) string {
	if s.port == nil {
		return ""
	}
	return s.port.Driver
}

// speedOf is the speed of the netdev below a software port.
func speedOf(s *side) unit.Rate {
	if s.port == nil {
		return 0
	}
	if d := s.node.Netdev(s.port.Netdev); d != nil {
		return d.Speed.Or(0)
	}
	return 0
}
