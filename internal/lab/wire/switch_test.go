package wire

import "testing"

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
