package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRehearseRefuses: what cannot be rehearsed is said before any node is asked.
func TestRehearseRefuses(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"rehearse", "which model?"},
		{"rehearse --model Qwen2.5-7", "Qwen2.5-7B"},
		{"rehearse --bytes 16", "one node exchanges nothing"},
		{"rehearse --bytes 15", "an even number"},
		{"rehearse --bytes many", "is no size"},
		{"rehearse --bytes 1TiB", "want an even number from 2 to"},
		{"rehearse --model Qwen2.5-7B --tp -2", "--tp -2"},
		{"rehearse --model Qwen2.5-7B --tp 4", "takes 4 nodes: there are 1"},
		{"rehearse --model Qwen2.5-7B --bytes 16", "model bytes"},
		{"rehearse --model Qwen2.5-7B -F some.dump", "it measures nodes"},
	} {
		var out, errs bytes.Buffer
		code := Main(strings.Fields(c.args), strings.NewReader(""), &out, &errs)
		if code != exitTrouble || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
			t.Errorf("weft %s: exit code %d, want %d and %q:\n%s%s", c.args, code, exitTrouble, c.want, &out, &errs)
		}
	}
}

// TestForecastRehearsal: the collectives of a rehearsal in place of the constants, and said
// so; the last one when none is named.
func TestForecastRehearsal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	kept := `{"schema":1,"kind":"rehearsal","id":"20261115-163000","nodes":["a","b"],"syncs":[{"kind":"all-reduce","bytes":16384,"nodes":2,"transport":"rdma","micros":{"median":123,"p99":200}},{"kind":"hop","bytes":8192,"nodes":2,"transport":"rdma","micros":{"median":1,"p99":2}}]}`
	if err := os.WriteFile(path, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--model", "Llama-3.1-70B", "--hardware", "2x gb10", "--tp", "2"}
	code, out, errs := forecastOn(append(args, "--rehearsal", path)...)
	if code != 0 || !strings.Contains(out, "a collective takes what rehearsal 20261115-163000: 16384 bytes among 2 nodes in 123 µs") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if code, out, _ := forecastOn(args...); code != 0 || strings.Contains(out, "rehearsal") {
		t.Errorf("without one: exit code %d\n%s", code, out)
	}
	if code, _, errs := forecastOn(append(args, "--rehearsal", "last")...); code != exitTrouble || !strings.Contains(errs, "weft rehearse --model Llama-3.1-70B") {
		t.Errorf("none was kept: exit code %d\n%s", code, errs)
	}
	if code, _, errs := forecastOn(append(args, "--link", "100g-tcp", "--rehearsal", path)...); code != exitTrouble || !strings.Contains(errs, "no all-reduce over tcp") {
		t.Errorf("another transport: exit code %d\n%s", code, errs)
	}
}
