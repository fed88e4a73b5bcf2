package trial

import (
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/unit"
)

// TestLinks: what limits each port by itself, in words that are the same for like ports.
func TestLinks(t *testing.T) {
	const gbps = unit.Gbps
	node := func(name string, mtu int, width int) *fact.Node {
		n := &fact.Node{Name: name}
		n.Netdevs = []*fact.Netdev{{Name: "eth0", Addrs: []string{"10.0.0." + name[1:] + "/24"}, MTU: fact.Some(mtu)}}
		n.PCI = []*fact.PCI{{BDF: "0000:01:00.0", Cur: fact.Link{GTs: 16, Width: width}, Max: fact.Link{GTs: 16, Width: 16}}}
		n.Ports = []*fact.Port{{Name: "mlx5_0/1", Device: "mlx5_0", Num: 1, BDF: "0000:01:00.0", Driver: "mlx5", Netdev: "eth0", Layer: "Ethernet", State: "ACTIVE", Rate: fact.Some(100 * gbps)}}
		n.Settings.LLDP = []fact.LLDP{{Netdev: "eth0", Chassis: "leaf1", Port: "Eth1/" + name[1:]}}
		return n
	}
	soft := node("n5", 9000, 16)
	soft.Ports[0].Driver = "rxe"
	unread := node("n4", 9000, 16)
	unread.Ports[0].Rate = fact.Val[unit.Rate]{}
	c := &check.Case{Cluster: fact.Cluster{Nodes: []*fact.Node{node("n1", 9000, 16), node("n2", 1500, 16), node("n3", 9000, 4), unread, soft}}}
	type row struct{ node, limit, why, sw, plug string }
	want := []row{
		{"n1", "port", "port rate 100 Gb/s", "leaf1", "Eth1/1"},
		{"n2", "MTU", "MTU 1024", "leaf1", "Eth1/2"},
		{"n3", "PCIe", "PCIe 16 GT/s x4", "leaf1", "Eth1/3"},
		{"n4", "", "the rate was not read", "leaf1", "Eth1/4"},
		{"n5", "", "Soft-RoCE has no rate of its own", "leaf1", "Eth1/5"},
	}
	links := Links(c)
	if len(links) != len(want) {
		t.Fatalf("%d links, want %d", len(links), len(want))
	}
	for i, l := range links {
		if got := (row{l.Node, l.Limit, l.Why, l.Switch, l.Plug}); got != want[i] {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
		if l.Rail != "10.0.0.0/24" || (l.Want > 0) != (l.Limit != "") || l.Want > 100*gbps {
			t.Errorf("%s: rail %q, want %v by %q", l.Node, l.Rail, l.Want, l.Limit)
		}
	}
}
