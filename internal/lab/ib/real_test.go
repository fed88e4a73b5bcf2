package ib_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// full reports whether everything is to be run, and not the short part.
func full() bool { return os.Getenv("WEFT_LAB_TEST") == "full" }

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
		if _, err := ib.Down(folder); err != nil && !errors.Is(err, ib.ErrDown) {
			t.Error(err)
		}
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

// asProcess is weft as a process of its own.
func asProcess(args ...string) *osexec.Cmd {
	cmd := osexec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asWeft+"=yes")
	return cmd
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
