package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/bench/standin"
	"weft/internal/fixture"
	"weft/internal/job"
	"weft/internal/load"
	"weft/internal/store"
)

// benchRun runs weft serve bench in a folder of its own.
func benchRun(t *testing.T, ctx context.Context, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &o, err: &e}
	root := a.root()
	root.SetArgs(append([]string{"serve", "bench"}, args...))
	root.SetOut(&o)
	root.SetErr(&e)
	if err := root.ExecuteContext(ctx); err != nil {
		e.WriteString("weft: " + err.Error() + "\n")
		if t, ok := err.(*trouble); ok {
			e.WriteString("next: " + t.next + "\n")
			return t.code, o.String(), e.String()
		}
		return exitTrouble, o.String(), e.String()
	}
	return a.code, o.String(), e.String()
}

func standIn(t *testing.T, st *standin.Server) string {
	t.Helper()
	t.Chdir(t.TempDir())
	at, err := st.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return at
}

// The whole of it: measured, compared, kept, and taken up by weft why.
func TestServeBench(t *testing.T) {
	at := standIn(t, &standin.Server{Models: []string{"Qwen/Qwen2.5-7B-Instruct"}, Owner: "vllm", First: 5 * time.Millisecond, Gap: 10 * time.Millisecond})
	code, out, errs := benchRun(t, t.Context(), at+"/v1/", "--concurrency", "1,2", "--requests", "3", "--output-tokens", "10", "--prompt-tokens", "50", "--hardware", "h100", "--seed", "42")
	if code != exitYes {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{
		at + ", Qwen/Qwen2.5-7B-Instruct, chat, prompts of 50 tokens, answers of 10, seed 42",
		"at once  requests  failed  requests/s  tokens/s  of each  forecast of each",
		"one sequence alone: ", "less than what was forecast for one rank", "kept in ", "\nnext:\n    weft why --model Qwen/Qwen2.5-7B-Instruct --hardware h100\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	kept, _ := filepath.Glob(".weft/benches/*.json")
	if len(kept) != 1 {
		t.Fatalf("kept %q", kept)
	}
	text, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := load.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	alone, ok := b.Alone()
	if !ok || b.Model != "Qwen/Qwen2.5-7B-Instruct" || b.Seed != 42 || alone.OK != 3 || alone.Outputs != 30 || alone.Prompts != 150 || alone.Forecast.Verdict != "below" {
		t.Errorf("%+v", b)
	}
	var o, e bytes.Buffer
	if code := Main([]string{"why", "--model", "Qwen2.5-7B", "--hardware", "h100", "--json"}, strings.NewReader(""), &o, &e); code != exitYes {
		t.Fatalf("why: exit code %d: %s", code, e.String())
	}
	var doc struct {
		Measured float64  `json:"measured"`
		Context  int      `json:"context"`
		Says     []string `json:"says"`
	}
	if err := json.Unmarshal(o.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Measured != alone.Each.Or(0) || doc.Context != 55 || !strings.Contains(strings.Join(doc.Says, "\n"), "of bench "+b.ID+", one request at a time") {
		t.Errorf("why: %+v, want %v tokens/s", doc, alone.Each)
	}
	// Of another model nothing was measured.
	o.Reset()
	e.Reset()
	if code := Main([]string{"why", "--model", "gpt-oss-120b", "--hardware", "h100"}, strings.NewReader(""), &o, &e); code != exitTrouble || !strings.Contains(e.String(), "no measurement") {
		t.Errorf("why of another model: exit code %d: %s", code, e.String())
	}
	// What is said by hand comes first.
	o.Reset()
	e.Reset()
	if Main([]string{"why", "--model", "Qwen2.5-7B", "--hardware", "h100", "--measured", "50"}, strings.NewReader(""), &o, &e); !strings.Contains(o.String(), "50.0 tokens/s measured") {
		t.Errorf("why with --measured:\n%s%s", o.String(), e.String())
	}
}

// Without a flag and without an address it measures the server where engines listen.
func TestServeBenchFirstRun(t *testing.T) {
	t.Chdir(t.TempDir())
	st := &standin.Server{Addr: strings.TrimPrefix(usualServer, "http://")}
	if _, err := st.Start(); err != nil {
		t.Skipf("somebody listens at %s: %v", usualServer, err)
	}
	t.Cleanup(st.Close)
	code, out, errs := benchRun(t, t.Context())
	if code != exitYes || !strings.Contains(out, "http://127.0.0.1:8000, stand-in, chat, prompts of 512 tokens, answers of 128, seed ") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for _, row := range []string{"\n1        8         0", "\n2        8         0", "\n4        16        0", "\n8        32        0", "\n16       64        0"} {
		if !strings.Contains(out, row) {
			t.Errorf("no row %q in:\n%s", row, out)
		}
	}
}

// One document, and a stream of events.
func TestServeBenchJSON(t *testing.T) {
	at := standIn(t, &standin.Server{})
	code, out, errs := benchRun(t, t.Context(), at, "--concurrency", "2", "--requests", "4", "--output-tokens", "8", "--json")
	var doc struct {
		Schema int          `json:"schema"`
		Kind   string       `json:"kind"`
		Says   []string     `json:"says"`
		Levels []load.Level `json:"levels"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitYes {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
	}
	if doc.Schema != 1 || doc.Kind != "bench" || len(doc.Levels) != 1 || doc.Levels[0].OK != 4 || doc.Levels[0].First.P99.Known() || !doc.Levels[0].First.P50.Known() {
		t.Errorf("%+v", doc)
	}
	if !strings.Contains(strings.Join(doc.Says, "\n"), `not compared with the forecast: model "stand-in" is not known`) {
		t.Errorf("says %q", doc.Says)
	}
	_, out, _ = benchRun(t, t.Context(), at, "--concurrency", "1,2", "--requests", "2", "--output-tokens", "4", "--jsonl", "--no-forecast")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"kind":"level"`) || !strings.Contains(lines[2], `"kind":"bench"`) {
		t.Errorf("events:\n%s", out)
	}
}

// The key is sent, and never shown.
func TestServeBenchKey(t *testing.T) {
	st := &standin.Server{Token: "sesame-4711"}
	at := standIn(t, st)
	t.Setenv(keyVariable, "")
	code, out, errs := benchRun(t, t.Context(), at, "--requests", "1", "--concurrency", "1")
	if code != exitIncomplete || !strings.Contains(errs, "HTTP 401") || !strings.Contains(errs, keyVariable) {
		t.Errorf("without: exit code %d: %s%s", code, out, errs)
	}
	t.Setenv(keyVariable, "wrong-0815")
	if code, out, errs = benchRun(t, t.Context(), at); code != exitIncomplete || strings.Contains(out+errs, "0815") {
		t.Errorf("wrong: exit code %d: %s%s", code, out, errs)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sesame-4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs = benchRun(t, t.Context(), at, "--requests", "1", "--concurrency", "1", "--output-tokens", "4", "--api-key-file", file, "--json")
	if code != exitYes || strings.Contains(out+errs, "4711") {
		t.Errorf("from a file: exit code %d: %s%s", code, out, errs)
	}
	kept, _ := filepath.Glob(".weft/benches/*.json")
	if b, err := os.ReadFile(kept[0]); err != nil || bytes.Contains(b, []byte("4711")) {
		t.Errorf("%v: the key is in what was kept", err)
	}
	for _, a := range st.Asked {
		if a.Auth != "Bearer sesame-4711" {
			t.Errorf("sent %q", a.Auth)
		}
	}
}

// Failures are counted and shown as text, whatever is in them.
func TestServeBenchFailures(t *testing.T) {
	at := standIn(t, &standin.Server{Trouble: func(n int) string {
		if n >= 2 && n%2 == 1 {
			return "status 503"
		}
		return ""
	}})
	code, out, errs := benchRun(t, t.Context(), at, "--concurrency", "1", "--requests", "4", "--warm-up", "0", "--output-tokens", "4", "--no-forecast")
	if code != exitNo || !strings.Contains(out, "failed  2 requests: HTTP 503: the engine is not well") || strings.Contains(out, "\x1b") {
		t.Errorf("exit code %d: %q%s", code, out, errs)
	}
}

// What is wrong with what was typed.
func TestServeBenchTrouble(t *testing.T) {
	at := standIn(t, &standin.Server{Models: []string{"one", "two\x1b[31m"}, Longest: 100})
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"http://127.0.0.1:1", exitIncomplete, "http://127.0.0.1:1: refused: nothing listens there"},
		{"ftp://x", exitTrouble, "want an address like"},
		{"http://user:secret@127.0.0.1:1", exitTrouble, "an address with a password"},
		{at + "?key=1", exitTrouble, "want the root of a server"},
		{at, exitTrouble, "the server has 2 models: one, two"},
		{at + " --model three", exitTrouble, `the server has no model "three"; it has one`},
		{at + " --model one", exitTrouble, "the server takes 100 in all"},
		{at + " --concurrency 0", exitTrouble, "--concurrency 0: want numbers"},
		{at + " --concurrency 1,x", exitTrouble, "want numbers"},
		{at + " --prompt-tokens 0", exitTrouble, "--prompt-tokens 0"},
		{at + " --output-tokens -1", exitTrouble, "--output-tokens -1"},
		{at + " --prompt-tokens 1000000 --concurrency 1,4096", exitTrouble, "too much for the memory"},
		{at + " --api soap", exitTrouble, "want chat or completions"},
		{at + " --requests 1 --for 1s", exitTrouble, "if any flags in the group"},
		{at + " --api-key-file /nowhere", exitTrouble, "no such file"},
		{at + " --api-key-env NOT_SET_ANYWHERE", exitTrouble, "it is not set"},
		{at + " --read x", exitTrouble, "it was measured already"},
		{"--read /nowhere", exitTrouble, "no such file"},
		{at + " --model one --prompt-tokens 20 --output-tokens 4 --forecast-model gpt-oss-120b --hardware 3x-nothing", exitTrouble, "--hardware"},
	} {
		code, out, errs := benchRun(t, t.Context(), strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, want %d and %q: %s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}

// Ctrl-C, as a signal to this process, tells what was measured until then.
func TestServeBenchInterrupted(t *testing.T) {
	st := &standin.Server{Gap: 2 * time.Millisecond}
	at := standIn(t, st)
	st.Trouble = func(n int) string {
		if n == 8 {
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
		return ""
	}
	var out, errs bytes.Buffer
	code := Main([]string{"serve", "bench", at, "--concurrency", "1,2", "--requests", "1000", "--warm-up", "0", "--output-tokens", "20", "--no-forecast"}, strings.NewReader(""), &out, &errs)
	if code != exitInterrupted || !strings.Contains(errs.String(), "weft: interrupted; what was measured until then is above") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if !strings.Contains(out.String(), "interrupted: this is what was measured until then") || !strings.Contains(out.String(), "not over yet: 1 (1 at once)") {
		t.Error(out.String())
	}
	if kept, _ := filepath.Glob(".weft/benches/*.json"); len(kept) != 1 {
		t.Errorf("kept %q", kept)
	}
}

// What vllm bench serve printed is read, by its own flag and like facts.
func TestServeBenchRead(t *testing.T) {
	b := fixture.Read(t, "vllm_bench_serve_hetero_fp8_30b.txt")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bench.txt", b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--read", "--from"} {
		code, out, errs := benchRun(t, t.Context(), flag, "bench.txt", "--model", "Qwen3-30B-A3B", "--json")
		var doc load.Bench
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitYes {
			t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
		}
		l := doc.Levels[0]
		if l.OK != 20 || l.Tokens.Or(0) != 341.15 || l.First.Mean.Or(0) != 171 || l.PerToken.Mean.Or(0) != 53.08 || l.First.P50.Known() || l.Concurrency != 0 {
			t.Errorf("%s: %+v", flag, l)
		}
	}
	_, out, _ := benchRun(t, t.Context(), "--read", "bench.txt", "--model", "Qwen3-30B-A3B")
	for _, want := range []string{"Qwen3-30B-A3B, measured by another tool, in bench.txt", "341", "mean 171", "mean 53.1", "how many requests ran at once is not told"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// What weft serve up started from this folder is asked where it listens, and forecast as
// it was laid out; where it listens on its own node alone, the way there is said.
func TestServeBenchLaunched(t *testing.T) {
	st := &standin.Server{Models: []string{"mine"}, Owner: "vllm", Gap: 4 * time.Millisecond}
	at := standIn(t, st)
	launch := job.Launch{Name: "x", Model: "openai/gpt-oss-120b", Served: "mine", Engine: "vllm", Addr: strings.TrimPrefix(at, "http://"),
		Fit: job.Fit{TP: 2, PP: 1, Eager: true}, Nodes: []job.NodeLaunch{{Node: "spark1", Parts: make([]job.Part, 1)}}}
	b, err := json.Marshal(launch)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.At(".").SaveServe("x", b); err != nil {
		t.Fatal(err)
	}
	args := []string{"--concurrency", "1", "--requests", "2", "--output-tokens", "8", "--hardware", "2x gb10"}
	code, out, errs := benchRun(t, t.Context(), args...)
	for _, want := range []string{at + ", mine, chat", "forecast: tp 2, pp 1, vllm-eager, as weft serve up started it", "what was forecast for tp 2", "weft why --model openai/gpt-oss-120b --hardware '2x gb10' --engine vllm-eager --tp 2 --pp 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("exit code %d: no %q in:\n%s%s", code, want, out, errs)
		}
	}
	var o, e bytes.Buffer
	if code := Main([]string{"why", "--hardware", "2x gb10", "--engine", "vllm-eager"}, strings.NewReader(""), &o, &e); code > exitNo || !strings.Contains(o.String(), "of bench ") || !strings.Contains(o.String(), "gpt-oss-120b") {
		t.Errorf("why without a model: exit code %d: %s%s", code, o.String(), e.String())
	}
	st.Close()
	code, _, errs = benchRun(t, t.Context(), args...)
	if code != exitIncomplete || !strings.Contains(errs, "next: weft serve status") {
		t.Errorf("on this machine: exit code %d: %s", code, errs)
	}
	if err := os.WriteFile("weft.yaml", []byte("nodes:\n  - name: spark1\n    ssh: me@spark1.lan\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs = benchRun(t, t.Context(), args...)
	if code != exitIncomplete || !strings.Contains(errs, "next: ssh -N -L ") || !strings.Contains(errs, " me@spark1.lan") {
		t.Errorf("on another: exit code %d: %s", code, errs)
	}
}
