package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"weft/internal/history"
	"weft/internal/meter"
	"weft/internal/prove"
	"weft/internal/trial"
)

// asker is a node's meter.
type asker interface {
	Ask(ctx context.Context, a meter.Ask) (meter.Answer, error)
}

// Routes is whom to ping: rounds of pairs that share no node, so that however many nodes
// there are, each has one ping at a time.
type Routes struct {
	Rounds []trial.Round
	Paths  map[trial.End]prove.Path
	Why    string // why there are no rounds
}

// Pings are short: a few hundred small messages, which take a node some milliseconds.
const (
	pingSeconds = 0.005
	pingLonger  = 0.25 // where that is not enough: a far path, or a node whose processors are busy
	pingSize    = 2
	pingWithin  = 5  // seconds for each step
	pingsAtOnce = 64 // pairs, over all nodes
)

// plan says how pings are planned.
func (w *Watch) plan() {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.routes
	switch {
	case w.o.PingEvery <= 0:
		w.t.Plan("pings are switched off")
	case r == nil:
		w.t.Plan("pings wait for the first look at the whole cluster")
	case len(r.Rounds) == 0:
		w.t.Plan(r.Why)
	default:
		most := 0
		for _, round := range r.Rounds {
			most = max(most, len(round.Pairs))
		}
		w.t.Plan(fmt.Sprintf("every pair within %s: %d rounds of up to %d pairs, one every %s", history.Span(w.o.PingEvery*time.Duration(len(r.Rounds))+time.Second-1),
			len(r.Rounds), most, history.Span(w.o.PingEvery)))
	}
}

// pingAll pings round by round. A round that is late delays the next one and piles up
// nothing.
func (w *Watch) pingAll(ctx context.Context) {
	tick := time.NewTicker(w.o.PingEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.mu.Lock()
		r := w.routes
		w.mu.Unlock()
		if r != nil && len(r.Rounds) > 0 {
			w.round(ctx, r, r.Rounds[i%len(r.Rounds)], i)
		}
	}
}

// round pings the pairs of a round. The one that asks is the other one the next time.
func (w *Watch) round(ctx context.Context, r *Routes, round trial.Round, serial int) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, pingsAtOnce)
	for i, pair := range round.Pairs {
		if serial/max(1, len(r.Rounds))%2 == 1 {
			pair = pair.Turned()
		}
		w.mu.Lock()
		a, b := w.asks[pair.A.Node], w.asks[pair.B.Node]
		w.mu.Unlock()
		if a == nil || b == nil {
			continue // that a node is lost is said where the node is
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			p := &pinger{a: a, b: b, pa: r.Paths[pair.A], pb: r.Paths[pair.B], name: fmt.Sprintf("p%d.%d", serial, i)}
			w.pinged(ctx, pair, "rdma", p.rdma)
			w.pinged(ctx, pair, "tcp", p.tcp)
		})
	}
	wg.Wait()
}

func (w *Watch) pinged(ctx context.Context, pair trial.Pair, kind string, ping func(context.Context) (*trial.Times, error)) {
	times, err := ping(ctx)
	if ctx.Err() != nil {
		return
	}
	o := history.Ping{Kind: kind, From: pair.A.Node, FromPort: pair.A.Port, To: pair.B.Node, ToPort: pair.B.Port, When: w.o.Now()}
	var skip *prove.Skip
	var lost *prove.Lost
	switch {
	case errors.As(err, &lost):
		return // the node is lost, not the path
	case errors.As(err, &skip):
		o.Skipped = skip.Why
	case err != nil:
		o.Failed = why(err)
	case times == nil:
		o.Failed = "nothing came back"
	default:
		o.Latency, o.P99 = float64(times.Typical)/1e9, float64(times.P99)/1e9
	}
	w.tell(func() []history.Event { return w.t.Ping(o) })
}

// pinger is one ping between two meters.
type pinger struct {
	a, b   asker
	pa, pb prove.Path
	name   string
}

func (p *pinger) ask(ctx context.Context, who asker, a meter.Ask) (meter.Answer, error) {
	a.Within = pingWithin
	return who.Ask(ctx, a)
}

// times has a meter ping. A node that found no time for it is asked again, and gets more:
// that is no loss of the path.
func (p *pinger) times(ctx context.Context, a meter.Ask) (*trial.Times, error) {
	a.Seconds = pingSeconds
	got, err := p.ask(ctx, p.a, a)
	var failed *prove.Failed
	if errors.As(err, &failed) && failed.Class == "time" {
		a.Seconds = pingLonger
		got, err = p.ask(ctx, p.a, a)
	}
	return got.Times, err
}

// both asks two meters at once.
func both(f, g func() error) error {
	var wg sync.WaitGroup
	var e1, e2 error
	wg.Go(func() { e1 = f() })
	wg.Go(func() { e2 = g() })
	wg.Wait()
	return errors.Join(e1, e2)
}

// rdma opens a connection, sends small writes there and back, and closes it again.
func (p *pinger) rdma(ctx context.Context) (*trial.Times, error) {
	for _, at := range []prove.Path{p.pa, p.pb} {
		if at.Bar != "" {
			return nil, &prove.Skip{Why: at.Bar}
		}
	}
	nameA, nameB := p.name, p.name+"'"
	var a, b meter.Answer
	open := func(who asker, name string, at prove.Path, got *meter.Answer) func() error {
		return func() (err error) {
			*got, err = p.ask(ctx, who, meter.Ask{Do: "open", Conn: name, RDMA: &meter.RDMA{Device: at.Device, Port: at.Num, GID: at.GID, Op: "write", Size: pingSize, Depth: 1, Class: at.Class}})
			return err
		}
	}
	defer both(
		func() error { _, err := p.ask(ctx, p.a, meter.Ask{Do: "close", Conn: nameA}); return err },
		func() error { _, err := p.ask(ctx, p.b, meter.Ask{Do: "close", Conn: nameB}); return err })
	if err := both(open(p.a, nameA, p.pa, &a), open(p.b, nameB, p.pb, &b)); err != nil {
		return nil, err
	}
	err := both(
		func() error {
			_, err := p.ask(ctx, p.a, meter.Ask{Do: "connect", Conn: nameA, Peer: b.Peer})
			return err
		},
		func() error {
			_, err := p.ask(ctx, p.b, meter.Ask{Do: "connect", Conn: nameB, Peer: a.Peer})
			return err
		})
	if err != nil {
		return nil, err
	}
	ponged := make(chan error, 1)
	go func() {
		_, err := p.ask(ctx, p.b, meter.Ask{Do: "pong", Conn: nameB})
		ponged <- err
	}()
	got, err := p.times(ctx, meter.Ask{Do: "ping", Conn: nameA})
	_, halt := p.ask(ctx, p.b, meter.Ask{Do: "halt", Conn: nameB})
	<-ponged // what it saw is what the other side saw
	if err == nil {
		err = halt
	}
	return got, err
}

// tcp does the same over TCP between the same addresses.
func (p *pinger) tcp(ctx context.Context) (*trial.Times, error) {
	if p.pa.Addr == "" || p.pb.Addr == "" {
		return nil, &prove.Skip{Why: "no IP address on the path"}
	}
	name := p.name + "t"
	b, err := p.ask(ctx, p.b, meter.Ask{Do: "tcp listen", Conn: name, Pair: &meter.Addrs{From: p.pb.Addr}})
	if err != nil {
		return nil, err
	}
	defer p.ask(ctx, p.b, meter.Ask{Do: "close", Conn: name})
	return p.times(ctx, meter.Ask{Do: "tcp lat", Pair: &meter.Addrs{From: p.pa.Addr, To: net.JoinHostPort(p.pb.Addr, strconv.Itoa(b.Port)), Size: pingSize}})
}
