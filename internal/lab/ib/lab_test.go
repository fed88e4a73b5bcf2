package ib_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/cli"
	"weft/internal/lab/ib"
	"weft/internal/lab/own"
)

// asWeft makes the test binary weft itself, so that it can be killed.
const asWeft = "WEFT_LAB_TEST_AS_WEFT"

func TestMain(m *testing.M) {
	if os.Getenv(asWeft) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// place gives a test a folder with nothing in it and a lab of its own, or skips it.
// It returns the folder of the fabric.
func place(t *testing.T) string {
	t.Helper()
	if os.Getenv("WEFT_LAB_TEST") == "" {
		t.Skip("runs ibsim and opensm: make test runs it")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: a fabric is a network namespace")
	}
	if pkgs := ib.Missing(); len(pkgs) > 0 {
		t.Skipf("needs %s: weft lab setup --ib", strings.Join(pkgs, ", "))
	}
	if out, err := osexec.Command("unshare", "--net", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no network namespace can be made here: %s", out)
	}
	lab := t.TempDir()
	t.Chdir(t.TempDir())
	t.Setenv("WEFT_LAB", lab)
	folder := filepath.Join(lab, "ib")
	t.Cleanup(func() {
		if t.Failed() {
			tell(t, folder)
		}
		ib.Down(folder)
	})
	return folder
}

// tell shows the ends of the logs of a fabric.
func tell(t *testing.T, folder string) {
	logs, _ := filepath.Glob(filepath.Join(folder, "*.log"))
	for _, log := range logs {
		b, _ := os.ReadFile(log)
		t.Logf("%s: %s", filepath.Base(log), b[max(0, len(b)-2000):])
	}
}

// weft runs a command and wants its exit code.
func weft(t *testing.T, code int, args ...string) (out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := cli.Main(args, strings.NewReader(""), &stdout, &stderr); got != code {
		t.Fatalf("weft %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, code, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// look is weft check: everything that is not right, "status check node", sorted.
func look(t *testing.T, code int) []string {
	t.Helper()
	out, _ := weft(t, code, "check", "--json")
	var r struct {
		Findings []struct {
			Check, Status string
			Subject       struct{ Node, Part string }
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	var wrong []string
	passed := 0
	for _, f := range r.Findings {
		switch f.Status {
		case "pass":
			passed++
		case "skip":
		default:
			wrong = append(wrong, strings.TrimSpace(f.Status+" "+f.Check+" "+f.Subject.Node))
		}
	}
	if passed == 0 {
		t.Fatalf("nothing passed:\n%s", out)
	}
	slices.Sort(wrong)
	return wrong
}

// gone fails unless nothing is left of a fabric.
func gone(t *testing.T, folder string) {
	t.Helper()
	if procs, err := own.List(folder); err != nil || len(procs) > 0 {
		t.Errorf("left running: %v, %v", procs, err)
	}
	for _, dir := range []string{filepath.Dir(folder), "."} {
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("left in %s: %v, %v", dir, files, err)
		}
	}
}

// Every fault, in a fabric of real tools: weft finds nothing, then exactly the fault,
// then nothing again.
func TestRealFaults(t *testing.T) {
	folder := place(t)
	weft(t, 0, "lab", "ib", "up", "--hosts", "3", "--sms", "2")
	if wrong := look(t, 0); len(wrong) > 0 {
		t.Fatalf("a healthy fabric has %q", wrong)
	}
	type row struct{ fault, target, want string }
	rows := []row{
		{"no-sm", "", "fail ib.sm"},
		{"two-sms", "", "fail ib.sm"},
		{"host-gone", "node0002", "fail port.up node0002"},
		{"narrow-link", "node0002", "fail port.rate node0002"},
		{"slow-link", "leaf002/4", "fail fabric.switch leaf"},
		{"errors", "leaf001", "fail fabric.switch leaf"},
	}
	if os.Getenv("WEFT_LAB_TEST") == "full" {
		rows = append(rows,
			row{"narrow-link", "leaf001", "fail fabric.switch leaf"},
			row{"slow-link", "node0003", "fail port.rate node0003"},
			row{"errors", "node0002", "fail port.errors node0002"})
	} else {
		t.Log("each fault at one target only: make lab-test breaks hosts and switches alike")
	}
	tested := map[string]bool{}
	for _, tt := range rows {
		tested[tt.fault] = true
		at := strings.TrimSpace(tt.fault + " " + tt.target)
		began := time.Now()
		_, said := weft(t, 0, strings.Fields("lab ib break "+at)...)
		broken := time.Since(began)
		wrong := look(t, 1)
		if len(wrong) != 1 || !strings.HasPrefix(wrong[0], tt.want) {
			t.Errorf("%s: weft says %q, want %q alone", at, wrong, tt.want)
		}
		if want := strings.Fields(tt.want)[1] + " should fail"; !strings.Contains(said, want) {
			t.Errorf("%s: break says %q, want %q", at, said, want)
		}
		began = time.Now()
		weft(t, 0, strings.Fields("lab ib heal "+at)...)
		healed := time.Since(began)
		if wrong := look(t, 0); len(wrong) > 0 {
			t.Errorf("%s, healed: weft says %q", at, wrong)
		}
		t.Logf("%-22s %-30s break %.1f s, heal %.1f s", at, wrong, broken.Seconds(), healed.Seconds())
	}
	for _, f := range ib.Faults {
		if !tested[f.Name] {
			t.Errorf("%s is not tested", f.Name)
		}
	}
	weft(t, 0, "lab", "ib", "down")
	gone(t, folder)
}

// A thousand hosts: weft sees every switch and every link, in about the time that the
// tools need.
func TestRealThousandHosts(t *testing.T) {
	folder := place(t)
	began := time.Now()
	_, said := weft(t, 0, "lab", "ib", "up", "--hosts", "1000")
	up := time.Since(began)
	if !strings.Contains(said, "1000 hosts, 48 switches of 64 ports, 2024 links") {
		t.Errorf("up says %q", said)
	}
	began = time.Now()
	out, _ := weft(t, 0, "show", "links", "--json")
	ours := time.Since(began)
	var c struct {
		Fabric struct {
			Switches []struct{ Name string }
			SMs      []struct{ Name, State string }
			Links    []struct {
				A, B struct {
					Name   string
					Switch bool
				}
				Width, Speed string
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]bool{}
	for _, l := range c.Fabric.Links {
		if l.Width != "4x" || l.Speed != "HDR" {
			t.Fatalf("a link is %+v", l)
		}
		for _, e := range []struct {
			Name   string
			Switch bool
		}{l.A, l.B} {
			if !e.Switch {
				hosts[e.Name] = true
			}
		}
	}
	got := fmt.Sprintf("%d switches, %d links, %d hosts, %v", len(c.Fabric.Switches), len(c.Fabric.Links), len(hosts), c.Fabric.SMs)
	if want := "48 switches, 2024 links, 1000 hosts, [{node0001 MASTER}]"; got != want {
		t.Errorf("weft sees %s, want %s", got, want)
	}
	began = time.Now()
	topology, err := osexec.Command("ssh", "-F", filepath.Join(folder, "ssh_config"), "node0001", "ibnetdiscover").Output()
	if err != nil || bytes.Count(topology, []byte("\nCa\t")) != 1000 {
		t.Errorf("ibnetdiscover: %d hosts, %v", bytes.Count(topology, []byte("\nCa\t")), err)
	}
	theirs := time.Since(began)
	began = time.Now()
	if wrong := look(t, 0); len(wrong) > 0 {
		t.Errorf("a healthy fabric has %q", wrong)
	}
	t.Logf("up %.1f s, weft show links %.1f s, weft check %.1f s, ibnetdiscover alone, over ssh %.1f s", up.Seconds(), ours.Seconds(), time.Since(began).Seconds(), theirs.Seconds())
	weft(t, 0, "lab", "ib", "down")
	gone(t, folder)
}

// An up that is killed, at any moment, leaves what down removes; one that is
// interrupted leaves nothing.
func TestRealUpThatDoesNotEnd(t *testing.T) {
	folder := place(t)
	for _, after := range []time.Duration{0, 5, 10, 20, 40, 60, 80, 100, 130, 160, 200, 300, 450} {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
			cmd := osexec.Command(os.Args[0], "lab", "ib", "up", "--hosts", "200", "--sms", "2")
			cmd.Env = append(os.Environ(), asWeft+"=yes")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after * time.Millisecond)
			cmd.Process.Signal(sig)
			err := cmd.Wait()
			if sig == syscall.SIGKILL || err == nil { // it was done before it was asked to stop
				weft(t, 0, "lab", "ib", "down")
			}
			gone(t, folder)
			if t.Failed() {
				t.Fatalf("signal %v after %d ms: %v", sig, after, err)
			}
		}
	}
}

// What is in the way is said before anything is started, and what a person changed
// stays.
func TestRealManners(t *testing.T) {
	folder := place(t)
	want := func(code int, words string, args ...string) {
		t.Helper()
		if _, said := weft(t, code, append([]string{"lab", "ib"}, args...)...); !strings.Contains(said, words) {
			t.Errorf("weft lab ib %s says %q, want %q", strings.Join(args, " "), said, words)
		}
	}
	if err := os.WriteFile("weft.yaml", []byte("name: mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(2, "weft.yaml is there already", "up")
	want(2, "1 hosts: want 2 to 2000", "up", "--hosts", "1")
	want(2, "3 subnet managers: want 1 or 2", "up", "--sms", "3")
	want(2, "no fabric is up", "break", "no-sm")
	want(2, "no fabric is up", "status")
	want(0, "no fabric is up", "down")
	if err := os.Remove("weft.yaml"); err != nil {
		t.Fatal(err)
	}
	gone(t, folder)
	if err := os.MkdirAll(filepath.Join(folder, "photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	want(2, "is not empty and no fabric of weft", "up")
	want(0, "no fabric is up", "down")
	if err := os.Remove(filepath.Join(folder, "photos")); err != nil {
		t.Errorf("a folder of somebody else: %v", err)
	}

	want(0, "the fabric is up", "up", "--hosts", "2")
	want(2, "a fabric is there already", "up")
	want(2, "no such fault", "break", "gremlins")
	want(0, "ib.sm should fail", "break", "no-sm")
	want(2, "no-sm is broken already", "break", "no-sm")
	if out, _ := weft(t, 0, "lab", "ib", "status"); !strings.Contains(out, "0 opensm") || !strings.Contains(out, "broken    no-sm: ib.sm should fail") {
		t.Errorf("status: %s", out)
	}
	want(0, "no-sm is healed", "heal")
	want(0, "nothing like that is broken", "heal")
	if out, err := osexec.Command("ssh", "-F", filepath.Join(folder, "ssh_config"), "node0009", "true").CombinedOutput(); err == nil || !strings.Contains(string(out), "node0009: no such host in the fabric") {
		t.Errorf("a host that is not there: %s, %v", out, err)
	}
	text, err := os.ReadFile("weft.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("weft.yaml", append(text, "# mine\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	want(0, "was changed since, so it is kept", "down")
	if err := os.Remove("weft.yaml"); err != nil {
		t.Error(err)
	}
	gone(t, folder)

	want(0, "the fabric is up", "up", "--hosts", "2")
	for _, path := range []string{folder, "weft.yaml"} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	want(0, "no fabric is up", "down")
	gone(t, folder)
}
