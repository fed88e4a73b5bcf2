package verbs

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"
)

// maxPings bounds the times that one run keeps: 8 MiB.
const maxPings = 1 << 20

// Ping measures latency: a write or a send and the peer's answer to it, or a read, one
// after the other. It returns the time of each: half of a round trip, and the whole of a
// read, as perftest prints them. The peer runs Pong, except for reads.
func (c *Conn) Ping(ctx context.Context, l Limit) (times Times, err error) {
	if l.Count < 0 || l.Count > maxPings || l.Count == 0 && l.For <= 0 {
		return nil, fmt.Errorf("ping: %d times: want 1 to %d, or a duration", l.Count, maxPings)
	}
	end, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { end(&err) }()
	room := l.Count
	if room == 0 {
		room = maxPings
	}
	times = make(Times, room)
	clear(times) // touched now, not while measuring
	once, trips := c.pinger()
	n := 0
	start := time.Now()
	last := time.Duration(0)
	for n < room && c.stop.Load() == 0 && (l.For == 0 || last < l.For) {
		if err = once(c.o.Stall); err != nil {
			break
		}
		now := time.Since(start)
		times[n] = (now - last) / trips
		last = now
		n++
	}
	if errors.Is(err, errStopped) { // in the middle: the two no longer agree which ping is next
		c.state = "spoiled"
		err = nil
	}
	return times[:n], err
}

// pinger returns what one ping is, and how many messages one after the other it takes.
func (c *Conn) pinger() (once func(time.Duration) error, trips time.Duration) {
	switch c.o.Op {
	case Write:
		mine, word, shift := c.written()
		return func(limit time.Duration) error {
			c.sent++
			c.got++
			if err := c.writePing(mine, byte(c.sent), limit); err != nil {
				return err
			}
			return c.watch(word, shift, byte(c.got), limit)
		}, 2
	case Send:
		return func(limit time.Duration) error {
			if err := c.sendPing(); err != nil {
				return err
			}
			return c.awaitMessage(limit)
		}, 2
	}
	return func(limit time.Duration) error {
		if err := c.push(c.loud); err != nil {
			return err
		}
		return c.awaitSent(limit)
	}, 1
}

// Pong answers pings until the context is done. Reads need no answer: it returns at once.
func (c *Conn) Pong(ctx context.Context) (err error) {
	if c.o.Op == Read {
		return nil
	}
	end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { end(&err) }()
	once := c.ponger()
	for c.stop.Load() == 0 {
		if err = once(idle * c.o.Stall); err != nil {
			break
		}
	}
	if errors.Is(err, errStopped) {
		err = nil
	}
	return err
}

func (c *Conn) ponger() (once func(time.Duration) error) {
	switch c.o.Op {
	case Write:
		mine, word, shift := c.written()
		return func(limit time.Duration) error {
			if err := c.watch(word, shift, byte(c.got+1), limit); err != nil {
				return err
			}
			c.got++
			c.sent++
			return c.writePing(mine, byte(c.sent), limit)
		}
	case Send:
		return func(limit time.Duration) error {
			if err := c.awaitMessage(limit); err != nil {
				return err
			}
			return c.sendPing()
		}
	}
	return nil
}

// written returns the last byte of the outgoing message, and the word of memory and the
// place in it where the last byte of the peer's message arrives. A card writes a message
// in order, so when its last byte is there, all is.
func (c *Conn) written() (mine *byte, word *uint32, shift uint) {
	at := c.target + c.o.Size - 1
	return &c.data.b[c.o.Size-1], (*uint32)(unsafe.Pointer(&c.data.b[at&^3])), uint(at&3) * 8
}

// writePing writes one message and waits until it is acknowledged, as perftest does.
func (c *Conn) writePing(mine *byte, value byte, limit time.Duration) error {
	*mine = value
	if err := c.push(c.loud); err != nil {
		return err
	}
	return c.awaitSent(limit)
}

// awaitSent waits for the completion of what was posted.
func (c *Conn) awaitSent(limit time.Duration) error {
	for {
		n, err := c.await(limit)
		if err != nil {
			return err
		}
		for i := range c.done[:n] {
			if c.done[i].wrID == tagPing {
				return nil // one was posted, so there is no other
			}
		}
	}
}

// sendPing sends one message, of most of which nobody asks when they completed, and then
// has the time to post receives.
func (c *Conn) sendPing() error {
	list := c.quiet
	if c.sent++; c.sent%quietPings == 0 {
		list = c.loud
	}
	if err := c.push(list); err != nil {
		return err
	}
	return c.replenish()
}

// awaitMessage waits until one more message was received.
func (c *Conn) awaitMessage(limit time.Duration) error {
	for c.arrived == 0 {
		n, err := c.await(limit)
		if err != nil {
			return err
		}
		for i := range c.done[:n] {
			if c.done[i].wrID == tagRecv {
				c.arrived++
				c.credits++
			}
		}
	}
	c.arrived--
	return nil
}
