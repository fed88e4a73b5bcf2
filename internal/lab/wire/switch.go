package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	headers  = 14                    // two addresses and a type: IEEE 802.3
	tag      = 4                     // IEEE 802.1Q
	frameMax = 65536 + headers + tag // the largest that a card may leave to its peer to cut
	tableMax = 4096                  // addresses in a net; a lab has tens
	queueMax = 256                   // frames that wait for one machine
)

// frame is one that is on its way; it may wait at several ports at once.
type frame struct {
	refs atomic.Int32
	size int
	buf  [frameMax + 1]byte // one more, to see that a frame was cut
}

var frames = sync.Pool{New: func() any { return new(frame) }}

func (f *frame) bytes() []byte { return f.buf[:f.size] }

// drop gives up one hold on a frame; the last lets its memory be used again.
func (f *frame) drop() {
	if f.refs.Add(-1) == 0 {
		frames.Put(f)
	}
}

// port is where one machine is plugged in.
type port struct {
	net, name string
	own, path string // the switch's socket, the machine's
	in        *net.UnixConn
	out       *os.File
	queue     chan *frame

	mtu                           atomic.Int64
	got, sent, full, tooBig, gone atomic.Uint64
}

// carries reports whether a frame is within the port's limit, and counts it if not.
func (p *port) carries(b []byte) bool {
	payload := len(b) - headers
	if binary.BigEndian.Uint16(b[12:]) == unix.ETH_P_8021Q {
		payload -= tag
	}
	if mtu := p.mtu.Load(); mtu == 0 || int64(payload) <= mtu {
		return true
	}
	p.tooBig.Add(1)
	return false
}

// mac is an address: its six bytes, the first highest.
type mac uint64

func macAt(b []byte) mac {
	return mac(binary.BigEndian.Uint32(b))<<16 | mac(binary.BigEndian.Uint16(b[4:]))
}

func (m mac) group() bool { return m>>40&1 == 1 }

// private reports whether an address is one of QEMU's own user network (slirp): it
// gives its gateway and name server 52:55 and their IPv4 address, or 52:56 and the
// end of their IPv6 one. That network sits on the same hub as a machine's management
// card, every machine has its own, and all of them have the same addresses: where
// one answers another's machine, that machine's connections break.
func (m mac) private() bool { return m>>32 == 0x5255 || m>>32 == 0x5256 }

// domain is one net: its ports and where each address was last seen.
type domain struct {
	ports []*port
	mu    sync.RWMutex
	table map[mac]*port
}

// receive takes frames from a port until it is unplugged.
func (d *domain) receive(from *port) error {
	for {
		f := frames.Get().(*frame)
		f.refs.Store(1)
		n, err := from.in.Read(f.buf[:])
		if errors.Is(err, net.ErrClosed) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", from.own, err)
		}
		f.size = n
		d.forward(from, f)
		f.drop()
	}
}

// forward gives a frame to the port where its address was seen, or to all others.
func (d *domain) forward(from *port, f *frame) {
	b := f.bytes()
	if len(b) < headers {
		return
	}
	from.got.Add(1)
	if len(b) > frameMax {
		from.tooBig.Add(1)
		return
	}
	dst, src := macAt(b), macAt(b[6:])
	if dst.private() || src.private() || !from.carries(b) {
		return
	}
	to := d.look(dst, src, from)
	if to != nil {
		if to != from {
			to.put(f)
		}
		return
	}
	for _, p := range d.ports {
		if p != from {
			p.put(f)
		}
	}
}

// look remembers where src is and returns where dst is, nil where that is not known.
func (d *domain) look(dst, src mac, from *port) *port {
	d.mu.RLock()
	to, known := d.table[dst], d.table[src]
	d.mu.RUnlock()
	if known != from && !src.group() {
		d.mu.Lock()
		if known == nil && len(d.table) >= tableMax {
			d.table = map[mac]*port{} // the live ones are back with their next frame
		}
		d.table[src] = from
		d.mu.Unlock()
	}
	return to
}

// put lets a frame wait for a port's machine; when too many do, it is lost.
func (p *port) put(f *frame) {
	if !p.carries(f.bytes()) {
		return
	}
	f.refs.Add(1)
	select {
	case p.queue <- f:
	default:
		p.full.Add(1)
		f.drop()
	}
}

// send writes what waits for a machine. A machine that does not read holds up this
// and nothing else: the write waits for room or for the port to be unplugged.
func (p *port) send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-p.queue:
			if p.write(f.bytes()) {
				p.sent.Add(1)
			} else {
				p.gone.Add(1)
			}
			f.drop()
		}
	}
}

// write reports whether the machine has taken a frame. One that was not there, or
// was started again, has a new socket under the old name.
func (p *port) write(b []byte) bool {
	if _, err := p.out.Write(b); err == nil {
		return true
	}
	if p.connect() != nil {
		return false
	}
	_, err := p.out.Write(b)
	return err == nil
}

func (p *port) connect() error {
	raw, err := p.out.SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = raw.Control(func(fd uintptr) { refused = unix.Connect(int(fd), &unix.SockaddrUnix{Name: p.path}) })
	return errors.Join(err, refused)
}
