package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/internal/exec"
	"weft/internal/meter"
	"weft/internal/prove"
)

// meterEnv has the test's own program be the node's side.
const meterEnv = "WEFT_TEST_METER"

// nodeMeter is weft node meter.
func nodeMeter() {
	if err := meter.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// way is how this machine is reached as if it were nodes: their weft is a script that does
// what the file beside it says, and the node's side of weft unless it says something else.
func way(t *testing.T, nodes ...string) (*prove.Way, string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv(meterEnv, "1")
	mood := filepath.Join(dir, "mood")
	program := filepath.Join(dir, "weft")
	script := fmt.Sprintf(`#!/bin/sh
[ "$1" = version ] && exit 0
case "$(cat %[1]s 2>/dev/null)" in
rubbish) echo 'welcome to this machine'; cat >/dev/null;;
endless) while :; do printf '%%01000d' 0 || exit; done;;
silent) exec sleep 1000;;
dead) exit 1;;
empty) while read -r line; do id=${line#*\"id\":}; echo "{\"id\":${id%%%%,*},\"hello\":{\"pid\":1}}"; done;;
*) exec %[2]s;;
esac
`, mood, self)
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	w := &prove.Way{Run: exec.New(exec.Options{Width: 16}), Binary: func(string) (string, error) { return program, nil }, Targets: map[string]exec.Target{}, Archs: map[string]string{}, Line: 1 << 20}
	for _, n := range nodes {
		w.Targets[n] = exec.Target{Name: n}
	}
	t.Cleanup(w.Run.Close)
	return w, mood
}

func TestNodesThroughTheirMeter(t *testing.T) {
	where, mood := way(t, "n1", "n2")
	w := New(Order{Nodes: []string{"n1", "n2"}, Every: time.Second, Open: Remote(where)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { w.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	until(t, "both answer", func() bool { return w.Live().Totals.NodesUp == 2 })
	if err := os.WriteFile(mood, []byte("rubbish"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	s := w.asks["n1"].(remote)
	w.mu.Unlock()
	s.Close() // the connection breaks, and the node that is met again has lost its mind
	until(t, "rubbish is counted", func() bool { return w.Live().Figures.Bad >= 1 })
	if why := w.Live().Nodes[0].Why; !strings.Contains(why, "rubbish") || !strings.Contains(why, "welcome to this machine") {
		t.Errorf("n1: %q", why)
	}
	if w.Live().Nodes[1].State != "answers" {
		t.Errorf("n2 is %s because of n1", w.Live().Nodes[1].State)
	}
	if err := os.Remove(mood); err != nil {
		t.Fatal(err)
	}
	until(t, "n1 is itself again", func() bool { n := w.Live().Nodes[0]; return n.State == "answers" && n.Why == "" })
}

// TestNodesThatAreBad: whatever a node does, it is said in a bounded time and costs bounded
// memory.
func TestNodesThatAreBad(t *testing.T) {
	for _, c := range []struct{ mood, want string }{
		{"dead", "n1"}, {"rubbish", "welcome to this machine"}, {"endless", "too long"}, {"empty", "an answer without a look"},
	} {
		t.Run(c.mood, func(t *testing.T) {
			where, mood := way(t, "n1")
			if err := os.WriteFile(mood, []byte(c.mood), 0o644); err != nil {
				t.Fatal(err)
			}
			w := New(Order{Nodes: []string{"n1"}, Every: time.Second, Open: Remote(where)})
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { w.Run(ctx); close(done) }()
			defer func() { cancel(); <-done }()
			until(t, "it is said", func() bool { return w.Live().Nodes[0].Why != "" })
			if l := w.Live(); l.Nodes[0].State == "answers" || !strings.Contains(l.Nodes[0].Why, c.want) || l.Level == "pass" {
				t.Errorf("%s: %q, %s", l.Nodes[0].State, l.Nodes[0].Why, l.Level)
			}
			if m := self("").Memory; m > 400<<20 {
				t.Errorf("%d MiB", m>>20)
			}
		})
	}
}
