package collective

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// fabric carries ops out among ranks whose messages take their time: a put is read from
// its memory and written to the other's at any moment between its post and the take that
// waits for it, in order between two ranks.
type fabric struct {
	t     *testing.T
	r     *rand.Rand
	arena Arena
	ranks []*rank
	sent  map[[2]int][]Put // under way
	there map[[2]int]int   // arrived and not taken
}

type rank struct {
	id     int
	memory []byte
	todo   []func() bool // each does one step, or says that it cannot yet
}

func newFabric(t *testing.T, r *rand.Rand, n int, ops []Op) *fabric {
	f := &fabric{t: t, r: r, arena: ArenaFor(ops), sent: map[[2]int][]Put{}, there: map[[2]int]int{}}
	for i := range n {
		m := &rank{id: i, memory: make([]byte, f.arena.Size())}
		for k := range m.memory {
			m.memory[k] = byte(r.Uint32())
		}
		turn := 0
		for _, o := range ops {
			for _, round := range o.Steps(i, f.arena, turn) {
				f.plan(m, round)
			}
			if o.Kind != Hop && slices.Contains(o.Ranks, i) {
				turn++
			}
		}
		f.ranks = append(f.ranks, m)
	}
	return f
}

func (f *fabric) plan(m *rank, round Round) {
	for _, p := range round.Puts {
		m.todo = append(m.todo, func() bool {
			way := [2]int{m.id, p.To}
			f.sent[way] = append(f.sent[way], p)
			return true
		})
	}
	for _, k := range round.Takes {
		m.todo = append(m.todo, func() bool {
			way := [2]int{k.Of, m.id}
			if f.there[way] == 0 {
				return false
			}
			f.there[way]--
			return true
		})
	}
	for _, s := range round.Sums {
		m.todo = append(m.todo, func() bool {
			Add(m.memory[s.At:s.At+s.Len], m.memory[s.A:s.A+s.Len], m.memory[s.B:s.B+s.Len])
			return true
		})
	}
}

// run lets ranks and messages move in any order until all is done.
func (f *fabric) run() {
	for {
		var moves []func() bool
		for _, m := range f.ranks {
			if len(m.todo) > 0 {
				moves = append(moves, func() bool {
					if !m.todo[0]() {
						return false
					}
					m.todo = m.todo[1:]
					return true
				})
			}
		}
		for way, puts := range f.sent {
			if len(puts) > 0 {
				moves = append(moves, func() bool {
					p := puts[0]
					copy(f.ranks[p.To].memory[p.At:p.At+p.Len], f.ranks[way[0]].memory[p.From:p.From+p.Len])
					f.sent[way] = puts[1:]
					f.there[way]++
					return true
				})
			}
		}
		if len(moves) == 0 {
			return
		}
		moved := false
		for _, i := range f.r.Perm(len(moves)) {
			if moved = moves[i](); moved {
				break
			}
		}
		if !moved {
			f.t.Fatal("everybody waits")
		}
	}
}

// want is the vectors after the ops, by what the ops mean.
func (f *fabric) want(ops []Op) [][]byte {
	var all [][]byte
	for _, m := range f.ranks {
		all = append(all, bytes.Clone(m.memory))
	}
	turns := make([]int, len(all))
	for _, o := range ops {
		turn := turns[o.Ranks[0]]
		in, out := f.arena.In(turn), f.arena.Out(turn)
		if o.Kind == Hop {
			copy(all[o.Ranks[1]][f.arena.land():][:o.Bytes], all[o.Ranks[0]][f.arena.land():])
			continue
		}
		for _, r := range o.Ranks {
			turns[r]++
		}
		switch o.Kind {
		case AllReduce:
			sum := make([]byte, o.Bytes)
			for _, r := range o.Ranks {
				Add(sum, sum, all[r][in:in+o.Bytes])
			}
			for _, r := range o.Ranks {
				copy(all[r][out:], sum)
			}
		case AllToAll:
			for to, r := range o.Ranks {
				for from, p := range o.Ranks {
					if r != p {
						Add(all[r][out+from*o.Bytes:][:o.Bytes], all[r][in+from*o.Bytes:][:o.Bytes], all[p][in+to*o.Bytes:][:o.Bytes])
					}
				}
			}
		}
	}
	return all
}

func (f *fabric) check(ops []Op, what string) {
	f.t.Helper()
	want := f.want(ops)
	f.run()
	a := f.arena
	for i, m := range f.ranks {
		for _, part := range [][2]int{{a.In(0), a.Vector}, {a.In(1), a.Vector}, {a.land(), a.Land}} {
			at, end := part[0], part[0]+part[1]
			if !bytes.Equal(m.memory[at:end], want[i][at:end]) {
				f.t.Fatalf("%s: rank %d has something else at %d than it should", what, i, at)
			}
		}
	}
	for way, n := range f.there {
		if n != 0 || len(f.sent[way]) != 0 {
			f.t.Fatalf("%s: %d messages were not taken, %d not sent", what, n, len(f.sent[way]))
		}
	}
}

// TestWays: every way to sum gives the sum, for every number of ranks, for odd sizes, over
// and over, however late a message is read and however late it arrives.
func TestWays(t *testing.T) {
	for n := 2; n <= 9; n++ {
		for _, how := range Ways(n) {
			for _, size := range []int{2, 62, 64, 130, 1024, 4098} {
				r := rand.New(rand.NewPCG(uint64(n), uint64(size)))
				ranks := r.Perm(n + 1)[:n] // one of them stands apart
				var ops []Op
				for range 6 {
					ops = append(ops, Op{Kind: AllReduce, Bytes: size, Ranks: ranks, How: how})
				}
				if err := ops[0].Check(n + 1); err != nil {
					t.Fatal(err)
				}
				newFabric(t, r, n+1, ops).check(ops, fmt.Sprintf("%s of %d bytes among %d", how, size, n))
			}
		}
	}
}

// TestMixed: ops of all kinds one after the other, as a token has them, in groups and in
// pipelines.
func TestMixed(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := 2 + r.IntN(6)
		everybody := r.Perm(n)
		ways := Ways(n)
		var ops []Op
		for range 1 + r.IntN(12) {
			size := 2 * (1 + r.IntN(300))
			if r.IntN(3) == 0 {
				ops = append(ops, Op{Kind: AllToAll, Bytes: size, Ranks: everybody})
			} else {
				ops = append(ops, Op{Kind: AllReduce, Bytes: size, Ranks: everybody, How: ways[r.IntN(len(ways))]})
			}
		}
		newFabric(t, r, n, ops).check(ops, fmt.Sprint("seed ", seed))
	}
	for seed := range uint64(100) { // two tokens through a pipeline of stages
		r := rand.New(rand.NewPCG(seed, 8))
		tp, pp := 1+r.IntN(3), 2+r.IntN(2)
		var ops []Op
		for range 2 {
			for s := range pp {
				var group []int
				for i := range tp {
					group = append(group, s*tp+i)
				}
				for range 2 * r.IntN(3) {
					if tp > 1 {
						ops = append(ops, Op{Kind: AllReduce, Bytes: 100, Ranks: group, How: Ways(tp)[r.IntN(len(Ways(tp)))]})
					}
				}
				for i := range tp {
					ops = append(ops, Op{Kind: Hop, Bytes: 100, Ranks: []int{s*tp + i, (s+1)%pp*tp + i}})
				}
			}
		}
		newFabric(t, r, tp*pp, ops).check(ops, fmt.Sprint("pipeline, seed ", seed))
	}
}

// TestFewest: the steps are as many as the way's name promises.
func TestFewest(t *testing.T) {
	const n, size = 8, 4096
	for how, want := range map[string]struct{ rounds, messages, bytes int }{
		OneShot:  {1, n * (n - 1), n * (n - 1) * size},
		TwoShot:  {2, 2 * n * (n - 1), 2 * (n - 1) * size},
		Ring:     {2 * (n - 1), 2 * n * (n - 1), 2 * (n - 1) * size},
		Doubling: {3, 3 * n, 3 * n * size},
		Star:     {2, 2 * (n - 1), 2 * (n - 1) * size},
	} {
		o := Op{Kind: AllReduce, Bytes: size, Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}, How: how}
		rounds, messages, sum := 0, 0, 0
		for rank := range n {
			steps := o.Steps(rank, ArenaFor([]Op{o}), 0)
			rounds = max(rounds, len(steps))
			for _, r := range steps {
				messages += len(r.Puts)
				for _, p := range r.Puts {
					sum += p.Len
				}
			}
		}
		if rounds != want.rounds || messages != want.messages || sum != want.bytes {
			t.Errorf("%s: %d rounds, %d messages, %d bytes; want %+v", how, rounds, messages, sum, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, o := range []Op{
		{}, {Kind: AllReduce, Bytes: 16, Ranks: []int{0}}, {Kind: AllReduce, Bytes: 16, Ranks: []int{0, 0}, How: OneShot},
		{Kind: AllReduce, Bytes: 16, Ranks: []int{0, 4}, How: OneShot}, {Kind: AllReduce, Bytes: 15, Ranks: []int{0, 1}, How: OneShot},
		{Kind: AllReduce, Bytes: 16, Ranks: []int{0, 1}, How: "magic"}, {Kind: AllReduce, Bytes: 16, Ranks: []int{0, 1, 2}, How: Doubling},
		{Kind: Hop, Bytes: 16, Ranks: []int{0, 1, 2}}, {Kind: "scatter", Bytes: 16, Ranks: []int{0, 1}}, {Kind: AllToAll, Bytes: MaxBytes + 2, Ranks: []int{0, 1}},
	} {
		if err := o.Check(4); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), []byte("ghijklmnopqrstuv"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		n := min(len(a), len(b)) &^ 1
		got := make([]byte, n)
		Add(got, a[:n], b[:n])
		for i := 0; i < n; i += 2 {
			if binary.LittleEndian.Uint16(got[i:]) != binary.LittleEndian.Uint16(a[i:])+binary.LittleEndian.Uint16(b[i:]) {
				t.Fatalf("at %d: %x + %x = %x", i, a[i:i+2], b[i:i+2], got[i:i+2])
			}
		}
	})
}
