package verbs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Group is one rank's connections to all others: memory that each of them may write into,
// and one queue that tells of all of them, so that waiting for anybody is one wait. A
// message is a write with an immediate value: its data lies where it belongs when the
// completion tells that it came.
type Group struct {
	base
	lanes []*groupLane
	work  *memory

	closing atomic.Bool
	mu      sync.Mutex // held by a run, by Connect and by the end of Close
	freed   bool
	spoiled bool
}

// groupLane is the connection to one other rank.
type groupLane struct {
	lane
	put       []sendWR // one
	piece     []sge
	recvs     []recvWR
	connected bool
	pending   int // puts not yet known to be sent
	posted    int
	arrived   int // messages not yet taken
	credits   int // receives to be posted anew
}

const (
	groupSends = 64 // puts outstanding on a connection
	groupRecvs = 64 // messages of a peer that is ahead: less than two collectives
	groupQuiet = 16 // puts of which one completion tells
)

// NewGroup makes one rank of a group with this many others, and room bytes of memory.
// Size and Op of the options mean nothing here.
func (d *Device) NewGroup(others, room int, o Options) (*Group, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%s: is closed", d.name)
	}
	if err := d.look(); err != nil {
		return nil, err
	}
	if d.link.state != portActive {
		return nil, fmt.Errorf("%s/%d: the port is not active", d.name, d.port)
	}
	o.Op, o.Size = Write, room
	o, err := o.filled(d)
	if err != nil {
		return nil, err
	}
	g := &Group{base: base{dev: d, o: o}}
	for _, step := range []func() error{g.readGID, func() error { return g.makeMemory(room) }, func() error { return g.makeLanes(others) }} {
		if err := step(); err != nil {
			g.free()
			return nil, fmt.Errorf("%s/%d: %w", d.name, d.port, err)
		}
	}
	d.made[g] = true
	return g, nil
}

func (g *Group) makeLanes(others int) (err error) {
	if err := g.makeQueue(others*(groupRecvs+groupSends/groupQuiet) + 1); err != nil {
		return err
	}
	const each = 4096
	if g.work, err = newMemory((others + 1) * each); err != nil {
		return err
	}
	g.ready(g.work)
	bad := place[uintptr](g.work, 1)
	for i := range others {
		l := &groupLane{put: place[sendWR](g.work, 1), piece: place[sge](g.work, 1), recvs: place[recvWR](g.work, recvBatch)}
		g.lanes = append(g.lanes, l)
		if l.lane, err = g.makeLane(groupSends, groupRecvs); err != nil {
			return err
		}
		l.lane.ready(&g.base, address(&bad[0]))
		l.piece[0].lkey = (*memoryRegion)(g.mr).lkey
		l.put[0] = sendWR{wrID: tagged(i, tagStream), sgList: address(&l.piece[0]), numSGE: 1, opcode: wrRDMAWriteImm}
		for k := range l.recvs {
			l.recvs[k] = recvWR{wrID: tagged(i, tagRecv)}
			if k > 0 {
				l.recvs[k-1].next = address(&l.recvs[k])
			}
		}
	}
	return nil
}

// tagged is the number of a request: whose it is, and what.
func tagged(lane int, tag uint64) uint64 { return uint64(lane)<<8 | tag }

// Memory is what the others write into.
func (g *Group) Memory() []byte { return g.data.b }

// Local returns what one of the others must know.
func (g *Group) Local(i int) Peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.freed || i < 0 || i >= len(g.lanes) {
		return Peer{}
	}
	return g.local(&g.lanes[i].lane, 0)
}

// Connect connects to one of the others. Receives are posted before it returns.
func (g *Group) Connect(i int, p Peer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.freed || i < 0 || i >= len(g.lanes) || g.lanes[i].connected {
		return fmt.Errorf("connection %d: is none, is closed or connected already", i)
	}
	if err := p.check(g.o.Size, g.global()); err != nil {
		return err
	}
	l := g.lanes[i]
	for range groupRecvs / recvBatch {
		if err := l.pushRecvs(l.recvs); err != nil {
			return err
		}
	}
	l.put[0].rkey = p.RKey
	l.connected = true
	return g.connect(&l.lane, p)
}

// Run calls f, which puts and takes. It ends when the context does.
func (g *Group) Run(ctx context.Context, f func() error) error {
	if !g.mu.TryLock() {
		return errors.New("group: runs already, or is closing")
	}
	defer g.mu.Unlock()
	if g.freed || g.closing.Load() || g.spoiled {
		return errors.New("group: was closed, or failed before")
	}
	g.stop.Store(0)
	halted := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() { g.halt(); close(halted) })
	if g.closing.Load() {
		g.stop.Store(1)
	}
	err := f()
	if !unhook() {
		<-halted
	}
	g.spoiled = err != nil // nobody knows any more which message is next
	if g.sleeper != nil {
		g.sleeper.drain()
		g.sleeper.ack(g.cq)
	}
	if errors.Is(err, errStopped) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Put writes n bytes from one's own memory into that of another, at an offset there.
func (g *Group) Put(i, from, at, n int) error {
	l := g.lanes[i]
	if from < 0 || n <= 0 || from+n > len(g.data.b) || at < 0 || uint64(at+n) > l.peer.Length {
		return fmt.Errorf("put of %d bytes from %d to %d: outside of memory", n, from, at)
	}
	for l.pending >= groupSends {
		if err := g.hear(); err != nil {
			return err
		}
	}
	l.piece[0].addr, l.piece[0].length = uint64(uintptr(g.data.pointer(from))), uint32(n)
	w := &l.put[0]
	w.remoteAddr, w.sendFlags = l.peer.Addr+uint64(at), 0
	if n <= g.o.Inline {
		w.sendFlags = sendInline
	}
	if l.posted++; l.posted%groupQuiet == 0 {
		w.sendFlags |= sendSignaled
	}
	l.pending++
	return l.push(l.put)
}

// Take waits for the next message of another.
func (g *Group) Take(i int) error {
	l := g.lanes[i]
	for l.arrived == 0 {
		if err := g.hear(); err != nil {
			return err
		}
	}
	l.arrived--
	return nil
}

// hear waits until something completes, and remembers whose it was.
func (g *Group) hear() error {
	n, err := g.await(g.o.Stall)
	if err != nil {
		return err
	}
	for _, w := range g.done[:n] {
		l := g.lanes[w.wrID>>8]
		if w.wrID&0xff != tagRecv {
			l.pending -= groupQuiet
			continue
		}
		l.arrived++
		if l.credits++; l.credits == recvBatch {
			l.credits = 0
			if err := l.pushRecvs(l.recvs); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close frees everything. It may be called at any time and twice; a run that is under
// way ends first.
func (g *Group) Close() {
	g.closing.Store(true)
	g.halt()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.freed {
		return
	}
	g.free()
	g.dev.remove(g)
}

func (g *Group) free() {
	var lanes []*lane
	for _, l := range g.lanes {
		lanes = append(lanes, &l.lane)
	}
	g.base.free(lanes...)
	g.work.free()
	g.freed = true
}

// groupWork is what one connection's lists may take: checked here, where they are known.
const _ = uint(4096 - unsafe.Sizeof(sendWR{}) - unsafe.Sizeof(sge{}) - recvBatch*unsafe.Sizeof(recvWR{}) - 3*64)
