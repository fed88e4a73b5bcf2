package meter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weft/internal/trial"
	"weft/internal/verbs"
)

// link is a connection and the device it was opened on.
type link struct {
	dev  *verbs.Device
	conn *verbs.Conn

	mu   sync.Mutex
	halt context.CancelFunc // ends the run that is under way
}

func (l *link) Close() error {
	l.conn.Close()
	l.dev.Close()
	return nil
}

// run is the context of one run, which halt ends.
func (l *link) run(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	l.halt = cancel
	l.mu.Unlock()
	return ctx, cancel
}

// open makes one side of a connection and tells what the other must know of it.
func (s *server) open(ctx context.Context, a Ask) (Answer, error) {
	if a.RDMA == nil {
		return Answer{}, errors.New("no device is named")
	}
	lib, err := s.library()
	if err != nil {
		return Answer{}, err
	}
	dev, err := lib.Open(a.RDMA.Device, a.RDMA.Port)
	if err != nil {
		return Answer{}, class("device", err)
	}
	o := verbs.Options{Op: verbs.Op(a.RDMA.Op), Size: a.RDMA.Size, Depth: a.RDMA.Depth, GID: a.RDMA.GID, TrafficClass: a.RDMA.Class}
	conn, err := dev.NewConn(o)
	if err != nil {
		dev.Close()
		return Answer{}, class("device", err)
	}
	if err := s.hold(a.Conn, &link{dev: dev, conn: conn}); err != nil {
		return Answer{}, err
	}
	local := conn.Local()
	ans, err := s.counters(ctx, a)
	ans.Peer = &local
	return ans, err
}

// connect connects to the other side.
func (s *server) connect(ctx context.Context, a Ask) (Answer, error) {
	l, err := held[*link](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	if a.Peer == nil {
		return Answer{}, errors.New("no peer is named")
	}
	return Answer{}, class("peer", l.conn.Connect(*a.Peer))
}

// push moves as many bytes as the connection takes.
func (s *server) push(ctx context.Context, a Ask) (Answer, error) {
	l, err := held[*link](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	ctx, done := l.run(ctx)
	defer done()
	o := l.conn.Options()
	batch := int64(o.Size) * int64(o.Batch)
	limit := verbs.Limit{For: time.Duration(a.Seconds * float64(time.Second))}
	if effort, ok := trial.EffortByWord(a.Effort); ok {
		limit.Enough = func(s []verbs.Sample) bool { return effort.Enough(rates(s, batch)) }
	}
	flow, err := l.conn.Stream(ctx, limit, each)
	samples := rates(flow.Samples, batch)
	if len(samples) == 0 && flow.Bytes > 0 { // too slow for a sample
		samples = []trial.Amount{trial.Amount(flow.Rate())}
	}
	return Answer{Samples: samples, Note: note(l.conn)}, silent(err)
}

// silent says what usually stands behind a peer that acknowledges nothing.
func silent(err error) error {
	var stall *verbs.StallError
	var bad *verbs.CompletionError
	var known *classed
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &stall):
		return class("peer", fmt.Errorf("%w: nothing is acknowledged: a firewall (RoCE is 4791/udp), a peer that is gone, or full-size packets that vanish on the way", err))
	case errors.As(err, &bad):
		return class("peer", err)
	}
	return class("device", err)
}

// rates are what went through between samples. The first fills the queues, so it is left
// out. On a slow path the completions of whole batches come less often than samples are
// taken, so samples are put together until each has several batches.
func rates(all []verbs.Sample, batch int64) (out []trial.Amount) {
	const batches = 4
	if len(all) == 0 {
		return nil
	}
	from := all[0]
	for _, s := range all[1:] {
		if s.Bytes-from.Bytes >= batches*batch && s.At > from.At {
			out = append(out, trial.Amount(float64(s.Bytes-from.Bytes)*8/(s.At-from.At).Seconds()))
			from = s
		}
	}
	return out
}

// note says how it was measured, where that is not the usual way.
func note(c *verbs.Conn) string {
	if c.Options().Wait == verbs.Events {
		return "with completion events: no processor could be spared for polling"
	}
	return ""
}

// sink takes what the other side sends, until it is told to halt.
func (s *server) sink(ctx context.Context, a Ask) (Answer, error) {
	l, err := held[*link](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	ctx, done := l.run(ctx)
	defer done()
	_, err = l.conn.Receive(ctx, each)
	return Answer{}, silent(err)
}

// pingsAtOnce is how many pings are counted between two looks at whether they are enough.
const pingsAtOnce = perSample

// ping measures how long small messages take.
func (s *server) ping(ctx context.Context, a Ask) (Answer, error) {
	l, err := held[*link](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	ctx, done := l.run(ctx)
	defer done()
	t := newTimes(a)
	for ctx.Err() == nil && !t.done() {
		got, err := l.conn.Ping(ctx, verbs.Limit{Count: pingsAtOnce})
		if err != nil {
			return Answer{}, silent(err)
		}
		for _, d := range got {
			t.add(d)
		}
	}
	ans := t.answer()
	ans.Note = note(l.conn)
	return ans, nil
}

// pong answers pings, until it is told to halt.
func (s *server) pong(ctx context.Context, a Ask) (Answer, error) {
	l, err := held[*link](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	ctx, done := l.run(ctx)
	defer done()
	return Answer{}, silent(l.conn.Pong(ctx))
}

// haltRun ends a sink or a pong.
func (s *server) haltRun(ctx context.Context, a Ask) (Answer, error) {
	l, err := held[*link](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.halt != nil {
		l.halt()
	}
	return Answer{}, nil
}
