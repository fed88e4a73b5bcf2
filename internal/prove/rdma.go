package prove

import (
	"context"
	"strings"

	"weft/internal/fact"
	"weft/internal/meter"
	"weft/internal/trial"
)

// rdma measures with weft's engine over one connection, in both directions where the
// trial wants it.
func (p *pairing) rdma(ctx context.Context) (there, back *seen, err error) {
	for _, at := range []Path{p.pa, p.pb} {
		if at.Bar != "" {
			return nil, nil, &Skip{at.Bar}
		}
	}
	word := strings.Split(p.trial.ID, ".") // rdma, write, bw
	op, what := word[1], word[2]
	if op == "loop" {
		op = "write"
	}
	open := func(s *Session, name string, at Path) (meter.Answer, error) {
		o := &meter.RDMA{Device: at.Device, Port: at.Num, GID: at.GID, Op: op, Size: bandwidthSize, Depth: depth, Class: at.Class}
		if what == "lat" {
			o.Size, o.Depth = latencySize, 1
		}
		return s.Ask(ctx, meter.Ask{Do: "open", Conn: name, RDMA: o})
	}
	moved, err := p.counted(ctx, open, func(a, b meter.Answer) (err error) {
		err = both(
			func() error { _, err := p.a.Ask(ctx, meter.Ask{Do: "connect", Conn: p.name, Peer: b.Peer}); return err },
			func() error {
				_, err := p.b.Ask(ctx, meter.Ask{Do: "connect", Conn: p.nameB(), Peer: a.Peer})
				return err
			})
		if err != nil {
			return err
		}
		switch {
		case what == "bibw":
			there, err = p.atOnce(ctx)
			return err
		case p.trial.Both:
			if there, err = p.flow(ctx, what, op, p.a, p.name, p.b, p.nameB()); err == nil {
				back, err = p.flow(ctx, what, op, p.b, p.nameB(), p.a, p.name)
			}
			return err
		}
		there, err = p.flow(ctx, what, op, p.a, p.name, p.b, p.nameB())
		return err
	})
	return there.with(moved), back.with(moved), err
}

// flow has one end act and, where the operation needs it, the other one answer until the
// first is done.
func (p *pairing) flow(ctx context.Context, what, op string, from *Session, name string, to *Session, nameTo string) (*seen, error) {
	act, react := "push", "sink"
	if what == "lat" {
		act, react = "ping", "pong"
	}
	var got meter.Answer
	run := func() (err error) {
		got, err = from.Ask(ctx, p.timed(meter.Ask{Do: act, Conn: name}))
		return err
	}
	var err error
	if op == "send" || op == "write" && what == "lat" {
		reacting := make(chan error, 1)
		go func() {
			_, err := to.Ask(ctx, p.timed(meter.Ask{Do: react, Conn: nameTo}))
			reacting <- err
		}()
		err = run()
		if _, halt := to.Ask(ctx, meter.Ask{Do: "halt", Conn: nameTo}); err == nil {
			err = halt
		}
		if e := <-reacting; err == nil {
			err = e
		}
	} else {
		err = run()
	}
	if err != nil {
		return nil, err
	}
	return &seen{samples: got.Samples, times: got.Times, note: got.Note}, nil
}

// atOnce has both ends write at the same time for the same while, and adds their samples
// up one by one.
func (p *pairing) atOnce(ctx context.Context) (*seen, error) {
	var a, b meter.Answer
	push := func(s *Session, name string, got *meter.Answer) func() error {
		return func() (err error) {
			ask := p.timed(meter.Ask{Do: "push", Conn: name})
			ask.Effort = "" // neither may stop while the other still counts on it
			*got, err = s.Ask(ctx, ask)
			return err
		}
	}
	if err := both(push(p.a, p.name, &a), push(p.b, p.nameB(), &b)); err != nil {
		return nil, err
	}
	sum := &seen{note: a.Note}
	for i := range min(len(a.Samples), len(b.Samples)) {
		sum.samples = append(sum.samples, a.Samples[i]+b.Samples[i])
	}
	return sum, nil
}

// sampleOf is the cell of what was seen.
func sampleOf(c trial.Cell, s *seen) trial.Cell {
	c.Samples, c.Times, c.Note, c.Moved = s.samples, s.times, s.note, s.moved
	if s.host > 0 {
		c.Host = fact.Some(s.host)
	}
	return c.Filled()
}
