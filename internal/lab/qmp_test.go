package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// shortDir is a folder whose name leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "l")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// fakeSocket stands in for a socket of QEMU: serve speaks on every connection, and
// is told how many there were before. Connections are closed when serve returns.
func fakeSocket(t *testing.T, path string, serve func(before int, conn net.Conn)) {
	t.Helper()
	server, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for n := 0; ; n++ {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			all.Go(func() {
				defer conn.Close()
				serve(n, conn)
			})
		}
	})
	t.Cleanup(func() {
		server.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
}

// request is one command as QEMU and its agent get it.
type request struct {
	Execute   string
	Arguments map[string]any
}

// nextRequest reads a command; false is the end of the conversation.
func nextRequest(in *bufio.Reader) (r request, ok bool) {
	line, err := in.ReadString('\n')
	return r, err == nil && json.Unmarshal([]byte(strings.TrimPrefix(line, "\xff")), &r) == nil
}

// fakeTalk is a conversation with a fake QEMU, which says hello and answers the
// first command with the given words.
func fakeTalk(t *testing.T, ctx context.Context, hello, answer string, asked *request) *talk {
	t.Helper()
	path := filepath.Join(shortDir(t), "s")
	fakeSocket(t, path, func(_ int, conn net.Conn) {
		io.WriteString(conn, hello)
		var ok bool
		if *asked, ok = nextRequest(bufio.NewReader(conn)); ok {
			io.WriteString(conn, answer)
		}
		if strings.HasSuffix(answer, "\n") {
			io.Copy(io.Discard, conn) // stays until the other leaves
		}
	})
	c, err := dial(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.conn.Close() })
	return c
}

func TestAsk(t *testing.T) {
	const hello = `{"QMP": {"version": {"qemu": {"micro": 0, "minor": 2, "major": 7}}, "capabilities": ["oob"]}}` + "\r\n"
	const event = `{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "RESUME", "data": {"status": "no"}}` + "\n"
	for name, c := range map[string]struct{ hello, answer, want, wrong string }{
		"an answer":                      {"", `{"return": {"status": "running"}}` + "\n", "running", ""},
		"after a greeting":               {hello, `{"return": {"status": "paused"}}` + "\r\n", "paused", ""},
		"after events":                   {hello + event, event + event + `{"return": {"status": "running"}}` + "\n", "running", ""},
		"a long one":                     {"", `{"return": {"more": "` + strings.Repeat("x", 200<<10) + `", "status": "running"}}` + "\n", "running", ""},
		"nothing in it":                  {"", `{"return": {}}` + "\n", "", ""},
		"an error":                       {hello, `{"error": {"class": "CommandNotFound", "desc": "The command query-status has not been found"}}` + "\n", "", "query-status: The command query-status has not been found"},
		"an error after an event":        {"", event + `{"error": {"class": "GenericError", "desc": "no"}}` + "\n", "", "query-status: no"},
		"no JSON":                        {"", "what?\n", "", "query-status: invalid character 'w' looking for beginning of value"},
		"no object":                      {"", "[1]\n", "", "query-status: json: cannot unmarshal array into Go value of type lab.answer"},
		"another type":                   {"", `{"return": "running"}` + "\n", "", "query-status: json: cannot unmarshal string into Go value of type struct { Status string }"},
		"closed":                         {"", "", "", "query-status: EOF"},
		"closed in the middle of a line": {"", `{"return": {"sta`, "", "query-status: EOF"},
	} {
		var asked request
		var now struct{ Status string }
		err := fakeTalk(t, t.Context(), c.hello, c.answer, &asked).ask("query-status", map[string]any{"deep": true}, &now)
		switch {
		case c.wrong != "" && (err == nil || err.Error() != c.wrong):
			t.Errorf("%s: %v, want %s", name, err, c.wrong)
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case now.Status != c.want:
			t.Errorf("%s: status %q, want %q", name, now.Status, c.want)
		}
		if asked.Execute != "query-status" || len(asked.Arguments) != 1 || asked.Arguments["deep"] != true {
			t.Errorf("%s: was asked %+v", name, asked)
		}
	}
}

func TestAskWithoutArgumentsOrReply(t *testing.T) {
	var asked request
	if err := fakeTalk(t, t.Context(), "", `{"return": [1, 2]}`+"\n", &asked).ask("stop", nil, nil); err != nil {
		t.Error(err)
	}
	if asked.Execute != "stop" || asked.Arguments != nil {
		t.Errorf("was asked %+v", asked)
	}
}

func TestAskEndsWithItsDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var asked request
	begin := time.Now()
	err := fakeTalk(t, ctx, "", `{"event": "STOP"}`+"\n", &asked).ask("stop", nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "stop: ") {
		t.Errorf("%v, want a deadline", err)
	}
	if d := time.Since(begin); d > time.Second {
		t.Errorf("after %v, want 50 ms", d)
	}
}

func TestDialWaitsForItsSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	why := errors.New("not within 30 ms")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, why)
	defer cancel()
	if _, err := dial(ctx, path); !errors.Is(err, why) || err.Error() != path+": not within 30 ms" {
		t.Errorf("%v, want %s: not within 30 ms", err, path)
	}
	fakeSocket(t, path+".new", func(_ int, conn net.Conn) { io.WriteString(conn, "hello\n") })
	come := time.AfterFunc(30*time.Millisecond, func() { os.Rename(path+".new", path) })
	defer come.Stop()
	c, err := dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.conn.Close()
	if line, err := readLine(c.in); err != nil || string(line) != "hello\n" {
		t.Errorf("%q, %v, want hello", line, err)
	}
}

func TestReadLineIsBounded(t *testing.T) {
	const buffer = 64 << 10
	for _, c := range []struct {
		long  int
		wrong string
	}{
		{maxLine - 1, ""},
		{maxLine + 2*buffer, "an answer of more than 16777216 bytes"},
	} {
		in := bufio.NewReaderSize(io.MultiReader(io.LimitReader(same('x'), int64(c.long)), strings.NewReader("\n")), buffer)
		line, err := readLine(in)
		switch {
		case c.wrong == "" && (err != nil || len(line) != c.long+1):
			t.Errorf("%d bytes: read %d, %v", c.long, len(line), err)
		case c.wrong != "" && (err == nil || err.Error() != c.wrong || line != nil):
			t.Errorf("%d bytes: read %d, %v, want %s", c.long, len(line), err, c.wrong)
		}
	}
}

// same is a reader of one byte, for ever.
type same byte

func (s same) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s)
	}
	return len(b), nil
}

func TestMonitor(t *testing.T) {
	l := Lab{Dir: shortDir(t)}
	if err := os.Mkdir(l.run(), 0o700); err != nil {
		t.Fatal(err)
	}
	status := `{"return": {"status": "running"}}`
	fakeSocket(t, l.run("node1.qmp"), func(_ int, conn net.Conn) {
		io.WriteString(conn, `{"QMP": {}}`+"\n")
		in := bufio.NewReader(conn)
		for ready := false; ; {
			switch r, ok := nextRequest(in); {
			case !ok:
				return
			case r.Execute == "qmp_capabilities":
				ready = true
				io.WriteString(conn, `{"return": {}}`+"\n")
			case ready && r.Execute == "query-status":
				io.WriteString(conn, status+"\n")
			default: // QEMU's own words before qmp_capabilities
				io.WriteString(conn, `{"error": {"class": "CommandNotFound", "desc": "Expecting capabilities negotiation with 'qmp_capabilities'"}}`+"\n")
			}
		}
	})
	for _, c := range []struct{ status, want string }{
		{`{"return": {"status": "running", "running": true}}`, "running"},
		{`{"return": {"status": "paused", "running": false}}`, "frozen"},
		{`{"return": {"status": "inmigrate"}}`, "inmigrate"},
		{`{"error": {"desc": "no"}}`, "silent"},
	} {
		status = c.status
		if got := l.asks(t.Context(), "node1"); got != c.want {
			t.Errorf("%s: %s, want %s", c.status, got, c.want)
		}
	}
}
