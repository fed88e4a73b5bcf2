package journal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/cli"
	"weft/internal/journal"
	"weft/internal/plan"
)

const asWeft = "WEFT_JOURNAL_TEST_AS_WEFT"

// TestMain makes the test binary weft itself, so that its processes can be killed.
func TestMain(m *testing.M) {
	if os.Getenv(asWeft) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestWithoutSystemd has a node without systemd change itself: in a mount and process
// namespace whose /etc and /var/lib are the test's own. Without a confirmation, and when
// the supervisor is killed, the guard brings the old state back.
func TestWithoutSystemd(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to make namespaces")
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		t.Skip("this machine runs systemd; the lab's tests have that")
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("unshare is not installed")
	}
	dir := t.TempDir()
	text := "new\n"
	q := journal.Request{ID: "1", Who: "test", Deadline: 3, Steps: []plan.Step{{What: "x", Files: []plan.File{{Path: "/etc/x/conf", New: &text}},
		Do: []string{"echo now > /etc/value"}, Undo: []string{"rm -f /etc/value"}, Shows: "cat /etc/value 2>/dev/null || true"}}}
	for _, d := range []string{"etc/cron.d", "lib"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []string{"1", "2"} {
		q.ID, q.Deadline = id, 3+27*i // the second would wait for half a minute
		b, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "q"+id), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// What is said in the end: the states, and what is left in /etc.
	script := `set -e
mount --bind ` + dir + `/etc /etc; mount --bind ` + dir + `/lib /var/lib
export ` + asWeft + `=1
end() { for i in $(seq 100); do grep -q '"reverted"' /var/lib/weft/runs/$1/state && break; sleep 0.1; done; cat /var/lib/weft/runs/$1/state; }
$0 node begin < $1/q1 >/dev/null; ls /etc/cron.d; cat /etc/x/conf /etc/value; end 1
$0 node begin < $1/q2 >/dev/null; pkill -KILL -f 'node supervise 2'; end 2
sleep 0.3; find /etc
`
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", script, self, dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	got := out.String()
	for _, want := range []string{"weft-boot\nnew\nnow\n", `"why":"no confirmation within 3 s"`, `"why":"the supervisor was lost"`} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if !strings.HasSuffix(got, "/etc\n/etc/cron.d\n") {
		t.Errorf("something is left:\n%s", got)
	}
}
