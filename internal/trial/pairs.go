package trial

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/nodeset"
	"weft/internal/topo"
)

// Rail is the ends that should reach each other directly, each node's in its order.
type Rail struct {
	Name string // "192.168.200.0/24"
	Ends []End
}

// Rails returns the rails of a cluster's data ports that are up, and what is left out of
// them with the reason.
func Rails(c *check.Case) (rails []Rail, left []string) {
	var up []topo.PortAt
	for _, n := range c.Nodes {
		if n.Down != "" {
			left = append(left, n.Name+": "+n.Down)
		}
	}
	for _, pa := range c.DataPorts() {
		if pa.Port.Up() {
			up = append(up, pa)
		} else {
			left = append(left, fmt.Sprintf("%s %s: the port is %s", pa.Node.Name, pa.Port.Name, stateWord(pa.Port.State)))
		}
	}
	placed := map[End]bool{}
	for _, r := range topo.Rails(up) {
		rail := Rail{Name: r.Name}
		for _, pa := range r.Ports {
			rail.Ends = append(rail.Ends, End{pa.Node.Name, pa.Port.Name})
			placed[End{pa.Node.Name, pa.Port.Name}] = true
		}
		rails = append(rails, rail)
	}
	for _, pa := range up {
		if !placed[End{pa.Node.Name, pa.Port.Name}] {
			left = append(left, fmt.Sprintf("%s %s: it has no address, so no rail", pa.Node.Name, pa.Port.Name))
		}
	}
	return rails, left
}

func stateWord(state string) string {
	if state == "" {
		return "in a state that could not be read"
	}
	return state
}

// Which are the pairs that a person asks for.
type Which struct {
	Word  string   // "all", "ring", "sample"; "" when Nodes are named
	Nodes []string // only pairs among these
}

// ParseWhich reads all, ring, sample, or nodes: "spark1,spark2", "gpu[1-8]".
func ParseWhich(s string) (Which, error) {
	if slices.Contains([]string{"all", "ring", "sample"}, s) {
		return Which{Word: s}, nil
	}
	nodes, err := nodeset.Expand(s)
	switch {
	case err != nil:
		return Which{}, fmt.Errorf("pairs %q: want all, ring, sample or nodes: %w", s, err)
	case len(nodes) < 2:
		return Which{}, fmt.Errorf("pairs %q: want all, ring, sample or at least two nodes", s)
	}
	return Which{Nodes: nodes}, nil
}

// String is what ParseWhich reads.
func (w Which) String() string {
	if w.Word != "" {
		return w.Word
	}
	return strings.Join(w.Nodes, ",")
}

// Round is pairs that share no node, so that they can be measured at the same time.
type Round struct {
	Rail  string
	Pairs []Pair
}

// sampled is in how many pairs of a rail each end is in a sample. A bad end is then told
// from a bad partner by four others, and the work grows with the number of nodes alone.
const sampled = 5

// Rounds returns the rounds that measure the pairs asked for. The order and who meets whom
// first are drawn by perm, which returns a permutation of n numbers: what disturbs a
// fabric for a moment then does not always hit the same pairs. left says what a sample
// leaves out.
func Rounds(rails []Rail, w Which, perm func(n int) []int) (rounds []Round, left []string) {
	for _, rail := range rails {
		ends := rail.Ends
		if w.Word == "" {
			ends = slices.DeleteFunc(slices.Clone(ends), func(e End) bool { return !slices.Contains(w.Nodes, e.Node) })
		}
		var own []Round
		switch w.Word {
		case "ring":
			own = ring(rail.Name, ends)
		case "sample":
			own = circle(rail.Name, shuffled(ends, perm), sampled)
			if all := pairsAmong(ends); pairsOf(own) < all {
				left = append(left, fmt.Sprintf("%d of the %d pairs of %s: each port meets up to %d others, chosen by chance (--pairs all measures every pair)",
					all-pairsOf(own), all, rail.Name, sampled))
			}
		default:
			own = circle(rail.Name, shuffled(ends, perm), len(ends))
		}
		rounds = append(rounds, own...)
	}
	return shuffled(rounds, perm), left
}

// pairsAmong counts the pairs of ends on different nodes.
func pairsAmong(ends []End) int {
	n, own := len(ends)*(len(ends)-1)/2, map[string]int{}
	for _, e := range ends {
		n -= own[e.Node]
		own[e.Node]++
	}
	return n
}

func pairsOf(rounds []Round) (n int) {
	for _, r := range rounds {
		n += len(r.Pairs)
	}
	return n
}

func shuffled[T any](all []T, perm func(n int) []int) []T {
	out := make([]T, len(all))
	for i, j := range perm(len(all)) {
		out[i] = all[j]
	}
	return out
}

// circle pairs everyone with everyone in n-1 rounds of n/2: one stays, the others walk
// round a table. With an odd number somebody rests each round. Two ports of one node are
// no pair. At most so many rounds are made, before some are parted.
func circle(rail string, ends []End, most int) []Round {
	if len(ends)%2 == 1 {
		ends = append(slices.Clone(ends), End{}) // who meets it rests
	}
	n := len(ends)
	var rounds []Round
	for r := range min(max(n-1, 0), most) {
		round := Round{Rail: rail}
		for i := range n / 2 {
			a, b := seat(r, i, n), seat(r, n-1-i, n)
			if p := (Pair{ends[a], ends[b]}); p.A.Node != "" && p.B.Node != "" && p.A.Node != p.B.Node {
				round.Pairs = append(round.Pairs, p)
			}
		}
		rounds = append(rounds, apart(round)...)
	}
	return rounds
}

// seat is who sits at place i of n in round r: place 0 never moves.
func seat(r, i, n int) int {
	if i == 0 {
		return 0
	}
	return (i-1+r)%(n-1) + 1
}

// apart splits a round in which a node would be in two pairs at once, because two of its
// ports are on one rail.
func apart(r Round) (rounds []Round) {
	for len(r.Pairs) > 0 {
		now, later := Round{Rail: r.Rail}, Round{Rail: r.Rail}
		busy := map[string]bool{}
		for _, p := range r.Pairs {
			if busy[p.A.Node] || busy[p.B.Node] {
				later.Pairs = append(later.Pairs, p)
				continue
			}
			busy[p.A.Node], busy[p.B.Node] = true, true
			now.Pairs = append(now.Pairs, p)
		}
		rounds, r = append(rounds, now), later
	}
	return rounds
}

// ring pairs neighbours in the order of the nodes, the last with the first; the second
// ports of nodes that have several on the rail are a ring of their own.
func ring(rail string, ends []End) []Round {
	all := Round{Rail: rail}
	var rings [][]End
	seen := map[string]int{}
	for _, e := range ends {
		k := seen[e.Node]
		if seen[e.Node]++; k == len(rings) {
			rings = append(rings, nil)
		}
		rings[k] = append(rings[k], e)
	}
	for _, r := range rings {
		for i, e := range r {
			if next := r[(i+1)%len(r)]; e.Node != next.Node && (len(r) > 2 || i == 0) {
				all.Pairs = append(all.Pairs, Pair{e, next})
			}
		}
	}
	return apart(all)
}

// Packed makes rounds of pairs in any order: used for suspects and their new partners.
func Packed(pairs []Pair) []Round { return apart(Round{Pairs: pairs}) }
