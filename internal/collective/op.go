// Package collective is how ranks exchange: what an all-reduce, an all-to-all and a hop
// of a pipeline are made of, step by step, for every rank. Pure: others carry it out,
// over RDMA or over TCP.
package collective

import (
	"errors"
	"fmt"
	"slices"
)

// The kinds of exchange that decoding has.
const (
	AllReduce = "all-reduce" // every rank ends with the sum of all vectors
	AllToAll  = "all-to-all" // every rank has a piece for each other one, and adds what it gets to it
	Hop       = "hop"        // one rank sends to another
)

// Op is one exchange.
type Op struct {
	Kind  string `json:"kind"`
	Bytes int    `json:"bytes"`         // of the vector, of each piece, of the message
	Ranks []int  `json:"ranks"`         // who takes part; of a hop: from, to
	How   string `json:"how,omitempty"` // of an all-reduce: one of Ways
}

// The ways to carry out an all-reduce. Which is quickest depends on the size, on the
// number of ranks, and on whether a message costs more than its bytes: so it is tried.
const (
	OneShot  = "one-shot" // everybody sends all to everybody: one round
	TwoShot  = "two-shot" // everybody sums one part and sends it to everybody: two rounds
	Doubling = "doubling" // pairs, pairs of pairs: log n rounds; n is a power of two
	Ring     = "ring"     // parts go round, twice: 2(n-1) rounds of 1/n
	Star     = "star"     // one sums for all: two rounds, the fewest messages
)

// Ways are the ways that this many ranks have.
func Ways(ranks int) []string {
	if ranks == 2 { // the others are the same with more steps
		return []string{OneShot, TwoShot, Star}
	}
	all := []string{OneShot, TwoShot, Ring, Star}
	if ranks&(ranks-1) == 0 {
		all = append(all, Doubling)
	}
	return all
}

// Bounds of an Op: a whole prompt's activations; far more ranks than connections allow.
const (
	MaxBytes = 1 << 28
	MaxRanks = 1 << 10
)

// Check refuses an op that cannot be carried out among this many ranks.
func (o Op) Check(ranks int) error {
	if o.Bytes < 2 || o.Bytes > MaxBytes || o.Bytes%2 != 0 {
		return fmt.Errorf("%s of %d bytes: want an even number from 2 to %d", o.Kind, o.Bytes, MaxBytes)
	}
	if len(o.Ranks) < 2 || ranks > MaxRanks {
		return fmt.Errorf("%s among %d of %d ranks: want 2 at least, and at most %d", o.Kind, len(o.Ranks), ranks, MaxRanks)
	}
	seen := map[int]bool{}
	for _, r := range o.Ranks {
		if r < 0 || r >= ranks || seen[r] {
			return fmt.Errorf("%s: rank %d of %d: is none, or named twice", o.Kind, r, ranks)
		}
		seen[r] = true
	}
	switch {
	case o.Kind == Hop && len(o.Ranks) != 2:
		return errors.New("a hop has two ranks: from, to")
	case o.Kind == AllReduce && !slices.Contains(Ways(len(o.Ranks)), o.How):
		return fmt.Errorf("all-reduce %q among %d ranks: want one of %q", o.How, len(o.Ranks), Ways(len(o.Ranks)))
	case o.Kind != AllReduce && o.Kind != AllToAll && o.Kind != Hop:
		return fmt.Errorf("%q: want %s, %s or %s", o.Kind, AllReduce, AllToAll, Hop)
	}
	return nil
}
