package wire

import (
	"net"
	"testing"
	"time"
)

// BenchmarkFigureWire pushes jumbo frames from one machine to another through the
// switch and, as its peer, from the one socket to the other without it. Both have
// the same window, as RDMA has, so that nothing is lost. Best of several: the
// machine has other work.
func BenchmarkFigureWire(b *testing.B) {
	dir := lab(b, rail)
	from, to := plugIn(b, dir, "rail0", "node1"), plugIn(b, dir, "rail0", "node2")
	hello := eth(b, all, two, 46)
	to.send(hello)
	from.next(hello)
	best := func(addr *net.UnixAddr) float64 {
		var most float64
		for range 7 {
			most = max(most, push(b, from, to, addr))
		}
		return most
	}
	for b.Loop() {
		direct := best(to.conn.LocalAddr().(*net.UnixAddr))
		through := best(from.to)
		b.ReportMetric(through/direct, "x-direct")
		b.ReportMetric(through, "MB/s-wire")
		b.ReportMetric(direct, "MB/s-direct")
	}
	if lost := at(b, dir, "node2").Queue; lost != 0 {
		b.Errorf("%d frames were lost", lost)
	}
}

// push returns the MB/s of many frames from one machine to another.
func push(b *testing.B, from, to *machine, addr *net.UnixAddr) float64 {
	const count, window = 20000, 64
	f := eth(b, two, one, 9000)
	deadline := time.Now().Add(30 * time.Second)
	from.conn.SetWriteDeadline(deadline)
	to.conn.SetReadDeadline(deadline)
	room := make(chan struct{}, window)
	begin := time.Now()
	go func() {
		for range count {
			room <- struct{}{}
			if _, err := from.conn.WriteToUnix(f, addr); err != nil {
				b.Error(err)
			}
		}
	}()
	buf := make([]byte, frameMax)
	for range count {
		if n, err := to.conn.Read(buf); err != nil || n != len(f) {
			b.Fatal(n, err)
		}
		<-room
	}
	return float64(count*len(f)) / 1e6 / time.Since(begin).Seconds()
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
