package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

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

// keys types on the screen and returns what it shows then.
func keys(t *testing.T, m tea.Model, typed ...string) (tea.Model, string) {
	t.Helper()
	for _, k := range typed {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		switch k {
		case "enter":
			msg = tea.KeyMsg{Type: tea.KeyEnter}
		case "esc":
			msg = tea.KeyMsg{Type: tea.KeyEsc}
		case "tab":
			msg = tea.KeyMsg{Type: tea.KeyTab}
		case "down":
			msg = tea.KeyMsg{Type: tea.KeyDown}
		}
		m, _ = m.Update(msg)
	}
	return m, m.View()
}

func screenOf(l *history.Live, wide, high int) tea.Model {
	m, _ := model{live: func() *history.Live { return l }}.Update(tea.WindowSizeMsg{Width: wide, Height: high})
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
	m, view := keys(t, m)
	has(t, view, "2 of 2 nodes answer", "[nodes]", "spark1", "> fail", "q quit", "/ filter")
	m, view = keys(t, m, "down", "enter")
	has(t, view, "spark2", "mlx5_0/1", "200 Gb/s", "esc back")
	m, view = keys(t, m, "enter")
	has(t, view, "COUNTER", "port_xmit_data", "200.00M/s", "link_downed grew", "2 that are zero")
	m, view = keys(t, m, "a")
	has(t, view, "symbol_error")
	m, view = keys(t, m, "/", "down", "l", "i", "n", "k", "enter")
	if has(t, view, "link_downed"); strings.Contains(view, "port_xmit_data") {
		t.Errorf("the filter lets all through:\n%s", view)
	}
	m, view = keys(t, m, "esc")
	has(t, view, "port_xmit_data")
	m, _ = keys(t, m, "esc", "esc")
	for _, want := range []string{"every pair", "NVIDIA GB10", "checks", "drift", "came back"} {
		m, view = keys(t, m, "tab")
		if want != "every pair" { // there is no plan here
			has(t, view, want)
		}
	}
	_, cmd := m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")})
	if cmd == nil {
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
		for _, typed := range []string{"", "enter", "enter", "tab", "tab", "tab", "tab", "tab", "tab"} {
			view := m.View()
			if typed != "" {
				m, view = keys(t, m, typed)
			}
			lines := strings.Split(view, "\n")
			if len(lines) > max(size[1], 7) {
				t.Errorf("%v after %q: %d lines", size, typed, len(lines))
			}
			for _, line := range lines {
				if n := len([]rune(line)); n > max(size[0], 20) {
					t.Errorf("%v after %q: a line of %d characters: %q", size, typed, n, line)
				}
				if strings.ContainsAny(line, "\x1b\a") {
					t.Errorf("an escape went through: %q", line)
				}
			}
		}
	}
}
