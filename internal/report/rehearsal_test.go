package report

import (
	"strings"
	"testing"

	"weft/internal/rehearsal"
)

// TestRehearsal: a column for each transport, what could not be done with its reason, and
// nothing of a node's text reaches the terminal as it is.
func TestRehearsal(t *testing.T) {
	r := Rehearsal{Rehearsal: rehearsal.Rehearsal{
		Model: "Llama-3.1-70B", Batch: 1, Layout: rehearsal.Layout{TP: 2, PP: 2}, Nodes: []string{"a", "b", "c", "d"}, Rail: "10.0.0.0/24",
		Syncs: []rehearsal.Sync{
			{Kind: "all-reduce", Bytes: 16384, Nodes: 2, Transport: "rdma", How: "one-shot", Count: 160, Micros: rehearsal.Micros{Median: 9.04, P99: 21}},
			{Kind: "hop", Bytes: 16384, Nodes: 2, Transport: "rdma", Count: 2, Micros: rehearsal.Micros{Median: 5, P99: 7}},
			{Kind: "all-reduce", Bytes: 16384, Nodes: 2, Transport: "tcp", How: "star", Count: 160, Micros: rehearsal.Micros{Median: 61, P99: 1500}},
		},
		Tokens: []rehearsal.Tokens{
			{Transport: "rdma", Steps: 164, Micros: rehearsal.Micros{Median: 1500, P99: 1600}, PerSecond: 666.7, Carried: "mlx5_0/1"},
			{Transport: "tcp", Steps: 164, Micros: rehearsal.Micros{Median: 10_500, P99: 2e6}, PerSecond: 95.2},
		},
		Left: []string{"rail \x1b[31m10.0.1.0/24: one rail is rehearsed"},
	}, Next: "weft forecast --model Llama-3.1-70B"}
	var b strings.Builder
	if err := r.Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	want := `Llama-3.1-70B on 4 nodes, tp 2, pp 2, batch 1: 164 exchanges a token, rail 10.0.0.0/24

                                     RDMA                          TCP
all-reduce of 16 KiB, 160 of them    9.0 µs (p99 21 µs), one-shot  61 µs (p99 1.5 ms), star
hop of 16 KiB, 2 of them             5.0 µs (p99 7.0 µs)           -
a token                              1.5 ms (p99 1.6 ms)           10.5 ms (p99 2.0 s)
tokens/s at most                     667                           95.2
carried by                           mlx5_0/1                      ?

Over TCP a token's exchanges take 7.0 times as long as over RDMA.
No GPU computed anything: this is what the network alone takes, and so a ceiling.
not rehearsed: rail �[31m10.0.1.0/24: one rail is rehearsed
next:
    weft forecast --model Llama-3.1-70B
`
	squeeze := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", " | ")), " ") }
	if got := b.String(); squeeze(got) != squeeze(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("an escape of a node's text came through")
	}
	r.Tokens, r.Left = nil, []string{"no rail"}
	b.Reset()
	if err := r.Text(&b, Options{}); err != nil || !strings.Contains(b.String(), "not rehearsed: no rail") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}
