package report

import (
	"strings"
	"testing"

	"weft/internal/fact"
	"weft/internal/forecast"
	"weft/internal/load"
)

func benchMs(f float64) fact.Val[forecast.Ms] { return fact.Some(forecast.Ms(f)) }

// The whole text, with a failure at two levels, few numbers, and names that play tricks.
func TestBenchText(t *testing.T) {
	some := load.Times{Count: 8, Mean: benchMs(31), P50: benchMs(30), Max: benchMs(120)}
	many := load.Times{Count: 2000, Mean: benchMs(3), P50: benchMs(2.5), P90: benchMs(4), P99: benchMs(12.34), P999: benchMs(0.125), Max: benchMs(200)}
	failure := load.Failure{Class: load.Broken, Why: "it ended before the text did\x1b[31m", Count: 2}
	one := load.Level{
		Concurrency: 1, OK: 8, Failed: 2, Requests: fact.Some(0.5), Tokens: fact.Some(64.0), Each: fact.Some(65.5),
		First: some, PerToken: some, Between: many, Whole: many, Failures: []load.Failure{failure},
		Forecast: &load.Expected{Each: 100, Low: 80, High: 115, First: 19.5, Layout: forecast.Layout{TP: 2, PP: 1, Replicas: 1}, Fits: true, Verdict: "below"},
	}
	two := one
	two.Concurrency, two.Forecast, two.Unfinished = 16, nil, 3
	two.Failures = []load.Failure{failure, {Class: load.Status, Why: "HTTP 503: busy", Count: 1}}
	two.Tokens, two.Each, two.PerToken = fact.Val[float64]{}, fact.Val[float64]{}, load.Times{}
	r := Bench{Bench: load.Bench{Source: "weft", URL: "http://127.0.0.1:8000", Model: "m<script>\x1b]0;x", API: "chat", Prompt: 512, Output: 128, Seed: 7, Cut: true, Levels: []load.Level{one, two}, Says: []string{"a note"}}, Kept: ".weft/benches/x.json", Next: "weft why --model m"}
	var b strings.Builder
	if err := r.Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	want := `http://127.0.0.1:8000, m<script>�]0;x, chat, prompts of 512 tokens, answers of 128, seed 7

at once  requests  failed  requests/s  tokens/s  of each  forecast of each
1        10        2       0.50        64.0      65.5     100 (80.0 to 115)
16       10        2       0.50        –         –

milliseconds: the median of each, and what 99 of 100 stay below
at once  first token  p99      a token  p99      between  p99   p99.9  a request  p99
1        30.0         max 120  30.0     max 120  2.50     12.3  0.125  2.50       12.3
16       30.0         max 120  –        –        2.50     12.3  0.125  2.50       12.3

not over yet: 3 (16 at once)

failed  4 requests: broken stream: it ended before the text did�[31m (1, 16 at once)
failed  1 request: HTTP 503: busy (16 at once)

one sequence alone: 65.5 tokens/s, less than what was forecast for tp 2: 80.0 to 115
its first token: 30.0 ms, forecast roughly 19.5 ms

a note
interrupted: this is what was measured until then
kept in .weft/benches/x.json
next:
    weft why --model m
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Nothing measured is said, and no table without rows is written.
func TestBenchEmpty(t *testing.T) {
	var b strings.Builder
	if err := (Bench{Bench: load.Bench{Source: "another tool, in x"}}).Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.HasPrefix(got, "–, measured by another tool, in x\n\nnothing was measured\n") {
		t.Errorf("%q", got)
	}
}
