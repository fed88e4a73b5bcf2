package trial

import (
	"testing"
	"time"
)

// labCost is what TestRealProveFaster prints for rdma.write.bw and rdma.write.lat on four
// emulated machines that share two processors (medians of 5 runs on 15 November): no
// hardware is slower. Width is prove's.
var labCost = Cost{Open: 3700 * time.Millisecond, Width: 64, Round: 6 * time.Second}

// TestThousandNodes: all pairs of 1,024 nodes are 1,023 rounds, and a sample takes less
// than two minutes, at the cost that was measured.
func TestThousandNodes(t *testing.T) {
	r := []Rail{rail("r", 1024, 1)}
	all, _ := Rounds(r, Which{Word: "all"}, perm(1))
	some, _ := Rounds(r, Which{Word: "sample"}, perm(1))
	if len(all) != 1023 || pairsOf(all) != 1024*1023/2 {
		t.Errorf("%d rounds of %d pairs", len(all), pairsOf(all))
	}
	t.Logf("1,024 nodes at %v a round: all pairs %v, sample %v", labCost.Round, labCost.Clock(1024, all), labCost.Clock(1024, some))
	if got := labCost.Clock(1024, some); got > 2*time.Minute {
		t.Errorf("a sample takes %v", got)
	}
}
