package meter

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weft/internal/collective"
)

// tcpWire is a group over TCP: one connection between every two ranks. Messages have no
// header: both sides know what comes next.
type tcpWire struct {
	rank, ranks int
	mem         []byte
	l           net.Listener
	ends        []*tcpEnd // by rank; nil for oneself
	owing       int       // ends with something to write

	mu     sync.Mutex // held by a run
	guard  sync.Mutex // of ends, while they come and go
	closed atomic.Bool
}

// tcpEnd is the connection to one rank and what is still to be written to it.
type tcpEnd struct {
	f    *os.File
	fd   int
	owed [][]byte
}

func listenWire(g *Group, room int) (wire, int, error) {
	addr, err := netip.ParseAddr(g.Addr)
	if err != nil {
		return nil, 0, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(addr.String(), "0"))
	if err != nil {
		return nil, 0, class("device", err)
	}
	w := &tcpWire{rank: g.Rank, ranks: g.Ranks, mem: make([]byte, room), l: l, ends: make([]*tcpEnd, g.Ranks)}
	return w, l.Addr().(*net.TCPAddr).Port, nil
}

// joinTime is how long the others may take to come.
const joinTime = 10 * time.Second

// join dials the ranks before one's own and accepts those after it, who say which they are.
func (w *tcpWire) join(ctx context.Context, j Join) error {
	if len(j.Addrs) != w.ranks {
		return fmt.Errorf("%d addresses: want %d, of which one is oneself", len(j.Addrs), w.ranks)
	}
	w.l.(*net.TCPListener).SetDeadline(time.Now().Add(joinTime))
	defer w.l.Close()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: w.l.Addr().(*net.TCPAddr).IP}, Timeout: joinTime}
	for r := range w.rank {
		c, err := d.DialContext(ctx, "tcp", j.Addrs[r])
		if err == nil {
			_, err = c.Write(binary.BigEndian.AppendUint32(nil, uint32(w.rank)))
		}
		if err == nil {
			err = w.add(r, c)
		}
		if err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
	}
	for range w.ranks - 1 - w.rank {
		c, err := w.l.Accept()
		if err != nil {
			return fmt.Errorf("not all ranks came: %w", err)
		}
		c.SetReadDeadline(time.Now().Add(joinTime))
		var who [4]byte
		_, err = io.ReadFull(c, who[:])
		r := int(binary.BigEndian.Uint32(who[:]))
		if err == nil && (r <= w.rank || r >= w.ranks || w.ends[r] != nil) {
			err = errors.New("somebody else came")
		}
		if err == nil {
			err = w.add(r, c)
		}
		if err != nil {
			c.Close()
			return err
		}
	}
	return nil
}

func (w *tcpWire) add(rank int, c net.Conn) error {
	f, err := blocking(c)
	c.Close() // f is a copy
	if err != nil {
		return err
	}
	e := &tcpEnd{f: f, fd: int(f.Fd())}
	limit := unix.NsecToTimeval(int64(nap))
	unix.SetsockoptTimeval(e.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)
	w.guard.Lock()
	defer w.guard.Unlock()
	w.ends[rank] = e
	return nil
}

func (w *tcpWire) memory() []byte { return w.mem }

// run calls f on a thread of its own: it blocks in reads.
func (w *tcpWire) run(ctx context.Context, f func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r, e := range w.ends {
		if r != w.rank && e == nil {
			return fmt.Errorf("rank %d: is not connected", r)
		}
	}
	if w.closed.Load() {
		return net.ErrClosed
	}
	unhook := context.AfterFunc(ctx, w.halt)
	defer unhook()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := f()
	for err == nil && w.owing > 0 {
		err = w.wait(nil)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// nap is the longest that a read blocks without Go's scheduler knowing: were it told, it
// would hand the processor to another thread and back, for every message.
var nap = 20 * time.Millisecond

// halt ends a run: its reads and writes fail.
func (w *tcpWire) halt() {
	w.guard.Lock()
	defer w.guard.Unlock()
	for _, e := range w.ends {
		if e != nil {
			unix.Shutdown(e.fd, unix.SHUT_RDWR)
		}
	}
}

// put writes as much as the kernel takes at once; the rest when it can.
func (w *tcpWire) put(p collective.Put) error {
	e := w.ends[p.To]
	e.owed = append(e.owed, w.mem[p.From:p.From+p.Len])
	if len(e.owed) > 1 {
		return nil // in order
	}
	w.owing++
	return w.pay(e)
}

// pay writes what is owed as far as the kernel takes it.
func (w *tcpWire) pay(e *tcpEnd) error {
	for len(e.owed) > 0 {
		b := e.owed[0]
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(e.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return nil
		case errno != 0:
			return class("peer", fmt.Errorf("sending: %w", errno))
		}
		if e.owed[0] = e.owed[0][n:]; len(e.owed[0]) == 0 {
			e.owed = e.owed[1:]
		}
	}
	e.owed = e.owed[:0]
	w.owing--
	return nil
}

// take reads the next message of a rank. While something is owed, it must not block in
// the read alone: the other may wait for what it is owed.
func (w *tcpWire) take(t collective.Take) error {
	e, b := w.ends[t.Of], w.mem[t.At:t.At+t.Len]
	var since time.Time
	for len(b) > 0 {
		flags := unix.MSG_WAITALL
		if w.owing > 0 {
			flags = unix.MSG_DONTWAIT
		}
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(e.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(flags), 0, 0)
		switch {
		case errno == unix.EINTR: // Go's scheduler wants the processor
			runtime.Gosched()
		case errno == unix.EAGAIN && w.owing > 0:
			if err := w.wait(e); err != nil {
				return err
			}
		case errno == unix.EAGAIN:
			runtime.Gosched()
			if since.IsZero() {
				since = time.Now()
			} else if time.Since(since) > silence {
				return class("peer", fmt.Errorf("rank %d: nothing came for %v", t.Of, silence))
			}
		case errno != 0:
			return class("peer", fmt.Errorf("rank %d: receiving: %w", t.Of, errno))
		case n == 0:
			return class("peer", fmt.Errorf("rank %d: has closed the connection", t.Of))
		default:
			b, since = b[n:], time.Time{}
		}
	}
	return nil
}

// wait waits until somebody who is owed something can take it, or something comes from e.
func (w *tcpWire) wait(e *tcpEnd) error {
	var fds []unix.PollFd
	for _, o := range w.ends {
		switch {
		case o == nil:
		case o == e && len(o.owed) > 0:
			fds = append(fds, unix.PollFd{Fd: int32(o.fd), Events: unix.POLLIN | unix.POLLOUT})
		case o == e:
			fds = append(fds, unix.PollFd{Fd: int32(o.fd), Events: unix.POLLIN})
		case len(o.owed) > 0:
			fds = append(fds, unix.PollFd{Fd: int32(o.fd), Events: unix.POLLOUT})
		}
	}
	n, err := unix.Poll(fds, int(silence.Milliseconds()))
	switch {
	case err == unix.EINTR:
		return nil
	case err != nil:
		return err
	case n == 0:
		return class("peer", fmt.Errorf("nothing was taken and nothing came for %v", silence))
	}
	for _, o := range w.ends {
		if o != nil && len(o.owed) > 0 {
			if err := w.pay(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close ends a run that is under way and closes the connections.
func (w *tcpWire) Close() error {
	w.closed.Store(true)
	w.halt()
	w.l.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.guard.Lock()
	defer w.guard.Unlock()
	for i, e := range w.ends {
		if e != nil {
			e.f.Close()
			w.ends[i] = nil
		}
	}
	return nil
}
