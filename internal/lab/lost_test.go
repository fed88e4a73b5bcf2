package lab_test

import (
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/lab"
)

// persistent makes faults that are there again after a boot: a wrong MTU in the network
// file, and 64 KiB for logins.
const persistent = `set -eu
sed -i 's/^MTUBytes=.*/MTUBytes=1500/' /etc/systemd/network/20-rail0.network
networkctl reload; sleep 1; ip link set rail0 mtu 1500
sed -i 's/unlimited/64/' /etc/security/limits.d/rdma.conf
pkill -u lab sshd || true
sync`

// victim is a machine that something is killed in, again and again.
type victim struct {
	t    *testing.T
	l    lab.Lab
	node string
	dir  string // of its own, so that two can be at work at once
	old  [2]string
	new  [2]string // running, and after a boot
}

// kinds are what is killed.
var kinds = []string{"power", "supervisor", "ssh", "weft"}

// TestRealLost kills weft, the ssh connection, the supervisor and the machine at every
// point of an apply, and of the way back, and wants the old state or the new one.
func TestRealLost(t *testing.T) {
	l := place(t, false)
	s := up(t)
	var mu sync.Mutex
	cases := 0
	rows := map[string]map[string]string{}
	var order []string
	var wg sync.WaitGroup
	work := make(chan [2]string, 1000)
	victims := make([]*victim, len(s.Nodes))
	for i, n := range s.Nodes {
		wg.Go(func() { victims[i] = newVictim(t, l, n.Name) })
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	order = victims[0].points()
	if os.Getenv("WEFT_LAB_TEST") != "full" {
		order = []string{"act 2"} // the file of one step is there, that of the other is not
	}
	if only := os.Getenv("WEFT_LAB_AT"); only != "" { // these points alone: WEFT_LAB_AT=kept,tidied
		order = strings.Split(only, ",")
	}
	for _, k := range kinds {
		if only := os.Getenv("WEFT_LAB_LOST"); only != "" && only != k {
			continue // one kind alone: make apply-test WEFT_LAB_LOST=ssh
		}
		for _, p := range order {
			work <- [2]string{p, k}
		}
	}
	close(work)
	for _, v := range victims {
		wg.Go(func() {
			for w := range work {
				words := v.lose(w[0], w[1])
				mu.Lock()
				if rows[w[0]] == nil {
					rows[w[0]] = map[string]string{}
				}
				rows[w[0]][w[1]] = words
				cases++
				fmt.Printf("%d of %d: %s killed at %s: %s\n", cases, len(order)*len(kinds), w[1], w[0], words)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Printf("%-16s %-12s %-12s %-12s %-12s\n", "killed at", "weft", "ssh", "supervisor", "power")
	for _, p := range order {
		r := rows[p]
		fmt.Printf("%-16s %-12s %-12s %-12s %-12s\n", p, r["weft"], r["ssh"], r["supervisor"], r["power"])
	}
	fmt.Printf("%d points, %d cases\n", len(order), cases)
}

// newVictim makes the faults and learns what the old and the new state look like,
// running and after a boot.
func newVictim(t *testing.T, l lab.Lab, node string) *victim {
	t.Helper()
	v := &victim{t: t, l: l, node: node, dir: t.TempDir()}
	for _, f := range []string{"weft.yaml"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(v.dir, f), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inside(t, l, node, persistent)
	v.power()
	v.old[1] = v.snap()
	v.old[0] = v.old[1]
	v.must("plan", "-o", "plan.json")
	if len(v.points()) < 20 {
		t.Fatalf("only %d points: %v", len(v.points()), v.points())
	}
	v.must("apply", "plan.json", "--yes")
	v.new[0] = v.snap()
	v.power()
	v.new[1] = v.snap()
	v.undoLocal()
	if got := v.snap(); got != v.old[0] {
		t.Fatalf("%s after an undo after a boot is not as it was:\n%s", node, firstDifference(v.old[0], got))
	}
	return v
}

// power cuts the power and gives it back.
func (v *victim) power() {
	v.t.Helper()
	if err := v.l.PowerCycle(v.t.Context(), v.node); err != nil {
		v.t.Fatalf("%s: power: %v", v.node, err)
	}
}

func (v *victim) snap() string { v.t.Helper(); return inside(v.t, v.l, v.node, snapshot) }

func (v *victim) command(args ...string) *osexec.Cmd {
	cmd := real(v.t, append(args, "-n", v.node)...)
	cmd.Dir = v.dir
	return cmd
}

func (v *victim) must(args ...string) {
	v.t.Helper()
	if out, err := v.command(args...).CombinedOutput(); err != nil {
		v.t.Fatalf("weft %s on %s: %v\n%s", strings.Join(args, " "), v.node, err, out)
	}
}

// undoLocal undoes the last run on the machine itself.
func (v *victim) undoLocal() {
	v.t.Helper()
	inside(v.t, v.l, v.node, "$(ls -t /var/lib/weft/bin/weft-* | head -n 1) undo --local 2>&1")
}

// points are those that an apply of the plan passes, and those of the way back.
func (v *victim) points() []string {
	var p struct {
		Steps []struct {
			Files []struct{ Path string }
			Do    []string
		}
	}
	b, err := os.ReadFile(filepath.Join(v.dir, "plan.json"))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		v.t.Fatal(err)
	}
	all := []string{"begun", "hooked", "open", "staged"}
	change := 0
	for i, s := range p.Steps {
		all = append(all, fmt.Sprintf("act %d", i+1))
		for range s.Files {
			change++
			all = append(all, fmt.Sprintf("change %d", change))
		}
		for k := range s.Do {
			all = append(all, fmt.Sprintf("act %d line %d", i+1, k+1))
		}
	}
	return append(all, "probed", "waiting", "confirmed", "kept", "tidied", "reverting", "restored", "undone 2", "undone 1", "reverted")
}

// lose kills something at a point of an apply and says in which state the machine ended.
// Where weft or ssh is killed it is weft apply that begins; where the supervisor or the
// machine is, the node's side of it is enough, and is quicker.
func (v *victim) lose(point, kind string) string {
	start := time.Now()
	known := len(runs(v.t, v.l, v.node))
	if kind == "weft" || kind == "ssh" {
		v.loseWeft(known, point, kind)
	} else {
		v.loseNode(known, point, kind)
	}
	return v.settled(point, kind, time.Since(start))
}

// isBack reports whether a point is one of the way back.
func isBack(point string) bool {
	return strings.HasPrefix(point, "rever") || point == "restored" || strings.HasPrefix(point, "undone")
}

// loseNode begins a run on the machine itself and kills its supervisor, or its power.
func (v *victim) loseNode(known int, point, kind string) {
	t := v.t
	deadline := 60
	if isBack(point) {
		deadline = 2
	}
	var p struct{ Steps []json.RawMessage }
	b, err := os.ReadFile(filepath.Join(v.dir, "plan.json"))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err == nil {
		b, err = json.Marshal(map[string]any{"id": time.Now().UTC().Format("20060102-150405"), "who": "test", "steps": p.Steps,
			"probes": []any{map[string]string{"kind": "route"}}, "deadline": deadline, "pause_at": point, "pause_seconds": 120})
	}
	if err != nil {
		t.Error(err)
		return
	}
	const begin = `cat >/run/q; w=$(ls -t /var/lib/weft/bin/weft-* | head -n 1); setsid sh -c "$w node begin </run/q" >/run/begin 2>&1 &`
	if _, err := v.l.Feed(t.Context(), v.node, begin, string(b)); err != nil {
		t.Error(err)
		return
	}
	if point == "confirmed" || point == "kept" || point == "tidied" {
		v.until(known, "waiting", `grep -q waiting $r/state`)
		inside(t, v.l, v.node, `w=$(ls -t /var/lib/weft/bin/weft-* | head -n 1); setsid $w node confirm $(ls /var/lib/weft/runs | tail -n 1) >/dev/null 2>&1 &`)
	}
	if !v.until(known, point, `[ -e $r/paused ]`) {
		t.Errorf("%s was not met: %s", point, inside(t, v.l, v.node, "cat /run/begin"))
		return
	}
	if kind == "power" {
		v.power()
	} else {
		inside(t, v.l, v.node, "systemctl kill -s KILL 'weft-run-*'")
	}
	v.over(known, point, kind)
}

// over waits until a run is over. A machine that lost its power before anything was
// changed has a run that was never begun.
func (v *victim) over(known int, point, kind string) {
	v.t.Helper()
	if !v.until(known, "the end", `grep -qE '"(kept|reverted)"' $r/state || { grep -q '"new"' $r/state && [ `+kind+` = power ]; }`) {
		v.t.Errorf("%s killed at %s: not over: %s", kind, point, inside(v.t, v.l, v.node, "tail -n 5 /var/lib/weft/runs/*/log /var/lib/weft/runs/*/state | tail -n 20"))
	}
}

// loseWeft has weft apply begin, and kills it or its connection.
func (v *victim) loseWeft(known int, point, kind string) {
	t := v.t
	deadline := "10s"
	if point == "confirmed" || point == "kept" || point == "tidied" { // weft must get there in time
		deadline = "90s"
	}
	cmd := v.command("apply", "plan.json", "--yes", "--deadline", deadline)
	cmd.Env = append(os.Environ(), "WEFT_TEST_PAUSE="+point+" 4")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	if isBack(point) { // weft is lost first, and then something on the way back
		v.until(known, "waiting", `grep -q waiting $r/state`)
		cmd.Process.Kill()
	}
	if !v.until(known, point, `[ -e $r/paused ]`) {
		cmd.Process.Kill()
		t.Errorf("%s was not met: %s", point, &said)
		return
	}
	if kind == "weft" {
		cmd.Process.Kill()
	} else {
		inside(t, v.l, v.node, "pkill -KILL -u lab sshd || true")
	}
	v.over(known, point, kind)
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Errorf("%s killed at %s: weft does not end: %s", kind, point, &said)
		cmd.Process.Kill()
	}
}

// settled says whether the machine is in its old or its new state, and brings the old
// one back.
func (v *victim) settled(point, kind string, took time.Duration) string {
	t := v.t
	boot := 0
	if kind == "power" {
		boot = 1
	}
	var got string
	for range 10 { // services that were restarted settle
		got = v.snap()
		switch got {
		case v.old[boot]:
			return fmt.Sprintf("old %.0f s", took.Seconds())
		case v.new[boot]:
			v.undoLocal()
			if back := v.snap(); back != v.old[0] {
				t.Errorf("undone after %s at %s:\n%s", kind, point, firstDifference(v.old[0], back))
			}
			return fmt.Sprintf("new %.0f s", took.Seconds())
		}
		time.Sleep(time.Second)
	}
	t.Errorf("%s killed at %s: neither old nor new; against the old:\n%s\nagainst the new:\n%s", kind, point,
		firstDifference(v.old[boot], got), firstDifference(v.new[boot], got))
	return "BETWEEN"
}

// until waits until a test holds of the newest run, called $r, and there is a new one.
func (v *victim) until(known int, what, test string) bool {
	v.t.Helper()
	script := fmt.Sprintf(`cd /var/lib/weft/runs 2>/dev/null || exit 0; [ $(ls | wc -l) -gt %d ] || exit 0; r=$(ls | tail -n 1); { %s; } && echo yes`, known, test)
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		out, err := v.l.Inside(v.t.Context(), v.node, script+"\ntrue")
		if err == nil && strings.TrimSpace(out) == "yes" {
			return true
		}
	}
	v.t.Logf("%s: not within 5 min", what)
	return false
}
