package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

func TestRunRefuses(t *testing.T) {
	tmp := folder(t)
	long := filepath.Join(tmp, strings.Repeat("x", 116-len(tmp)-len("//wire.ctl")))
	file := folder(t)
	if err := os.WriteFile(Socket(file, "rail0", "node1", "sw"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		nets []Net
		want string
	}{
		"a slash":         {tmp, []Net{{"../x", nil}}, `net "../x": a name is letters, digits and dashes`},
		"no name":         {tmp, []Net{{"", nil}}, `net "": a name is letters, digits and dashes`},
		"a dot":           {tmp, []Net{{"a", []string{"b.c"}}}, `net "a": port "b.c": a name is letters, digits and dashes`},
		"a net twice":     {tmp, []Net{{"a", nil}, {"a", nil}}, `net "a" is there twice`},
		"a port twice":    {tmp, []Net{{"a", []string{"b", "b"}}}, `net "a": port "b" is there twice`},
		"a long folder":   {long, []Net{{"net", []string{"port"}}}, "the folder's name is too long: the socket wire.ctl in it needs 116 bytes"},
		"no folder":       {filepath.Join(tmp, "none"), []Net{rail}, "no such file or directory"},
		"a file, no sock": {file, []Net{rail}, "not a socket, and in the way of one"},
	} {
		if err := Run(t.Context(), c.dir, c.nets); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestPathAtItsLimit runs in the longest folder that there can be.
func TestPathAtItsLimit(t *testing.T) {
	tmp := folder(t)
	dir := filepath.Join(tmp, strings.Repeat("x", pathMax-len(Socket(tmp, "rail0", "node1", "sw"))-len("/")))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := len(Socket(dir, "rail0", "node1", "vm")); got != pathMax {
		t.Fatalf("the path has %d bytes, want %d", got, pathMax)
	}
	start(t, dir, rail)
	if err := Run(t.Context(), dir, []Net{{"rail0", []string{"node10"}}}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("one byte more: %v, want too long", err)
	}
}

func TestSocketsComeAndGo(t *testing.T) {
	dir := folder(t)
	// What a killed switch leaves: sockets that nobody has open.
	for _, name := range []string{"rail0.node2.sw", "wire.ctl"} {
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	a := plugIn(t, dir, "rail0", "node1") // a machine may be there before the switch
	stop := start(t, dir, rail)
	want := []string{"rail0.node1.sw", "rail0.node1.vm", "rail0.node2.sw", "rail0.node3.sw", "wire.ctl"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("sockets %v, want %v", got, want)
	}
	if err := Run(t.Context(), dir, []Net{rail}); err == nil || err.Error() != dir+": a switch runs here already" {
		t.Errorf("a second switch: %v", err)
	}
	b := plugIn(t, dir, "rail0", "node2")
	f := eth(t, all, two, 46)
	b.send(f)
	a.next(f)
	stop()
	if got, want := names(t, dir), []string{"rail0.node1.vm", "rail0.node2.vm"}; !slices.Equal(got, want) {
		t.Errorf("after the end %v, want %v", got, want)
	}
	start(t, dir, rail)
	b.send(f)
	a.next(f)
}

// TestFailedRunLeavesNothing has the last port's socket in the way.
func TestFailedRunLeavesNothing(t *testing.T) {
	dir := folder(t)
	if err := os.Mkdir(Socket(dir, "rail0", "node3", "sw"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), dir, []Net{rail}); err == nil {
		t.Error("no error")
	}
	if got, want := names(t, dir), []string{"rail0.node3.sw"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
}

func TestFolderMayGoFirst(t *testing.T) {
	dir := folder(t)
	stop := start(t, dir, rail)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	stop() // which wants no error
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestControl(t *testing.T) {
	dir := lab(t, Net{"mgmt", []string{"node1"}}, rail)
	for _, c := range []struct {
		l    Limit
		want string
	}{
		{Limit{"rail1", "node1", 1500}, `no net "rail1"`},
		{Limit{"mgmt", "node2", 1500}, `net "mgmt" has no port "node2"`},
		{Limit{"mgmt", "node1", -1}, "request: mtu -1 is less than nothing"},
		{Limit{strings.Repeat("x", 5000), "node1", 1}, "request: unexpected EOF"},
	} {
		if err := Set(t.Context(), dir, c.l); err == nil || err.Error() != c.want {
			t.Errorf("%.40q: %v, want %s", c.l.Net, err, c.want)
		}
	}
	if err := Set(t.Context(), dir, Limit{"rail0", "node2", 1500}); err != nil {
		t.Fatal(err)
	}
	got, err := Ask(t.Context(), dir)
	want := []Port{{Net: "mgmt", Name: "node1"}, {Net: "rail0", Name: "node1"}, {Net: "rail0", Name: "node2", MTU: 1500}, {Net: "rail0", Name: "node3"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ports %+v, %v, want %+v", got, err, want)
	}
}

func TestControlWithoutAnswer(t *testing.T) {
	dir := folder(t)
	if _, err := Ask(t.Context(), dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no switch: %v", err)
	}
	l, err := net.Listen("unix", control(dir)) // and never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Set(ctx, dir, Limit{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a switch that is stuck: %v", err)
	}
}

// TestEndDoesNotWaitForAClient has one that is connected and says nothing.
func TestEndDoesNotWaitForAClient(t *testing.T) {
	dir := folder(t)
	stop := start(t, dir, rail)
	c, err := net.Dial("unix", control(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begin := time.Now()
	stop()
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("the end took %v", took)
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{`{}`, `{"Set":{"Net":"rail0","Port":"node2","MTU":1500}}`, `{"Set":{"MTU":-1}}`, `{"Get":1}`, `null`, `{"Set":`, "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		all := ports{{net: "rail0", name: "node1"}, {net: "rail0", name: "node2"}}
		r := all.answer(bytes.NewReader(b))
		if (r.Error == "") != (len(r.Ports) == 2) {
			t.Errorf("%q: error %q and %d ports", b, r.Error, len(r.Ports))
		}
		for _, p := range r.Ports {
			if p.MTU < 0 {
				t.Errorf("%q: mtu %d", b, p.MTU)
			}
		}
	})
}
