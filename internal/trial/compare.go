package trial

import (
	"cmp"
	"fmt"
	"maps"
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
// 5 % beyond the intervals of both, numbers that are gone or new, and what is different
// about the nodes, which may explain it. Numbers first, the gravest of them first.
func Compare(old, now Proof) (changes []Change) {
	type key struct {
		trial string
		pair  Pair
	}
	was := map[key]Cell{}
	for _, c := range old.Cells {
		was[key{c.Trial, c.Pair}] = c
	}
	for _, c := range now.Cells {
		o, ok := was[key{c.Trial, c.Pair}]
		delete(was, key{c.Trial, c.Pair})
		if ch, ok := compareCells(o, c, ok); ok {
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

// compareCells compares one number with what it was. A pair that was not measured in the
// earlier proof is no change: a sample draws others each time.
func compareCells(o, c Cell, both bool) (Change, bool) {
	ch := Change{Trial: c.Trial, Pair: c.Pair, Was: o.Got, Now: c.Got}
	switch {
	case !both || c.Skipped:
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
	part := fell(ch)
	apart := c.High < o.Low || c.Low > o.High // the intervals do not touch
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

// compareNodes says what is different about the machines.
func compareNodes(old, now Proof) (changes []Change) {
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
		names := maps.Clone(n.Versions)
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
