package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// These tests run weft serve whole: two nodes are two mount namespaces of this machine, ssh
// and systemd are shell scripts (testdata/serve), Ray and the engine are the lab's stand-in.
// With WEFT_SERVE_SYSTEMD=1 each node has a real systemd and journal, for which everything of
// this machine is read-only. Real ssh and RDMA are shown by internal/lab.

// built is weft and the stand-in, built once.
var built = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "weft", "serve-test") // the same each time: nothing piles up
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for out, pkg := range map[string]string{"weft": "weft/cmd/weft", "stand-in": "weft/internal/lab/standin"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, out), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if b, err := cmd.CombinedOutput(); err != nil {
			return dir, &trouble{what: string(b)}
		}
	}
	return dir, nil
})

var withSystemd = os.Getenv("WEFT_SERVE_SYSTEMD") != ""

// sim is a place with two nodes.
type sim struct {
	t   *testing.T
	dir string
}

// newSim makes one, or skips the test; the longer ones run with WEFT_SERVE_TEST=full.
func newSim(t *testing.T, full bool) sim {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("starts namespaces and processes")
	case full && os.Getenv("WEFT_SERVE_TEST") != "full" && !withSystemd:
		t.Skip("WEFT_SERVE_TEST=full runs it")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, for namespaces")
	}
	if out, err := exec.Command("unshare", "-n", "-m", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1").CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	bins, err := built()
	if err != nil {
		t.Fatal(err)
	}
	s := sim{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	tools := []string{"ssh", "systemctl", "journalctl", "podman"}
	if withSystemd {
		tools = []string{"ssh", "boot"}
	}
	for _, tool := range tools {
		b, err := os.ReadFile("testdata/serve/" + tool + ".sh")
		if err != nil {
			t.Fatal(err)
		}
		s.write("bin/"+tool, string(b))
	}
	for _, bin := range []string{"weft", "stand-in"} {
		b, err := os.ReadFile(filepath.Join(bins, bin))
		if err != nil {
			t.Fatal(err)
		}
		s.write(bin, string(b))
	}
	s.write("weft.yaml", "name: sim\nnodes:\n  - name: vm1\n  - name: vm2\n")
	return s
}

func (s sim) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a shell script in the place and returns what it wrote.
func (s sim) run(script string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 6*time.Minute)
	defer cancel()
	name := "place.sh"
	if withSystemd {
		name = "place-systemd.sh"
	}
	place, err := filepath.Abs("testdata/serve/" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "sh", place, "sh", "-c", script)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(), "SIM="+s.dir, "PATH="+s.dir+"/bin:"+os.Getenv("PATH"), "HOME="+s.dir, "XDG_RUNTIME_DIR=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 77 {
		s.t.Skip("no namespaces here")
	}
	if err != nil {
		s.t.Logf("the script ended with %v", err)
	}
	return out.String()
}

const (
	simUp   = "./weft serve up stand-in/model --bare /opt/standin --tp 2 --context 2048 --yes --accept proof.none,proof.stale,proof.part,node.clock "
	simLeft = "\nfor h in vm1 vm2; do ssh -- $h 'find /etc/systemd /etc/containers /var/lib/weft -name \"*weft*\" -o -path \"/var/lib/weft/*\" | sed s/^/LEFT:/; pgrep -af \"^/opt/[s]tandin/\" | sed s/^/RUNS:/; systemctl list-units --all --plain --no-legend \"weft-serve*\" | grep -v \" not-found \" | sed s/^/LEFT:/'; done\n"
)

func fails(word string) string {
	return "for h in vm1 vm2; do ssh -- $h 'echo " + word + " >/opt/standin/stand-in.fail'; done\n"
}

// TestServeLocal starts, looks, and takes away: nothing is left, no secret was shown.
func TestServeLocal(t *testing.T) {
	t.Parallel()
	s := newSim(t, false)
	s.write("key", "sk-very-secret-key\n")
	s.write("token", "hf_very_secret_token\n")
	out := s.run(simUp + `--api-key-file key --token-file token; echo up=$?
./weft serve status; echo status=$?
./weft serve logs | tail -50
./weft serve logs | ./weft nccl | head -4
./weft serve up other/model --bare /opt/standin --tp 2 --context 2048 --yes --accept proof.none,node.clock; echo again=$?
for h in vm1 vm2; do ssh -- $h 'grep -rl very.secret /etc/systemd /run/sim /run/systemd; journalctl -o cat --no-pager -u weft-serve-model | grep -c very.secret | sed s/^/journal=/; stat -c "%a %n" /var/lib/weft/serve/model/*; ps axww -o args | grep -v "sh -c" | grep "very[-_]secret"'; done
grep -rl very.secret .weft && echo "secret in .weft"
./weft serve down; echo down=$?
./weft serve status; echo gone=$?` + simLeft)
	for _, want := range []string{"up=0", "it serves after", "status=0", "Ray has 2 nodes and 2 GPUs", "vm1   engine      active", "again=1", "port.taken     vm1: something listens on port 6379", "600 /var/lib/weft/serve/model/secret.env", "600 /var/lib/weft/serve/model/key", "600 /var/lib/weft/serve/model/env", "journal=0", "NCCL 2.28.3+cuda13.0, 2 ranks", "nothing is left on 2 nodes: 3 parts stopped", "down=0", "gone=2", "vm2 weft-serve-model-ray |"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, not := range []string{"very-secret", "very_secret", "secret in", "LEFT:", "RUNS:", "/etc/systemd/system/weft"} {
		if strings.Contains(out, not) {
			t.Errorf("%q is there", not)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestServeLocalFails fails in each of the ways that the stand-in knows: each is recognised,
// says what to do, and leaves nothing.
func TestServeLocalFails(t *testing.T) {
	for _, x := range []struct {
		word, flags string
		want        []string
	}{
		{"tpu", "", []string{"ray.join", "Ray has 2 of 2 nodes and 0 of 2 GPUs; it counts 2 as TPU"}},
		{"placement", "--deadline 12s", []string{"ray.placement", "Ray has had no place for [{'GPU': 1.0}, {'GPU': 1.0}]", "weft serve status"}},
		{"nccl-timeout", "", []string{"nccl.timeout", "a collective (ALLREDUCE) did not end in 600059 ms", "weft prove"}},
		{"hang", "--silence 6s", []string{"engine.hang", "it hangs: no word for", "the GPUs could not be asked"}},
		{"oom", "", []string{"gpu.oom", "the GPU's memory is full: 2.00 GiB", "weft forecast"}},
		{"crash", "", []string{"engine.ended", "less .weft/serves/model.log", "the engine ended with status 1, 3 times, and is not started again", "something that nobody knows"}},
		{"slow", "--deadline 10s --silence 1h", []string{"deadline", "within 10s it did not come so far that http://127.0.0.1:8000/health answers"}},
	} {
		t.Run(x.word, func(t *testing.T) {
			t.Parallel()
			s := newSim(t, x.word != "oom" && x.word != "hang")
			if x.word == "tpu" {
				x.flags += " --join 8s"
			}
			out := s.run(fails(x.word) + simUp + x.flags + "; echo up=$?" + simLeft)
			for _, want := range append(x.want, "up=1", "nothing is left on 2 nodes") {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			if strings.Contains(out, "LEFT:") || strings.Contains(out, "RUNS:") {
				t.Errorf("something is left:\n%s", out)
			}
		})
	}
}

// TestServeLocalInterrupted wants everything gone after Ctrl-C while it starts.
func TestServeLocalInterrupted(t *testing.T) {
	t.Parallel()
	s := newSim(t, false)
	out := s.run(fails("slow") + simUp + ` & p=$!
i=0; while [ $i -lt 60 ]; do sleep 0.5; ssh -- vm1 'systemctl is-active -q weft-serve-model' && break; i=$((i+1)); done
sleep 1; kill -INT $p; wait $p; echo up=$?` + simLeft)
	for _, want := range []string{"up=130", "weft: interrupted; what was started is stopped and removed on every node"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "LEFT:") || strings.Contains(out, "RUNS:") {
		t.Errorf("something is left:\n%s", out)
	}
}

// TestServeLocalDown: what somebody changed is left and said; without weft's own folder the
// nodes know what to remove; a node that does not answer is not forgotten.
func TestServeLocalDown(t *testing.T) {
	t.Parallel()
	s := newSim(t, true)
	out := s.run(simUp + `; echo up=$?
ssh -- vm2 'echo "# mine" >>/etc/systemd/system/weft-serve-model-ray.service'
mv vm2.pid vm2.away; ./weft serve down; echo away=$?; mv vm2.away vm2.pid
rm -rf .weft
./weft serve down model --json; echo down=$?
ssh -- vm2 'rm /etc/systemd/system/weft-serve-model-ray.service'
./weft serve down model; echo nothing=$?` + simLeft)
	for _, want := range []string{"up=0", "away=3", "down=1", "it was changed since weft wrote it", "nothing=2", "neither this folder nor a node of weft.yaml knows"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "LEFT:") || strings.Contains(out, "RUNS:") {
		t.Errorf("something is left:\n%s", out)
	}
}

// TestServeLocalLost: a node that goes away while it starts ends the start, and is not
// forgotten.
func TestServeLocalLost(t *testing.T) {
	t.Parallel()
	s := newSim(t, true)
	out := s.run(fails("slow") + simUp + `--silence 1h & p=$!
i=0; while [ $i -lt 60 ]; do sleep 0.5; ssh -- vm1 'systemctl is-active -q weft-serve-model' && break; i=$((i+1)); done
mv vm2.pid vm2.away; wait $p; echo up=$?; mv vm2.away vm2.pid
./weft serve down; echo down=$?` + simLeft)
	for _, want := range []string{"up=1", "node.lost", "the node has not answered for", "fail  vm2 could not be asked", "weft serve down model", "down=0"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "LEFT:") || strings.Contains(out, "RUNS:") {
		t.Errorf("something is left:\n%s", out)
	}
}

// TestServeLocalCrash: an engine that dies later is started again, said, and bounded.
func TestServeLocalCrash(t *testing.T) {
	t.Parallel()
	s := newSim(t, true)
	out := s.run(simUp + `; echo up=$?
` + fails("oom") + `ssh -- vm1 'kill -9 $(systemctl show -p MainPID --value weft-serve-model)'; i=0; while [ $i -lt 60 ]; do sleep 1; ssh -- vm1 'systemctl is-failed -q weft-serve-model' && break; i=$((i+1)); done
./weft serve status; echo status=$?
./weft serve status --json
./weft serve down; echo down=$?` + simLeft)
	for _, want := range []string{"up=0", "status=1", "does not serve", "failed, status 1", "gpu.oom", "down=0"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if _, doc, ok := strings.Cut(out, "status=1\n"); ok {
		var v struct {
			Kind  string
			Parts []struct {
				Restarts int
				Active   string
			}
		}
		if err := json.NewDecoder(strings.NewReader(doc)).Decode(&v); err != nil || v.Kind != "serve status" || len(v.Parts) != 3 {
			t.Errorf("%v %+v", err, v)
		}
	}
}

// TestServeLocalOther: vLLM's own executor and llama.cpp's RPC start without Ray.
func TestServeLocalOther(t *testing.T) {
	t.Parallel()
	s := newSim(t, true)
	out := s.run(simUp + `--executor own; echo own=$?
./weft serve down
./weft serve up /opt/standin/model.gguf --engine llamacpp-rpc --bare /opt/standin --pp 2 --context 2048 --yes --accept proof.none,node.clock; echo llama=$?
./weft serve status; ./weft serve down` + simLeft)
	for _, want := range []string{"own=0", "its own executor", "llama=0", "RPC server", "RPC goes over TCP"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "LEFT:") || strings.Contains(out, "RUNS:") {
		t.Errorf("something is left:\n%s", out)
	}
}

// TestServeLocalByHand: without systemd, in containers (here: a script that stands in for
// podman), with Ray's engine inside the container of its head.
func TestServeLocalByHand(t *testing.T) {
	t.Parallel()
	s := newSim(t, true)
	if withSystemd {
		t.Skip("it is about no systemd")
	}
	by := "./weft serve up stand-in/model --image stand/in:1 --runtime podman --units run --tp 2 --context 2048 --yes --accept proof.none,node.clock"
	out := s.run(by + `; echo up=$?
./weft serve status; echo status=$?
./weft serve down; echo down=$?
` + fails("oom") + by + `; echo oom=$?
for h in vm1 vm2; do ssh -- $h 'ls /run/sim/pod | sed s/^/LEFT:/'; done` + simLeft)
	for _, want := range []string{"up=0", "in podman, without systemd", "status=0", "down=0", "oom=1", "gpu.oom"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "LEFT:") || strings.Contains(out, "RUNS:") {
		t.Errorf("something is left:\n%s", out)
	}
}
