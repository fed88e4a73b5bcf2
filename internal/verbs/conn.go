package verbs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Conn is one side of a reliable connection, and the memory that is measured with.
type Conn struct {
	base
	lane
	state string // what was done last: "made", "connected", or "spoiled" after an error

	target int // where in data the peer writes to and reads from
	work   *memory
	*queues

	closing atomic.Bool
	mu      sync.Mutex // held by a run, by Connect and by the end of Close
	freed   bool

	sent, got uint64 // messages of pings, over all runs
	arrived   int    // messages that were received and not yet answered
}

// Memory: outgoing messages at 0, the peer's target after it, on a page of its own.
func roomFor(size int) int { return (size + 4095) &^ 4095 }

// recvDepth is how many receives are kept posted: several times what may be under way,
// so that the sender never finds none (perftest has 512), and whole batches.
func (o Options) recvDepth(d *Device) int {
	if o.Op != Send {
		return 1
	}
	return max(min(max(4*o.Depth, 512), int(d.attr.maxQPWR))&^(recvBatch-1), recvBatch)
}

// sendDepth leaves room for pings whose completions are seen late.
func (o Options) sendDepth(d *Device) int {
	return min(max(o.Depth, 2*quietPings), int(d.attr.maxQPWR))
}

// NewConn makes one side of a connection.
func (d *Device) NewConn(o Options) (*Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%s: is closed", d.name)
	}
	if err := d.look(); err != nil { // the port may have changed since Open
		return nil, err
	}
	if d.link.state != portActive {
		return nil, fmt.Errorf("%s/%d: the port is not active", d.name, d.port)
	}
	o, err := o.filled(d)
	if err != nil {
		return nil, err
	}
	c := &Conn{base: base{dev: d, o: o}, target: roomFor(o.Size), state: "made"}
	for _, step := range []func() error{c.readGID, c.makeHalves, c.makeQueues, c.makeWork} {
		if err := step(); err != nil {
			c.free()
			return nil, fmt.Errorf("%s/%d: %w", d.name, d.port, err)
		}
	}
	d.made[c] = true
	return c, nil
}

// Options returns the options with what NewConn set.
func (c *Conn) Options() Options { return c.o }

// makeHalves makes memory for outgoing messages and for the peer's.
func (c *Conn) makeHalves() error { return c.makeMemory(2 * c.target) }

func (c *Conn) makeQueues() (err error) {
	send, recv := c.o.sendDepth(c.dev), c.o.recvDepth(c.dev)
	if err = c.makeQueue(send + recv); err == nil {
		c.lane, err = c.makeLane(send, recv)
	}
	return err
}

// Local returns what the peer must know.
func (c *Conn) Local() Peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.freed {
		return Peer{}
	}
	return c.local(&c.lane, c.target)
}

// Connect connects to a peer. Receives are posted before it returns.
func (c *Conn) Connect(p Peer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.freed || c.state != "made" {
		return errors.New("connection: is closed or connected already")
	}
	if err := p.check(c.o.Size, c.global()); err != nil {
		return err
	}
	c.aim(p)
	if err := c.fillReceives(); err != nil {
		return err
	}
	if err := c.connect(&c.lane, p); err != nil {
		c.state = "spoiled"
		return err
	}
	c.state = "connected"
	return nil
}

// Close frees everything. It may be called at any time and twice; a run that is under
// way ends first.
func (c *Conn) Close() {
	c.closing.Store(true)
	c.halt()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.freed {
		return
	}
	c.free()
	c.dev.remove(c)
}

func (c *Conn) free() {
	c.base.free(&c.lane)
	c.work.free()
	c.freed = true
}
