package meter

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/collective"
)

// ranks opens a group over loopback, one meter a rank, and joins it.
func ranks(t *testing.T, n int, ops []collective.Op) []*asker {
	t.Helper()
	before := nap // here ranks share processors
	nap = time.Millisecond
	t.Cleanup(func() { nap = before })
	var all []*asker
	join := Join{Addrs: make([]string, n)}
	for r := range n {
		a := begin(t)
		port := a.well(Ask{Do: "group open", Conn: "g", Group: &Group{Rank: r, Ranks: n, Ops: ops, Addr: "127.0.0.1"}}).Port
		join.Addrs[r] = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		all = append(all, a)
	}
	for i, ans := range together(all, func(int) Ask { return Ask{Do: "group join", Conn: "g", Join: &join} }) {
		if ans.Error != "" {
			t.Fatalf("rank %d: %s", i, ans.Error)
		}
	}
	return all
}

func together(all []*asker, q func(rank int) Ask) []Answer {
	answers := make([]Answer, len(all))
	var wg sync.WaitGroup
	for i, a := range all {
		wg.Go(func() { answers[i] = a.ask(q(i)) })
	}
	wg.Wait()
	return answers
}

// TestGroupTCP: sums are right in every way and at every size, also at one that no socket
// holds, and times are told by those who take part.
func TestGroupTCP(t *testing.T) {
	const n = 4
	everybody := []int{0, 1, 2, 3}
	var ops []collective.Op
	for _, how := range collective.Ways(n) {
		for _, size := range []int{2, 16 << 10, 2 << 20} {
			ops = append(ops, collective.Op{Kind: collective.AllReduce, Bytes: size, Ranks: everybody, How: how})
		}
	}
	all := ranks(t, n, ops)
	for i, o := range ops {
		for r, ans := range together(all, func(int) Ask {
			return Ask{Do: "rehearse", Conn: "g", Rehearse: &Rehearse{Ops: []collective.Op{o}, Times: 1, Check: uint64(i + 1)}}
		}) {
			if ans.Error != "" {
				t.Fatalf("%s of %d bytes: rank %d: %s", o.How, o.Bytes, r, ans.Error)
			}
		}
	}
	two := collective.Op{Kind: collective.AllReduce, Bytes: 4096, Ranks: []int{1, 3}, How: collective.OneShot}
	for r, ans := range together(all, func(int) Ask {
		return Ask{Do: "rehearse", Conn: "g", Rehearse: &Rehearse{Ops: []collective.Op{two, ops[0]}, Times: 7}}
	}) {
		s := ans.Rehearsed
		if ans.Error != "" || len(s.Each) != 2 || (s.Each[0] != nil) != (r%2 == 1) || s.Each[1].Count != 7 || len(s.Whole) != 7 || s.Whole[3] <= 0 {
			t.Errorf("rank %d: %+v %+v", r, ans, s)
		}
	}
}

// TestGroupLoses: a rank that goes away ends the others' runs, with its number.
func TestGroupLoses(t *testing.T) {
	op := collective.Op{Kind: collective.AllReduce, Bytes: 1024, Ranks: []int{0, 1, 2}, How: collective.Ring}
	all := ranks(t, 3, []collective.Op{op})
	all[2].well(Ask{Do: "close", Conn: "g"})
	for r, ans := range together(all[:2], func(int) Ask {
		return Ask{Do: "rehearse", Conn: "g", Rehearse: &Rehearse{Ops: []collective.Op{op}, Times: 1000}}
	}) {
		if ans.Class != "peer" || !strings.Contains(ans.Error, "all-reduce") {
			t.Errorf("rank %d: %+v", r, ans)
		}
	}
}

func TestGroupRefuses(t *testing.T) {
	a := begin(t)
	op := collective.Op{Kind: collective.AllReduce, Bytes: 1024, Ranks: []int{0, 1}, How: collective.OneShot}
	for _, g := range []*Group{nil, {Rank: 2, Ranks: 2, Ops: []collective.Op{op}, Addr: "127.0.0.1"}, {Ranks: 2, Addr: "127.0.0.1"},
		{Ranks: 2, Ops: []collective.Op{{Kind: "x"}}, Addr: "127.0.0.1"}, {Ranks: 2, Ops: []collective.Op{op}, Addr: "nowhere"},
		{Ranks: 8, Ops: []collective.Op{{Kind: collective.AllToAll, Bytes: collective.MaxBytes, Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}}}, Addr: "127.0.0.1"}} {
		if ans := a.ask(Ask{Do: "group open", Conn: "g", Group: g}); ans.Error == "" {
			t.Errorf("%+v was opened", g)
		}
	}
	a.well(Ask{Do: "group open", Conn: "g", Group: &Group{Ranks: 2, Ops: []collective.Op{op}, Addr: "127.0.0.1"}})
	large := op
	large.Bytes *= 2
	for i, r := range []*Rehearse{nil, {Ops: []collective.Op{op}}, {Ops: []collective.Op{op}, Times: maxRuns + 1}, {Ops: []collective.Op{large}, Times: 1}, {Times: 1}, {Ops: []collective.Op{op}, Times: 1}} {
		if ans := a.ask(Ask{Do: "rehearse", Conn: "g", Rehearse: r}); ans.Error == "" {
			t.Errorf("%d: %+v was done", i, r)
		}
	}
	if ans := a.ask(Ask{Do: "group join", Conn: "g", Join: &Join{Addrs: []string{""}}}); ans.Error == "" {
		t.Error("too few were joined")
	}
}
