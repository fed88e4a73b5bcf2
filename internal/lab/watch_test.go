package lab_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	osexec "os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// watched is a weft watch under way: what it said, and its page.
type watched struct {
	cmd  *osexec.Cmd
	url  string
	mu   sync.Mutex
	said []string // the texts of changes
}

// watching starts weft watch over the lab.
func watching(t *testing.T, args ...string) *watched {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	w := &watched{url: "http://" + addr, cmd: real(t, append([]string{"watch", "--jsonl", "--every", "1s", "--ping", "1s", "--listen", addr}, args...)...)}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.cmd.Stderr = os.Stderr
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e struct{ Kind, Text string }
			if json.Unmarshal(lines.Bytes(), &e) == nil && e.Kind == "change" {
				w.mu.Lock()
				w.said = append(w.said, e.Text)
				w.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		w.cmd.Process.Kill()
		w.cmd.Wait()
		if t.Failed() {
			w.mu.Lock()
			defer w.mu.Unlock()
			t.Logf("weft watch said:\n%s", strings.Join(w.said, "\n"))
		}
	})
	return w
}

// says waits until something was said.
func (w *watched) says(t *testing.T, within time.Duration, parts ...string) {
	t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		w.mu.Lock()
		for _, s := range w.said {
			all := true
			for _, p := range parts {
				all = all && strings.Contains(s, p)
			}
			if all {
				w.mu.Unlock()
				return
			}
		}
		w.mu.Unlock()
	}
	t.Errorf("within %v nothing was said of %q", within, parts)
}

// metrics waits until the metrics have a line that begins so, and returns all such lines.
func (w *watched) metrics(t *testing.T, within time.Duration, n int, begin string) (lines []string) {
	t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		r, err := http.Get(w.url + "/metrics")
		if err != nil {
			continue
		}
		b, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			continue
		}
		lines = nil
		for _, line := range strings.Split(string(b), "\n") {
			if strings.HasPrefix(line, begin) {
				lines = append(lines, line)
			}
		}
		if len(lines) >= n {
			return lines
		}
	}
	t.Errorf("within %v: %d lines of metrics begin with %s, want %d", within, len(lines), begin, n)
	return lines
}

// TestRealWatch watches three machines: every pair is pinged over RDMA and TCP, a port that
// goes down, an MTU that changes and a machine that loses its power and comes back are
// said, and nothing is left on any machine.
func TestRealWatch(t *testing.T) {
	l := place(t, false)
	s := up(t, "--nodes", "3")
	w := watching(t)
	for _, n := range s.Nodes {
		w.says(t, 2*time.Minute, n.Name+" answers")
	}
	w.says(t, 3*time.Minute, "weft check:")
	for _, kind := range []string{"rdma", "tcp"} {
		lines := w.metrics(t, time.Minute, 6, fmt.Sprintf("weft_ping_latency_seconds{kind=%q", kind))
		t.Log(strings.Join(lines, "\n"))
	}
	for _, line := range w.metrics(t, 10*time.Second, 6, "weft_ping_loss_ratio") {
		if !strings.HasSuffix(line, " 0") {
			t.Errorf("lost: %s", line)
		}
	}
	w.metrics(t, 10*time.Second, 3, "weft_port_rxe_transmit_packets_total")
	victim := s.Nodes[1].Name
	dev := strings.TrimSpace(inside(t, l, victim, "for p in /sys/class/infiniband/*/parent; do cat $p; break; done"))
	mtu := strings.TrimSpace(inside(t, l, victim, "cat /sys/class/net/"+dev+"/mtu"))
	inside(t, l, victim, "ip link set dev "+dev+" mtu 1400")
	w.says(t, 20*time.Second, victim, "mtu was "+mtu+" and is 1400")
	w.metrics(t, 10*time.Second, 1, `weft_drift{node="`+victim+`"`)
	inside(t, l, victim, "ip link set dev "+dev+" mtu "+mtu)
	w.says(t, 20*time.Second, victim, "mtu was 1400 and is "+mtu)
	inside(t, l, victim, "ip link set dev "+dev+" down")
	w.says(t, 20*time.Second, victim, "went from ACTIVE to DOWN")
	inside(t, l, victim, "ip link set dev "+dev+" up")
	w.says(t, 30*time.Second, victim, "is ACTIVE again")
	if os.Getenv("WEFT_LAB_TEST") == "full" {
		if err := l.PowerCycle(t.Context(), victim); err != nil {
			t.Fatal(err)
		}
		w.says(t, time.Minute, victim+": no answer")
		w.says(t, 4*time.Minute, victim+" booted") // back before it counts as lost
	}
	if r, err := http.Get(w.url + "/"); err != nil || r.StatusCode != http.StatusOK {
		t.Errorf("the page: %v", err)
	}
	w.cmd.Process.Signal(syscall.SIGINT)
	ended := make(chan error, 1)
	go func() { ended <- w.cmd.Wait() }()
	select {
	case <-ended:
		if code := w.cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("exit code %d after an interruption, want 130", code)
		}
	case <-time.After(30 * time.Second):
		t.Error("it does not end")
	}
	nothingLeft(t, l, s)
}
