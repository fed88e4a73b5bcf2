package wire

import (
	"net"
	"testing"
)

func TestLearning(t *testing.T) {
	_, a, b, c := trio(t)
	hello := eth(t, all, one, 46)
	a.send(hello) // goes to all but itself
	b.next(hello)
	c.next(hello)

	answer := eth(t, one, two, 46)
	b.send(answer) // one is at node1: node3 does not see it
	a.next(answer)

	direct := eth(t, two, one, 47)
	a.send(direct)
	b.next(direct)

	unknown := eth(t, six, one, 48)
	a.send(unknown)
	b.next(unknown)
	c.next(unknown) // the first since hello

	// The machine moves: its address is where it was seen last.
	moved := eth(t, all, one, 49)
	c.send(moved)
	a.next(moved)
	b.next(moved)
	b.send(answer)
	c.next(answer)

	end := eth(t, all, six, 50)
	b.send(end)
	a.next(end)
	c.next(end)
}

func TestNoEcho(t *testing.T) {
	dir, a, b, c := trio(t)
	a.send(eth(t, all, one, 46))
	b.next(eth(t, all, one, 46))
	c.next(eth(t, all, one, 46))
	a.send(eth(t, one, six, 46)) // to an address that is behind the same port
	end := eth(t, all, two, 60)
	a.send(end)
	b.next(end)
	c.next(end)
	b.send(end)
	a.next(end) // and nothing of its own before it
	if got, want := at(t, dir, "node1"), (Port{Net: "rail0", Name: "node1", In: 3, Out: 1}); got != want {
		t.Errorf("node1 %+v, want %+v", got, want)
	}
}

func TestNetsAreApart(t *testing.T) {
	dir := lab(t, Net{"rail0", []string{"node1", "node2"}}, Net{"rail1", []string{"node1", "node2"}})
	a0, b0 := plugIn(t, dir, "rail0", "node1"), plugIn(t, dir, "rail0", "node2")
	a1, b1 := plugIn(t, dir, "rail1", "node1"), plugIn(t, dir, "rail1", "node2")
	first, second := eth(t, all, one, 46), eth(t, all, one, 47)
	a0.send(first)
	a1.send(second)
	b0.next(first)
	b1.next(second)
	back := eth(t, one, two, 48) // one is in both nets
	b1.send(back)
	a1.next(back)
	b0.send(second)
	a0.next(second)
}

func TestDropped(t *testing.T) {
	const multi = "33:33:00:00:00:01"
	dir, a, b, c := trio(t)
	for name, f := range map[string][]byte{
		"from a slirp gateway":       eth(t, one, "52:55:0a:00:02:02", 46),
		"to a slirp gateway":         eth(t, "52:55:0a:00:02:02", one, 46),
		"broadcast of a gateway":     eth(t, all, "52:55:0a:00:02:03", 46),
		"from its IPv6 gateway":      eth(t, multi, "52:56:00:00:00:02", 46),
		"to its IPv6 gateway":        eth(t, "52:56:00:00:00:02", one, 46),
		"shorter than the headers":   eth(t, all, one, 0)[:13],
		"nothing":                    {},
		"larger than a frame may be": make([]byte, frameMax+1),
	} {
		a.send(f)
		end := eth(t, all, six, 46)
		a.send(end)
		t.Log(name)
		b.next(end)
		c.next(end)
	}
	if got, want := at(t, dir, "node1"), (Port{Net: "rail0", Name: "node1", In: 14, TooBig: 1}); got != want {
		t.Errorf("node1 %+v, want %+v", got, want)
	}
	// A group is not learned: what goes to it goes to all.
	a.send(eth(t, all, multi, 46))
	b.next(eth(t, all, multi, 46))
	c.next(eth(t, all, multi, 46))
	b.send(eth(t, multi, two, 46))
	a.next(eth(t, multi, two, 46))
	c.next(eth(t, multi, two, 46))
}

func TestLargestFrame(t *testing.T) {
	_, a, b, _ := trio(t)
	for _, payload := range []int{0, 9000, frameMax - headers} {
		f := eth(t, all, one, payload)
		a.send(f)
		b.next(f)
	}
}

func TestLimit(t *testing.T) {
	dir, a, b, c := trio(t)
	if err := Set(t.Context(), dir, Limit{"rail0", "node2", 1500}); err != nil {
		t.Fatal(err)
	}
	fits, over := eth(t, all, one, 1500), eth(t, all, one, 1501)
	a.send(over)
	a.send(tagged(over))
	a.send(fits)
	a.send(tagged(fits))
	b.next(fits)
	b.next(tagged(fits))
	for _, f := range [][]byte{over, tagged(over), fits, tagged(fits)} {
		c.next(f) // has no limit
	}
	b.send(over)
	b.send(tagged(over))
	b.send(tagged(fits)[:headers+2]) // a tag that is cut
	b.send(tagged(fits))
	a.next(tagged(fits)[:headers+2])
	a.next(tagged(fits))
	if got, want := at(t, dir, "node2"), (Port{Net: "rail0", Name: "node2", MTU: 1500, In: 4, Out: 2, TooBig: 4}); got != want {
		t.Errorf("node2 %+v, want %+v", got, want)
	}
	if err := Set(t.Context(), dir, Limit{"rail0", "node2", 0}); err != nil {
		t.Fatal(err)
	}
	b.send(over)
	a.next(over)
}

// TestFrozenMachine sends far more than may wait for a machine that never reads.
func TestFrozenMachine(t *testing.T) {
	dir, a, b, frozen := trio(t)
	const n = 2 * queueMax
	for i := range n {
		f := eth(t, all, one, 46+i)
		a.send(f)
		b.next(f)
	}
	var got Port
	wait(t, func() bool { got = at(t, dir, "node3"); return got.Out+got.Queue >= n-queueMax-1 })
	// One is in the writer's hands, queueMax wait, the kernel holds a few, the rest is lost.
	if got.Queue == 0 || got.Out == 0 || got.Gone != 0 || got.Out+got.Queue != n-queueMax-1 {
		t.Errorf("the frozen port %+v", got)
	}
	// It thaws: what waited comes in order, and then what is new.
	for i := range int(got.Out) + queueMax + 1 {
		frozen.next(eth(t, all, one, 46+i))
	}
	end := eth(t, all, one, 46)
	a.send(end)
	frozen.next(end)
}

// TestFrozenMachineIsKilled has its writer wait for a machine that goes, and comes back.
func TestFrozenMachineIsKilled(t *testing.T) {
	dir, a, b, frozen := trio(t)
	const n = 50
	for i := range n {
		f := eth(t, all, one, 46+i)
		a.send(f)
		b.next(f)
	}
	before := at(t, dir, "node3")
	if before.Out == 0 || before.Out == n {
		t.Fatalf("the frozen port %+v, want some of %d frames out", before, n)
	}
	frozen.conn.Close()
	if err := sweep(Socket(dir, "rail0", "node3", "vm")); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { p := at(t, dir, "node3"); return p.Out+p.Gone == n && p.Out == before.Out })
	back := plugIn(t, dir, "rail0", "node3")
	end := eth(t, all, one, 200)
	a.send(end)
	back.next(end)
}

func TestMissingMachine(t *testing.T) {
	dir := lab(t, rail)
	a, b := plugIn(t, dir, "rail0", "node1"), plugIn(t, dir, "rail0", "node2")
	for i := range 3 {
		f := eth(t, all, one, 46+i)
		a.send(f)
		b.next(f)
	}
	wait(t, func() bool { return at(t, dir, "node3") == Port{Net: "rail0", Name: "node3", Gone: 3} })

	// It comes; it is killed and its socket stays; it comes again.
	for i := range 2 {
		c := plugIn(t, dir, "rail0", "node3")
		f := eth(t, all, one, 60+i)
		a.send(f)
		b.next(f)
		c.next(f)
		c.conn.Close() // its name stays
		if err := sweep(Socket(dir, "rail0", "node3", "vm")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTableIsBounded has a machine with more addresses than a switch keeps.
func TestTableIsBounded(t *testing.T) {
	d := &domain{table: map[mac]*port{}}
	p := &port{}
	for i := range 3*tableMax + 5 {
		d.look(0, mac(i), p)
		if len(d.table) > tableMax {
			t.Fatalf("%d addresses after %d", len(d.table), i)
		}
	}
	if got := len(d.table); got != 5 {
		t.Errorf("%d addresses, want the last 5", got)
	}
}

func TestNoGarbage(t *testing.T) {
	_, a, b, _ := trio(t)
	f, buf := eth(t, two, one, 9000), make([]byte, frameMax)
	hello := eth(t, all, two, 46)
	b.send(hello)
	a.next(hello)
	allocs := testing.AllocsPerRun(500, func() {
		if _, err := a.conn.WriteToUnix(f, a.to); err != nil {
			t.Fatal(err)
		}
		if n, err := b.conn.Read(buf); err != nil || n != len(f) {
			t.Fatal(n, err)
		}
	})
	direct := testing.AllocsPerRun(500, func() {
		if _, err := a.conn.WriteToUnix(f, b.conn.LocalAddr().(*net.UnixAddr)); err != nil {
			t.Fatal(err)
		}
		if n, err := b.conn.Read(buf); err != nil || n != len(f) {
			t.Fatal(n, err)
		}
	})
	if allocs > direct {
		t.Errorf("%v allocations for a frame, without the switch %v", allocs, direct)
	}
}
