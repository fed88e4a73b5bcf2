// Package clock is the time server on a lab's management network: it answers ARP and
// NTP at one address, so that the machines' clocks are really kept right. Edge.
package clock

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"time"
)

// Where the machines ask for the time: guest/image.sh tells them.
var (
	ip  = [4]byte{10, 90, 0, 250}
	mac = [6]byte{0x52, 0x54, 0x00, 0x00, 0x00, 0xfa}
)

// Serve answers the frames that come to the socket at path own, towards the socket
// at path peer, until ctx is done.
func Serve(ctx context.Context, own, peer string) error {
	if err := os.Remove(own); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: own, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer os.Remove(own)
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })()
	to := &net.UnixAddr{Name: peer, Net: "unixgram"}
	buf := make([]byte, 2048)
	for {
		n, err := conn.Read(buf)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if answer := reply(buf[:n], time.Now()); answer != nil {
			conn.WriteTo(answer, to) // a frame may get lost
		}
	}
}

// reply returns the frame that answers a frame, nil where there is nothing to say.
func reply(frame []byte, now time.Time) []byte {
	if len(frame) < 42 {
		return nil
	}
	switch binary.BigEndian.Uint16(frame[12:]) {
	case 0x0806:
		return replyARP(frame)
	case 0x0800:
		return replyNTP(frame, now)
	}
	return nil
}

// replyARP says where the server is (RFC 826).
func replyARP(f []byte) []byte {
	if binary.BigEndian.Uint16(f[20:]) != 1 || [4]byte(f[38:42]) != ip {
		return nil
	}
	a := append([]byte(nil), f[:42]...)
	copy(a[0:6], f[6:12])
	copy(a[6:12], mac[:])
	a[21] = 2 // a reply
	copy(a[22:28], mac[:])
	copy(a[28:32], ip[:])
	copy(a[32:42], f[22:32])
	return a
}

const (
	headers   = 14 + 20 + 8 // Ethernet, IPv4 without options, UDP
	ntpLength = 48
	ntpEpoch  = 2208988800 // seconds from 1900 to 1970 (RFC 5905, 6)
)

// replyNTP answers a client's question for the time (RFC 5905, 7.3 and 8).
func replyNTP(f []byte, now time.Time) []byte {
	const udp, client, server = 17, 3, 4
	if len(f) < headers+ntpLength || f[14] != 0x45 || f[23] != udp || [4]byte(f[30:34]) != ip ||
		binary.BigEndian.Uint16(f[36:]) != 123 || f[headers]&7 != client {
		return nil
	}
	a := make([]byte, headers+ntpLength)
	copy(a, f[6:12])
	copy(a[6:], mac[:])
	copy(a[12:], f[12:headers])
	binary.BigEndian.PutUint16(a[16:], uint16(len(a)-14))
	copy(a[26:], ip[:])
	copy(a[30:], f[26:30])
	copy(a[34:], f[36:38])
	copy(a[36:], f[34:36])
	binary.BigEndian.PutUint16(a[38:], 8+ntpLength)
	a[40], a[41] = 0, 0 // no UDP checksum: IPv4 allows that
	a[24], a[25] = 0, 0
	binary.BigEndian.PutUint16(a[24:], ^sum(a[14:34]))

	n, question := a[headers:], f[headers:]
	n[0] = question[0]&0x38 | server        // no leap second, the asker's version
	n[1] = 2                                // stratum: this machine has its time from elsewhere
	n[2] = question[2]                      // poll
	n[3] = 0xec                             // precision: 2^-20 s
	binary.BigEndian.PutUint32(n[8:], 1<<6) // root dispersion: 1 ms
	copy(n[12:], []byte{127, 0, 0, 1})
	stamp(n[16:], now)
	copy(n[24:32], question[40:48])
	stamp(n[32:], now)
	stamp(n[40:], now)
	return a
}

// stamp writes a time as NTP does: seconds since 1900 and their fraction, 32 bits each.
func stamp(b []byte, t time.Time) {
	binary.BigEndian.PutUint32(b, uint32(t.Unix()+ntpEpoch))
	binary.BigEndian.PutUint32(b[4:], uint32(uint64(t.Nanosecond())<<32/1e9))
}

// sum is the sum of the internet checksum (RFC 1071).
func sum(b []byte) uint16 {
	var s uint32
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	s = s&0xffff + s>>16
	return uint16(s + s>>16)
}
