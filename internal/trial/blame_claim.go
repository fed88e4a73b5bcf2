package trial

import (
	"math"
	"slices"
)

// claim says that one thing is to blame for a set of ties.
type claim struct {
	kind  string // as of a Problem
	way   string
	at    []End
	rank  int       // of two that explain the same, the smaller is believed
	cost  float64   // the logarithm of how many like it there are: one of many is bad by chance
	parts [][]int32 // ties, in sets that are each worse by an amount of their own
	alone bool      // one tie is enough: a pair, or a port with itself
	self  int32     // the end whose partners count; -1 none

	sizes []float64 // how much worse each part is
	gain  float64   // how much likelier the ties are with it, less cost
	stale bool      // others explain some of its ties since it was weighed
}

const (
	sending   = "sending"
	receiving = "receiving"
)

// claims lists what may be to blame.
func (m *mesh) claims() (all []*claim) {
	all = m.portClaims(all)
	all = m.nodeClaims(all)
	all = m.leafClaims(all)
	all = m.wholeClaims(all)
	return m.pairClaims(all)
}

func (m *mesh) portClaims(all []*claim) []*claim {
	cost := math.Log(float64(3 * len(m.ends)))
	for e, s := range m.ends {
		at, self := []End{s.End}, int32(e)
		if !m.directed {
			all = append(all, &claim{kind: "port", at: at, rank: 2, cost: cost, parts: [][]int32{m.touching(self)}, self: self})
			continue
		}
		all = append(all,
			&claim{kind: "port", way: sending, at: at, rank: 1, cost: cost, parts: [][]int32{m.from[e]}, self: self},
			&claim{kind: "port", way: receiving, at: at, rank: 1, cost: cost, parts: [][]int32{m.to[e]}, self: self},
			&claim{kind: "port", at: at, rank: 2, cost: cost, parts: [][]int32{m.from[e], m.to[e]}, self: self})
	}
	return all
}

// nodeClaims are of nodes with several ports, all of which are bad.
func (m *mesh) nodeClaims(all []*claim) []*claim {
	cost := math.Log(float64(3 * len(m.ends)))
	for n, ends := range m.nodes.members() {
		if len(ends) < 2 {
			continue
		}
		var out, in [][]int32
		for _, e := range ends {
			if m.directed {
				out, in = append(out, m.from[e]), append(in, m.to[e])
			} else {
				out = append(out, m.touching(e))
			}
		}
		at := []End{{Node: m.nodes.names[n]}}
		add := func(way string, parts [][]int32) {
			all = append(all, &claim{kind: "node", way: way, at: at, rank: 3, cost: cost, parts: parts, self: -1})
		}
		if m.directed {
			add(sending, out)
			add(receiving, in)
		}
		add("", slices.Concat(out, in))
	}
	return all
}

// leafClaims are of switches: everything that is plugged into one, or all that crosses its
// links to the others, or all between two of them.
func (m *mesh) leafClaims(all []*claim) []*claim {
	leafs := m.leafs.members()
	several := 0
	for _, ends := range leafs {
		if len(ends) > 1 {
			several++
		}
	}
	if several == 0 {
		return all
	}
	cost := math.Log(float64(8 * len(leafs)))
	within, out, in := make([][]int32, len(leafs)), make([][]int32, len(leafs)), make([][]int32, len(leafs))
	pairs := map[[2]int32][]int32{}
	for i := range m.ties {
		t := &m.ties[i]
		a, b := m.leafs.of[t.a], m.leafs.of[t.b]
		switch {
		case a == b && a >= 0:
			within[a] = append(within[a], int32(i))
			continue
		case a >= 0 && b >= 0 && len(leafs) > 2:
			pairs[[2]int32{min(a, b), max(a, b)}] = append(pairs[[2]int32{min(a, b), max(a, b)}], int32(i))
		}
		if a >= 0 {
			out[a] = append(out[a], int32(i))
		}
		if b >= 0 {
			in[b] = append(in[b], int32(i))
		}
	}
	add := func(way string, parts [][]int32, names ...string) {
		c := &claim{kind: "switch", way: way, rank: 4, cost: cost, parts: parts, self: -1}
		for _, n := range names {
			c.at = append(c.at, End{Node: n})
		}
		all = append(all, c)
	}
	for l, ends := range leafs {
		if len(ends) < 2 || len(ends) == len(m.ends) { // a port of its own, or the whole rail
			continue
		}
		name := m.leafs.names[l]
		if len(leafs) == 2 && !m.leafless() { // what leaves one of two enters the other
			if l == 0 {
				add("", [][]int32{slices.Concat(out[l], in[l])}, m.leafs.names...)
			}
		} else if m.directed {
			add(sending, [][]int32{out[l]}, name)
			add(receiving, [][]int32{in[l]}, name)
			add("", [][]int32{out[l], in[l]}, name)
		} else {
			add("", [][]int32{slices.Concat(out[l], in[l])}, name)
		}
		if len(within[l]) > 0 {
			add("", [][]int32{within[l], slices.Concat(out[l], in[l])}, name)
		}
	}
	for _, k := range sortedPairs(pairs) {
		add("", [][]int32{pairs[k]}, m.leafs.names[k[0]], m.leafs.names[k[1]])
	}
	return all
}

// leafless reports whether an end's switch is not known.
func (m *mesh) leafless() bool {
	for _, l := range m.leafs.of {
		if l < 0 {
			return true
		}
	}
	return false
}

// wholeClaims are of rails and of all rails together. A rail is held against others, if
// there are; all of them only against something outside.
func (m *mesh) wholeClaims(all []*claim) []*claim {
	rails := m.rails.members()
	if !m.whole && len(rails) < 2 {
		return all
	}
	ties := make([][]int32, len(rails))
	every := make([]int32, len(m.ties))
	for i := range m.ties {
		every[i] = int32(i)
		if r := m.rails.of[m.ties[i].a]; r >= 0 {
			ties[r] = append(ties[r], int32(i))
		}
	}
	for r, ends := range rails {
		if m.nodesOf(ends) > 2 {
			all = append(all, &claim{kind: "rail", at: []End{{Node: m.rails.names[r]}}, rank: 5, parts: [][]int32{ties[r]}, self: -1})
		}
	}
	if m.whole && len(rails) != 1 && len(m.nodes.names) > 1 {
		all = append(all, &claim{kind: "cluster", rank: 6, parts: [][]int32{every}, self: -1})
	}
	return all
}

// nodesOf counts the nodes of some ends, up to three.
func (m *mesh) nodesOf(ends []int32) int {
	seen := [3]int32{-1, -1, -1}
	n := 0
	for _, e := range ends {
		node := m.nodes.of[e]
		if n < 3 && node != seen[0] && node != seen[1] {
			seen[n] = node
			n++
		}
	}
	return n
}

// pairClaims are of two ends that have a bad tie; of one end that is bad with itself.
func (m *mesh) pairClaims(all []*claim) []*claim {
	cost := math.Log(float64(len(m.ties) + 1))
	if m.whole { // good or bad without doubt
		cost = 0
	}
	oneWay := 0.0
	if m.noisy { // noise that stays with a pair for a while looks like a bad one, most of all in one direction
		cost, oneWay = cost+3, 8
	}
	seen := map[[2]int32]*claim{}
	for i := range m.ties {
		t := &m.ties[i]
		if !m.low(t) {
			continue
		}
		part := [][]int32{{int32(i)}}
		if t.a == t.b {
			all = append(all, &claim{kind: "port", at: []End{m.ends[t.a].End}, cost: math.Log(float64(len(m.ends))), parts: part, alone: true, self: -1})
			continue
		}
		c := &claim{kind: "pair", at: []End{m.ends[t.a].End, m.ends[t.b].End}, cost: cost, parts: part, alone: true, self: -1}
		if m.directed {
			c.way, c.cost = sending, cost+oneWay
			if back := seen[[2]int32{t.b, t.a}]; back != nil {
				all = append(all, &claim{kind: "pair", at: back.at, cost: cost, rank: 1, parts: slices.Concat(back.parts, part), alone: true, self: -1})
			}
			seen[[2]int32{t.a, t.b}] = c
		}
		all = append(all, c)
	}
	return all
}
