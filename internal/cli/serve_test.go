package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/demo"
)

// prints are launches that testdata/serve holds whole: those of the documents' clusters, one
// in each of the ways that weft starts things. UPDATE=1 rewrites them.
var prints = []struct {
	name, cluster string
	args          []string
}{
	{"spark-ws", "spark-ws", []string{"Qwen/Qwen3-30B-A3B-FP8"}},
	{"strix-tp", "strix-tp", []string{"Qwen/Qwen3-235B-A22B", "--quant", "w4a16", "--units", "quadlet"}},
	{"ib-lab", "ib-lab", []string{"Qwen/Qwen3-14B", "-n", "r730a,r730b", "--tp", "1", "--pp", "3"}},
	{"ib-lab-llama", "ib-lab", []string{"/models/Qwen3-8B-Q4_K_M.gguf", "--engine", "llamacpp-rpc", "--bare", "/opt/llama.cpp/bin"}},
	{"kai-rack-own", "kai-rack", []string{"Qwen/Qwen3-235B-A22B", "--executor", "own", "-n", "kai1,kai2", "--", "--enable-expert-parallel"}},
	{"kai-rack-sglang", "kai-rack", []string{"Qwen/Qwen3-235B-A22B", "--engine", "sglang", "--image", "lmsysorg/sglang:v0.5.3", "--units", "run", "-n", "kai1,kai2"}},
}

func TestServePrint(t *testing.T) {
	for _, x := range prints {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			var c demo.Cluster
			for _, d := range demo.All() {
				if d.Name == x.cluster {
					c = d
				}
			}
			for ext, b := range map[string][]byte{".dump": c.Dump(), ".yaml": c.Spec()} {
				if err := os.WriteFile(filepath.Join(dir, c.Name+ext), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := filepath.Abs("testdata/serve/" + x.name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			args := append([]string{"serve", "up", "--print", "-F", c.Name + ".dump", "-c", c.Name + ".yaml"}, x.args...)
			code, out, errOut := weft(t, args...)
			if code != exitYes && code != exitNo {
				t.Fatalf("exit %d\n%s%s", code, out, errOut)
			}
			out = "$ weft " + strings.Join(args, " ") + "\n" + out
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), out); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if code2, again, _ := weft(t, args...); code2 != code || "$ weft "+strings.Join(args, " ")+"\n"+again != out {
				t.Error("printed twice, it differs")
			}
		})
	}
}

func TestServePrintJSON(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "x.dump")
	if err := os.WriteFile(dump, demo.All()[4].Dump(), 0o600); err != nil {
		t.Fatal(err)
	}
	_, out, errOut := weft(t, "serve", "up", "Qwen/Qwen3-30B-A3B", "--print", "--json", "-F", dump)
	var doc struct {
		Kind  string
		Fit   struct{ TP, PP int }
		Nodes []struct {
			Parts []struct{ Start string }
			Files []struct{ Path string }
		}
		Order []struct{ Do string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Kind != "serve plan" || len(doc.Nodes) != 2 || len(doc.Order) < 8 || doc.Nodes[0].Parts[0].Start == "" {
		t.Errorf("%v %s%s", err, out, errOut)
	}
}

// TestServeBadInput: bad flags, hostile names and models are refused, in words, and nothing
// is asked of any node.
func TestServeBadInput(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "x.dump")
	if err := os.WriteFile(dump, demo.All()[4].Dump(), 0o600); err != nil {
		t.Fatal(err)
	}
	ibLab := filepath.Join(t.TempDir(), "ib-lab.dump")
	if err := os.WriteFile(ibLab, demo.All()[2].Dump(), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "two lines")
	if err := os.WriteFile(secret, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"serve", "up"}, 2, "requires at least 1 arg"},
		{[]string{"serve", "up", "a", "b"}, 2, "one model at a time"},
		{[]string{"serve", "up", "a\x1b[31mb", "--print", "-F", dump}, 1, "characters that no unit can hold"},
		{[]string{"serve", "up", "--print", "-F", dump, "--", "-x"}, 1, "starts with a dash"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--print", "-F", ibLab}, 1, "vllm does not run on r720's Tesla P4 (Pascal)"},
		{[]string{"serve", "up", "Qwen/Qwen3-14B", "-n", "r730a,r730b", "--tp", "1", "--pp", "3", "--executor", "own", "--print", "-F", ibLab}, 1, "every node must have as many"},
		{[]string{"serve", "up", "m", "--engine", "<script>", "--print", "-F", dump}, 1, "engine"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--name", "../../etc", "--print", "-F", dump}, 1, "want small letters"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--bare", "/x", "--image", "y", "--print", "-F", dump}, 1, "want one of them"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--bare", "x", "--print", "-F", dump}, 1, "want a full path"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--models", "/a:/etc", "--print", "-F", dump}, 1, "want a full path of plain characters"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--units", "quadlet", "--runtime", "docker", "--print", "-F", dump}, 1, "quadlets are podman's"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--runtime", "podman", "--print", "-F", dump}, 1, "podman is not on"},
		{[]string{"serve", "up", "nobody/knows-it", "--print", "-F", dump}, 1, "what fits cannot be foreseen"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--tp", "3", "--print", "-F", dump}, 1, ""},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--listen", "nonsense", "--print", "-F", dump}, 2, "--listen nonsense"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--listen", ":99999", "--print", "-F", dump}, 2, "port"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--eager", "maybe", "--print", "-F", dump}, 2, "--eager maybe"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--deadline", "1s", "--print", "-F", dump}, 2, "--deadline 1s"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--accept", "everything", "--print", "-F", dump}, 2, "no check and no reason is called so"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--token-file", secret, "--print", "-F", dump}, 2, "want one line"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--api-key-file", "/not/there", "--print", "-F", dump}, 2, "no such file"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "--print", "-F", dump, "--", "--api-key", "x"}, 1, "would show the key"},
		{[]string{"serve", "up", "Qwen/Qwen3-8B", "-F", dump}, 2, "it starts things on nodes"},
		{[]string{"serve", "up", "DeepSeek-R1", "--print", "-F", dump}, 1, "does not fit"},
		{[]string{"serve", "down", "../x"}, 2, "is no name"},
		{[]string{"serve", "status"}, 2, "nothing was started from this folder"},
		{[]string{"serve", "logs", "--since", "-1s"}, 2, "--since"},
	} {
		t.Chdir(t.TempDir())
		code, out, errOut := weft(t, x.args...)
		if code != x.code || !strings.Contains(errOut, x.says) || strings.Contains(out+errOut, "\x1b") {
			t.Errorf("weft %q: exit %d, want %d with %q\n%s%s", x.args, code, x.code, x.says, out, errOut)
		}
	}
}

func TestServeListen(t *testing.T) {
	for in, want := range map[string]string{"": "invalid IP 0", ":9000": "invalid IP 9000", "10.0.0.1": "10.0.0.1 0", "10.0.0.1:81": "10.0.0.1 81", "::1": "::1 0", "[::1]:82": "::1 82", "[::1]": "::1 0", "0.0.0.0": "0.0.0.0 0"} {
		f := serveFlags{listen: in}
		if err := f.readListen(); err != nil || fmt.Sprint(f.Listen, " ", f.Port) != want && fmt.Sprint(f.Listen, f.Port) != want {
			t.Errorf("%q is %v %d, %v; want %s", in, f.Listen, f.Port, err, want)
		}
	}
	for _, bad := range []string{"nonsense", ":0", ":99999", ":-1", "10.0.0.1:0", "10.0.0.1:x", "host:80"} {
		f := serveFlags{listen: bad}
		if err := f.readListen(); err == nil {
			t.Errorf("%q is %v %d", bad, f.Listen, f.Port)
		}
	}
}
