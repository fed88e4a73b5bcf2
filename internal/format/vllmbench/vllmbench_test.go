package vllmbench

import (
	"errors"
	"strings"
	"testing"

	"weft/internal/fixture"
)

func is(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	switch {
	case got == nil:
		t.Errorf("%s: none, want %v", what, want)
	case *got != want:
		t.Errorf("%s: %v, want %v", what, *got, want)
	}
}

// The table of two unlike machines, as its owner printed it.
func TestFixture(t *testing.T) {
	all, err := Read(fixture.Read(t, "vllm_bench_serve_hetero_fp8_30b.txt"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	r := all[0]
	is(t, "requests", r.OK, 20)
	is(t, "seconds", r.Seconds, 115.36)
	is(t, "tokens/s", r.Tokens, 341.15)
	is(t, "first token", r.First.Mean, 171)
	is(t, "a token", r.PerToken.Mean, 53.08)
	if r.Concurrency != nil || r.PerToken.P50 != nil || r.Failed != nil {
		t.Errorf("what it does not say: %+v", r)
	}
}

// constructed after what versions of both print: the names, and where they stand.
const several = `Namespace(backend='vllm', model='Qwen/Qwen2.5-7B', max_concurrency=8, seed=0)
Traffic request rate: inf
Maximum request concurrency: 8
============ Serving Benchmark Result ============
Successful requests:                     64
Failed requests:                         1
Benchmark duration (s):                  12.50
Total input tokens:                      65,536
Total generated tokens:                  8192
Request throughput (req/s):              5.12
Output token throughput (tok/s):         655.36
Peak output token throughput (tok/s):    700.00
Total Token throughput (tok/s):          5898.24
---------------Time to First Token----------------
Mean TTFT (ms):                          71.54
Median TTFT (ms):                        70.00
P99 TTFT (ms):                           99.00
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          11.00
Median TPOT (ms):                        10.00
P99.9 TPOT (ms):                         12.00
---------------Inter-token Latency----------------
Mean ITL (ms):                           nan
Median ITL (ms):                         9.50
==================================================
# ============ Serving Benchmark Result ============
# Backend:                                 sglang
# Max request concurrency:                 not set
# Successful requests:                     2
# Benchmark duration (s):                  1.5
# Output token throughput (tok/s):         20
# Mean E2E Latency (ms):                   500.5
# Max ITL (ms):                            77
# ==================================================
Maximum request concurrency: 3
`

func TestText(t *testing.T) {
	all, err := Read([]byte(several))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	a, b := all[0], all[1]
	if a.Line != 4 || a.Model != "Qwen/Qwen2.5-7B" || a.Between.Mean != nil {
		t.Errorf("%+v", a)
	}
	is(t, "at once", a.Concurrency, 8)
	is(t, "failed", a.Failed, 1)
	is(t, "input", a.Input, 65536)
	is(t, "output", a.Output, 8192)
	is(t, "requests/s", a.Requests, 5.12)
	is(t, "median", a.First.P50, 70)
	is(t, "p99", a.First.P99, 99)
	is(t, "p99.9", a.PerToken.P999, 12)
	is(t, "between", a.Between.P50, 9.5)
	if b.Backend != "sglang" || b.Concurrency != nil {
		t.Errorf("%+v", b)
	}
	is(t, "whole", b.Whole.Mean, 500.5)
	is(t, "longest", b.Between.Max, 77)
}

func TestJSON(t *testing.T) {
	all, err := Read([]byte(`{"model_id": "m", "endpoint_type": "openai-chat", "completed": 3, "max_concurrency": null, "duration": 2,
 "output_throughput": 30.5, "median_tpot_ms": 4, "p99.9_itl_ms": 9, "ttfts": [1, 2], "errors": [""]}
{"model_id": "n", "completed": 4, "max_concurrency": 2, "output_throughput": 31}
`))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	if all[0].Model != "m" || all[0].Backend != "openai-chat" || all[0].Concurrency != nil || all[1].Line != 3 {
		t.Errorf("%+v", all)
	}
	is(t, "tokens/s", all[0].Tokens, 30.5)
	is(t, "p99.9", all[0].Between.P999, 9)
	is(t, "at once", all[1].Concurrency, 2)
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ErrNot.Error()},
		{"hello: world", ErrNot.Error()},
		{"== Serving Benchmark Result ==\n", ErrNot.Error()},
		{`{"a": 1}`, ErrNot.Error()},
		{"\n== Serving Benchmark Result ==\nOutput token throughput (tok/s): quick", `line 3: output token throughput "quick": want a number`},
		{"== Serving Benchmark Result ==\nMean TPOT (ms): -1", "line 2: "},
		{`{"output_throughput": "fast"}`, "line 1: output_throughput: want a number"},
		{`{"output_throughput": 1e300}`, "want a number"},
		{`{"output_throughput": 1`, "line 1: "},
	} {
		if _, err := Read([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// Whatever comes, results are few, finite and not negative.
func FuzzRead(f *testing.F) {
	fixture.Seed(f, "vllm_bench_serve_*.txt")
	f.Add([]byte(several))
	f.Add([]byte(`{"model_id": "m", "output_throughput": 3, "p99_itl_ms": 4}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := Read(b)
		if (err == nil) != (len(all) > 0) {
			t.Fatalf("%d results and %v", len(all), err)
		}
		if errors.Is(err, ErrNot) && len(all) > 0 {
			t.Fatal("results, and none")
		}
		for _, r := range all {
			for _, at := range []*float64{r.Tokens, r.OK, r.Seconds, r.Concurrency, r.First.Mean, r.PerToken.P50, r.Between.P99} {
				if at != nil && !(*at >= 0 && *at <= most) {
					t.Fatalf("%v in %+v", *at, r)
				}
			}
		}
	})
}
