package own

import (
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEndTakesItsOwnAndNoOthers(t *testing.T) {
	mine, other := t.TempDir(), t.TempDir()
	log := filepath.Join(mine, "log")
	// The second has a child; the third does not listen to SIGTERM.
	for _, script := range []string{"echo hello; exec sleep 60", "sleep 61 & wait", "trap '' TERM; while :; do sleep 62; done"} {
		p, err := Start(mine, log, "sh", "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		go p.Wait()
	}
	left, err := Start(other, log, "sleep", "63")
	if err != nil {
		t.Fatal(err)
	}
	defer left.Wait()
	defer left.Kill()
	unmarked := osexec.Command("sleep", "64")
	if err := unmarked.Start(); err != nil {
		t.Fatal(err)
	}
	defer unmarked.Wait()
	defer unmarked.Process.Kill()

	wait(t, func() bool { return len(list(t, mine)) == 5 })
	if err := End(mine, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if procs := list(t, mine); len(procs) != 0 {
		t.Errorf("left: %v", procs)
	}
	if procs := list(t, other); len(procs) != 1 || strings.Join(procs[0].Args, " ") != "sleep 63" {
		t.Errorf("the other folder has %v, want sleep 63", procs)
	}
	if err := unmarked.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process without a mark: %v", err)
	}
}

func list(t *testing.T, folder string) []Proc {
	t.Helper()
	procs, err := List(folder)
	if err != nil {
		t.Fatal(err)
	}
	return procs
}

func wait(t *testing.T, done func() bool) {
	t.Helper()
	for range 250 {
		if done() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("not within 5 s")
}
