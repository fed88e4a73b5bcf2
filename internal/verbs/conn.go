package verbs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Conn is one side of a reliable connection, and the memory that is measured with.
type Conn struct {
	dev   *Device
	o     Options
	psn   uint32
	gid   gid
	peer  Peer
	state string // what was done last: "made", "connected", or "spoiled" after an error

	pd, mr, cq, qp unsafe.Pointer
	data           *memory
	target         int // where in data the peer writes to and reads from
	work           *memory
	*queues
	sleeper *sleeper // nil when polling

	stop    atomic.Uint32 // a run was told to end, or Close was called
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
	c := &Conn{dev: d, o: o, psn: rand.Uint32() & 0xffffff, state: "made"}
	for _, step := range []func() error{c.readGID, c.makeMemory, c.makeQueues, c.toInit, c.makeWork} {
		if err := step(); err != nil {
			c.free()
			return nil, fmt.Errorf("%s/%d: %w", d.name, d.port, err)
		}
	}
	d.conns[c] = true
	return c, nil
}

// Options returns the options with what NewConn set.
func (c *Conn) Options() Options { return c.o }

func (c *Conn) readGID() error {
	if err := c.dev.lib.code(func() int32 {
		return c.dev.lib.queryGID(c.dev.ctx, uint8(c.dev.port), int32(c.o.GID), &c.gid)
	}); err != nil {
		return fmt.Errorf("GID %d: %w", c.o.GID, err)
	}
	if c.global() && c.gid == (gid{}) {
		return fmt.Errorf("GID %d: is empty", c.o.GID)
	}
	return nil
}

// global reports whether packets need a global route: on Ethernet always, on InfiniBand
// where there is no local address or the port asks for it.
func (c *Conn) global() bool {
	return c.dev.ethernet() || c.dev.link.lid == 0 || c.dev.link.flags&portGRHRequired != 0
}

func (c *Conn) makeMemory() (err error) {
	l := c.dev.lib
	if c.pd, err = l.pointer(func() unsafe.Pointer { return l.allocPD(c.dev.ctx) }); err != nil {
		return fmt.Errorf("ibv_alloc_pd: %w", err)
	}
	c.target = roomFor(c.o.Size)
	if c.data, err = newMemory(2 * c.target); err != nil {
		return err
	}
	const access = accessLocalWrite | accessRemoteWrite | accessRemoteRead
	addr, size := c.data.pointer(0), uintptr(len(c.data.b))
	c.mr, err = l.pointer(func() unsafe.Pointer {
		if l.regMRIova2 != nil { // relaxed where the card can, as perftest asks for it
			return l.regMRIova2(c.pd, addr, size, uint64(uintptr(addr)), access|accessRelaxedOrdering)
		}
		return l.regMR(c.pd, addr, size, access)
	})
	if err != nil {
		return fmt.Errorf("ibv_reg_mr of %d bytes: %w%s", size, err, memlock(err))
	}
	return nil
}

// memlock says that memory may not be locked, where that is why there was none.
func memlock(err error) string {
	var r unix.Rlimit
	if !errors.Is(err, syscall.ENOMEM) && !errors.Is(err, syscall.EAGAIN) ||
		unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return ""
	}
	return fmt.Sprintf(": RLIMIT_MEMLOCK is %d KiB: ulimit -l unlimited", r.Cur>>10)
}

func (c *Conn) makeQueues() (err error) {
	l := c.dev.lib
	var channel unsafe.Pointer
	if c.o.Wait == Events {
		if c.sleeper, err = newSleeper(c.dev); err != nil {
			return err
		}
		channel = c.sleeper.channel
	}
	send, recv := c.o.sendDepth(c.dev), c.o.recvDepth(c.dev)
	if c.cq, err = l.pointer(func() unsafe.Pointer { return l.createCQ(c.dev.ctx, int32(send+recv), nil, channel, 0) }); err != nil {
		return fmt.Errorf("ibv_create_cq of %d: %w%s", send+recv, err, memlock(err))
	}
	want := qpInitAttr{sendCQ: uintptr(c.cq), recvCQ: uintptr(c.cq), qpType: qptRC,
		cap: qpCap{maxSendWR: uint32(send), maxRecvWR: uint32(recv), maxSendSGE: 1, maxRecvSGE: 1}}
	for _, inline := range []int{max(c.o.Inline, 0), 0} { // cards differ in what they carry inline
		a := want
		a.cap.maxInlineData = uint32(inline)
		if c.qp, err = l.pointer(func() unsafe.Pointer { return l.createQP(c.pd, &a) }); err == nil {
			c.o.Inline = inline
			return nil
		}
	}
	return fmt.Errorf("ibv_create_qp: %w%s", err, memlock(err))
}

func (c *Conn) toInit() error {
	a := qpAttr{qpState: qpsInit, portNum: uint8(c.dev.port), qpAccessFlags: accessRemoteWrite | accessRemoteRead}
	return c.modify("INIT", &a, qpState|qpPkeyIndex|qpPort|qpAccessFlags)
}

func (c *Conn) modify(to string, a *qpAttr, mask int32) error {
	if err := c.dev.lib.code(func() int32 { return c.dev.lib.modifyQP(c.qp, a, mask) }); err != nil {
		return fmt.Errorf("ibv_modify_qp to %s: %w", to, err)
	}
	return nil
}

// Local returns what the peer must know.
func (c *Conn) Local() Peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.freed {
		return Peer{}
	}
	return Peer{
		QPN: (*queuePair)(c.qp).qpNum, PSN: c.psn, LID: c.dev.link.lid, GID: netip.AddrFrom16(c.gid),
		RKey: (*memoryRegion)(c.mr).rkey, Addr: uint64(uintptr(c.data.pointer(c.target))), Length: uint64(c.target),
		MTU: c.o.MTU, Reads: c.reads(int(c.dev.attr.maxQPRdAtom)),
	}
}

// reads keeps a count of RDMA reads in a byte; a card always has at least one.
func (c *Conn) reads(n int) int { return max(1, min(n, 255)) }

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
	c.peer = p
	c.aim(p)
	if err := c.fillReceives(); err != nil {
		return err
	}
	to := ahAttr{dlid: p.LID, sl: uint8(c.o.SL), portNum: uint8(c.dev.port)}
	if c.global() {
		to.isGlobal = 1
		to.grh = globalRoute{dgid: p.GID.As16(), sgidIndex: uint8(c.o.GID), hopLimit: 64, trafficClass: uint8(c.o.TrafficClass)}
	}
	rtr := qpAttr{
		qpState: qpsRTR, pathMTU: mtuCode(min(c.o.MTU, p.MTU)), destQPNum: p.QPN, rqPSN: p.PSN, ahAttr: to,
		maxDestRdAtomic: uint8(c.reads(int(c.dev.attr.maxQPRdAtom))), minRNRTimer: 12, // 0.64 ms, perftest's
	}
	if err := c.modify("RTR", &rtr, qpState|qpAV|qpPathMTU|qpDestQPN|qpRQPSN|qpMaxDestRdAtomic|qpMinRNRTimer); err != nil {
		c.state = "spoiled"
		return fmt.Errorf("%w%s", err, routeHint(err))
	}
	rts := qpAttr{
		qpState: qpsRTS, timeout: uint8(c.o.Timeout), retryCnt: uint8(c.o.Retry), rnrRetry: 7, // as often as needed
		sqPSN: c.psn, maxRdAtomic: uint8(min(c.reads(p.Reads), c.reads(int(c.dev.attr.maxQPInitRdAtom)))),
	}
	if err := c.modify("RTS", &rts, qpState|qpTimeout|qpRetryCnt|qpRNRRetry|qpSQPSN|qpMaxQPRdAtomic); err != nil {
		c.state = "spoiled"
		return err
	}
	c.state = "connected"
	return nil
}

// routeHint says what a card could not find out about the way to the peer.
func routeHint(err error) string {
	switch {
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return ": no way to the peer's address was found (ARP, routes)"
	case errors.Is(err, syscall.EINVAL):
		return ": the two sides' GIDs may be of different kinds (IPv4 and IPv6, RoCE v1 and v2)"
	}
	return ""
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

// halt ends the run that is under way.
func (c *Conn) halt() {
	c.stop.Store(1)
	if c.sleeper != nil {
		c.sleeper.wake()
	}
}

// free gives back what was made, last first.
func (c *Conn) free() {
	l := c.dev.lib
	if c.qp != nil {
		l.destroyQP(c.qp)
	}
	if c.sleeper != nil {
		c.sleeper.drain()
		c.sleeper.ack(c.cq)
	}
	if c.cq != nil {
		l.destroyCQ(c.cq)
	}
	if c.sleeper != nil {
		c.sleeper.close()
	}
	if c.mr != nil {
		l.deregMR(c.mr)
	}
	if c.pd != nil {
		l.deallocPD(c.pd)
	}
	c.data.free()
	c.work.free()
	c.freed = true
	c.qp, c.cq, c.mr, c.pd = nil, nil, nil, nil
}
