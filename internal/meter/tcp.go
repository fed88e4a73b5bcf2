package meter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"weft/internal/trial"
)

// listener answers TCP trials: who connects says with its first byte whether bytes are to
// be swallowed or sent back.
type listener struct{ net.Listener }

const (
	swallow = 's'
	echo    = 'e'
)

// tcpListen waits for connections on the data address and tells the port.
func (s *server) tcpListen(ctx context.Context, a Ask) (Answer, error) {
	addr, err := address(a)
	if err != nil {
		return Answer{}, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(addr.String(), "0"))
	if err != nil {
		return Answer{}, class("device", err)
	}
	if err := s.hold(a.Conn, listener{l}); err != nil {
		return Answer{}, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			go serveTCP(c)
		}
	}()
	ans, err := s.counters(ctx, a)
	ans.Port = l.Addr().(*net.TCPAddr).Port
	return ans, err
}

// address is this node's end of a path.
func address(a Ask) (netip.Addr, error) {
	if a.Pair == nil {
		return netip.Addr{}, errors.New("no addresses")
	}
	return netip.ParseAddr(a.Pair.From)
}

// serveTCP swallows or echoes until the other side is done, or silent for longest.
func serveTCP(c net.Conn) {
	defer c.Close()
	f, err := blocking(c)
	if err != nil {
		return
	}
	defer f.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, buf := int(f.Fd()), make([]byte, 1<<20)
	if n, err := unix.Read(fd, buf[:1]); n != 1 || err != nil {
		return
	}
	kind := buf[0]
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return
		}
		if kind == echo {
			if err := write(fd, buf[:n]); err != nil {
				return
			}
		}
	}
}

// blocking takes a connection out of Go's poller: a blocking read costs one wake-up and not
// three, as in the C programs whose numbers people know.
func blocking(c net.Conn) (*os.File, error) {
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd()) // sets it to blocking
	limit := unix.NsecToTimeval(int64(silence))
	unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit)
	return f, nil
}

// silence is how long a TCP connection may stand still.
const silence = 5 * time.Second

// write writes all of a buffer; the Go runtime's own signals are no reason to stop.
func write(fd int, buf []byte) error {
	for len(buf) > 0 {
		n, err := unix.Write(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return fmt.Errorf("nothing was taken for %v", silence)
		case err != nil:
			return err
		}
		buf = buf[n:]
	}
	return nil
}

// dial connects from the data address, so that the path is the one that is measured.
func dial(ctx context.Context, a Ask, kind byte) (net.Conn, *os.File, error) {
	from, err := address(a)
	if err != nil {
		return nil, nil, err
	}
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: 5 * time.Second}
	c, err := d.DialContext(ctx, "tcp", a.Pair.To)
	if err != nil {
		return nil, nil, class("peer", err)
	}
	f, err := blocking(c)
	if err == nil {
		if err = write(int(f.Fd()), []byte{kind}); err != nil {
			f.Close()
		}
	}
	if err != nil {
		c.Close()
		return nil, nil, class("peer", err)
	}
	return c, f, nil
}

// each is how long one sample of bandwidth takes.
const each = 25 * time.Millisecond

// tcpBandwidth sends as fast as one TCP connection takes it. What is counted has been
// acknowledged by the other machine, not merely put into a buffer here.
func (s *server) tcpBandwidth(ctx context.Context, a Ask) (Answer, error) {
	c, f, err := dial(ctx, a, swallow)
	if err != nil {
		return Answer{}, err
	}
	defer c.Close()
	defer f.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, buf := int(f.Fd()), make([]byte, 256<<10)
	effort, _ := trial.EffortByWord(a.Effort)
	var samples []trial.Amount
	start := time.Now()
	mark, marked := start, int64(-1)
	for written := int64(0); ctx.Err() == nil; {
		if err := write(fd, buf); err != nil {
			return Answer{}, class("peer", fmt.Errorf("sending: %w", err))
		}
		written += int64(len(buf))
		now := time.Now()
		if now.Sub(mark) < each {
			continue
		}
		waiting, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		if err != nil {
			return Answer{}, err
		}
		acked := written - int64(waiting)
		if marked >= 0 { // the first interval only fills the pipe
			samples = append(samples, trial.Amount(float64(acked-marked)*8/now.Sub(mark).Seconds()))
		}
		mark, marked = now, acked
		if over := now.Sub(start); effort.Enough(samples) || over.Seconds() > a.Seconds {
			if len(samples) == 0 && acked > 0 { // too slow for a sample
				samples = append(samples, trial.Amount(float64(acked)*8/over.Seconds()))
			}
			break
		}
	}
	return Answer{Samples: samples}, ctx.Err()
}

// tcpLatency sends small messages and waits for each to come back; half of that is the
// latency, as qperf and perftest count.
func (s *server) tcpLatency(ctx context.Context, a Ask) (Answer, error) {
	c, f, err := dial(ctx, a, echo)
	if err != nil {
		return Answer{}, err
	}
	defer c.Close()
	defer f.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, buf := int(f.Fd()), make([]byte, max(1, min(a.Pair.Size, 64<<10)))
	times := newTimes(a)
	for ctx.Err() == nil && !times.done() {
		t := time.Now()
		if err := write(fd, buf); err != nil {
			return Answer{}, class("peer", err)
		}
		if err := readFull(fd, buf); err != nil {
			return Answer{}, class("peer", err)
		}
		times.add(time.Since(t) / 2)
	}
	return times.answer(), ctx.Err()
}

func readFull(fd int, buf []byte) error {
	for len(buf) > 0 {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		buf = buf[n:]
	}
	return nil
}

// times gathers latencies: all of them for the percentiles, and the median of every few as
// a sample, so that Effort can tell when they are enough.
type times struct {
	effort  trial.Effort
	until   time.Time
	all     []time.Duration
	samples []trial.Amount
	enough  bool
}

const (
	perSample = 50      // latencies a sample
	fewTimes  = 1000    // latencies at least: the 999th of a thousand is a percentile
	mostTimes = 1 << 20 // latencies kept
	warmUp    = 20      // latencies not counted: caches and tables fill
)

func newTimes(a Ask) *times {
	effort, _ := trial.EffortByWord(a.Effort)
	return &times{effort: effort, until: time.Now().Add(time.Duration(a.Seconds * float64(time.Second)))}
}

func (t *times) add(d time.Duration) {
	t.all = append(t.all, d)
	if n := len(t.all) - warmUp; n > 0 && n%perSample == 0 {
		last := slices.Clone(t.all[len(t.all)-perSample:])
		slices.Sort(last)
		t.samples = append(t.samples, trial.Amount(last[perSample/2]))
		t.enough = n >= fewTimes && t.effort.Enough(t.samples) || n >= mostTimes
	}
}

func (t *times) done() bool { return t.enough || time.Now().After(t.until) }

func (t *times) answer() Answer {
	counted := t.all[min(warmUp, len(t.all)):]
	if len(counted) == 0 {
		return Answer{Error: "not one message came back in time", Class: "time"}
	}
	if len(t.samples) == 0 { // too slow for a whole sample
		for _, d := range counted {
			t.samples = append(t.samples, trial.Amount(d))
		}
	}
	return Answer{Samples: t.samples, Times: percentiles(counted)}
}

func percentiles(all []time.Duration) *trial.Times {
	s := slices.Sorted(slices.Values(all))
	// the smallest that at least this share of all are not above
	at := func(share float64) trial.Amount {
		return trial.Amount(s[max(0, int(math.Ceil(share*float64(len(s))))-1)])
	}
	return &trial.Times{Min: at(0), Typical: at(0.5), P99: at(0.99), P999: at(0.999), Max: trial.Amount(s[len(s)-1]), Count: int64(len(s))}
}
