package trial

import (
	"strings"
	"testing"

	"weft/internal/fact"
)

func comparedCell(id string, a, b string, got, low, high Amount) Cell {
	return Cell{Trial: id, Pair: Pair{End{a, "mlx5_0/1"}, End{b, "mlx5_0/1"}}, Got: fact.Some(got), Low: low, High: high}
}

// TestCompare: more than 5 % beyond the noise of both is a change, in the right direction
// for rates and times; what is gone is worse; what was never measured is nothing.
func TestCompare(t *testing.T) {
	gone := comparedCell("rdma.write.bw", "a", "d", 0, 0, 0)
	gone.Got, gone.Missing = fact.Val[Amount]{}, "d was lost"
	old := Proof{ID: "1", Nodes: []NodeAt{{Name: "a", Facts: "x", Versions: map[string]string{"kernel": "6.1"}}, {Name: "b", Facts: "x"}}, Cells: []Cell{
		comparedCell("rdma.write.bw", "a", "b", 97e9, 96e9, 98e9),
		comparedCell("rdma.write.bw", "b", "a", 97e9, 96e9, 98e9),
		comparedCell("rdma.write.bw", "a", "c", 97e9, 80e9, 98e9),
		comparedCell("rdma.write.bw", "a", "d", 97e9, 96e9, 98e9),
		comparedCell("rdma.write.lat", "a", "b", 1000, 990, 1010),
		comparedCell("rdma.write.lat", "a", "c", 2000, 1990, 2010),
	}}
	now := Proof{ID: "2", Nodes: []NodeAt{{Name: "a", Facts: "y", Versions: map[string]string{"kernel": "6.12"}}, {Name: "b", Facts: "y"}}, Cells: []Cell{
		comparedCell("rdma.write.bw", "a", "b", 50e9, 49e9, 51e9),   // worse
		comparedCell("rdma.write.bw", "b", "a", 95e9, 94e9, 95.5e9), // 2 %: no
		comparedCell("rdma.write.bw", "a", "c", 85e9, 80e9, 98e9),   // within the noise
		gone,
		comparedCell("rdma.write.lat", "a", "b", 1200, 1190, 1210), // worse
		comparedCell("rdma.write.lat", "a", "c", 1000, 990, 1010),  // better
		comparedCell("rdma.write.lat", "a", "z", 9000, 9000, 9000), // not measured before
	}}
	var lines []string
	worse := 0
	for _, c := range Compare(old, now) {
		lines = append(lines, c.String())
		if c.Worse() {
			worse++
		}
	}
	want := []string{
		"gone    rdma.write.bw  a mlx5_0/1 → d mlx5_0/1: was 97 Gb/s, now none: d was lost",
		"worse   rdma.write.bw  a mlx5_0/1 → b mlx5_0/1: 50 Gb/s, was 97 Gb/s (-48 %)",
		"worse   rdma.write.lat  a mlx5_0/1 → b mlx5_0/1: 1.2 µs, was 1 µs (+20 %)",
		"better  rdma.write.lat  a mlx5_0/1 → c mlx5_0/1: 1 µs, was 2 µs (-50 %)",
		"node    a: kernel 6.12, was 6.1",
		"node    b: its facts are not the same (weft diff of two dumps says which)",
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") || worse != 3 {
		t.Errorf("%d worse:\n%s", worse, got)
	}
	if same := Compare(old, old); len(same) != 0 {
		t.Errorf("a proof differs from itself: %v", same)
	}
}
