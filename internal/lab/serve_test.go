package lab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/lab"
)

// The engine of these tests is a stand-in (internal/lab/standin): there are neither GPUs nor
// containers in the lab. It joins, talks over RDMA for every token, serves OpenAI's API, and
// fails on request. Everything else is real: ssh, systemd, the journal, counters of RDMA.

// standIn puts the stand-in engine on every machine.
func standIn(t *testing.T, l lab.Lab, s lab.State) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "stand-in")
	build := osexec.Command("go", "build", "-ldflags", "-s -w", "-o", bin, "weft/internal/lab/standin")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Dir = moduleDir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, n := range s.Nodes {
		send(t, l, n.Name, bin, `sudo sh -c "mkdir -p /opt/standin && cd /opt/standin && cat >stand-in && chmod +x stand-in && for n in ray vllm rpc-server llama-server; do ln -sf stand-in \$n; done"`)
	}
}

// unitRuns reports whether a unit of a machine is active.
func unitRuns(t *testing.T, l lab.Lab, node, unit string) bool {
	t.Helper()
	return strings.Contains(inside(t, l, node, "systemctl is-active -q "+unit+" && echo runs || true"), "runs")
}

// tell has the stand-ins of all machines fail in a way; "" heals them.
func tell(t *testing.T, l lab.Lab, s lab.State, word string) {
	t.Helper()
	for _, n := range s.Nodes {
		inside(t, l, n.Name, "rm -f /opt/standin/stand-in.fail; [ -z '"+word+"' ] || echo '"+word+"' >/opt/standin/stand-in.fail")
	}
}

// made is everything that weft serve could have made on the machines.
func made(t *testing.T, l lab.Lab, s lab.State) (all string) {
	t.Helper()
	for _, n := range s.Nodes {
		all += n.Name + "\n" + inside(t, l, n.Name, `find /etc /var/lib/weft -newermt '2000-01-01' -name '*weft-serve*' 2>/dev/null; ls -A /var/lib/weft/serve 2>/dev/null; systemctl list-units --all --no-legend --plain 'weft-serve*' | grep -v ' not-found ' || true; pgrep -af '^/opt/standin/' || true`)
	}
	return all
}

// serveUp is weft serve up of the stand-in.
var serveUp = []string{"serve", "up", "stand-in/model", "--bare", "/opt/standin", "--tp", "2", "--context", "2048", "--yes"}

// launch is what weft serve up --json answers, as far as these tests look.
type launch struct {
	OK      bool
	Seconds float64
	Failure *struct {
		ID, Node, What, Why, Do string
		Last                    []string
	}
	Proof *struct {
		Expected, RDMA bool
		Tokens         int
		NCCL           *struct{ Between string }
		Counters       *struct {
			Why   string
			Nodes []struct {
				Node           string
				Bytes, Packets int64
			}
		}
	}
	Down []struct {
		Node, Failed string
		Left         []string
	}
	Bars []struct{ Name, Node, What string }
}

// serves runs weft serve up and wants an exit code.
func serves(t *testing.T, code int, args ...string) (a launch) {
	t.Helper()
	cmd := real(t, append(append([]string{}, serveUp...), append(args, "--json")...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	start := time.Now()
	cmd.Run() // its exit code is looked at
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("weft serve up %s: exit code %d, want %d, after %v\n%s%s", strings.Join(args, " "), got, code, time.Since(start), &out, &said)
	}
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &said)
	}
	return a
}

// TestRealServe proves the fabric, starts the stand-in over it, sees that RDMA carries its
// tokens, streams from it, and takes it down: nothing is left.
func TestRealServe(t *testing.T) {
	l := place(t, false)
	s := up(t, "--nodes", "2")
	standIn(t, l, s)
	if a := serves(t, 1); len(a.Bars) == 0 || a.Bars[0].Name != "proof.none" {
		t.Errorf("an unproven fabric is taken: %+v", a.Bars)
	}
	prove(t, []int{0}, "rdma.write.bw", "--quick")
	before := made(t, l, s)
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("sk-secret-of-the-lab\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := serves(t, 0, "--api-key-file", key)
	if !a.OK || a.Proof == nil || !a.Proof.RDMA || a.Proof.NCCL == nil || a.Proof.NCCL.Between != "NET/IB" || a.Proof.Tokens != 64 {
		t.Fatalf("it does not serve over RDMA: %+v", a.Proof)
	}
	fmt.Printf("the stand-in serves after %.0f s; %d tokens: %s\n", a.Seconds, a.Proof.Tokens, a.Proof.Counters.Why)
	for _, n := range a.Proof.Counters.Nodes {
		fmt.Printf("  %s: %d bytes, %d packets of RDMA\n", n.Node, n.Bytes, n.Packets)
		if n.Packets == 0 && n.Bytes == 0 {
			t.Errorf("%s moved nothing", n.Node)
		}
	}
	for _, n := range s.Nodes { // the brackets keep the question from being its own answer
		if shown := inside(t, l, n.Name, `grep -rl secret-of-the-la[b] /etc /run/systemd /var/lib/weft 2>/dev/null || true; grep -la secret-of-the-la[b] /proc/[0-9]*/cmdline 2>/dev/null || true; journalctl --no-pager -q -o cat | grep -c secret-of-the-la[b] || true; stat -c '%a %U' /var/lib/weft/serve/model/secret.env`); strings.Contains(shown, "/proc/") || strings.Contains(shown, "/etc/") || !strings.Contains(shown, "0\n600 root") {
			t.Errorf("%s shows the key, or its file is open: %s", n.Name, shown)
		}
	}
	if out := must(t, 0, "serve", "status"); !strings.Contains(out, "Ray has 2 nodes and 2 GPUs") || !strings.Contains(out, "serves stand-in/model") {
		t.Errorf("%s", out)
	}
	if out := must(t, 0, "serve", "logs"); !strings.Contains(out, "via NET/IB/0") || !strings.Contains(out, "Application startup complete") {
		t.Errorf("the logs have not what the engine said:\n%s", out)
	}
	stream(t, l, s, key)
	must(t, 0, "serve", "down")
	if after := made(t, l, s); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	nothingLeft(t, l, s)
}

// stream has weft serve bench stream from the stand-in, through ssh as a person would.
func stream(t *testing.T, l lab.Lab, s lab.State, key string) {
	t.Helper()
	argv, err := l.SSH(s.Nodes[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	host := strings.TrimSpace(inside(t, l, s.Nodes[0].Name, "ip -4 -o addr show dev mgmt0 | sed 's/.*inet //; s/[/].*//'"))
	tunnel := osexec.Command(argv[0], append([]string{"-N", "-o", "ControlPath=none", "-L", fmt.Sprintf("127.0.0.1:%d:%s:8000", port, host)}, argv[1:]...)...)
	if err := tunnel.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		tunnel.Process.Kill()
		tunnel.Wait()
	}()
	for range 100 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			c.Close()
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	out := must(t, 0, "serve", "bench", fmt.Sprintf("http://127.0.0.1:%d", port), "--api-key-file", key, "--concurrency", "1", "--requests", "2", "--output-tokens", "8", "--no-forecast")
	if !strings.Contains(out, "tokens/s") {
		t.Errorf("%s", out)
	}
	fmt.Print(out)
}

// TestRealServeFails: every way in which the stand-in fails is recognised, says what to do,
// and leaves nothing on any machine.
func TestRealServeFails(t *testing.T) {
	l := place(t, true)
	s := up(t, "--nodes", "2")
	standIn(t, l, s)
	prove(t, []int{0}, "rdma.write.bw", "--quick")
	before := made(t, l, s)
	for _, x := range []struct {
		word string
		args []string
		id   string
		says string
	}{
		{"join", []string{"--join", "40s"}, "ray.join", "Ray head"},
		{"tpu", []string{"--join", "30s"}, "ray.join", "it counts 2 as TPU"},
		{"placement", []string{"--deadline", "40s"}, "ray.placement", "Ray has had no place for"},
		{"nccl-timeout", nil, "nccl.timeout", "a collective (ALLREDUCE) did not end"},
		{"hang", []string{"--silence", "30s"}, "engine.hang", "it hangs: no word for"},
		{"oom", nil, "gpu.oom", "the GPU's memory is full"},
		{"crash", nil, "engine.ended", "and is not started again"},
		{"killed", nil, "host.killed", "it was killed"},
		{"slow", []string{"--deadline", "30s", "--silence", "1h"}, "deadline", "did not come so far"},
	} {
		t.Run(x.word, func(t *testing.T) {
			tell(t, l, s, x.word)
			defer tell(t, l, s, "")
			start := time.Now()
			a := serves(t, 1, x.args...)
			if a.Failure == nil || a.Failure.ID != x.id || !strings.Contains(a.Failure.What, x.says) || a.Failure.Do == "" {
				t.Errorf("%+v", a.Failure)
			} else {
				fmt.Printf("%s: %s after %.0f s: %s\n", x.word, a.Failure.ID, time.Since(start).Seconds(), a.Failure.What)
			}
			if after := made(t, l, s); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
	t.Run("socket", func(t *testing.T) { // it serves, and not over RDMA
		tell(t, l, s, "socket")
		defer tell(t, l, s, "")
		a := serves(t, 1)
		if !a.OK || a.Proof == nil || a.Proof.RDMA || !a.Proof.Expected || a.Proof.NCCL.Between != "NET/Socket" {
			t.Errorf("%+v", a.Proof)
		}
		must(t, 0, "serve", "down")
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		tell(t, l, s, "slow")
		defer tell(t, l, s, "")
		cmd := real(t, serveUp...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 120 {
			if unitRuns(t, l, s.Nodes[0].Name, "weft-serve-model") {
				break
			}
			time.Sleep(time.Second)
		}
		cmd.Process.Signal(syscall.SIGINT)
		start := time.Now()
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 || time.Since(start) > 90*time.Second || !strings.Contains(out.String(), "what was started is stopped and removed on every node") {
			t.Errorf("exit code %d after %v\n%s", code, time.Since(start), &out)
		}
		if after := made(t, l, s); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
	t.Run("own executor and llama.cpp", func(t *testing.T) {
		if a := serves(t, 0, "--executor", "own"); !a.Proof.RDMA {
			t.Errorf("%+v", a.Proof)
		}
		must(t, 0, "serve", "down")
		must(t, 0, "serve", "up", "/opt/standin/m.gguf", "--engine", "llamacpp-rpc", "--bare", "/opt/standin", "--pp", "2", "--context", "2048", "--yes")
		must(t, 0, "serve", "down")
		if after := made(t, l, s); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
}

// TestRealServeLost: a machine loses its power while a model is started, and reboots while
// one runs: what is left is said, and taken away once the machine is back.
func TestRealServeLost(t *testing.T) {
	l := place(t, true)
	s := up(t, "--nodes", "2")
	standIn(t, l, s)
	prove(t, []int{0}, "rdma.write.bw", "--quick")
	before := made(t, l, s)
	second := s.Nodes[1].Name
	tell(t, l, s, "slow")
	cmd := real(t, append(append([]string{}, serveUp...), "--deadline", "2m", "--json")...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 120 {
		if unitRuns(t, l, second, "weft-serve-model-ray") {
			break
		}
		time.Sleep(time.Second)
	}
	weft(t, "lab", "break", "off", second)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(out.String(), second) {
		t.Errorf("exit code %d\n%s%s", code, &out, &said)
	}
	weft(t, "lab", "heal", "off", second)
	tell(t, l, s, "")
	must(t, 0, "serve", "down")
	if after := made(t, l, s); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if a := serves(t, 0, "--accept", "proof.stale"); !a.OK {
		t.Fatalf("%+v", a)
	}
	weft(t, "lab", "break", "reboot", second)
	time.Sleep(5 * time.Second)
	weft(t, "lab", "heal", "reboot", second)
	if out := must(t, 1, "serve", "status"); !strings.Contains(out, "inactive") {
		t.Errorf("a part that did not come back with its machine is not told:\n%s", out)
	}
	must(t, 0, "serve", "down")
	if after := made(t, l, s); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
