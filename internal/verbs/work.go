package verbs

import (
	"fmt"
	"syscall"
	"unsafe"
)

// Tags in wr_id: the opcode of a completion is not to be trusted when it failed.
const (
	tagStream = 1
	tagPing   = 2
	tagRecv   = 3
)

const (
	pollBatch  = 16 // completions taken with one call, as perftest does
	recvBatch  = 16 // receives posted with one call
	quietPings = 32 // sends of pings whose completion nobody asks for, in a row
)

// queues are the lists of work that a run posts, written once, and the calls that post
// them: a run changes nothing in them, so a message costs no more than its post.
type queues struct {
	stream []sendWR // a batch; the last one is signalled
	loud   []sendWR // one ping, signalled
	quiet  []sendWR // one ping, not signalled
	recvs  []recvWR // a batch of receives

	watcher watcher
	credits int // receives to be posted anew
}

// makeWork writes the lists.
func (c *Conn) makeWork() (err error) {
	const each = int(unsafe.Sizeof(sendWR{}) + unsafe.Sizeof(sge{}))
	if c.work, err = newMemory((c.o.Batch+2)*each + recvBatch*64 + pollBatch*64 + 4096); err != nil {
		return err
	}
	pieces := place[sge](c.work, 2)
	lkey := (*memoryRegion)(c.mr).lkey
	pieces[0] = sge{addr: uint64(uintptr(c.data.pointer(0))), length: uint32(c.o.Size), lkey: lkey}
	pieces[1] = sge{addr: uint64(uintptr(c.data.pointer(c.target))), length: uint32(c.o.Size), lkey: lkey}
	q := &queues{
		stream: place[sendWR](c.work, c.o.Batch),
		loud:   place[sendWR](c.work, 1),
		quiet:  place[sendWR](c.work, 1),
		recvs:  place[recvWR](c.work, recvBatch),
	}
	bad := place[uintptr](c.work, 1)
	opcode := map[Op]uint32{Write: wrRDMAWrite, Send: wrSend, Read: wrRDMARead}[c.o.Op]
	inline := uint32(0)
	if c.o.Op != Read && c.o.Size <= c.o.Inline {
		inline = sendInline
	}
	fill := func(list []sendWR, tag uint64, flags uint32) {
		for i := range list {
			list[i] = sendWR{wrID: tag, sgList: address(&pieces[0]), numSGE: 1, opcode: opcode, sendFlags: inline}
			if i+1 < len(list) {
				list[i].next = address(&list[i+1])
			}
		}
		list[len(list)-1].sendFlags |= flags
	}
	fill(q.stream, tagStream, sendSignaled)
	fill(q.loud, tagPing, sendSignaled)
	fill(q.quiet, tagPing, 0)
	for i := range q.recvs {
		q.recvs[i] = recvWR{wrID: tagRecv, sgList: address(&pieces[1]), numSGE: 1}
		if i+1 < len(q.recvs) {
			q.recvs[i].next = address(&q.recvs[i+1])
		}
	}
	c.base.ready(c.work)
	c.lane.ready(&c.base, address(&bad[0]))
	c.queues = q
	return nil
}

// aim writes the peer's memory into the lists.
func (c *Conn) aim(p Peer) {
	for _, list := range [][]sendWR{c.stream, c.loud, c.quiet} {
		for i := range list {
			list[i].remoteAddr, list[i].rkey = p.Addr, p.RKey
		}
	}
}

// push posts a list of sends.
func (q *lane) push(list []sendWR) error {
	q.post.a2 = address(&list[0])
	if r := q.post.do(); r != 0 {
		return postError("ibv_post_send", r)
	}
	return nil
}

// pushRecvs posts a batch of receives.
func (q *lane) pushRecvs(list []recvWR) error {
	q.postRecv.a2 = address(&list[0])
	if r := q.postRecv.do(); r != 0 {
		return postError("ibv_post_recv", r)
	}
	return nil
}

func postError(what string, r int32) error {
	if r < 0 {
		r = -r
	}
	return fmt.Errorf("%s: %w", what, syscall.Errno(r))
}

// fillReceives posts every receive that there is room for.
func (c *Conn) fillReceives() error {
	if c.o.Op != Send {
		return nil
	}
	for range c.o.recvDepth(c.dev) / recvBatch {
		if err := c.pushRecvs(c.recvs); err != nil {
			return err
		}
	}
	return nil
}

// received counts a message, and posts receives anew when a batch of them is used up.
func (c *Conn) received() error {
	c.credits++
	return c.replenish()
}

func (c *Conn) replenish() error {
	if c.credits < recvBatch {
		return nil
	}
	c.credits -= recvBatch
	return c.pushRecvs(c.recvs)
}
