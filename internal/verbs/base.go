package verbs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// base is what connections are made of: memory that the card knows, and the queue that
// tells what completed.
type base struct {
	dev *Device
	o   Options
	gid gid

	pd, mr, cq unsafe.Pointer
	data       *memory
	sleeper    *sleeper // nil when polling

	done   []completion
	poll   spin
	notify call

	stop atomic.Uint32 // a run was told to end, or Close was called
}

// lane is one queue pair: one side of a reliable connection.
type lane struct {
	psn            uint32
	qp             unsafe.Pointer
	peer           Peer
	post, postRecv call
}

func (b *base) readGID() error {
	if err := b.dev.lib.code(func() int32 {
		return b.dev.lib.queryGID(b.dev.ctx, uint8(b.dev.port), int32(b.o.GID), &b.gid)
	}); err != nil {
		return fmt.Errorf("GID %d: %w", b.o.GID, err)
	}
	if b.global() && b.gid == (gid{}) {
		return fmt.Errorf("GID %d: is empty", b.o.GID)
	}
	return nil
}

// global reports whether packets need a global route: on Ethernet always, on InfiniBand
// where there is no local address or the port asks for it.
func (b *base) global() bool {
	return b.dev.ethernet() || b.dev.link.lid == 0 || b.dev.link.flags&portGRHRequired != 0
}

// makeMemory makes memory that peers may write and read.
func (b *base) makeMemory(size int) (err error) {
	l := b.dev.lib
	if b.pd, err = l.pointer(func() unsafe.Pointer { return l.allocPD(b.dev.ctx) }); err != nil {
		return fmt.Errorf("ibv_alloc_pd: %w", err)
	}
	if b.data, err = newMemory(size); err != nil {
		return err
	}
	const access = accessLocalWrite | accessRemoteWrite | accessRemoteRead
	addr, room := b.data.pointer(0), uintptr(len(b.data.b))
	b.mr, err = l.pointer(func() unsafe.Pointer {
		if l.regMRIova2 != nil { // relaxed where the card can, as perftest asks for it
			return l.regMRIova2(b.pd, addr, room, uint64(uintptr(addr)), access|accessRelaxedOrdering)
		}
		return l.regMR(b.pd, addr, room, access)
	})
	if err != nil {
		return fmt.Errorf("ibv_reg_mr of %d bytes: %w%s", room, err, memlock(err))
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

// makeQueue makes the queue of completions.
func (b *base) makeQueue(depth int) (err error) {
	l := b.dev.lib
	var channel unsafe.Pointer
	if b.o.Wait == Events {
		if b.sleeper, err = newSleeper(b.dev); err != nil {
			return err
		}
		channel = b.sleeper.channel
	}
	if b.cq, err = l.pointer(func() unsafe.Pointer { return l.createCQ(b.dev.ctx, int32(depth), nil, channel, 0) }); err != nil {
		return fmt.Errorf("ibv_create_cq of %d: %w%s", depth, err, memlock(err))
	}
	return nil
}

// makeLane makes a queue pair with room for so many sends and receives.
func (b *base) makeLane(send, recv int) (q lane, err error) {
	l := b.dev.lib
	want := qpInitAttr{sendCQ: uintptr(b.cq), recvCQ: uintptr(b.cq), qpType: qptRC,
		cap: qpCap{maxSendWR: uint32(send), maxRecvWR: uint32(recv), maxSendSGE: 1, maxRecvSGE: 1}}
	for _, inline := range []int{max(b.o.Inline, 0), 0} { // cards differ in what they carry inline
		a := want
		a.cap.maxInlineData = uint32(inline)
		if q.qp, err = l.pointer(func() unsafe.Pointer { return l.createQP(b.pd, &a) }); err == nil {
			b.o.Inline = inline
			break
		}
	}
	if err != nil {
		return q, fmt.Errorf("ibv_create_qp: %w%s", err, memlock(err))
	}
	q.psn = rand.Uint32() & 0xffffff
	a := qpAttr{qpState: qpsInit, portNum: uint8(b.dev.port), qpAccessFlags: accessRemoteWrite | accessRemoteRead}
	return q, b.modify(&q, "INIT", &a, qpState|qpPkeyIndex|qpPort|qpAccessFlags)
}

// ready makes the calls that a run makes, with lists that lie in work.
func (b *base) ready(work *memory) {
	ops := &(*ibvContext)(b.dev.ctx).ops
	b.done = place[completion](work, pollBatch)
	b.poll.call = call{fn: ops.pollCQ, a1: uintptr(b.cq), a2: pollBatch, a3: address(&b.done[0])}
	b.notify = call{fn: ops.reqNotifyCQ, a1: uintptr(b.cq)}
}

// ready makes a lane's calls; bad is where libibverbs tells which request it refused.
func (q *lane) ready(b *base, bad uintptr) {
	ops := &(*ibvContext)(b.dev.ctx).ops
	q.post = call{fn: ops.postSend, a1: uintptr(q.qp), a3: bad}
	q.postRecv = call{fn: ops.postRecv, a1: uintptr(q.qp), a3: bad}
}

func (b *base) modify(q *lane, to string, a *qpAttr, mask int32) error {
	if err := b.dev.lib.code(func() int32 { return b.dev.lib.modifyQP(q.qp, a, mask) }); err != nil {
		return fmt.Errorf("ibv_modify_qp to %s: %w", to, err)
	}
	return nil
}

// local is what the peer of a lane must know: the memory is that from target on.
func (b *base) local(q *lane, target int) Peer {
	return Peer{
		QPN: (*queuePair)(q.qp).qpNum, PSN: q.psn, LID: b.dev.link.lid, GID: netip.AddrFrom16(b.gid),
		RKey: (*memoryRegion)(b.mr).rkey, Addr: uint64(uintptr(b.data.pointer(target))), Length: uint64(len(b.data.b) - target),
		MTU: b.o.MTU, Reads: b.reads(int(b.dev.attr.maxQPRdAtom)),
	}
}

// reads keeps a count of RDMA reads in a byte; a card always has at least one.
func (b *base) reads(n int) int { return max(1, min(n, 255)) }

// connect brings a lane to its peer, which is checked already.
func (b *base) connect(q *lane, p Peer) error {
	q.peer = p
	to := ahAttr{dlid: p.LID, sl: uint8(b.o.SL), portNum: uint8(b.dev.port)}
	if b.global() {
		to.isGlobal = 1
		to.grh = globalRoute{dgid: p.GID.As16(), sgidIndex: uint8(b.o.GID), hopLimit: 64, trafficClass: uint8(b.o.TrafficClass)}
	}
	rtr := qpAttr{
		qpState: qpsRTR, pathMTU: mtuCode(min(b.o.MTU, p.MTU)), destQPNum: p.QPN, rqPSN: p.PSN, ahAttr: to,
		maxDestRdAtomic: uint8(b.reads(int(b.dev.attr.maxQPRdAtom))), minRNRTimer: 12, // 0.64 ms, perftest's
	}
	if err := b.modify(q, "RTR", &rtr, qpState|qpAV|qpPathMTU|qpDestQPN|qpRQPSN|qpMaxDestRdAtomic|qpMinRNRTimer); err != nil {
		return fmt.Errorf("%w%s", err, routeHint(err))
	}
	rts := qpAttr{
		qpState: qpsRTS, timeout: uint8(b.o.Timeout), retryCnt: uint8(b.o.Retry), rnrRetry: 7, // as often as needed
		sqPSN: q.psn, maxRdAtomic: uint8(min(b.reads(p.Reads), b.reads(int(b.dev.attr.maxQPInitRdAtom)))),
	}
	return b.modify(q, "RTS", &rts, qpState|qpTimeout|qpRetryCnt|qpRNRRetry|qpSQPSN|qpMaxQPRdAtomic)
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

// halt ends the run that is under way.
func (b *base) halt() {
	b.stop.Store(1)
	if b.sleeper != nil {
		b.sleeper.wake()
	}
}

// free gives back what was made, last first: the lanes, then what they share.
func (b *base) free(lanes ...*lane) {
	l := b.dev.lib
	for _, q := range lanes {
		if q.qp != nil {
			l.destroyQP(q.qp)
			q.qp = nil
		}
	}
	if b.sleeper != nil {
		b.sleeper.drain()
		b.sleeper.ack(b.cq)
	}
	if b.cq != nil {
		l.destroyCQ(b.cq)
	}
	if b.sleeper != nil {
		b.sleeper.close()
	}
	if b.mr != nil {
		l.deregMR(b.mr)
	}
	if b.pd != nil {
		l.deallocPD(b.pd)
	}
	b.data.free()
	b.cq, b.mr, b.pd = nil, nil, nil
}

// take takes what has completed, 0 when nothing has. The first failure is an error.
func (b *base) take() (int, error) { return b.taken(b.poll.do()) }

// takeLong does so again and again, until there is something, for a while.
func (b *base) takeLong() (int, error) { return b.taken(b.poll.run(&b.stop, spins)) }

func (b *base) taken(n int32) (int, error) {
	if n < 0 {
		return 0, fmt.Errorf("ibv_poll_cq: %d", n)
	}
	for i := range b.done[:n] {
		if w := &b.done[i]; w.status != wcSuccess {
			return 0, b.failed(w)
		}
	}
	return int(n), nil
}
