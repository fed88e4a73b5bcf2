package wire

import (
	"encoding/binary"
	"testing"
	"time"
)

// number makes the frame with a number, for all machines.
func number(t testing.TB, i int) []byte {
	t.Helper()
	f := eth(t, all, one, 46)
	binary.BigEndian.PutUint32(f[headers:], uint32(i))
	return f
}

// fill sends numbered frames until some are lost at node3, which does not read, and
// wants every one at node2. It returns how many. How many the kernel lets wait is the
// machine's business.
func fill(t testing.TB, dir string, a, b *machine) (n int) {
	t.Helper()
	for at(t, dir, "node3").Queue == 0 {
		for range 64 {
			f := number(t, n)
			a.send(f)
			b.next(f)
			n++
		}
		if n > 20000 {
			t.Fatal("nothing is lost")
		}
	}
	return n
}

func TestFrozenMachine(t *testing.T) {
	dir, a, b, frozen := trio(t)
	n := fill(t, dir, a, b)
	// It thaws: what waited comes, in order and once.
	last := -1
	buf := make([]byte, frameMax)
	wait(t, func() bool {
		frozen.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		for {
			if _, err := frozen.conn.Read(buf); err != nil {
				break
			}
			if i := int(binary.BigEndian.Uint32(buf[headers:])); i > last {
				last = i
			} else {
				t.Fatalf("frame %d after %d", i, last)
			}
		}
		p := at(t, dir, "node3")
		return p.Out+p.Queue == uint64(n) && p.Gone == 0 && p.Out > queueMax
	})
	end := number(t, n)
	a.send(end)
	frozen.next(end)
}

// TestFrozenMachineIsKilled has the switch wait for a machine that goes and comes back.
func TestFrozenMachineIsKilled(t *testing.T) {
	dir, a, b, frozen := trio(t)
	n := fill(t, dir, a, b)
	out := at(t, dir, "node3").Out
	unplug(t, dir, frozen)
	wait(t, func() bool { p := at(t, dir, "node3"); return p.Out+p.Queue+p.Gone == uint64(n) })
	if p := at(t, dir, "node3"); p.Out != out || p.Gone <= queueMax {
		t.Errorf("node3 %+v, want %d out, as before, and more than %d gone", p, out, queueMax)
	}
	back := plugIn(t, dir, "rail0", "node3")
	end := number(t, n)
	a.send(end)
	back.next(end)
}

// unplug kills node3, and removes its socket, as QEMU does before it makes a new one.
func unplug(t testing.TB, dir string, m *machine) {
	t.Helper()
	m.conn.Close()
	if err := sweep(Socket(dir, "rail0", "node3", "vm")); err != nil {
		t.Fatal(err)
	}
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

	// It comes, is killed and comes again, and nothing is sent in between.
	for i := range 2 {
		c := plugIn(t, dir, "rail0", "node3")
		f := eth(t, all, one, 60+i)
		a.send(f)
		b.next(f)
		c.next(f)
		unplug(t, dir, c)
	}
}
