package lab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/cli"
	"weft/internal/lab"
	"weft/internal/lab/own"
)

// asWeft makes the test binary weft itself, so that it can be started and killed.
const asWeft = "WEFT_LAB_TEST_AS_WEFT"

func TestMain(m *testing.M) {
	if os.Getenv(asWeft) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// place gives a test an empty folder to work in and the lab of all these tests, whose
// image is kept in the cache; or skips it. Full tests run with make lab-test alone.
func place(t *testing.T, full bool) lab.Lab {
	t.Helper()
	mode := os.Getenv("WEFT_LAB_TEST")
	switch {
	case mode == "":
		t.Skip("boots virtual machines: make test runs a short part of it, make lab-test all")
	case full && mode != "full":
		t.Skip("make lab-test runs it")
	}
	if pkgs := lab.Missing(); len(pkgs) > 0 {
		t.Skipf("needs %s: weft lab setup", strings.Join(pkgs, ", "))
	}
	cache, err := os.UserCacheDir()
	if err != nil || len(cache) > 60 { // too long for sockets
		cache = os.TempDir()
	}
	return at(t, filepath.Join(cache, "weft", "lab-test"))
}

// at is place with a lab of one's own.
func at(t *testing.T, dir string) lab.Lab {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("WEFT_LAB", dir)
	l := lab.Lab{Dir: dir}
	down := func() {
		if _, _, err := l.Down(false); err != nil {
			t.Error(err)
		}
	}
	down() // what a killed test left
	t.Cleanup(down)
	return l
}

// command is weft as a process.
func command(args ...string) *osexec.Cmd {
	cmd := osexec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asWeft+"=1")
	return cmd
}

// weft runs a command that must succeed and returns what it said.
func weft(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("weft %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// up starts a lab and returns its state.
func up(t *testing.T, args ...string) (s lab.State) {
	t.Helper()
	var said bytes.Buffer
	cmd := command(append([]string{"lab", "up", "--json"}, args...)...)
	cmd.Stderr = io.MultiWriter(&said, os.Stderr)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("weft lab up %s: %v\n%s", strings.Join(args, " "), err, &said)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// seen is one finding that is neither pass nor skip.
type seen struct{ check, status, node string }

// look is weft check: what is not right.
func look(t *testing.T) (all []seen) {
	t.Helper()
	var out, said bytes.Buffer
	cmd := command("check", "--json")
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.Run() // its exit code says what the findings say
	var r struct {
		Findings []struct {
			Check, Status string
			Subject       struct{ Node string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("weft check: %v\n%s%s", err, &out, &said)
	}
	if len(r.Findings) == 0 {
		t.Fatalf("weft check found nothing at all\n%s", &said)
	}
	for _, f := range r.Findings {
		if f.Status != "pass" && f.Status != "skip" {
			all = append(all, seen{f.Check, f.Status, f.Subject.Node})
		}
	}
	return all
}

// healthy wants a look without a finding.
func healthy(t *testing.T, when string) {
	t.Helper()
	if all := look(t); len(all) > 0 {
		t.Errorf("%s: %v", when, all)
	}
}

// short are the faults of make test: one from outside, one inside, one in the switch,
// one of the whole machine.
var short = []string{"port-down", "mtu", "mtu-path", "frozen"}

func TestRealFaults(t *testing.T) {
	place(t, false)
	s := up(t)
	node := s.Nodes[1].Name
	healthy(t, "before any fault")
	fmt.Printf("%-18s %-15s %-22s %6s %6s %6s %6s\n", "fault", "expected", "seen", "break", "look", "heal", "look s")
	for _, f := range lab.Faults {
		if os.Getenv("WEFT_LAB_TEST") != "full" && !slices.Contains(short, f.Name) {
			continue
		}
		t.Run(f.Name, func(t *testing.T) { tryFault(t, f, node) })
	}
}

// tryFault breaks, looks, heals and looks again.
func tryFault(t *testing.T, f lab.Fault, node string) {
	clock := time.Now()
	lap := func() float64 { d := time.Since(clock); clock = time.Now(); return d.Seconds() }
	var all []seen
	var broke float64
	if f.Name == "reboot" { // in the middle of a look
		timer := time.AfterFunc(3*time.Second, func() { command("lab", "break", f.Name, node).Run() })
		all = look(t)
		timer.Stop()
	} else {
		weft(t, "lab", "break", f.Name, node)
		broke = lap()
		all = look(t)
	}
	looked := lap()
	weft(t, "lab", "heal", f.Name, node)
	healed := lap()
	after := look(t)
	words, right := judge(f, node, all)
	fmt.Printf("%-18s %-15s %-22s %6.1f %6.1f %6.1f %6.1f\n", f.Name, f.Check, words, broke, looked, healed, lap())
	if !right {
		t.Errorf("broken: %v, want %s to %s for %s and nothing else", all, f.Check, f.Says, node)
	}
	if len(after) > 0 {
		t.Errorf("healed: %v, want nothing", after)
	}
}

// judge wants the right check, and no other, to speak of the right machine: of the
// whole cluster where that is its subject, and of both ends of a path. A machine that
// restarts after it began to answer is unknown rather than failed.
func judge(f lab.Fault, node string, all []seen) (words string, right bool) {
	right = len(all) > 0
	var list []string
	for _, s := range all {
		ok := s.check == f.Check && (s.status == f.Says || f.Name == "reboot" && s.status == "unknown") &&
			(s.node == node || s.node == "" || strings.Contains(s.node, node))
		right = right && (ok || f.Name == "mtu-path" && s.check == f.Check)
		if word := s.check + " " + s.status; !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return strings.Join(list, ", "), right
}

// TestRealKilledUp kills weft lab up where nothing can be tidied, and Down still finds all.
func TestRealKilledUp(t *testing.T) {
	l := place(t, false)
	up(t)
	weft(t, "lab", "down") // now there is a template
	killed(t, l, "waking", func(procs []own.Proc) bool {
		return slices.ContainsFunc(procs, func(p own.Proc) bool { return strings.HasPrefix(filepath.Base(p.Args[0]), "qemu-system-") })
	})
	healthyAgain(t)
}

// TestRealKilledBuild does the same in the middle of the image.
func TestRealKilledBuild(t *testing.T) {
	place(t, true)
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l := at(t, dir)
	killed(t, l, "building", func(procs []own.Proc) bool { // while packages are installed, with /proc and /sys mounted in the new root
		mounts, _ := os.ReadFile("/proc/self/mounts")
		return strings.Contains(string(mounts), dir) && slices.ContainsFunc(procs, func(p own.Proc) bool { return filepath.Base(p.Args[0]) == "dpkg" })
	})
	left, _ := filepath.Glob(filepath.Join(dir, "image", "*.new"))
	mounts, _ := os.ReadFile("/proc/self/mounts")
	if len(left) > 0 || strings.Contains(string(mounts), dir) {
		t.Errorf("left: %v, mounts %v", left, strings.Contains(string(mounts), dir))
	}
}

// killed starts weft lab up, kills it when now says so, and wants nothing to be left
// after weft lab down.
func killed(t *testing.T, l lab.Lab, what string, now func([]own.Proc) bool) {
	t.Helper()
	cmd := command("lab", "up")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	list := func() []own.Proc {
		procs, err := own.List(l.Dir)
		if err != nil {
			t.Fatal(err)
		}
		return procs
	}
	for deadline := time.Now().Add(2 * time.Minute); !now(list()); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not seen within 2 min", what)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if procs := list(); len(procs) == 0 {
		t.Fatalf("%s: nothing was left to clean", what)
	}
	weft(t, "lab", "down")
	if procs := list(); len(procs) > 0 {
		t.Errorf("%s: processes left: %v", what, procs)
	}
	for _, file := range []string{filepath.Join(l.Dir, "run"), "weft.yaml"} {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%s: %s is left", what, file)
		}
	}
}

func healthyAgain(t *testing.T) {
	t.Helper()
	up(t)
	healthy(t, "after a killed up")
	weft(t, "lab", "down")
}

// TestRealInterruptedUp is Ctrl-C: exit code 130 and nothing left, without a down.
func TestRealInterruptedUp(t *testing.T) {
	l := place(t, true)
	cmd := command("lab", "up")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for procs := []own.Proc(nil); len(procs) < 2; time.Sleep(20 * time.Millisecond) {
		procs, _ = own.List(l.Dir)
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if procs, _ := own.List(l.Dir); len(procs) > 0 {
		t.Errorf("processes left: %v", procs)
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "run")); !os.IsNotExist(err) {
		t.Error("run/ is left")
	}
}

// TestRealTwenty brings a pair up and down twenty times, and four machines once. The
// limits are the issue's: two within 15 s, four within 40 s, without KVM.
func TestRealTwenty(t *testing.T) {
	place(t, true)
	var times []float64
	for range 20 {
		times = append(times, up(t).Ready)
		weft(t, "lab", "down")
	}
	slices.Sort(times)
	fmt.Printf("two machines, 20 times up and down: ready after %.1f s (median), %.1f s (most)\n", times[10], times[19])
	if times[19] > 15 {
		t.Errorf("two machines took %.1f s", times[19])
	}
	four := up(t, "-n", "4").Ready
	fmt.Printf("four machines: ready after %.1f s\n%s", four, weft(t, "lab", "status"))
	if four > 40 {
		t.Errorf("four machines took %.1f s", four)
	}
	healthy(t, "four machines")
}

// TestRealVariants looks at machines with other networks: healthy, and healthy again
// after the power was gone.
func TestRealVariants(t *testing.T) {
	place(t, true)
	off, err := lab.FaultNamed("off")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--profile", "spark2"}, {"--profile", "strix4", "-n", "2"}} {
		t.Run(args[1], func(t *testing.T) {
			s := up(t, args...)
			healthy(t, s.Net)
			tryFault(t, off, s.Nodes[1].Name)
			weft(t, "lab", "down")
		})
	}
}
