package meter

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"weft/internal/collective"
	"weft/internal/trial"
	"weft/internal/verbs"
)

// Group is one rank of a group to open.
type Group struct {
	Rank  int             `json:"rank"`
	Ranks int             `json:"ranks"`
	Ops   []collective.Op `json:"ops"`            // there is to be room for these
	RDMA  *RDMA           `json:"rdma,omitempty"` // over this port; or
	Addr  string          `json:"addr,omitempty"` // over TCP from this address
}

// Join is what a rank must know of the others; its own place is empty.
type Join struct {
	Peers []*verbs.Peer `json:"peers,omitempty"`
	Addrs []string      `json:"addrs,omitempty"`
}

// Rehearse is ops to carry out, over and over.
type Rehearse struct {
	Ops   []collective.Op `json:"ops"`
	Times int             `json:"times"`
	Check uint64          `json:"check,omitempty"` // not 0: one all-reduce of vectors made from this seed, whose sum is looked at
}

// Rehearsed is what a rank saw.
type Rehearsed struct {
	Each  []*trial.Times `json:"each"`  // of each op; nil where this rank takes no part
	Whole []trial.Amount `json:"whole"` // nanoseconds of all ops, each time
}

// wire carries messages between the ranks of a group.
type wire interface {
	memory() []byte
	put(collective.Put) error
	take(collective.Take) error
	run(context.Context, func() error) error
	join(context.Context, Join) error
	Close() error
}

// group is one rank and its wire.
type group struct {
	wire
	rank, ranks int
	arena       collective.Arena
}

// most bounds what a rank may be asked to make and to do.
const (
	maxOps   = 1 << 12
	maxArena = 1 << 30
	maxRuns  = 1 << 22 // ops carried out at one asking
)

func checkOps(ops []collective.Op, ranks int) error {
	if len(ops) == 0 || len(ops) > maxOps {
		return fmt.Errorf("%d ops: want 1 to %d", len(ops), maxOps)
	}
	for _, o := range ops {
		if err := o.Check(ranks); err != nil {
			return err
		}
	}
	return nil
}

// openGroup makes one rank and tells what the others must know of it.
func (s *server) openGroup(ctx context.Context, a Ask) (Answer, error) {
	g := a.Group
	if g == nil || g.Ranks < 2 || g.Rank < 0 || g.Rank >= g.Ranks {
		return Answer{}, errors.New("no rank of a group is named")
	}
	if err := checkOps(g.Ops, g.Ranks); err != nil {
		return Answer{}, err
	}
	arena := collective.ArenaFor(g.Ops)
	if arena.Size() > maxArena {
		return Answer{}, fmt.Errorf("%d bytes of memory: want at most %d", arena.Size(), maxArena)
	}
	var w wire
	var err error
	ans, _ := s.counters(ctx, a)
	if g.RDMA != nil {
		w, ans.Peers, err = s.rdmaWire(g, arena.Size())
	} else {
		w, ans.Port, err = listenWire(g, arena.Size())
	}
	if err != nil {
		return Answer{}, err
	}
	return ans, s.hold(a.Conn, &group{w, g.Rank, g.Ranks, arena})
}

// joinGroup connects a rank to all others.
func (s *server) joinGroup(ctx context.Context, a Ask) (Answer, error) {
	g, err := held[*group](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	if a.Join == nil {
		return Answer{}, errors.New("nobody to join is named")
	}
	return Answer{}, class("peer", g.join(ctx, *a.Join))
}

// rehearse carries ops out.
func (s *server) rehearse(ctx context.Context, a Ask) (Answer, error) {
	g, err := held[*group](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	r := a.Rehearse
	if r == nil || r.Times < 1 || r.Times > maxRuns || len(r.Ops)*r.Times > maxRuns {
		return Answer{}, fmt.Errorf("times to rehearse: want 1 to %d ops in all", maxRuns)
	}
	if err := checkOps(r.Ops, g.ranks); err != nil {
		return Answer{}, err
	}
	if need := collective.ArenaFor(r.Ops); need.Vector > g.arena.Vector || need.Inbox > g.arena.Inbox || need.Land > g.arena.Land {
		return Answer{}, errors.New("ops larger than those the group was opened for")
	}
	var seen *Rehearsed
	err = g.run(ctx, func() (err error) {
		if r.Check != 0 {
			return g.checked(r)
		}
		seen, err = g.timed(r)
		return err
	})
	return Answer{Rehearsed: seen}, silent(err)
}

// steps are the rounds of each op in its turn, for the turns of two times of all ops: so
// many ops may be odd in number.
func (g *group) steps(ops []collective.Op) [2][][]collective.Round {
	var all [2][][]collective.Round
	turn := 0
	for i := range all {
		for _, o := range ops {
			all[i] = append(all[i], o.Steps(g.rank, g.arena, turn))
			if o.Kind != collective.Hop && slices.Contains(o.Ranks, g.rank) {
				turn++
			}
		}
	}
	return all
}

// do carries one op out.
func (g *group) do(rounds []collective.Round) error {
	m := g.memory()
	for _, r := range rounds {
		for _, p := range r.Puts {
			if err := g.put(p); err != nil {
				return err
			}
		}
		for _, t := range r.Takes {
			if err := g.take(t); err != nil {
				return err
			}
		}
		for _, s := range r.Sums {
			collective.Add(m[s.At:s.At+s.Len], m[s.A:s.A+s.Len], m[s.B:s.B+s.Len])
		}
	}
	return nil
}

// timed carries all ops out, so many times, and tells how long each took.
func (g *group) timed(r *Rehearse) (*Rehearsed, error) {
	steps := g.steps(r.Ops)
	each := make([][]time.Duration, len(r.Ops))
	seen := &Rehearsed{Each: make([]*trial.Times, len(r.Ops)), Whole: make([]trial.Amount, 0, r.Times)}
	for i := range each {
		each[i] = make([]time.Duration, 0, r.Times)
	}
	start := time.Now()
	last := time.Duration(0)
	for n := range r.Times {
		began := last
		for i, rounds := range steps[n%2] {
			if rounds == nil {
				continue
			}
			if err := g.do(rounds); err != nil {
				return nil, fmt.Errorf("%s %d of %d: %w", r.Ops[i].Kind, n*len(r.Ops)+i, r.Times*len(r.Ops), err)
			}
			now := time.Since(start)
			each[i] = append(each[i], now-last)
			last = now
		}
		seen.Whole = append(seen.Whole, trial.Amount(last-began))
	}
	for i, all := range each {
		if len(all) > 0 {
			seen.Each[i] = percentiles(all)
		}
	}
	return seen, nil
}

// checked carries one all-reduce out with vectors that are known, and wants the sum that
// is known. It is one only: the next vector might overwrite what is still being sent.
func (g *group) checked(r *Rehearse) error {
	o := r.Ops[0]
	if len(r.Ops) != 1 || o.Kind != collective.AllReduce {
		return errors.New("one all-reduce can be checked")
	}
	if !slices.Contains(o.Ranks, g.rank) {
		return nil
	}
	m, in, out := g.memory(), g.arena.In(0), g.arena.Out(0)
	fill(m[in:in+o.Bytes], r.Check, g.rank)
	if err := g.do(o.Steps(g.rank, g.arena, 0)); err != nil {
		return err
	}
	sum, one := make([]byte, o.Bytes), make([]byte, o.Bytes)
	for _, k := range o.Ranks {
		fill(one, r.Check, k)
		collective.Add(sum, sum, one)
	}
	if !bytes.Equal(sum, m[out:out+o.Bytes]) {
		return class("data", fmt.Errorf("%s of %d bytes, %s: the sum is wrong: bytes were changed or lost on the way", o.Kind, o.Bytes, o.How))
	}
	return nil
}

// fill makes a rank's vector.
func fill(b []byte, seed uint64, rank int) {
	r := rand.NewPCG(seed, uint64(rank))
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, r.Uint64())
		b = b[8:]
	}
	for i := range b {
		b[i] = byte(r.Uint64())
	}
}
