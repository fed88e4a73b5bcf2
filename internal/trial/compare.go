package trial

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"weft/internal/fact"
)

// Change is one difference between two proofs: of a cell, or of a node.
type Change struct {
	Kind  string           `json:"kind"` // "worse", "better", "gone", "new", "facts", "version"
	Trial string           `json:"trial,omitempty"`
	Pair  Pair             `json:"pair,omitzero"`
	Node  string           `json:"node,omitempty"`
	What  string           `json:"what,omitempty"` // of a version: "mlx5_0 firmware"
	Was   fact.Val[Amount] `json:"was"`
	Now   fact.Val[Amount] `json:"now"`
	From  string           `json:"from,omitempty"` // of a version; of a cell that is gone: why
	To    string           `json:"to,omitempty"`
}

// Worse reports whether something fell.
func (c Change) Worse() bool { return c.Kind == "worse" || c.Kind == "gone" }

// regression is by how much a number must fall to be worth a word.
const regression = 0.05

// Compare says what changed from one proof to another: numbers that moved by more than
// 5 % beyond the intervals of both and beyond the noise of their trial, numbers that are
// gone or new, and what is different about the nodes, which may explain it. Numbers first,
// the gravest of them first.
func Compare(old, now Proof) (changes []Change) {
	was := make(map[cellKey]*Cell, len(old.Cells))
	for i := range old.Cells {
		was[keyOf(&old.Cells[i])] = &old.Cells[i]
	}
	noise := compareNoise(was, now)
	for i := range now.Cells {
		c := &now.Cells[i]
		o, ok := was[keyOf(c)]
		if !ok {
			continue // it was not measured then: a sample draws others each time
		}
		if ch, ok := compareCells(o, c, noise[c.Trial]); ok {
			changes = append(changes, ch)
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(fell(b), fell(a)), cmp.Compare(a.Trial, b.Trial), cmp.Compare(a.Pair.A.String(), b.Pair.A.String()), cmp.Compare(a.Pair.B.String(), b.Pair.B.String()))
	})
	return append(changes, compareNodes(old, now)...)
}

// fell is by which part a number got worse; below zero when it got better.
func fell(c Change) float64 {
	was, a := c.Was.Get()
	now, b := c.Now.Get()
	if !a || !b || was == 0 || now == 0 {
		if c.Kind == "gone" {
			return 1
		}
		return 0
	}
	if t, _ := ByID(c.Trial); t.Unit.More() {
		return 1 - float64(now)/float64(was)
	}
	return float64(now)/float64(was) - 1
}

// cellKey names a cell of a proof.
type cellKey struct {
	trial string
	pair  Pair
}

// keyOf is the name of a cell; one that stands for both directions has one name.
func keyOf(c *Cell) cellKey {
	k := cellKey{c.Trial, c.Pair}
	if t, ok := ByID(c.Trial); ok && !t.Both && k.pair.B.String() < k.pair.A.String() {
		k.pair = k.pair.Turned()
	}
	return k
}

// compareNoise is by how much the numbers of each trial move by themselves, as a standard
// deviation of logarithms. It is taken from the quarter that moved least, for half of a
// small cluster may have changed, and all of it together: few numbers tell no noise.
func compareNoise(was map[cellKey]*Cell, now Proof) map[string]float64 {
	shifts := map[string][]float64{}
	for i := range now.Cells {
		c := &now.Cells[i]
		if o := was[keyOf(c)]; o != nil && o.Got.Known() && c.Got.Known() {
			u := unitOf(c.Trial)
			shifts[c.Trial] = append(shifts[c.Trial], badness(u, c.Got.Or(0))-badness(u, o.Got.Or(0)))
		}
	}
	noise := map[string]float64{}
	for id, all := range shifts {
		if len(all) < 8 {
			continue
		}
		noise[id] = min(stillest(all, 0), stillest(all, median(slices.Clone(all))))
	}
	return noise
}

// stillest is the standard deviation about a middle that the quarter nearest to it tells: of
// a normal distribution a quarter lies within 0.319 of them.
func stillest(all []float64, middle float64) float64 {
	off := make([]float64, len(all))
	for i, x := range all {
		off[i] = math.Abs(x - middle)
	}
	slices.Sort(off)
	return off[len(off)/4] / 0.319
}

// compareCells compares one number with what it was.
func compareCells(o, c *Cell, noise float64) (Change, bool) {
	ch := Change{Trial: c.Trial, Pair: c.Pair, Was: o.Got, Now: c.Got}
	switch {
	case c.Skipped:
		return ch, false
	case o.Got.Known() && !c.Got.Known():
		ch.Kind, ch.To = "gone", c.Missing
		return ch, true
	case !o.Got.Known() && c.Got.Known():
		ch.Kind, ch.From = "new", o.Missing
		return ch, true
	case !c.Got.Known():
		return ch, false
	}
	u := unitOf(c.Trial)
	shift := math.Abs(badness(u, c.Got.Or(0)) - badness(u, o.Got.Or(0)))
	lowO, highO := o.interval()
	lowC, highC := c.interval()
	part, apart := fell(ch), (highC < lowO || lowC > highO) && shift > 3*noise
	switch {
	case part > regression && apart:
		ch.Kind = "worse"
	case part < -regression && apart:
		ch.Kind = "better"
	default:
		return ch, false
	}
	return ch, true
}

// interval is where a cell's number lies: its confidence interval, and what single runs gave.
func (c *Cell) interval() (low, high Amount) {
	low, high = c.Got.Or(0), c.Got.Or(0)
	if c.Low > 0 {
		low = min(low, c.Low)
	}
	high = max(high, c.High)
	for _, r := range c.Runs {
		low, high = min(low, r), max(high, r)
	}
	return low, high
}

// compareNodes says what is different about the machines.
func compareNodes(old, now Proof) (changes []Change) {
	for _, v := range [][3]string{{"weft", old.Weft, now.Weft}, {"engine", old.Engine, now.Engine}} {
		if v[1] != v[2] && v[1] != "" && v[2] != "" {
			changes = append(changes, Change{Kind: "version", Node: "all", What: v[0], From: v[1], To: v[2]})
		}
	}
	was := map[string]NodeAt{}
	for _, n := range old.Nodes {
		was[n.Name] = n
	}
	for _, n := range now.Nodes {
		o, ok := was[n.Name]
		if !ok {
			continue
		}
		named := false
		names := map[string]string{}
		maps.Copy(names, n.Versions)
		maps.Copy(names, o.Versions)
		for _, what := range slices.Sorted(maps.Keys(names)) {
			if o.Versions[what] != n.Versions[what] {
				changes = append(changes, Change{Kind: "version", Node: n.Name, What: what, From: o.Versions[what], To: n.Versions[what]})
				named = true
			}
		}
		if o.Facts != n.Facts && !named {
			changes = append(changes, Change{Kind: "facts", Node: n.Name, From: o.Facts, To: n.Facts})
		}
	}
	return changes
}

// String is one line for a person.
func (c Change) String() string {
	t, _ := ByID(c.Trial)
	where := c.Pair.A.String() + " → " + c.Pair.B.String()
	switch c.Kind {
	case "worse", "better":
		return fmt.Sprintf("%-7s %s  %s: %s, was %s (%+.0f %%)", c.Kind, c.Trial, where, t.Unit.Text(c.Now.Or(0)), t.Unit.Text(c.Was.Or(0)), -100*fell(c)*sign(t.Unit))
	case "gone":
		return fmt.Sprintf("gone    %s  %s: was %s, now none: %s", c.Trial, where, t.Unit.Text(c.Was.Or(0)), c.To)
	case "new":
		return fmt.Sprintf("new     %s  %s: %s, was none: %s", c.Trial, where, t.Unit.Text(c.Now.Or(0)), c.From)
	case "version":
		return fmt.Sprintf("node    %s: %s %s, was %s", c.Node, c.What, cmp.Or(c.To, "none"), cmp.Or(c.From, "none"))
	}
	return fmt.Sprintf("node    %s: its facts are not the same (weft diff of two dumps says which)", c.Node)
}

// sign turns "by how much worse" into "by how much the number moved".
func sign(u Unit) float64 {
	if u.More() {
		return 1
	}
	return -1
}
