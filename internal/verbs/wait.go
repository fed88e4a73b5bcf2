package verbs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A busy loop runs in turns, after each of which it asks for the time, and other goroutines
// may have the processor: under a millisecond, 20 in an emulated machine.
const spins = 1 << 14

// idle is how much longer than Stall a side waits that only answers: its peer may still
// be starting, or may be done and have its word under way.
const idle = 6

// errStopped ends a wait when the run was told to stop.
var errStopped = errors.New("stopped")

// begin starts a run. The run ends when the context does, which is no error. The caller
// calls end. The thread is not locked: Go's scheduler interrupts a busy loop every 10 ms,
// and resumes one on a locked thread by way of a second thread, which costs a machine with
// one slow processor several percent.
func (c *Conn) begin(ctx context.Context) (end func(*error), err error) {
	if !c.mu.TryLock() {
		return nil, errors.New("connection: measures something already, or is closing")
	}
	if c.freed || c.closing.Load() || c.state != "connected" {
		c.mu.Unlock()
		return nil, errors.New("connection: is not connected, was closed, or failed before")
	}
	c.stop.Store(0)
	halted := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() { c.halt(); close(halted) })
	if c.closing.Load() { // since it was looked at
		c.stop.Store(1)
	}
	return func(err *error) {
		if !unhook() {
			<-halted // or it might halt the next run
		}
		if *err != nil {
			c.state = "spoiled"
		}
		if c.sleeper != nil {
			c.sleeper.drain()
			c.sleeper.ack(c.cq)
		}
		c.mu.Unlock()
	}, nil
}

// await takes what completes, waiting for it: one completion at least. It gives up after
// limit, and when the run is told to stop.
func (b *base) await(limit time.Duration) (int, error) {
	if n, err := b.take(); n != 0 || err != nil {
		return n, err
	}
	if b.sleeper != nil {
		return b.awaitEvent(limit)
	}
	var began time.Time
	for {
		n, err := b.takeLong()
		switch {
		case n != 0 || err != nil:
			return n, err
		case began.IsZero(): // asked for only now: it may be the message that is measured
			began = time.Now()
		case b.stop.Load() != 0:
			return 0, errStopped
		case time.Since(began) > limit:
			return 0, &StallError{"completion", limit}
		}
	}
}

// awaitEvent is await asleep.
func (b *base) awaitEvent(limit time.Duration) (int, error) {
	began := time.Now()
	for {
		if r := b.notify.do(); r != 0 {
			return 0, postError("ibv_req_notify_cq", r)
		}
		if n, err := b.take(); n != 0 || err != nil { // it came before the request
			return n, err
		}
		left := limit - time.Since(began)
		switch {
		case b.stop.Load() != 0:
			return 0, errStopped
		case left < 0:
			return 0, &StallError{"completion", limit}
		}
		if err := b.sleeper.sleep(left); err != nil {
			return 0, err
		}
		if n, err := b.take(); n != 0 || err != nil {
			return n, err
		}
	}
}

// watch waits until the last byte of a message in memory has a value. Where no processor
// can be spared, it gives way to whoever else would run.
func (c *Conn) watch(word *uint32, shift uint, want byte, limit time.Duration) error {
	var began time.Time
	for {
		switch {
		case c.look(word, shift, want):
			return nil
		case began.IsZero(): // asked for only now: it may be the message that is measured
			began = time.Now()
		case c.stop.Load() != 0:
			return errStopped
		case time.Since(began) > limit:
			return &StallError{"message", limit}
		}
	}
}

// look is one turn of watch.
func (c *Conn) look(word *uint32, shift uint, want byte) bool {
	if c.sleeper == nil {
		return c.watcher.run(word, shift, want, &c.stop, spins)
	}
	for range 64 {
		if byte(atomic.LoadUint32(word)>>shift) == want {
			return true
		}
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return false
}

// sleeper waits for completion events. The events' file is watched edge-triggered: each
// new event wakes, so that a wait costs one system call and events are read seldom.
type sleeper struct {
	dev     *Device
	channel unsafe.Pointer
	fd      int // of the channel
	epoll   int
	ring    sync.Mutex
	bell    int // an eventfd: wakes the sleeper from another goroutine; -1 when closed
	woken   int // wakes since events were read last
	unacked uint32
	events  [4]unix.EpollEvent
}

func newSleeper(d *Device) (*sleeper, error) {
	s := &sleeper{dev: d, fd: -1, epoll: -1, bell: -1}
	if err := s.open(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sleeper) open() (err error) {
	l := s.dev.lib
	if s.channel, err = l.pointer(func() unsafe.Pointer { return l.createChannel(s.dev.ctx) }); err != nil {
		return fmt.Errorf("ibv_create_comp_channel: %w", err)
	}
	s.fd = int((*compChannel)(s.channel).fd)
	if err = unix.SetNonblock(s.fd, true); err != nil {
		return fmt.Errorf("completion channel: %w", err)
	}
	if s.bell, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	for _, fd := range []int{s.fd, s.bell} {
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(fd)}
		if err = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
			return fmt.Errorf("epoll_ctl: %w", err)
		}
	}
	return nil
}

// nap is the longest single sleep. Go's scheduler is not told of it, and so keeps no
// other thread busy with watching this one, which costs more than the message where there
// is one slow processor; in return, other goroutines may have to wait this long.
const nap = 20 * time.Millisecond

// sleep returns after an event, after a wake, or after a while; its caller looks which.
func (s *sleeper) sleep(limit time.Duration) error {
	ms := min(max(limit, 0), nap)/time.Millisecond + 1
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events)), uintptr(len(s.events)), uintptr(ms), 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return fmt.Errorf("epoll_pwait: %w", errno)
	}
	if s.woken++; s.woken >= 64 {
		s.drain()
	}
	return nil
}

// wake ends a sleep, now or the next one.
func (s *sleeper) wake() {
	s.ring.Lock()
	defer s.ring.Unlock()
	if s.bell >= 0 {
		one := [8]byte{1}
		unix.Write(s.bell, one[:])
	}
}

// drain reads the events that have come.
func (s *sleeper) drain() {
	s.woken = 0
	var event [8]byte // struct ib_uverbs_comp_event_desc
	for {
		n, err := unix.Read(s.fd, event[:])
		if err == unix.EINTR {
			continue
		}
		if n != len(event) {
			return
		}
		s.unacked++
	}
}

// ack tells libibverbs that the events were seen: it does not destroy a queue before.
func (s *sleeper) ack(cq unsafe.Pointer) {
	if s.unacked > 0 && cq != nil {
		s.dev.lib.ackCQEvents(cq, s.unacked)
		s.unacked = 0
	}
}

func (s *sleeper) close() {
	s.ring.Lock()
	defer s.ring.Unlock()
	for _, fd := range []*int{&s.epoll, &s.bell} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	if s.channel != nil {
		s.dev.lib.destroyChannel(s.channel) // closes its own file
	}
}
