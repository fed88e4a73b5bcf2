package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/plan"
)

// machine is a file tree that stands for a machine: /etc, a value that the kernel
// forgets at boot (/proc-mtu), and one that lasts (/pkg).
type machine struct {
	t *testing.T
	Journal
}

func newMachine(t *testing.T) *machine {
	// In memory, where it can be: every write goes to disk at once, a thousand times.
	root, err := os.MkdirTemp("/dev/shm", "journal")
	if err != nil {
		root = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	m := &machine{t, Journal{Root: root}}
	for _, d := range []string{"/etc/netplan", "/etc/systemd/system", "/run/systemd/system", "/boot"} {
		m.must(os.MkdirAll(m.path(d), 0o755))
	}
	m.write("/etc/hosts", "127.0.0.1 localhost\n", 0o644)
	m.write("/etc/netplan/20-rail0.yaml", "mtu: 1500\n", 0o600)
	m.write("/etc/gone.conf", "old\n", 0o640)
	m.write("/boot/grub.cfg", "menu 1\n", 0o444)
	m.write("/proc-mtu", "1500\n", 0o644)
	m.must(os.Chown(m.path("/etc/gone.conf"), 1, 2))
	m.must(os.Chtimes(m.path("/etc/hosts"), time.Time{}, time.Unix(1e9, 5)))
	return m
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) write(path, text string, mode os.FileMode) {
	m.t.Helper()
	m.must(os.WriteFile(m.path(path), []byte(text), mode))
	m.must(os.Chmod(m.path(path), mode))
}

func ptr(s string) *string { return &s }

// request changes something of every kind.
func (m *machine) request(id string) Request {
	set := func(v string) []string { return []string{"echo " + v + " > " + m.path("/proc-mtu")} }
	grub, pkg := m.path("/boot/grub.cfg"), m.path("/pkg")
	return Request{ID: id, Who: "test", Binary: "/bin/true", Deadline: 2, Steps: []plan.Step{
		{What: "net/rail0/mtu", Files: []plan.File{{Path: "/etc/netplan/20-rail0.yaml", Old: ptr("mtu: 1500\n"), New: ptr("mtu: 9000\n")}},
			Do: set("9000"), Undo: set("1500"), Shows: "cat " + m.path("/proc-mtu")},
		{What: "hosts", Files: []plan.File{{Path: "/etc/hosts", Old: ptr("127.0.0.1 localhost\n"), New: ptr("127.0.0.1 localhost\n10.0.0.1 n1\n")}}},
		{What: "again", Files: []plan.File{{Path: "/etc/netplan/20-rail0.yaml", Old: ptr("mtu: 9000\n"), New: ptr("mtu: 9000\naddr: x\n")}}},
		{What: "new", Files: []plan.File{{Path: "/etc/x/y/new.conf", New: ptr("new\n")}, {Path: "/etc/x/link", New: ptr("y/new.conf"), Link: true}}},
		{What: "gone", Files: []plan.File{{Path: "/etc/gone.conf", Old: ptr("old\n")}}},
		{What: "boot", Keeps: []string{"/boot/grub.cfg"}, Do: []string{"echo 'menu 2' > " + grub}, Undo: []string{"echo 'menu made anew' > " + grub}, Shows: "true"},
		{What: "package", Lasts: true, Do: []string{"touch " + pkg}, Undo: []string{"rm -f " + pkg}, Shows: "ls " + m.path("/") + " | grep pkg || true"},
	}}
}

// tree is everything below the machine's root but weft's own, as text.
func (m *machine) tree(parts ...string) string {
	m.t.Helper()
	var b strings.Builder
	m.must(filepath.WalkDir(m.path("/"), func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, m.path("/"))
		if err != nil || strings.HasPrefix(name, "/var") || name == "" {
			return err
		}
		s, content, err := look(path)
		if err != nil {
			return err
		}
		if strings.Contains(name, "hosts") || name == "/etc/netplan/20-rail0.yaml" {
			fmt.Fprintf(&b, "%d ", s.MTime)
		}
		fmt.Fprintf(&b, "%s %s %o %d:%d %s %q\n", name, s.Kind, s.Mode, s.UID, s.GID, s.Link, content)
		return nil
	}))
	return b.String()
}

// errKilled is what a test's Point panics with.
var errKilled = errors.New("killed")

// supervise runs the supervisor up to a point, or to its end.
func (m *machine) supervise(id, dieAt string, seen map[string]bool) (died bool) {
	m.t.Helper()
	m.Point = func(name string) {
		if seen != nil {
			seen[name] = true
		}
		if name == dieAt {
			panic(errKilled)
		}
		if name == "waiting" {
			r, err := m.Load(id)
			m.must(err)
			m.must(r.mark("confirm", ""))
		}
	}
	defer func() {
		m.Point = nil
		if v := recover(); v != nil {
			if v != errKilled {
				panic(v)
			}
			died = true
		}
	}()
	m.must(m.Supervise(context.Background(), id))
	return false
}

func TestKeptThenUndone(t *testing.T) {
	m := newMachine(t)
	old := m.tree()
	r, err := m.Begin(t.Context(), m.request("1"))
	m.must(err)
	if m.tree() != old {
		t.Error("begin changed something")
	}
	m.supervise("1", "", nil)
	want := map[string]string{"/etc/hosts": "127.0.0.1 localhost\n10.0.0.1 n1\n", "/etc/netplan/20-rail0.yaml": "mtu: 9000\naddr: x\n",
		"/etc/x/y/new.conf": "new\n", "/etc/x/link": "new\n", "/proc-mtu": "9000\n", "/boot/grub.cfg": "menu 2\n", "/pkg": ""}
	for path, text := range want {
		if b, err := os.ReadFile(m.path(path)); err != nil || string(b) != text {
			t.Errorf("%s holds %q, %v, want %q", path, b, err, text)
		}
	}
	if s, _ := r.State(); s.State != Kept || len(s.Left) > 0 {
		t.Errorf("state %+v, want kept", s)
	}
	if info, _ := os.Stat(m.path("/etc/netplan/20-rail0.yaml")); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want that of before", info.Mode())
	}
	m.clean("kept")

	// The undo is a run of its own.
	u := m.request("2")
	u.Steps = nil
	_, err = m.Undo(t.Context(), u, "1")
	m.must(err)
	m.supervise("2", "", nil)
	if got := m.tree(); got != old {
		t.Errorf("after the undo:\n%s\nwant\n%s", got, old)
	}
	if s, _ := r.State(); s.State != Undone {
		t.Errorf("state %+v, want undone", s)
	}
	m.clean("undone")
	if _, err := m.Undo(t.Context(), u, "1"); err == nil || !strings.Contains(err.Error(), "nothing to undo") {
		t.Errorf("a second undo: %v", err)
	}
}

// clean wants nothing of weft to be left outside of its own folder.
func (m *machine) clean(when string) {
	m.t.Helper()
	for line := range strings.Lines(m.tree()) {
		if strings.Contains(line, "weft") {
			m.t.Errorf("%s: left: %s", when, line)
		}
	}
}

// TestEveryPoint kills the supervisor at every point of a run, and of a revert, and lets
// each of those who come after it bring the run to its end: the tree is the old one or
// the new one.
func TestEveryPoint(t *testing.T) {
	points := map[string]bool{}
	good := newMachine(t)
	_, err := good.Begin(t.Context(), good.request("1"))
	good.must(err)
	good.supervise("1", "", points)
	if len(points) < 20 {
		t.Fatalf("only %d points: %v", len(points), points)
	}
	for _, p := range []string{"reverting", "restored", "undone 3", "undone 1", "reverted"} {
		points["revert: "+p] = true
	}
	after := map[string]func(m *machine){
		"restart": func(m *machine) { m.must(m.Supervise(context.Background(), "1")) },
		"guard":   func(m *machine) { m.must(m.Guard(context.Background(), "1", 0)) },
		"boot": func(m *machine) {
			m.write("/proc-mtu", "lost\n", 0o644) // the kernel reads it from the file when it is up
			m.must(m.Boot(false))
			b, err := os.ReadFile(m.path("/etc/netplan/20-rail0.yaml"))
			m.must(err)
			m.write("/proc-mtu", strings.TrimPrefix(strings.Split(string(b), "\n")[0], "mtu: ")+"\n", 0o644)
			m.must(m.Boot(true))
		},
		"boot twice": func(m *machine) {
			m.must(m.Boot(false))
			m.must(m.Boot(false))
			m.must(m.Boot(true))
			b, err := os.ReadFile(m.path("/etc/netplan/20-rail0.yaml"))
			m.must(err)
			m.write("/proc-mtu", strings.TrimPrefix(strings.Split(string(b), "\n")[0], "mtu: ")+"\n", 0o644)
		},
	}
	for point := range points {
		for name, recoverBy := range after {
			m := newMachine(t)
			old := noTimes(m.tree())
			_, err := m.Begin(t.Context(), m.request("1"))
			m.must(err)
			if p, ok := strings.CutPrefix(point, "revert: "); ok {
				m.supervise("1", "probed", nil)
				m.Point = func(name string) {
					if name == p {
						panic(errKilled)
					}
				}
				func() {
					defer func() { recover() }()
					m.Supervise(context.Background(), "1")
				}()
				m.Point = nil
			} else if !m.supervise("1", point, nil) {
				t.Fatalf("%s was not met", point)
			}
			recoverBy(m)
			r, err := m.Load("1")
			m.must(err)
			s, _ := r.State()
			got := noTimes(m.tree())
			switch {
			case s.State == Kept && got == noTimes(good.tree()):
			case (s.State == Reverted || s.State == New) && got == old:
			default:
				t.Errorf("killed at %s, then %s: %s, and the tree is between:\n%s", point, name, s.State, got)
			}
			if len(s.Left) > 0 {
				t.Errorf("killed at %s, then %s: left %q", point, name, s.Left)
			}
			m.clean(point + ", " + name)
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d points, 4 ways to come back", len(points))
}

// noTimes leaves out the times of files, which a new file has of its own, and the
// folder, which each machine has of its own.
func noTimes(tree string) string {
	var b strings.Builder
	for line := range strings.Lines(tree) {
		if first, rest, _ := strings.Cut(line, " "); strings.Trim(first, "0123456789") == "" {
			line = rest
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestNoConfirmation(t *testing.T) {
	m := newMachine(t)
	old := m.tree()
	q := m.request("1")
	q.Deadline = 1
	r, err := m.Begin(t.Context(), q)
	m.must(err)
	m.must(m.Supervise(t.Context(), "1"))
	s, _ := r.State()
	if s.State != Reverted || s.Why != "no confirmation within 1 s" || len(s.Left) > 0 {
		t.Errorf("state %+v", s)
	}
	if got := m.tree(); got != old {
		t.Errorf("the tree is\n%s\nwant\n%s", got, old)
	}
	if s, err := m.Confirm(t.Context(), "1"); s.State != Reverted || err != nil {
		t.Errorf("a late confirmation: %+v, %v", s, err)
	}
}

func TestALineThatFails(t *testing.T) {
	m := newMachine(t)
	old := m.tree()
	q := m.request("1")
	q.Steps[5].Do = append(q.Steps[5].Do, "echo no room >&2; exit 3")
	r, err := m.Begin(t.Context(), q)
	m.must(err)
	m.must(m.Supervise(t.Context(), "1"))
	s, _ := r.State()
	if s.State != Reverted || !strings.Contains(s.Why, "boot: echo no room") || !strings.Contains(s.Why, "no room") {
		t.Errorf("state %+v", s)
	}
	if got := m.tree(); got != old {
		t.Errorf("the tree is\n%s\nwant\n%s", got, old)
	}
}

// TestProbeThatStopped: what worked before must work after.
func TestProbeThatStopped(t *testing.T) {
	r := &Run{Worked: []Probe{{Kind: "ping", Addr: "192.0.2.1", Node: "n2"}}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := r.probe(ctx); err == nil || !strings.HasPrefix(err.Error(), "the ping to n2 (192.0.2.1) worked before and does not now") {
		t.Errorf("%v", err)
	}
}

func TestRefusals(t *testing.T) {
	m := newMachine(t)
	refused := func(q Request, what string) {
		t.Helper()
		_, err := m.Begin(t.Context(), q)
		var r *Refused
		if !errors.As(err, &r) || !strings.Contains(r.What, what) {
			t.Errorf("%v, want it refused: %s", err, what)
		}
		if ids, _ := m.List(); len(ids) > 1 {
			t.Errorf("left: %v", ids)
		}
	}
	q := m.request("1")
	m.write("/etc/hosts", "127.0.0.1 localhost\n# mine\n", 0o644)
	refused(q, "/etc/hosts is not as the plan saw it")
	m.write("/etc/hosts", "127.0.0.1 localhost\n", 0o644)
	q.ID = "../1"
	refused(q, "is no name for a run")
	q = m.request("1")
	q.Steps[1].Files[0].Path = "etc/hosts"
	refused(q, "is no path for a file")
	q = m.request("1")
	q.Steps[0].Shows = "exit 1"
	refused(q, "its value cannot be seen")
	q = m.request("1")
	q.Steps[4].Files[0].Path = "/etc/hosts/x"
	refused(q, "not a directory")

	// A second run while one is open.
	_, err := m.Begin(t.Context(), m.request("1"))
	m.must(err)
	m.supervise("1", "act 2", nil)
	refused(m.request("2"), "run 1 of test is open here since")

	// Two at once.
	lock, err := m.lock(0)
	m.must(err)
	refused(m.request("2"), "run 1 of test is open here since")
	m.must(os.RemoveAll(m.runs()))
	refused(m.request("2"), "another weft is changing this node right now")
	lock.Close()
}

// TestSomebodyEdits: what a person wrote meanwhile is never lost.
func TestSomebodyEdits(t *testing.T) {
	kept := func() *machine {
		m := newMachine(t)
		_, err := m.Begin(t.Context(), m.request("1"))
		m.must(err)
		m.supervise("1", "", nil)
		return m
	}
	u := Request{ID: "2", Who: "test", Deadline: 5}
	m := kept()
	m.write("/etc/hosts", "# mine\n127.0.0.1 localhost\n10.0.0.1 n1\n", 0o644)
	_, err := m.Undo(t.Context(), u, "1")
	m.must(err)
	m.supervise("2", "", nil)
	if b, _ := os.ReadFile(m.path("/etc/hosts")); string(b) != "# mine\n127.0.0.1 localhost\n" {
		t.Errorf("/etc/hosts holds %q, want the person's line and not weft's", b)
	}

	m = kept()
	m.write("/etc/hosts", "127.0.0.1 localhost\n10.0.0.7 n1\n", 0o644)
	before := m.tree()
	if _, err := m.Undo(t.Context(), u, "1"); err == nil || !strings.Contains(err.Error(), "somebody has edited it since") {
		t.Errorf("a line that both changed: %v", err)
	}
	if m.tree() != before {
		t.Error("a refused undo changed something")
	}

	// While the confirmation is awaited.
	m = newMachine(t)
	_, err = m.Begin(t.Context(), m.request("1"))
	m.must(err)
	m.supervise("1", "probed", nil)
	m.write("/etc/netplan/20-rail0.yaml", "mtu: 1400\n", 0o600)
	m.must(m.Supervise(t.Context(), "1"))
	r, _ := m.Load("1")
	s, _ := r.State()
	if b, _ := os.ReadFile(m.path("/etc/netplan/20-rail0.yaml")); string(b) != "mtu: 1400\n" || s.State != Stuck || !strings.Contains(strings.Join(s.Left, ""), "it stays as it is") {
		t.Errorf("holds %q, state %+v", b, s)
	}
	if b, _ := os.ReadFile(m.path("/etc/hosts")); string(b) != "127.0.0.1 localhost\n" {
		t.Errorf("/etc/hosts holds %q: one file held up the others", b)
	}
}

// TestFullDisk: a file system without space is found before the first change, and one
// that fills up later does not stop the way back.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	m := newMachine(t)
	etc := m.path("/etc")
	m.must(syscall.Mount("tmpfs", etc, "tmpfs", 0, "size=64k,mode=755"))
	t.Cleanup(func() { syscall.Unmount(etc, 0) })
	m.must(os.MkdirAll(etc+"/systemd/system", 0o755))
	m.must(os.MkdirAll(etc+"/netplan", 0o755))
	m.write("/etc/hosts", "127.0.0.1 localhost\n", 0o644)
	m.write("/etc/netplan/20-rail0.yaml", "mtu: 1500\n", 0o600)
	m.write("/etc/gone.conf", "old\n", 0o640)
	fill := func() { os.WriteFile(etc+"/filler", make([]byte, 1<<20), 0o600) } // until it is full

	fill()
	old := noTimes(m.tree())
	r, err := m.Begin(t.Context(), m.request("1"))
	m.must(err)
	m.must(m.Supervise(t.Context(), "1"))
	if s, _ := r.State(); s.State != Reverted || !strings.Contains(s.Why, "no space left on device") {
		t.Errorf("state %+v", s)
	}
	if got := noTimes(m.tree()); got != old {
		t.Errorf("the tree is\n%s\nwant\n%s", got, old)
	}

	m.must(os.Remove(etc + "/filler"))
	old = noTimes(m.tree())
	r, err = m.Begin(t.Context(), m.request("2"))
	m.must(err)
	m.supervise("2", "probed", nil)
	fill()
	m.must(m.Supervise(t.Context(), "2"))
	m.must(os.Remove(etc + "/filler"))
	if s, _ := r.State(); s.State != Reverted {
		t.Errorf("state %+v", s)
	}
	if got := noTimes(m.tree()); got != old {
		t.Errorf("the tree is\n%s\nwant\n%s", got, old)
	}
}

func TestReadOnly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a file system")
	}
	m := newMachine(t)
	etc := m.path("/etc")
	m.must(syscall.Mount(etc, etc, "", syscall.MS_BIND, ""))
	t.Cleanup(func() { syscall.Unmount(etc, 0) })
	m.must(syscall.Mount("", etc, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	old := m.tree()
	r, err := m.Begin(t.Context(), m.request("1"))
	m.must(err)
	m.must(m.Supervise(t.Context(), "1"))
	if s, _ := r.State(); s.State != Reverted || !strings.Contains(s.Why, "read-only file system") {
		t.Errorf("state %+v", s)
	}
	if got := m.tree(); got != old {
		t.Errorf("the tree is\n%s\nwant\n%s", got, old)
	}
}

// TestByHand runs the script for a machine without weft.
func TestByHand(t *testing.T) {
	m := newMachine(t)
	old := noTimes(m.tree())
	r, err := m.Begin(t.Context(), m.request("1"))
	m.must(err)
	m.supervise("1", "", nil)
	if out, err := run(t.Context(), filepath.Join(r.dir, "undo.sh"), time.Minute); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := noTimes(m.tree()); got != old {
		t.Errorf("the tree is\n%s\nwant\n%s", got, old)
	}
}
