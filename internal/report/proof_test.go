package report

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/trial"
)

// madeProof is four nodes of which the last sends slowly, with everything that a proof can
// have.
func madeProof() ProofReport {
	end := func(n int) trial.End { return trial.End{Node: fmt.Sprintf("gpu%d", n), Port: "mlx5_0/1"} }
	r := ProofReport{Proof: trial.Proof{ID: "20261115-130501", Seconds: 12.4, Trials: []string{"rdma.write.bw", "rdma.write.lat", "gpu.membw"}}, Next: "weft explain rdma.write.bw"}
	for a := 1; a <= 4; a++ {
		for b := 1; b <= 4; b++ {
			if a == b {
				continue
			}
			c := trial.Cell{Trial: "rdma.write.bw", Pair: trial.Pair{A: end(a), B: end(b)}, Samples: []trial.Amount{trial.Amount(97.3e9)}}
			c.Verdict = trial.Verdict{Want: fact.Some(trial.Amount(97.6e9)), Limiter: fmt.Sprintf("port rate of %s mlx5_0/1, 100 Gb/s", end(a).Node), Status: check.Pass}
			if a == 4 {
				c.Samples, c.Status = []trial.Amount{41.2e9}, check.Fail
			}
			if a == 2 && b == 3 {
				c.Samples, c.Missing, c.Status = nil, "gpu3: it was lost", check.Unknown
			}
			r.Cells = append(r.Cells, c.Filled())
			if a < b {
				l := trial.Cell{Trial: "rdma.write.lat", Pair: trial.Pair{A: end(a), B: end(b)}, Samples: []trial.Amount{1450}}
				r.Cells = append(r.Cells, l.Filled())
			}
		}
	}
	r.Cells = append(r.Cells, trial.Cell{Trial: "gpu.membw", Pair: trial.Pair{A: trial.End{Node: "gpu1"}, B: trial.End{Node: "gpu1"}}, Missing: "no GPU here", Skipped: true, Verdict: trial.Verdict{Status: check.Skip}})
	r.Problems = []trial.Problem{{Trial: "rdma.write.bw", Status: "fail", Kind: "port", At: []trial.End{end(4)}, Way: "sending", Got: "41.2 Gb/s", Want: "97.6 Gb/s",
		Why: "packets are lost", Ruled: []string{"MTU 9000 at both ends"}, Look: []string{"the cable of gpu4 mlx5_0/1", "ethtool -S"}, Cells: 3}}
	r.Left = []string{"gpu5: no route to host"}
	return r
}

func TestProofText(t *testing.T) {
	var b strings.Builder
	if err := madeProof().Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `rdma.write.bw  RDMA writes reach the rate of the path
  mlx5_0/1, Gb/s, from the row's node to the column's
           gpu1   gpu2   gpu3   gpu4
    gpu1      ·   97.3   97.3   97.3
    gpu2   97.3      ·   none   97.3
    gpu3   97.3   97.3      ·   97.3
    gpu4  41.2!  41.2!  41.2!      ·
    lowest 41.2, median 97.3, highest 97.3; expected 97.6: port rate, 100 Gb/s

rdma.write.lat  a small RDMA write is quick
  mlx5_0/1, µs
           gpu1   gpu2   gpu3   gpu4
    gpu1      ·   1.45   1.45   1.45
    gpu2   1.45      ·   1.45   1.45
    gpu3   1.45   1.45      ·   1.45
    gpu4   1.45   1.45   1.45      ·
    lowest 1.45, median 1.45, highest 1.45

gpu.membw  GPU memory is as quick as it should be
  gpu1  skip  no GPU here

fail    rdma.write.bw  gpu4 mlx5_0/1 sending: 41.2 Gb/s, want 97.6 Gb/s: packets are lost
        known to be right: MTU 9000 at both ends
        1. the cable of gpu4 mlx5_0/1
        2. ethtool -S

missing  rdma.write.bw  gpu[2-3]  1 cell: gpu3: it was lost
skip  gpu.membw  gpu1  1 cell: no GPU here
left out: gpu5: no route to host
proof 20261115-130501: 17 of 19 measured in 12 s (3 fail, 1 unknown, 14 pass, 1 skip)
next:
    weft explain rdma.write.bw
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
}

// TestLargeMatrices: seventeen nodes are letters, a hundred are those with bad cells.
func TestLargeMatrices(t *testing.T) {
	for n, want := range map[int]string{17: "     17 !!!!!!!!!!!!!!!!.  n16 p\n", 100: "bad: n99"} {
		var cells []trial.Cell
		for a := range n {
			for b := range n {
				if a == b {
					continue
				}
				c := trial.Cell{Trial: "rdma.write.bw", Pair: trial.Pair{A: trial.End{Node: fmt.Sprintf("n%d", a), Port: "p"}, B: trial.End{Node: fmt.Sprintf("n%d", b), Port: "p"}}, Samples: []trial.Amount{9e9}}
				if a == n-1 {
					c.Status = check.Fail
				}
				cells = append(cells, c.Filled())
			}
		}
		var b strings.Builder
		if err := (ProofReport{Proof: trial.Proof{Trials: []string{"rdma.write.bw"}, Cells: cells}}).Text(&b, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%d nodes: no %q in\n%s", n, want, b.String())
		}
	}
}

// TestChangesText: a number that fell is written with what it was.
func TestChangesText(t *testing.T) {
	was := madeProof().Proof
	now := madeProof().Proof
	for i := range now.Cells {
		if c := &now.Cells[i]; c.Trial == "rdma.write.bw" && c.A.Node == "gpu1" && c.B.Node == "gpu2" {
			c.Samples = []trial.Amount{50e9}
			*c = c.Filled()
		}
	}
	d := ProofDiff{Was: "old", Now: "new", Changes: trial.Compare(was, now)}
	var b strings.Builder
	if err := d.Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !Fell(d.Changes) || !strings.Contains(got, "50 Gb/s") || !strings.Contains(got, "97.3 Gb/s") || !strings.Contains(got, "gpu1") {
		t.Errorf("%q", got)
	}
}
