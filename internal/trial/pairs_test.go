package trial

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func rail(name string, nodes, ports int) Rail {
	r := Rail{Name: name}
	for n := range nodes {
		for p := range ports {
			r.Ends = append(r.Ends, End{fmt.Sprintf("n%d", n), fmt.Sprintf("mlx5_%d/1", p)})
		}
	}
	return r
}

func perm(seed uint64) func(int) []int { return rand.New(rand.NewPCG(seed, 1)).Perm }

// met counts how often each pair meets, whichever end comes first, and wants the pairs of
// a round to share no node.
func met(t *testing.T, rounds []Round) map[Pair]int {
	t.Helper()
	seen := map[Pair]int{}
	for _, r := range rounds {
		busy := map[string]bool{}
		for _, p := range r.Pairs {
			if busy[p.A.Node] || busy[p.B.Node] || p.A.Node == p.B.Node {
				t.Fatalf("a node twice in one round: %v", r.Pairs)
			}
			busy[p.A.Node], busy[p.B.Node] = true, true
			if p.B.Node < p.A.Node || p.B.Node == p.A.Node && p.B.Port < p.A.Port {
				p = p.Turned()
			}
			seen[p]++
		}
	}
	return seen
}

// TestAllPairsMeetOnce: n-1 rounds of n/2 disjoint pairs, an odd node resting, whatever
// the order drawn.
func TestAllPairsMeetOnce(t *testing.T) {
	for n := range 41 {
		rounds, left := Rounds([]Rail{rail("r", n, 1)}, Which{Word: "all"}, perm(uint64(n)))
		seen := met(t, rounds)
		want := n - 1 + n%2
		if len(seen) != n*(n-1)/2 || n > 1 && len(rounds) != want || len(left) != 0 {
			t.Errorf("%d nodes: %d pairs in %d rounds, left %v; want %d in %d", n, len(seen), len(rounds), left, n*(n-1)/2, want)
		}
		for p, k := range seen {
			if k != 1 {
				t.Errorf("%d nodes: %v met %d times", n, p, k)
			}
		}
	}
}

// TestTwoPortsOnOneRail: a node's own ports are no pair, and it is in one pair at a time.
func TestTwoPortsOnOneRail(t *testing.T) {
	rounds, _ := Rounds([]Rail{rail("r", 5, 2)}, Which{Word: "all"}, perm(1))
	if seen := met(t, rounds); len(seen) != 5*4/2*4 {
		t.Errorf("%d pairs, want 40", len(seen))
	}
}

func TestOrderIsDrawn(t *testing.T) {
	rails := []Rail{rail("a", 8, 1), rail("b", 8, 1)}
	one, _ := Rounds(rails, Which{Word: "all"}, perm(1))
	same, _ := Rounds(rails, Which{Word: "all"}, perm(1))
	two, _ := Rounds(rails, Which{Word: "all"}, perm(2))
	if fmt.Sprint(one) != fmt.Sprint(same) || fmt.Sprint(one) == fmt.Sprint(two) {
		t.Error("the order does not follow the seed")
	}
	if len(one) != 14 {
		t.Errorf("%d rounds for two rails of 8, want 14", len(one))
	}
}

// TestSampleIsLinear: a sample of a thousand nodes has each port in few pairs and says
// what it leaves out.
func TestSampleIsLinear(t *testing.T) {
	rounds, left := Rounds([]Rail{rail("r", 1024, 1)}, Which{Word: "sample"}, perm(7))
	degree := map[End]int{}
	for p := range met(t, rounds) {
		degree[p.A]++
		degree[p.B]++
	}
	if len(rounds) != sampled || len(degree) != 1024 || len(left) != 1 {
		t.Fatalf("%d rounds, %d ends, left %q", len(rounds), len(degree), left)
	}
	for e, d := range degree {
		if d != sampled {
			t.Errorf("%v is in %d pairs", e, d)
		}
	}
	if small, none := Rounds([]Rail{rail("r", 4, 1)}, Which{Word: "sample"}, perm(7)); len(small) != 3 || len(none) != 0 {
		t.Errorf("a sample of four nodes is all of them: %d rounds, left %q", len(small), none)
	}
}

func TestRingAndNamed(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 2: 1, 3: 3, 8: 8} {
		rounds, _ := Rounds([]Rail{rail("r", n, 1)}, Which{Word: "ring"}, perm(1))
		if seen := met(t, rounds); len(seen) != want {
			t.Errorf("a ring of %d has %d pairs, want %d", n, len(seen), want)
		}
	}
	rounds, _ := Rounds([]Rail{rail("r", 8, 1)}, Which{Nodes: []string{"n2", "n5"}}, perm(1))
	if seen := met(t, rounds); len(seen) != 1 || seen[Pair{End{"n2", "mlx5_0/1"}, End{"n5", "mlx5_0/1"}}] != 1 {
		t.Errorf("two nodes are one pair: %v", seen)
	}
}

func TestParseWhich(t *testing.T) {
	for in, want := range map[string]string{"all": "all", "sample": "sample", "gpu[1-3]": "gpu1,gpu2,gpu3", "a,b": "a,b"} {
		if w, err := ParseWhich(in); err != nil || w.String() != want {
			t.Errorf("ParseWhich(%q) = %v, %v", in, w, err)
		}
	}
	for _, bad := range []string{"", "a", "a[", "every"} {
		if w, err := ParseWhich(bad); err == nil {
			t.Errorf("ParseWhich(%q) = %v, want an error", bad, w)
		}
	}
}

// TestManyPortsOnOneRail: with eight ports a node on one rail, a sample and a ring still
// reach every port.
func TestManyPortsOnOneRail(t *testing.T) {
	for _, word := range []string{"sample", "ring"} {
		rounds, _ := Rounds([]Rail{rail("r", 40, 8)}, Which{Word: word}, perm(3))
		degree := map[End]int{}
		for p := range met(t, rounds) {
			degree[p.A]++
			degree[p.B]++
		}
		if len(degree) != 320 {
			t.Errorf("%s: %d of 320 ports are measured", word, len(degree))
		}
	}
}
