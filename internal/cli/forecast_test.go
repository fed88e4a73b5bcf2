package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/dump"
)

// forecastOn runs weft in this process.
func forecastOn(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = Main(append([]string{"forecast"}, args...), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// TestForecastHeldGPU: a GPU that its board slows down makes every figure too good, and
// that is what limits it.
func TestForecastHeldGPU(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "demo", "clusters", "spark-ws.dump"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := dump.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	const idle, held = "<clocks_event_reason_hw_slowdown>Not Active", "<clocks_event_reason_hw_slowdown>Active"
	changed := false
	for _, n := range d.Nodes {
		for path, text := range n.Text {
			if strings.Contains(text, idle) && !changed {
				n.Text[path] = strings.Replace(text, idle, held, 1)
				changed = true
			}
		}
	}
	if !changed {
		t.Fatal("the dump of the demo does not tell why clocks are low")
	}
	path := filepath.Join(t.TempDir(), "held.dump")
	if err := os.WriteFile(path, d.Format(), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := forecastOn("--model", "Llama-3.1-8B", "-F", path)
	if code != 0 || !strings.Contains(out, "clock/power") || !strings.Contains(out, "weft explain gpu.clamp") {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
}

// TestForecastProof: the all-reduce of a proof in place of the constants, and said so.
func TestForecastProof(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.json")
	proof := `{"schema":1,"kind":"proof","id":"20261115-130501","made":"2026-11-15T13:05:01Z","nodes":[],"trials":["nccl.allreduce"],"cells":[{"trial":"nccl.allreduce","got":8000000000,"collective":{"nodes":2,"ranks":2,"program":"nccl-tests","rows":[{"bytes":16384,"seconds":[0.0000317],"bus":[1]}]}}],"problems":[]}`
	if err := os.WriteFile(path, []byte(proof), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := forecastOn("--model", "Llama-3.1-8B", "--hardware", "2x gb10", "--proof", path)
	if code != 0 || !strings.Contains(out, "64 collectives of 32 µs") || !strings.Contains(out, "proof 20261115-130501: all-reduce of 16384 bytes among 2 nodes") {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
	if code, _, errOut := forecastOn("--model", "Llama-3.1-8B", "--hardware", "2x gb10", "--proof", "nowhere"); code != 2 || !strings.Contains(errOut, "weft prove nccl.allreduce") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

// TestForecastShared evaluates the published measurements end to end.
func TestForecastShared(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "throughput.csv")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared data beside the repository: %v", err)
	}
	code, out, errOut := forecastOn("eval", path)
	if code != 0 || !strings.Contains(out, "34 rows\nabsolute error: median ") {
		t.Errorf("exit code %d\n%s%s", code, out, errOut)
	}
}
