package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// lab runs a switch and returns its folder; the switch ends with the test.
func lab(t testing.TB, nets ...Net) string {
	t.Helper()
	dir := folder(t)
	start(t, dir, nets...)
	return dir
}

// folder is short, as a socket's path must be, whatever the test's name.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// start runs a switch and returns when it is ready; stop ends it.
func start(t testing.TB, dir string, nets ...Net) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, dir, nets) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Error("the switch does not end")
		}
	})
	t.Cleanup(stop)
	wait(t, func() bool {
		select {
		case err := <-done:
			close(done)
			t.Fatal(err)
		default:
		}
		_, err := Ask(ctx, dir)
		return err == nil
	})
	return stop
}

func wait(t testing.TB, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("not within 5 s")
}

// machine is the other end of a port.
type machine struct {
	t    testing.TB
	conn *net.UnixConn
	to   *net.UnixAddr
}

func plugIn(t testing.TB, dir, netName, port string) *machine {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: Socket(dir, netName, port, "vm"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &machine{t, conn, &net.UnixAddr{Name: Socket(dir, netName, port, "sw"), Net: "unixgram"}}
}

func (m *machine) send(f []byte) {
	m.t.Helper()
	m.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	if _, err := m.conn.WriteToUnix(f, m.to); err != nil {
		m.t.Fatal(err)
	}
}

// next wants a frame to be the next that comes. That another did not come is known
// when one that was sent after it does.
func (m *machine) next(want []byte) {
	m.t.Helper()
	buf := make([]byte, frameMax+1)
	m.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, err := m.conn.Read(buf)
	if err != nil {
		m.t.Fatal(err)
	}
	if !bytes.Equal(buf[:n], want) {
		m.t.Fatalf("came %x of %d bytes, want %x of %d", buf[:min(n, 20)], n, want[:min(len(want), 20)], len(want))
	}
}

const (
	all = "ff:ff:ff:ff:ff:ff"
	one = "52:54:00:00:00:01"
	two = "52:54:00:00:00:02"
	six = "52:54:00:00:00:06"
)

// eth makes a frame with a payload of some bytes.
func eth(t testing.TB, dst, src string, payload int) []byte {
	t.Helper()
	d, err := net.ParseMAC(dst)
	if err != nil {
		t.Fatal(err)
	}
	s, err := net.ParseMAC(src)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(d, s, []byte{8, 0}, bytes.Repeat([]byte{byte(payload)}, payload))
}

func tagged(f []byte) []byte {
	return slices.Concat(f[:12], binary.BigEndian.AppendUint16(nil, 0x8100), []byte{0, 7}, f[12:])
}

var rail = Net{"rail0", []string{"node1", "node2", "node3"}}

func trio(t testing.TB) (dir string, a, b, c *machine) {
	t.Helper()
	dir = lab(t, rail)
	return dir, plugIn(t, dir, "rail0", "node1"), plugIn(t, dir, "rail0", "node2"), plugIn(t, dir, "rail0", "node3")
}

func at(t testing.TB, dir, port string) Port {
	t.Helper()
	list, err := Ask(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(p Port) bool { return p.Name == port })
	if i < 0 {
		t.Fatalf("no port %s in %+v", port, list)
	}
	return list[i]
}
