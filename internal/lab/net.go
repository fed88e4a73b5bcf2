package lab

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"weft/internal/lab/clock"
	"weft/internal/lab/own"
	"weft/internal/lab/wire"
)

// clockPort is the port of the management network where the time server is.
const clockPort = "clock"

// networks are the lab's: one for management, one for each rail.
func (s State) networks() []wire.Net {
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	all := []wire.Net{{Name: "mgmt", Ports: append(names[:len(names):len(names)], clockPort)}}
	for r := range s.Rails {
		all = append(all, wire.Net{Name: railName(r), Ports: names})
	}
	return all
}

// Wire is the switch and the time server of a lab, in a process of its own: it runs
// until it is told to stop.
func (l Lab) Wire(ctx context.Context) error {
	s, err := l.State()
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return wire.Run(ctx, l.run(), s.networks()) })
	g.Go(func() error {
		return clock.Serve(ctx, wire.Socket(l.run(), "mgmt", clockPort, "vm"), wire.Socket(l.run(), "mgmt", clockPort, "sw"))
	})
	return g.Wait()
}

// startWire starts that process and waits until it is ready.
func (l Lab) startWire(ctx context.Context, weft string) error {
	const deadline = 10 * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("not within %v", deadline))
	defer cancel()
	p, err := own.Start(l.Dir, l.run("wire.log"), weft, "lab", "wire", l.Dir)
	if err != nil {
		return err
	}
	go p.Wait()
	for {
		if _, err = wire.Ask(ctx, l.run()); err == nil {
			return nil
		}
		if e := pause(ctx, 10*time.Millisecond); e != nil {
			return fmt.Errorf("the switch between the machines is not there: %w%s", e, l.logged("wire.log"))
		}
	}
}
