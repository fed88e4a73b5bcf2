package check

import (
	"reflect"
	"slices"
	"testing"

	"weft/internal/fact"
)

// TestOrderOfNodesIsNoMatter holds what prepare works out for checks that judge node
// by node: it may not depend on which node comes first.
func TestOrderOfNodesIsNoMatter(t *testing.T) {
	each := slices.DeleteFunc(slices.Clone(All), func(ck Check) bool { return ck.Each == nil })
	c := large(100)
	c.Nodes[2].Ports[0].GIDs, c.Nodes[2].Netdevs[1].Addrs = nil, nil // to be addressed like its peers,
	c.Nodes[0].Netdevs[1].Addrs = []string{"10.99.0.1/24"}           // which disagree
	c.Nodes[3].GPUs = c.Nodes[3].GPUs[:7]                            // fewer than the others
	c.Nodes[4].Ports[1].Layer, c.Nodes[4].Ports[1].State = "InfiniBand", "INIT"
	c.Nodes[5].Ports[1].Layer = "InfiniBand" // ACTIVE, so that a subnet manager must be at work
	c.Nodes[6].Settings.Firewall = fact.Firewall{}
	first := Run(each, c)
	slices.Reverse(c.Nodes)
	again := Run(each, c)
	if len(again) != len(first) {
		t.Fatalf("got %d findings, and %d with the nodes reversed", len(first), len(again))
	}
	for i := range first {
		if !reflect.DeepEqual(first[i], again[i]) {
			t.Fatalf("got %s %s %q, and with the nodes reversed %s %s %q", first[i].Check, line(first[i]), first[i].Fix, again[i].Check, line(again[i]), again[i].Fix)
		}
	}
	for _, want := range []string{
		"gpu00002 mlx5_0/1 fail: the GID table is empty, want an IPv4-mapped RoCE v2 GID: NCCL finds no address to send from: it stops in ibv_modify_qp, or runs over sockets",
		"gpu00003 fail: 7 GPUs, want 8: the other nodes of this product have more, so here one is off the bus or was never fitted",
		"gpu00004 mlx5_1/1 fail: INIT, want ACTIVE: the link is there and a subnet manager runs, but it has not set this port up",
	} {
		if !slices.ContainsFunc(again, func(f Finding) bool { return line(f) == want }) {
			t.Errorf("no finding %q", want)
		}
	}
}
