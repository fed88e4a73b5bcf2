package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fact"
)

func cluster(mtu int, ports ...string) *fact.Cluster {
	n := &fact.Node{Name: "n1", Netdevs: []*fact.Netdev{{Name: "eth2", MTU: fact.Some(mtu)}}}
	for i, p := range ports {
		n.Ports = append(n.Ports, &fact.Port{Name: p, State: "ACTIVE", Counters: map[string]uint64{"port_xmit_data": uint64(i * 100)}})
	}
	return &fact.Cluster{Nodes: []*fact.Node{n}}
}

func TestDiff(t *testing.T) {
	a, b := cluster(9000, "mlx5_0/1", "mlx5_1/1"), cluster(1500, "mlx5_1/1")
	b.Nodes[0].Ports[0].State = "DOWN"
	b.Nodes = append(b.Nodes, &fact.Node{Name: "n2"})
	var got []Change
	for _, c := range Diff(a, b) {
		if c.Path == "netdevs/eth2/mtu" || c.Path == "ports/mlx5_1/1/state" || c.Path == "ports/mlx5_0/1/state" || c.Node == "n2" {
			got = append(got, c)
		}
	}
	want := []Change{
		{"n1", "netdevs/eth2/mtu", "9000", "1500"},
		{"n1", "ports/mlx5_0/1/state", "ACTIVE", ""},
		{"n1", "ports/mlx5_1/1/state", "ACTIVE", "DOWN"},
		{"n2", "node", "", "present"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCountersAreNotChanges(t *testing.T) {
	a, b := cluster(9000, "mlx5_0/1"), cluster(9000, "mlx5_0/1")
	b.Nodes[0].Ports[0].Counters["port_xmit_data"] = 7
	a.Nodes[0].Host.Uptime, b.Nodes[0].Host.Uptime = fact.Some(60.0), fact.Some(90.0)
	if got := Diff(a, b); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
