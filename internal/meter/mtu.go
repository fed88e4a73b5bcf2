package meter

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// mtuListen answers every datagram with its length.
func (s *server) mtuListen(ctx context.Context, a Ask) (Answer, error) {
	addr, err := address(a)
	if err != nil {
		return Answer{}, err
	}
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
	if err != nil {
		return Answer{}, class("device", err)
	}
	if err := s.hold(a.Conn, c); err != nil {
		return Answer{}, err
	}
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return // closed
			}
			c.WriteToUDPAddrPort(binary.BigEndian.AppendUint32(nil, uint32(n)), from)
		}
	}()
	ans, err := s.counters(ctx, a)
	ans.Port = c.LocalAddr().(*net.UDPAddr).Port
	return ans, err
}

const (
	smallest   = 576 // what every IPv4 path carries (RFC 791)
	tries      = 4   // a path that loses 3 % then loses one answer in a million
	answerTime = 300 * time.Millisecond
)

// mtu finds the largest packet that crosses to the other end in one piece. Asked is
// Pair.Size, the interface's MTU: that one is tried first.
func (s *server) mtu(ctx context.Context, a Ask) (Answer, error) {
	from, err := address(a)
	if err != nil {
		return Answer{}, err
	}
	c, err := (&net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}).DialContext(ctx, "udp", a.Pair.To)
	if err != nil {
		return Answer{}, class("peer", err)
	}
	defer c.Close()
	headers := 28 // IPv4 and UDP
	if from.Is6() {
		headers = 48
	}
	if err := whole(c.(*net.UDPConn), from.Is6()); err != nil {
		return Answer{}, err
	}
	if a.Pair.Size < smallest || a.Pair.Size > 65535 {
		return Answer{}, fmt.Errorf("no interface has an MTU of %d", a.Pair.Size)
	}
	crosses := func(size int) bool { return probe(ctx, c, size-headers) }
	if crosses(a.Pair.Size) {
		return Answer{MTU: a.Pair.Size}, nil
	}
	if !crosses(smallest) {
		return Answer{}, class("peer", errors.New("no datagram came back, not even a small one: a firewall, or no path"))
	}
	low, high := smallest, a.Pair.Size // low crosses, high does not
	for _, usual := range []int{1500, 4200, 9000} {
		if low < usual && usual < high {
			if crosses(usual) {
				low = usual
			} else {
				high = usual
			}
		}
	}
	for high-low > 1 && ctx.Err() == nil {
		if mid := (low + high) / 2; crosses(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return Answer{MTU: low}, ctx.Err()
}

// whole forbids the kernel to cut packets, and to believe what it knows of the path.
func whole(c *net.UDPConn, six bool) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if six {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
			return
		}
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	})
	return errors.Join(err, failed)
}

// probe reports whether a datagram of that payload was seen at the other end.
func probe(ctx context.Context, c net.Conn, payload int) bool {
	buf := make([]byte, payload)
	for range tries {
		if ctx.Err() != nil {
			return false
		}
		if _, err := c.Write(buf); err != nil {
			return false // larger than the interface takes
		}
		end := time.Now().Add(answerTime)
		c.SetReadDeadline(end)
		var said [8]byte
		for time.Now().Before(end) {
			n, err := c.Read(said[:])
			if err == nil && n == 4 && binary.BigEndian.Uint32(said[:4]) == uint32(payload) {
				return true
			}
			if err != nil {
				break
			}
		}
	}
	return false
}
