package ib_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/lab/ib"
)

// An up that is killed, at any moment, leaves what down removes; one that is
// interrupted leaves nothing.
func TestRealUpThatDoesNotEnd(t *testing.T) {
	folder := place(t)
	moments := []time.Duration{0, 20, 60, 130, 300}
	if full() {
		moments = []time.Duration{0, 5, 10, 20, 40, 60, 80, 100, 130, 160, 200, 300, 450}
	}
	for _, after := range moments {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
			cmd := asProcess("lab", "ib", "up", "--hosts", "200", "--sms", "2")
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

	second := asProcess("lab", "ib", "up", "--hosts", "3")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	first := asProcess("lab", "ib", "up", "--hosts", "2").Run()
	if last := second.Wait(); (first == nil) == (last == nil) {
		t.Errorf("two ups at once: %v and %v, want one to be refused", first, last)
	}
	for _, path := range []string{folder, "weft.yaml"} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	want(0, "no fabric is up", "down")
	gone(t, folder)
}

// A lab is the same one by whatever name its folder is reached. A name may be longer
// than a socket's, and weft.yaml may be anywhere; what would need quotes is refused.
func TestRealFolder(t *testing.T) {
	folder := place(t)
	lab := filepath.Dir(folder)
	if err := os.Mkdir(`a "folder" of 'mine'`, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(`a "folder" of 'mine'`)
	long := filepath.Join(lab, strings.Repeat("long", 50), strings.Repeat("name", 50))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(lab, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("WEFT_LAB", strings.Replace(long, lab, link, 1))
	t.Cleanup(func() { ib.Down(filepath.Join(long, "ib")) })
	weft(t, 0, "lab", "ib", "up", "--hosts", "2", "--sms", "2")
	t.Setenv("WEFT_LAB", long)
	if out, _ := weft(t, 0, "lab", "ib", "status"); !strings.Contains(out, "2 opensm") || !strings.Contains(out, "\nfolder    "+long+"/ib\n") {
		t.Errorf("status by another name: %s", out)
	}
	out, _ := weft(t, 0, "show", "links", "--json")
	if got, want := countFabric(t, out), "2 switches, 3 links at 4x HDR, 2 hosts, [{node0001 1 MASTER} {node0002 4 STANDBY}]"; got != want {
		t.Errorf("weft sees %s, want %s", got, want)
	}
	weft(t, 0, "lab", "ib", "down")
	gone(t, filepath.Join(long, "ib"))

	t.Setenv("WEFT_LAB", filepath.Join(lab, "two words"))
	if _, said := weft(t, 2, "lab", "ib", "up"); !strings.Contains(said, "want a path of letters") || !strings.Contains(said, "export WEFT_LAB=") {
		t.Errorf("a folder with a blank: %s", said)
	}
	t.Setenv("WEFT_LAB", lab)
	if err := os.Symlink(t.TempDir(), folder); err != nil {
		t.Fatal(err)
	}
	if _, said := weft(t, 2, "lab", "ib", "up"); !strings.Contains(said, "not a directory") {
		t.Errorf("a fabric's folder that is a link: %s", said)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
}
