package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/unit"
)

// moment is a live moment of two nodes.
func moment() *history.Live {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	t := history.New(history.Usual, "test", now, 5*time.Second)
	for i := range 3 {
		at := now.Add(time.Duration(i) * 5 * time.Second)
		for _, n := range []string{"spark1", "spark2"} {
			l := &history.Look{Boot: "b", GPUd: true, GPUs: []history.GPULook{{BDF: "0000:01:00.0", Name: "NVIDIA GB10"}}}
			for p := range 2 {
				l.Ports = append(l.Ports, history.PortLook{Name: fmt.Sprintf("mlx5_%d/1", p), Device: fmt.Sprintf("mlx5_%d", p), Num: 1, State: "ACTIVE", Rate: fact.Some(200 * unit.Gbps), MTU: fact.Some(9000),
					Count: history.CountersOf(map[string]uint64{"port_xmit_data": uint64(i) * 1e9, "port_rcv_data": 0, "link_downed": uint64(i), "symbol_error": 0})})
			}
			t.Add(n, at, l)
		}
	}
	t.Ping(history.Ping{Kind: "rdma", From: "spark1", To: "spark2", FromPort: "mlx5_0/1", ToPort: "mlx5_0/1", When: now, Latency: 2e-6})
	l := t.Live(now.Add(10 * time.Second))
	return &l
}

// typed types on the screen and returns what it shows then.
func typed(m *model, words ...string) string {
	for _, k := range words {
		m.key(k)
	}
	return m.View()
}

func screenOf(l *history.Live, wide, high int) *model {
	m := newModel(func() *history.Live { return l }, false)
	m.wide, m.high = wide, high
	return m
}

func has(t *testing.T, view string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(view, w) {
			t.Errorf("%q is not on the screen:\n%s", w, view)
		}
	}
}

func TestScreen(t *testing.T) {
	m := screenOf(moment(), 120, 30)
	view := typed(m)
	has(t, view, "2 of 2 nodes answer", "[nodes]", "spark1", "> fail", "q quit", "/ filter")
	view = typed(m, "down", "enter")
	has(t, view, "spark2", "mlx5_0/1", "200 Gb/s", "esc back")
	view = typed(m, "enter")
	has(t, view, "COUNTER", "port_xmit_data", "200.00M/s", "link_downed grew", "2 that are zero")
	view = typed(m, "a")
	has(t, view, "symbol_error")
	view = typed(m, "/", "down", "l", "i", "n", "k", "enter")
	if has(t, view, "link_downed"); strings.Contains(view, "port_xmit_data") {
		t.Errorf("the filter lets all through:\n%s", view)
	}
	view = typed(m, "esc")
	has(t, view, "port_xmit_data")
	typed(m, "esc", "esc")
	for _, want := range []string{"every pair", "NVIDIA GB10", "checks", "drift", "came back"} {
		view = typed(m, "tab")
		if want != "every pair" { // there is no plan here
			has(t, view, want)
		}
	}
	if typed(m, "q"); m.end != quit {
		t.Error("q does not end it")
	}
}

// TestScreenFits: whatever the size and whatever nodes are called, no line is wider than
// the screen, there are no more lines than it has, and no escape goes through.
func TestScreenFits(t *testing.T) {
	l := moment()
	l.Nodes[0].Name = "\x1b]0;owned\a<script>" + strings.Repeat("ü", 300)
	l.Nodes[0].Ports[0].Why = "a\nb\x1b[2J"
	for _, size := range [][2]int{{1, 1}, {20, 5}, {80, 24}, {200, 60}, {0, 0}} {
		m := screenOf(l, size[0], size[1])
		for _, word := range []string{"", "enter", "enter", "tab", "tab", "tab", "tab", "tab", "tab"} {
			view := m.View()
			if word != "" {
				view = typed(m, word)
			}
			lines := strings.Split(view, "\n")
			if len(lines) > max(size[1], 7) {
				t.Errorf("%v after %q: %d lines", size, word, len(lines))
			}
			for _, line := range lines {
				if n := len([]rune(line)); n > max(size[0], 20) {
					t.Errorf("%v after %q: a line of %d characters: %q", size, word, n, line)
				}
				if strings.ContainsAny(line, "\x1b\a") {
					t.Errorf("an escape went through: %q", line)
				}
			}
		}
	}
}

func TestKeys(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[A\x1b[B": "up down", "\x1b": "esc", "q": "q", "\r\t\x7f": "enter tab backspace", "\x1b[5~x": "pgup x", "ü/": "ü /",
		"\x1b[1;5Ax": "x", "\x1b[": "", "\x1bO": "", "\x1bq": "esc q", "\xff\x00\x01": "", "\x1b[Z\x03": "shift+tab ctrl+c",
	} {
		if got := strings.Join(keys([]byte(in)), " "); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[1;2A\xc3\xbcq"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := moment()
		m := screenOf(l, 80, 24)
		for _, k := range keys(b) {
			m.key(k)
		}
		if strings.Contains(m.View(), "\x1b") {
			t.Error("an escape is on the screen")
		}
	})
}
