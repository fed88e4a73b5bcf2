package collect

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/dump"
	"weft/internal/exec"
	"weft/internal/fact"
	"weft/internal/format"
)

// TestScriptAndLocalAgree asks this machine twice, directly and through the shell
// script that nodes get, and wants the same answers.
func TestScriptAndLocalAgree(t *testing.T) {
	ctx := t.Context()
	run := exec.New(exec.Options{})
	defer run.Close()
	var readers []format.Reader
	for _, r := range format.Readers {
		if r.Once == nil {
			readers = append(readers, r)
		}
	}
	script, err := byScript(ctx, run, exec.Target{Name: "here"}, readers)
	if err != nil {
		t.Fatal(err)
	}
	direct := local(ctx, "here", readers)
	settle(readers, direct)
	if len(direct.Text) < 20 {
		t.Fatalf("only %d answers", len(direct.Text))
	}
	compare(t, "text", script.Text, direct.Text)
	compare(t, "link", script.Link, direct.Link)
	keys := func(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
	if s, d := keys(script.Gap), keys(direct.Gap); !slices.Equal(s, d) {
		t.Errorf("gaps: script %q, direct %q", s, d)
	}
}

func compare(t *testing.T, what string, script, direct map[string]string) {
	t.Helper()
	// What moves between two looks.
	moving := func(key string) bool {
		return strings.Contains(key, "limits") || strings.Contains(key, "date") || strings.Contains(key, "clock") || strings.Contains(key, "meminfo") ||
			strings.Contains(key, "timedatectl") || key == "/proc/uptime" || strings.Contains(key, "neigh") || strings.HasSuffix(key, "/proc/modules") || strings.Contains(key, "dmesg")
	}
	for key, want := range direct {
		got, ok := script[key]
		if !ok || strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") && !moving(key) {
			t.Errorf("%s %s: script %q, direct %q", what, key, got, want)
		}
	}
	for key := range script {
		if _, ok := direct[key]; !ok && !strings.HasPrefix(key, "/weft/") {
			t.Errorf("%s %s: only the script read it", what, key)
		}
	}
}

// tree makes a folder of files and a reader for it.
func tree(t *testing.T, files map[string]string) (string, format.Reader) {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, format.Reader{Name: "tree", Files: []format.File{{Dir: dir, Names: []string{"*"}}}, Read: func(*dump.Node, *fact.Node) {}}
}

// both asks a reader directly and by script.
func both(t *testing.T, r format.Reader, judge func(t *testing.T, d *dump.Node)) {
	run := exec.New(exec.Options{})
	defer run.Close()
	t.Run("direct", func(t *testing.T) {
		d := local(t.Context(), "n", []format.Reader{r})
		settle([]format.Reader{r}, d)
		judge(t, d)
	})
	t.Run("script", func(t *testing.T) {
		d, err := byScript(t.Context(), run, exec.Target{Name: "n"}, []format.Reader{r})
		if err != nil {
			t.Fatal(err)
		}
		judge(t, d)
	})
}

func TestOddFiles(t *testing.T) {
	dir, r := tree(t, map[string]string{
		"plain": "9000\n", "no newline": "x", "colon:name": "y\n", "marker": "-- n/etc/passwd --\nroot\n", "escape": "\x1b[31mred\n", "many": "a\nb\nc\n", "empty": "",
	})
	if err := os.Symlink("/dev/null", filepath.Join(dir, "masked")); err != nil {
		t.Fatal(err)
	}
	both(t, r, func(t *testing.T, d *dump.Node) {
		if len(d.Gap) > 0 {
			t.Errorf("gaps %q", d.Gap)
		}
		for name, want := range map[string]string{"plain": "9000", "no newline": "x", "colon:name": "y", "marker": "-- n/etc/passwd --\nroot", "escape": "\x1b[31mred", "many": "a\nb\nc"} {
			if got, ok := d.Get(dir + "/" + name); got != want || !ok {
				t.Errorf("%s: got %q, %v; want %q", name, got, ok, want)
			}
		}
		if _, there := d.Text[dir+"/empty"]; there {
			t.Error("an empty file says nothing and should be left out")
		}
		again, err := dump.Parse((&dump.Dump{Nodes: []*dump.Node{d}}).Format())
		if err != nil || again.Node("n").Text[dir+"/marker"] != d.Text[dir+"/marker"] {
			t.Errorf("a file that looks like a member does not survive the dump: %v", err)
		}
	})
}

func TestHugeFileIsAGap(t *testing.T) {
	dir, r := tree(t, map[string]string{"huge": strings.Repeat("0123456789abcde\n", maxMember/16+10), "small": "1\n"})
	d := local(t.Context(), "n", []format.Reader{r})
	if d.Gap[dir+"/huge"] == "" || d.Text[dir+"/huge"] != "" {
		t.Errorf("gap %q, %d bytes kept", d.Gap[dir+"/huge"], len(d.Text[dir+"/huge"]))
	}
	if got, _ := d.Get(dir + "/small"); got != "1" {
		t.Errorf("the small file beside it: %q", got)
	}
}

func TestCommands(t *testing.T) {
	dir, _ := tree(t, map[string]string{"eth0/x": "1", "eth;touch pwned/x": "1"})
	none := func(*dump.Node, *fact.Node) {}
	r := format.Reader{Name: "cmds", Read: none, Cmds: []format.Cmd{
		{Run: "echo hello world"},
		{Run: "false"},
		{Run: "no-such-tool -v"},
		{Run: "no-such-quiet-tool", Quiet: true},
		{Run: "echo dev {}", For: dir + "/eth*"},
		{Run: "echo once", For: dir},
		{Run: "echo never", For: dir + "/nothing"},
		{Run: "complains", Sh: "echo out; echo 'it is broken' >&2; echo more >&2; exit 3"},
		{Run: "reads stdin", Sh: "cat; echo done"},
	}}
	both(t, r, func(t *testing.T, d *dump.Node) {
		for cmd, want := range map[string]string{"echo hello world": "hello world", "echo dev eth0": "dev eth0", "echo once": "once", "complains": "out", "reads stdin": "done"} {
			if got, ok := d.Cmd(cmd); strings.TrimSpace(got) != want || !ok {
				t.Errorf("%s: got %q, %v", cmd, got, ok)
			}
		}
		for key, want := range map[string]string{"$ false": "exit 1", "$ no-such-tool -v": "no-such-tool: not installed", "$ complains": "it is broken", "$ echo never": "", "$ no-such-quiet-tool": ""} {
			if got := d.Gap[key]; got != want {
				t.Errorf("gap of %s: %q, want %q", key, got, want)
			}
		}
		if _, err := os.Stat("pwned"); err == nil {
			t.Error("an interface name ran as a command")
		}
	})
}

func TestMillionLinesAreCut(t *testing.T) {
	r := format.Reader{Name: "loud", Read: func(*dump.Node, *fact.Node) {}, Cmds: []format.Cmd{{Run: "loud", Sh: "yes 'a line of output that goes on' | head -n 1000000"}, {Run: "echo after"}}}
	both(t, r, func(t *testing.T, d *dump.Node) {
		if text, _ := d.Cmd("loud"); len(text) > maxMember || d.Gap["$ loud"] == "" {
			t.Errorf("%d bytes kept, gap %q", len(text), d.Gap["$ loud"])
		}
		if got, _ := d.Cmd("echo after"); strings.TrimSpace(got) != "after" {
			t.Errorf("what came after is lost: %q", got)
		}
	})
}

func TestHangingNodeIsAGap(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	run := exec.New(exec.Options{})
	defer run.Close()
	r := format.Reader{Name: "slow", Read: func(*dump.Node, *fact.Node) {}, Cmds: []format.Cmd{{Run: "echo first"}, {Run: "half", Sh: "echo half; sleep 60"}}}
	start := time.Now()
	d, err := byScript(ctx, run, exec.Target{Name: "n"}, []format.Reader{r})
	if took := time.Since(start); err == nil || took > 5*time.Second {
		t.Errorf("error %v after %v", err, took)
	}
	if got, _ := d.Cmd("echo first"); strings.TrimSpace(got) != "first" {
		t.Errorf("what it said before is lost: %q", got)
	}
	if got, ok := d.Cmd("half"); ok {
		t.Errorf("half an answer is kept: %q", got)
	}
	if got := d.Gap[format.CutKey]; !strings.HasPrefix(got, "cut short: n: ") || strings.Contains(got, "$ half") {
		t.Errorf("the gap of a node that was cut short says %q", got)
	}
}

func TestDeadNodeSaysWhy(t *testing.T) {
	run := exec.New(exec.Options{})
	defer run.Close()
	var said error
	nodes := Cluster(t.Context(), run, []Ask{{Target: exec.Target{Name: "dead", SSH: "ssh://127.0.0.1:1"}, Readers: format.Readers}}, func(_ string, err error) { said = err })
	if why := nodes[0].Gap[format.Reach]; said == nil || !strings.Contains(why, "refused") || !strings.Contains(why, "\n") {
		t.Errorf("gap %q, error %v", why, said)
	}
	if n := format.Node(nodes[0]); n.Down == "" {
		t.Error("the node does not count as down")
	}
}

// FuzzAnswers feeds arbitrary bytes as a node's two streams.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("\nN files\n/sys/x\x001\n\nN $ ip\nhello\n\nN = 0\n\nN end\n"), []byte("\nN files\ngrep: /sys/y: Permission denied\n\nN $ ip\n\nN = 1\n"))
	f.Add([]byte("N binary\n/c\x00AAAA\n\nN links\n/l\x00../x\n\nN root\n/a /b\n"), []byte(""))
	f.Fuzz(func(t *testing.T, out, err []byte) {
		a := newAnswers("n", "N")
		for len(out) > 0 { // in odd pieces, as a pipe delivers
			n := min(7, len(out))
			fmt.Fprintf(&a.out, "%s", out[:n])
			out = out[n:]
		}
		a.err.Write(err)
		d := a.finish()
		format.Settle(format.Readers, d)
		format.Node(d)
	})
}
