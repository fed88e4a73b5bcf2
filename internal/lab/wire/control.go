package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Limit is the largest IP packet that the switch's side of a port carries, in both
// directions; 0 is no limit. The machine does not know of it.
type Limit struct {
	Net, Port string
	MTU       int
}

// Port is what happened at one port: frames from its machine and to it, and those
// lost because too many waited (Queue), because they were larger than the limit
// (TooBig) or because the machine is not there (Gone).
type Port struct {
	Net, Name                    string
	MTU                          int
	In, Out, Queue, TooBig, Gone uint64
}

const (
	patience   = 5 * time.Second // for a question and its answer, each a few hundred bytes
	requestMax = 4 << 10         // a limit with two names that fit a socket's path
	replyMax   = 4 << 20         // thousands of ports
)

// request asks for the ports, after a change where there is one.
type request struct{ Set *Limit }

type reply struct {
	Error string
	Ports []Port
}

// Set limits a port of the switch that runs in a folder.
func Set(ctx context.Context, dir string, l Limit) error {
	_, err := ask(ctx, dir, request{&l})
	return err
}

// Ask returns the ports of the switch that runs in a folder, in the order that it
// was given.
func Ask(ctx context.Context, dir string) ([]Port, error) { return ask(ctx, dir, request{}) }

func ask(ctx context.Context, dir string, q request) ([]Port, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", control(dir))
	if err != nil {
		return nil, fmt.Errorf("the switch in %s: %w", dir, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	var r reply
	err = json.NewEncoder(c).Encode(q)
	if err == nil {
		err = json.NewDecoder(io.LimitReader(c, replyMax)).Decode(&r)
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the switch in %s: no answer: %w", dir, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("the switch in %s: %w", dir, err)
	case r.Error != "":
		return nil, errors.New(r.Error)
	}
	return r.Ports, nil
}

// ports are all of a switch, in the order that it was given.
type ports []*port

// serve answers on the control socket until it is closed.
func (all ports) serve(ctx context.Context, l net.Listener) {
	var talks sync.WaitGroup
	defer talks.Wait()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			time.Sleep(100 * time.Millisecond) // no descriptor is free: one will be
			continue
		}
		talks.Go(func() {
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Close() })()
			c.SetDeadline(time.Now().Add(patience))
			json.NewEncoder(c).Encode(all.answer(c))
		})
	}
}

func (all ports) answer(r io.Reader) reply {
	q, err := parse(r)
	if err == nil && q.Set != nil {
		err = all.set(*q.Set)
	}
	if err != nil {
		return reply{Error: err.Error()}
	}
	var answer reply
	for _, p := range all {
		answer.Ports = append(answer.Ports, Port{
			Net: p.net, Name: p.name, MTU: int(p.mtu.Load()),
			In: p.got.Load(), Out: p.sent.Load(),
			Queue: p.full.Load(), TooBig: p.tooBig.Load(), Gone: p.gone.Load(),
		})
	}
	return answer
}

// parse reads one request. What follows it is not read.
func parse(r io.Reader) (request, error) {
	d := json.NewDecoder(io.LimitReader(r, requestMax))
	d.DisallowUnknownFields()
	var q request
	if err := d.Decode(&q); err != nil {
		return request{}, fmt.Errorf("request: %w", err)
	}
	if q.Set != nil && q.Set.MTU < 0 {
		return request{}, fmt.Errorf("request: mtu %d is less than nothing", q.Set.MTU)
	}
	return q, nil
}

func (all ports) set(l Limit) error {
	known := false
	for _, p := range all {
		if p.net != l.Net {
			continue
		}
		if known = true; p.name == l.Port {
			p.mtu.Store(int64(l.MTU))
			return nil
		}
	}
	if known {
		return fmt.Errorf("net %q has no port %q", l.Net, l.Port)
	}
	return fmt.Errorf("no net %q", l.Net)
}
