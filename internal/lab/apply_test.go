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

// realWeft builds the program itself: apply carries it to the machines.
var realWeft = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "weft")
	cmd := osexec.Command("go", "build", "-ldflags", "-s -w", "-o", bin, "weft/cmd/weft")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Dir = moduleDir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
})

// moduleDir is where these tests start; they go elsewhere later.
var moduleDir, _ = os.Getwd()

// real is weft as a program.
func real(t *testing.T, args ...string) *osexec.Cmd {
	t.Helper()
	bin, err := realWeft()
	if err != nil {
		t.Fatal(err)
	}
	return osexec.Command(bin, args...)
}

// must runs weft and wants an exit code.
func must(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := real(t, args...)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("weft %s: exit code %d, want %d (%v)\n%s", strings.Join(args, " "), got, code, err, out)
	}
	return string(out)
}

// inside runs a script in a machine as root, not over the network.
func inside(t *testing.T, l lab.Lab, node, script string) string {
	t.Helper()
	out, err := l.Inside(t.Context(), node, script)
	if err != nil {
		t.Fatalf("inside %s: %v\n%s", node, err, out)
	}
	return out
}

// snapshot is everything of a machine that an undo must bring back: all of /etc with
// owners, modes and contents, and the running state. A queue's quantum is what the MTU was
// when the kernel made the queue, which no one sets.
const snapshot = `cd /
echo == etc; find etc -printf '%p %y %m %u:%g %l %s\n' | LC_ALL=C sort
find etc -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
echo == net; ip -d addr | sed 's/valid_lft.*//; s/ promiscuity.*//'; ip -4 route show table all | LC_ALL=C sort; ip -6 route show table main | LC_ALL=C sort; ip rule
echo == qdisc; tc qdisc | sed 's/ quantum [0-9]*//'
echo == nft; nft -s list ruleset
echo == modules; cut -d' ' -f1 /proc/modules | LC_ALL=C sort
echo == dev; stat -c '%n %a %U %G' /dev/infiniband/*
echo == gids; for f in /sys/class/infiniband/*/ports/1/gids/?; do echo "$f $(cat $f)"; done
echo == units; systemctl list-unit-files --no-legend --no-pager; systemctl list-units --no-legend --no-pager --plain --type=service --all | awk '{print $1, $3, $4}' | grep -v -e '^user@' -e '^user-runtime' -e '^weft-run' -e systemd-tmpfiles-clean -e systemd-hostnamed -e systemd-timedated -e NetworkManager-dispatcher -e apt-daily -e dpkg-db -e e2scrub -e fstrim -e logrotate -e man-db
echo == limits; for p in $(pgrep -f 'sleep infinity'); do grep -h 'Max locked' /proc/$p/limits; done
echo == resolv; cat /etc/resolv.conf 2>/dev/null || true
`

// firstDifference is where two snapshots part.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	in := map[string]bool{}
	for _, l := range y {
		in[l] = true
	}
	for _, l := range x {
		if !in[l] {
			out = append(out, "- "+l)
		}
	}
	in = map[string]bool{}
	for _, l := range x {
		in[l] = true
	}
	for _, l := range y {
		if !in[l] {
			out = append(out, "+ "+l)
		}
	}
	if len(out) == 0 && a != b {
		for i := range x {
			if x[i] != y[i] {
				return fmt.Sprintf("the same lines in another order, from line %d on: %q, was %q", i+1, y[i], x[i])
			}
		}
	}
	return strings.Join(out[:min(len(out), 30)], "\n")
}

// mendable are the faults that weft mends by itself.
var mendable = []string{"mtu", "memlock", "devices", "module-boot", "firewall-roce", "firewall-ray", "memlock-service", "clock", "loss"}

// TestRealApply mends a whole set of faults with one plan and one apply, and takes it
// back.
func TestRealApply(t *testing.T) {
	l := place(t, false)
	s := up(t)
	breakAll(t, s.Nodes[0].Name, []string{"no-ipv4", "devices"})
	breakAll(t, s.Nodes[1].Name, mendable)
	applyAndUndo(t, l, s)
}

func breakAll(t *testing.T, node string, faults []string) {
	t.Helper()
	for _, f := range faults {
		weft(t, "lab", "break", f, node)
	}
}

// applyAndUndo plans, applies, wants all checks to pass, undoes, and wants the machines
// to be what they were.
func applyAndUndo(t *testing.T, l lab.Lab, s lab.State, accept ...string) {
	t.Helper()
	before := map[string]string{}
	for _, n := range s.Nodes {
		before[n.Name] = inside(t, l, n.Name, snapshot)
	}
	if all := look(t); len(all) == 0 {
		t.Fatal("nothing is broken")
	}
	clock := time.Now()
	lap := func() time.Duration {
		d := time.Since(clock)
		clock = time.Now()
		return d.Round(100 * time.Millisecond)
	}
	plan := must(t, 0, "plan")
	planned := lap()
	applied := must(t, 0, append([]string{"apply", "--yes"}, accept...)...)
	took := lap()
	if left := look(t); len(left) > 0 {
		t.Errorf("after the apply: %v\n%s\n%s", left, plan, applied)
	}
	lap()
	undone := must(t, 0, "undo", "--yes")
	fmt.Printf("%s: plan %v, apply %v, undo %v\n", s.Net, planned, took, lap())
	for _, n := range s.Nodes {
		if after := inside(t, l, n.Name, snapshot); after != before[n.Name] {
			t.Errorf("%s is not as it was:\n%s\n%s", n.Name, firstDifference(before[n.Name], after), undone)
		}
	}
	if strings.Contains(undone, "not as it was") {
		t.Error(undone)
	}
}

// TestRealApplyManagers does the same where netplan and NetworkManager keep the network.
func TestRealApplyManagers(t *testing.T) {
	l := place(t, true)
	for _, profile := range []string{"spark2", "strix4"} {
		t.Run(profile, func(t *testing.T) {
			s := up(t, "--profile", profile, "-n", "2")
			breakAll(t, s.Nodes[1].Name, []string{"mtu", "default-route", "memlock"})
			breakAll(t, s.Nodes[0].Name, []string{"no-ipv4"})
			applyAndUndo(t, l, s, "--accept-risk=ssh") // it is the only default route
			weft(t, "lab", "down")
		})
	}
}

// runs is what a machine has on record.
func runs(t *testing.T, l lab.Lab, node string) (all []struct {
	ID    string
	State struct {
		State, Why string
		Left       []string
	}
}) {
	t.Helper()
	out := inside(t, l, node, "w=$(ls -t /var/lib/weft/bin/weft-* 2>/dev/null | head -n 1); [ -z \"$w\" ] && echo '[]' || $w node runs")
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return all
}

// TestRealWrongPlan gives the management interface the address of another subnet, so
// that ssh dies. The machine comes back by itself.
func TestRealWrongPlan(t *testing.T) {
	l := place(t, false)
	s := up(t)
	node := s.Nodes[1].Name
	before := inside(t, l, node, snapshot)
	must(t, 0, "plan", "-o", "plan.json")
	wrongPlan(t, "plan.json", node)
	if out := must(t, 2, "apply", "plan.json", "--yes"); !strings.Contains(out, "--accept-risk=ssh") {
		t.Errorf("the risk was not named:\n%s", out)
	}
	start := time.Now()
	out := must(t, 4, "apply", "plan.json", "--yes", "--accept-risk=ssh", "--deadline", "20s")
	fmt.Printf("ssh cut off by the plan: weft gave up after %.0f s", time.Since(start).Seconds())
	if !strings.Contains(out, "not changed  "+node) {
		t.Errorf("weft said\n%s", out)
	}
	for deadline := start.Add(2 * time.Minute); ; time.Sleep(time.Second) {
		all := runs(t, l, node)
		if len(all) == 1 && all[0].State.State == "reverted" {
			log := inside(t, l, node, "grep -hE 'waiting|reverted' /var/lib/weft/runs/*/log | cut -d. -f1 | tail -n 2 | while read -r at; do date -ud $at +%s; done")
			var waited, back int
			if _, err := fmt.Sscan(log, &waited, &back); err != nil {
				t.Fatalf("%v: %q", err, log)
			}
			fmt.Printf(", the machine was back %d s after the change was made (deadline 20 s): %s\n", back-waited, all[0].State.Why)
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not back: %+v", node, all)
		}
	}
	if after := inside(t, l, node, snapshot); after != before {
		t.Errorf("%s is not as it was:\n%s", node, firstDifference(before, after))
	}
	healthy(t, "after a wrong plan")
}

// wrongPlan puts a step into a plan's file that no remedy would make.
func wrongPlan(t *testing.T, file, node string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	p["steps"] = []any{map[string]any{
		"node": node, "what": "net/mgmt0/addr", "from": "10.90.0.2/24", "to": "192.0.2.2/24", "risk": "ssh",
		"do":    []string{"ip addr flush dev mgmt0 scope global; ip addr add 192.0.2.2/24 dev mgmt0"},
		"undo":  []string{"ip addr flush dev mgmt0 scope global; networkctl reconfigure mgmt0; for i in $(seq 50); do ip addr show dev mgmt0 | grep -q 10.90.0 && exit 0; sleep 0.2; done; exit 1"},
		"shows": "ip -o -4 addr show dev mgmt0 | awk '{print $4}'",
		"then":  []string{"node.read"},
	}}
	if b, err = json.Marshal(p); err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
