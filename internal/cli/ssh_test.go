package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sshd starts a real OpenSSH server on loopback and returns an ssh configuration
// that reaches it under the names n1 and n2, and a dead host under n3.
func sshd(t *testing.T) string {
	t.Helper()
	server := "/usr/sbin/sshd"
	if _, err := os.Stat(server); err != nil {
		t.Skip("no OpenSSH server on this machine: apt install openssh-server")
	}
	if os.Geteuid() != 0 {
		t.Skip("starting sshd for tests needs root")
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd insists on it
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	port := freePort(t)
	write := func(name, text string) {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	public, err := os.ReadFile(file("user.pub"))
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.ReadFile(file("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write("authorized", string(public))
	write("known", fmt.Sprintf("[127.0.0.1]:%d %s", port, host))
	write("sshd.conf", fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPidFile none\nMaxStartups 50\n", port, file("host"), file("authorized")))
	write("ssh.conf", fmt.Sprintf("Host n1 n2\n  Port %d\nHost n3\n  Port 1\nHost n1 n2 n3\n  HostName 127.0.0.1\n  User root\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n", port, file("user"), file("known")))
	cmd := exec.Command(server, "-D", "-e", "-f", file("sshd.conf"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 100 {
		if c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second); err == nil {
			c.Close()
			return file("ssh.conf")
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("sshd did not start")
	return ""
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// weft runs a command in a folder and returns its exit code and both outputs.
func weft(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// TestInitThenCheckOverSSH is the first hour of a new user: init, check, collect,
// replay, with real ssh and one dead host.
func TestInitThenCheckOverSSH(t *testing.T) {
	conf := sshd(t)
	t.Chdir(t.TempDir())
	code, _, errOut := weft(t, "init", "--ssh-config", conf, "n[1-3]")
	if code != exitIncomplete || !strings.Contains(errOut, "n3") || !strings.Contains(errOut, "refused") {
		t.Fatalf("init: exit %d\n%s", code, errOut)
	}
	text, err := os.ReadFile("weft.yaml")
	if err != nil || !strings.Contains(string(text), "- name: n1") || !strings.Contains(string(text), "# not reached: ") || !strings.Contains(string(text), "ssh_config: \""+conf) {
		t.Fatalf("weft.yaml: %v\n%s", err, text)
	}
	if !strings.HasSuffix(errOut, "next:\n          weft check\n") {
		t.Errorf("init: next is not weft check:\n%s", errOut)
	}
	code, out, errOut := weft(t, "check")
	if code != exitNo || !strings.Contains(out, "fail     node.read") || !strings.Contains(out, "n3") {
		t.Errorf("check: exit %d\n%s%s", code, out, errOut)
	}
	if code, out, errOut = weft(t, "check", "node.read", "node.kernel", "-n", "n[1-2]", "--all"); !strings.Contains(out, "pass     node.kernel") {
		t.Errorf("check of two: exit %d\n%s%s", code, out, errOut)
	}
	if code, _, errOut = weft(t, "collect", "-o", "all.dump"); code != exitIncomplete {
		t.Errorf("collect: exit %d\n%s", code, errOut)
	}
	live, replay := "", ""
	if code, live, errOut = weft(t, "show", "nodes", "-F", "all.dump"); code != exitIncomplete || !strings.Contains(live, "n1") || !strings.Contains(live, "refused") {
		t.Errorf("show: exit %d\n%s%s", code, live, errOut)
	}
	if code, replay, _ = weft(t, "show", "nodes", "-F", ".weft/dumps/"+lastDump(t)); code != exitIncomplete || !strings.Contains(replay, "n2") {
		t.Errorf("replay of what was kept: exit %d\n%s", code, replay)
	}
}

func lastDump(t *testing.T) string {
	entries, err := os.ReadDir(".weft/dumps")
	if err != nil || len(entries) == 0 {
		t.Fatalf("nothing was kept: %v", err)
	}
	return entries[len(entries)-1].Name()
}
