package trial

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/sample"
)

func TestBands(t *testing.T) {
	tests := []struct {
		got, high Amount
		want      check.Status
	}{
		{100, 0, check.Pass},
		{93, 0, check.Pass},
		{92, 0, check.Warn},
		{92, 94, check.Pass}, // its interval reaches what is healthy
		{80, 0, check.Warn},
		{79, 0, check.Fail},
		{79, 81, check.Warn},
		{50, 99, check.Warn}, // nobody knows what it is; it is not healthy
		{120, 0, check.Pass},
	}
	for _, tt := range tests {
		if got := band(tt.got, tt.high, 100); got != tt.want {
			t.Errorf("%d up to %d of 100: %v, want %v", tt.got, tt.high, got, tt.want)
		}
	}
	for _, tt := range []struct {
		got, low Amount
		want     check.Status
	}{{2900, 0, check.Pass}, {3100, 0, check.Warn}, {3100, 2950, check.Pass}, {5200, 4900, check.Warn}, {5200, 5100, check.Fail}} {
		if got := latencyBand(tt.got, tt.low, 3000, 5000); got != tt.want {
			t.Errorf("%d down to %d: %v, want %v", tt.got, tt.low, got, tt.want)
		}
	}
}

// Every cell says what it is by itself.
func TestCellsThatAreNotJudged(t *testing.T) {
	c := made(sample.RoCE("n", 2))
	p := pairOf(c, 0, 1)
	cells := []Cell{
		{Trial: "rdma.write.bw", Pair: p, Missing: "n2 is busy", Skipped: true},
		{Trial: "rdma.send.bw", Pair: p, Missing: "retry exceeded", Broken: true},
		{Trial: "rdma.read.bw", Pair: p, Missing: "libibverbs is not installed"},
		{Trial: "tcp.bw", Pair: p, Got: fact.Some(Amount(1e9))},
		{Trial: "no.such", Pair: p, Got: fact.Some(Amount(1))},
		{Trial: "rdma.write.lat", Pair: p},
	}
	want := []string{
		"skip: n2 is busy",
		"fail: retry exceeded",
		"unknown: libibverbs is not installed",
		"unknown: TCP is shown beside RDMA and not judged by itself",
		"unknown: weft does not know the trial no.such",
		"unknown: it was not measured",
	}
	judged, problems := Judge(c, cells)
	for i := range judged {
		if got := fmt.Sprintf("%v: %s", judged[i].Status, judged[i].Why); got != want[i] {
			t.Errorf("got %q, want %q", got, want[i])
		}
	}
	if got := said(problems); len(got) != 1 || !strings.HasPrefix(got[0], "pair") || len(problems[0].Also) != 2 {
		t.Errorf("problems: %q, %+v", got, problems)
	}
}

// Soft-RoCE is measured without a verdict, and that is said.
func TestSoftwareHasNoVerdict(t *testing.T) {
	c := rxe(made(sample.RoCE("n", 3)))
	cells, problems := Judge(c, full(c, "rdma.write.bw", func(from, to End) float64 { return 4e8 }))
	for _, cell := range cells {
		if cell.Status != check.Unknown || cell.Why != "Soft-RoCE has no rate of its own" || cell.Want.Known() || cell.Best.Or(0) != 4e8 {
			t.Errorf("%+v", cell.Verdict)
		}
	}
	if len(problems) > 0 {
		t.Errorf("problems: %+v", problems)
	}
}

// Whatever cells come, judging them ends, and every bad cell is somebody's.
func TestJudgingAnything(t *testing.T) {
	c := made(sample.RoCE("n", 3))
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var cells []Cell
		for range r.IntN(60) {
			end := func() End {
				return End{[]string{"n1", "n2", "n3", "gone", ""}[r.IntN(5)], []string{"mlx5_0/1", "mlx5_1/1", "gpu0", ""}[r.IntN(4)]}
			}
			cell := Cell{Trial: "no.such", Pair: Pair{end(), end()}, Tests: r.IntN(4), Broken: r.IntN(9) == 0, Skipped: r.IntN(9) == 0}
			if k := r.IntN(len(All) + 1); k < len(All) {
				cell.Trial = All[k].ID
			}
			if r.IntN(5) > 0 {
				cell.Got = fact.Some(Amount(r.Int64N(400e9) - 1e9))
				cell.Low, cell.High = Amount(r.Int64N(9)-4), Amount(r.Int64()-r.Int64())
				for range r.IntN(4) {
					cell.Runs = append(cell.Runs, Amount(r.Int64N(1000)-5))
				}
			}
			if r.IntN(3) == 0 {
				cell.Moved = []Moved{{End: end(), Sent: r.Int64() - r.Int64(), Grew: map[string]uint64{"out_of_sequence": r.Uint64()}}}
			}
			if r.IntN(9) == 0 {
				cell.Collective = &Collective{Nodes: r.IntN(3), Ranks: r.IntN(9), Socket: r.IntN(2) == 0, Rows: []CollectiveRow{{Bytes: r.Int64()}}}
			}
			cells = append(cells, cell)
		}
		judged, problems := Judge(c, cells)
		if len(judged) != len(cells) {
			t.Fatalf("seed %d: %d cells of %d", seed, len(judged), len(cells))
		}
		bad := slices.ContainsFunc(judged, func(c Cell) bool { return c.Status == check.Warn || c.Status == check.Fail })
		if bad && len(problems) == 0 {
			t.Errorf("seed %d: bad cells and no problem", seed)
		}
		Suspects(c, cells)
		Partners(c, cells)
	}
}

func TestSuspectsAreTestedAgain(t *testing.T) {
	c := made(sample.RoCE("n", 4))
	cells := full(c, "rdma.write.bw", func(from, to End) float64 {
		if from.Node == "n1" && to.Node == "n2" && from.Port == "mlx5_0/1" {
			return 100e9
		}
		return 191e9
	})
	for i := range cells {
		cells[i].Tests = 1
	}
	want := []Pair{{End{"n1", "mlx5_0/1"}, End{"n2", "mlx5_0/1"}}}
	if got := Suspects(c, cells); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for i := range cells {
		cells[i].Tests = 3
	}
	if got := Suspects(c, cells); len(got) > 0 {
		t.Errorf("after three tests: %v", got)
	}
	healthy := full(c, "rdma.write.bw", func(from, to End) float64 { return 191e9 })
	if got := Suspects(c, healthy); len(got) > 0 {
		t.Errorf("of a healthy cluster: %v", got)
	}
	if got := Partners(c, healthy); len(got) > 0 {
		t.Errorf("of a healthy cluster: %v", got)
	}
}

// A pair that was measured alone meets ends that are known to be good.
func TestPartnersAreGood(t *testing.T) {
	c := made(sample.RoCE("n", 6))
	cell := func(a, b string, gbps float64) []Cell {
		p := Pair{End{a, "mlx5_0/1"}, End{b, "mlx5_0/1"}}
		return []Cell{{Trial: "rdma.write.bw", Pair: p, Got: fact.Some(Amount(gbps * 1e9)), Tests: 2}, {Trial: "rdma.write.bw", Pair: p.Turned(), Got: fact.Some(Amount(gbps * 1e9)), Tests: 2}}
	}
	cells := slices.Concat(cell("n1", "n2", 90), cell("n3", "n4", 191), cell("n5", "n6", 191))
	got := Partners(c, cells)
	met := map[string]int{}
	for _, p := range got {
		if p.A.Node != "n1" && p.A.Node != "n2" || p.B.Node == "n1" || p.B.Node == "n2" {
			t.Errorf("%v meets %v", p.A, p.B)
		}
		met[p.A.Node]++
	}
	if met["n1"] != 3 || met["n2"] != 3 {
		t.Errorf("got %v, want three partners for n1 and for n2", got)
	}
	for _, p := range got { // n1 is bad with them too, n2 is not
		rate := 191.0
		if p.A.Node == "n1" {
			rate = 92
		}
		cells = append(cells, cell(p.A.Node, p.B.Node, rate)...)
	}
	if _, problems := Judge(c, cells); !slices.Equal(said(problems), []string{"port n1 mlx5_0/1"}) {
		t.Errorf("got %q", said(problems))
	}
}
