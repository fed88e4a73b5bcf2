package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/lab/own"
)

// tree lists the files and the empty folders below a folder.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if inside, _ := os.ReadDir(path); !e.IsDir() || len(inside) == 0 {
			all = append(all, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// begin starts a process of the lab and waits until it can be seen.
func begin(t *testing.T, l Lab, argv ...string) *os.Process {
	t.Helper()
	p, err := own.Start(l.Dir, os.DevNull, argv...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	go p.Wait()
	for range 500 {
		procs, err := own.List(l.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(procs, func(o own.Proc) bool { return o.PID == p.Pid && o.Args[len(o.Args)-1] == argv[len(argv)-1] }) {
			return p
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%q cannot be seen", argv)
	return nil
}

// fakeQEMU starts a process that looks like a machine's QEMU. It has stopped itself,
// so that SIGTERM does not end it.
func fakeQEMU(t *testing.T, l Lab, node string) *os.Process {
	t.Helper()
	name := filepath.Join(t.TempDir(), "qemu-system-x86_64")
	if err := os.Symlink("/bin/sh", name); err != nil {
		t.Fatal(err)
	}
	return begin(t, l, name, "-c", "kill -STOP $$", "-name", "weft-lab-"+node)
}

func TestDown(t *testing.T) {
	t.Parallel()
	cached := []string{"image/netplan/disk", "lock"}
	for name, c := range map[string]struct {
		do   func(t *testing.T, l Lab, s State)
		was  bool
		kept bool // weft.yaml, and Down says so
		left bool // weft.yaml
	}{
		"a whole lab":      {func(*testing.T, Lab, State) {}, true, false, false},
		"a changed file":   {func(t *testing.T, _ Lab, s State) { put(t, s.WeftYAML, "mine") }, true, true, true},
		"no file":          {func(_ *testing.T, _ Lab, s State) { os.Remove(s.WeftYAML) }, true, false, false},
		"nothing":          {func(_ *testing.T, l Lab, s State) { os.RemoveAll(l.run()); os.Remove(s.WeftYAML) }, false, false, false},
		"no state":         {func(_ *testing.T, l Lab, _ State) { os.Remove(l.run("state.json")) }, true, false, true},
		"an empty state":   {func(t *testing.T, l Lab, _ State) { put(t, l.run("state.json"), "") }, true, false, true},
		"half a state":     {func(t *testing.T, l Lab, _ State) { put(t, l.run("state.json"), `{"profile": "pa`) }, true, false, true},
		"an unmoved state": {func(t *testing.T, l Lab, _ State) { put(t, l.run("state.json.new"), "{") }, true, false, false},
		"half an image":    {func(t *testing.T, l Lab, _ State) { put(t, l.image("networkd.new", "root", "etc", "x"), "x") }, true, false, false},
		"processes":        {func(t *testing.T, l Lab, _ State) { begin(t, l, "sleep", "60"); begin(t, l, "sleep", "61") }, true, false, false},
		"processes, no more": {func(t *testing.T, l Lab, s State) {
			os.RemoveAll(l.run())
			os.Remove(s.WeftYAML)
			begin(t, l, "sleep", "60")
		}, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := madeLab(t)
			c.do(t, l, s)
			was, kept, err := l.Down(false)
			if err != nil || was != c.was || (kept == s.WeftYAML) != c.kept || kept != "" && !c.kept {
				t.Errorf("was %v, kept %q, %v, want %v, kept %v", was, kept, err, c.was, c.kept)
			}
			if got := tree(t, l.Dir); !slices.Equal(got, cached) {
				t.Errorf("left: %q, want %q", got, cached)
			}
			if _, err := os.Stat(s.WeftYAML); (err == nil) != c.left {
				t.Errorf("weft.yaml: %v, want it left: %v", err, c.left)
			}
			if procs, err := own.List(l.Dir); err != nil || len(procs) != 0 {
				t.Errorf("left: %v, %v", procs, err)
			}
			if was, kept, err := l.Down(false); was || kept != "" || err != nil {
				t.Errorf("again: was %v, kept %q, %v, want nothing", was, kept, err)
			}
		})
	}
}

func TestDownWithAll(t *testing.T) {
	t.Parallel()
	l, s := madeLab(t)
	put(t, s.WeftYAML, "mine")
	if was, kept, err := l.Down(true); !was || kept != s.WeftYAML || err != nil {
		t.Errorf("was %v, kept %q, %v, want true and %s", was, kept, err, s.WeftYAML)
	}
	if got := tree(t, l.Dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
	if was, kept, err := l.Down(true); was || kept != "" || err != nil {
		t.Errorf("again: was %v, kept %q, %v, want nothing", was, kept, err)
	}
}

// TestDownTakesThePowerFromMachines: they get no grace, and need none.
func TestDownTakesThePowerFromMachines(t *testing.T) {
	t.Parallel()
	l, _ := madeLab(t)
	fakeQEMU(t, l, "spark1")
	fakeQEMU(t, l, "spark2")
	at := time.Now()
	if was, _, err := l.Down(false); !was || err != nil {
		t.Errorf("was %v, %v", was, err)
	}
	if d := time.Since(at); d > grace/2 {
		t.Errorf("took %v, want less than the %v that others get", d, grace)
	}
	if procs, err := own.List(l.Dir); err != nil || len(procs) != 0 {
		t.Errorf("left: %v, %v", procs, err)
	}
}

func TestMachinesProcess(t *testing.T) {
	t.Parallel()
	l, _ := madeLab(t)
	begin(t, l, "sh", "-c", "sleep 60; :", "weft-lab-spark1") // no QEMU
	p := fakeQEMU(t, l, "spark1")
	q := fakeQEMU(t, l, "spark10")
	for node, want := range map[string]int{"spark1": p.Pid, "spark10": q.Pid, "spark2": 0} {
		if got, err := l.pid(node); got != want || err != nil {
			t.Errorf("%s: process %d, %v, want %d", node, got, err, want)
		}
	}
	if err := l.kill("spark1"); err != nil {
		t.Error(err)
	}
	for node, want := range map[string]int{"spark1": 0, "spark10": q.Pid} {
		if got, err := l.pid(node); got != want || err != nil {
			t.Errorf("%s after the first was killed: process %d, %v, want %d", node, got, err, want)
		}
	}
	if err := l.kill("spark1"); err != nil {
		t.Errorf("killed already: %v", err)
	}
	if _, _, err := l.Down(false); err != nil {
		t.Error(err)
	}
}

// TestDownUnmounts has a folder of this machine mounted where a killed mmdebstrap
// leaves /dev: what is in it must stay.
func TestDownUnmounts(t *testing.T) {
	l, _ := madeLab(t)
	outside := filepath.Join(t.TempDir(), "device")
	put(t, outside, "precious")
	at := l.image("netplan.new", "root", "dev")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(filepath.Dir(outside), at, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("may not mount here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(at, syscall.MNT_DETACH) })
	if _, _, err := l.Down(false); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(outside); string(b) != "precious" {
		t.Errorf("what was mounted is gone: %v", err)
	}
	if b, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(b), at) {
		t.Errorf("%s is still mounted, %v", at, err)
	}
	if _, err := os.Stat(l.image("netplan.new")); !os.IsNotExist(err) {
		t.Errorf("half an image is left: %v", err)
	}
}
