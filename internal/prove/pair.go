package prove

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"weft/internal/meter"
	"weft/internal/trial"
)

// Sizes of messages, as perftest's defaults, whose numbers people know.
const (
	bandwidthSize = 64 << 10
	latencySize   = 2
	depth         = 128
)

// pairing is two nodes about to measure one trial.
type pairing struct {
	trial  trial.Trial
	pair   trial.Pair
	a, b   *Session
	pa, pb Path
	effort trial.Effort
	name   string // of the connection at A; B's has a mark, for A and B may be one meter
}

func (p *pairing) nameB() string { return p.name + "'" }

// Path is what is known of one end: how RDMA and IP leave by it.
type Path struct {
	Device string
	Num    int
	GID    int
	Class  int
	Addr   string // without the prefix length; "" when it has none
	Meet   string // any address of the node, for programs that meet over TCP first
	IB     bool
	CM     bool // only rdma_cm connects: iWARP
	Netdev string
	MTU    int    // of the netdev; 0 unknown
	Bar    string // why RDMA cannot be measured by weft's engine here
}

// gid is what perftest is told; InfiniBand needs none, and rdma_cm finds its own.
func (at Path) gid() *int {
	if at.IB || at.CM {
		return nil
	}
	return &at.GID
}

// seen is what one direction of a pair gave.
type seen struct {
	samples []trial.Amount
	times   *trial.Times
	note    string
	moved   []trial.Moved
	host    trial.Amount // gpu.direct: what the same pair reaches between the hosts' memories
}

// both runs f for both ends at once and joins their errors.
func both(f, g func() error) error {
	var wg sync.WaitGroup
	var e1, e2 error
	wg.Go(func() { e1 = f() })
	wg.Go(func() { e2 = g() })
	wg.Wait()
	return errors.Join(e1, e2)
}

// run measures a pair with weft's engine and returns what was seen from A to B and, where
// the trial wants it, from B to A.
func (p *pairing) run(ctx context.Context) (there, back *seen, err error) {
	switch {
	case strings.HasPrefix(p.trial.ID, "rdma."):
		return p.rdma(ctx)
	case strings.HasPrefix(p.trial.ID, "tcp."):
		return p.tcp(ctx)
	case p.trial.ID == "path.mtu":
		return p.mtu(ctx)
	}
	return nil, nil, fmt.Errorf("%s is not measured between two nodes", p.trial.ID)
}

// counted measures with the counters of both ends taken before and after: before when a
// connection is opened, after when it is closed.
func (p *pairing) counted(ctx context.Context, open func(s *Session, name string, at Path) (meter.Answer, error), measure func(a, b meter.Answer) error) ([]trial.Moved, error) {
	var a, b, afterA, afterB meter.Answer
	err := both(
		func() (err error) { a, err = open(p.a, p.name, p.pa); return err },
		func() (err error) { b, err = open(p.b, p.nameB(), p.pb); return err })
	if err == nil {
		err = measure(a, b)
	}
	closed := both(
		func() (err error) { afterA, err = p.a.Ask(ctx, meter.Ask{Do: "close", Conn: p.name}); return err },
		func() (err error) { afterB, err = p.b.Ask(ctx, meter.Ask{Do: "close", Conn: p.nameB()}); return err })
	var lost *Lost
	if err == nil || errors.As(closed, &lost) { // who is gone explains what the other saw
		err = closed
	}
	moved := trial.Moves(p.a.Node, a.Counters, afterA.Counters)
	if p.a != p.b {
		moved = append(moved, trial.Moves(p.b.Node, b.Counters, afterB.Counters)...)
	}
	return moved, err
}

// tcp measures what TCP does between the same two addresses.
func (p *pairing) tcp(ctx context.Context) (there, back *seen, err error) {
	return p.overIP(ctx, "tcp listen", func(from, to *Session, addrs *meter.Addrs) (*seen, error) {
		do := "tcp bw"
		if p.trial.Unit == trial.Nanoseconds {
			do, addrs.Size = "tcp lat", latencySize
		}
		ans, err := from.Ask(ctx, p.timed(meter.Ask{Do: do, Pair: addrs}))
		if err != nil {
			return nil, err
		}
		return &seen{samples: ans.Samples, times: ans.Times}, nil
	})
}

// mtu finds the largest packet that crosses.
func (p *pairing) mtu(ctx context.Context) (there, back *seen, err error) {
	return p.overIP(ctx, "mtu listen", func(from, to *Session, addrs *meter.Addrs) (*seen, error) {
		at := p.pa
		if from == p.b {
			at = p.pb
		}
		if addrs.Size = at.MTU; addrs.Size == 0 {
			addrs.Size = 9000
		}
		ans, err := from.Ask(ctx, meter.Ask{Do: "mtu", Pair: addrs, Within: 30})
		if err != nil {
			return nil, err
		}
		return &seen{samples: []trial.Amount{trial.Amount(ans.MTU)}}, nil
	})
}

// overIP measures with B listening, and then with A listening.
func (p *pairing) overIP(ctx context.Context, listen string, measure func(from, to *Session, addrs *meter.Addrs) (*seen, error)) (there, back *seen, err error) {
	if p.pa.Addr == "" || p.pb.Addr == "" {
		return nil, nil, &Skip{"no IP address on the path"}
	}
	open := func(s *Session, name string, at Path) (meter.Answer, error) {
		return s.Ask(ctx, meter.Ask{Do: listen, Conn: name, Pair: &meter.Addrs{From: at.Addr}})
	}
	moved, err := p.counted(ctx, open, func(a, b meter.Answer) (err error) {
		if there, err = measure(p.a, p.b, &meter.Addrs{From: p.pa.Addr, To: net.JoinHostPort(p.pb.Addr, strconv.Itoa(b.Port))}); err != nil {
			return err
		}
		if p.trial.Both {
			back, err = measure(p.b, p.a, &meter.Addrs{From: p.pb.Addr, To: net.JoinHostPort(p.pa.Addr, strconv.Itoa(a.Port))})
		}
		return err
	})
	return there.with(moved), back.with(moved), err
}

// with adds what the counters saw; nothing to nothing.
func (s *seen) with(moved []trial.Moved) *seen {
	if s != nil {
		s.moved = moved
	}
	return s
}

// timed gives an ask the time of the effort, and room to start and end.
func (p *pairing) timed(a meter.Ask) meter.Ask {
	a.Effort, a.Seconds, a.Within = p.effort.Word, p.effort.Seconds, p.effort.Seconds+15
	return a
}

// Skip is a reason not to measure that is no fault.
type Skip struct{ Why string }

func (s *Skip) Error() string { return s.Why }
