package topo

import (
	"testing"

	"weft/internal/fact"
)

// server has two sockets. On socket 0: host bridge A with a switch that holds a GPU
// and a NIC, a second switch below it with another GPU, and a NIC at a root port of
// its own; host bridge B with a NIC. On socket 1: host bridge C with a NIC. D is a
// host bridge that says nothing of its NUMA node.
func server() *fact.Node {
	zero, one := fact.Some(0), fact.Some(1)
	return &fact.Node{Host: fact.Host{NUMANodes: 2}, PCI: []*fact.PCI{
		{BDF: "rootA", Host: "A", NUMA: zero},
		{BDF: "up", Up: "rootA", Host: "A", NUMA: zero},
		{BDF: "down1", Up: "up", Host: "A", NUMA: zero},
		{BDF: "down2", Up: "up", Host: "A", NUMA: zero},
		{BDF: "down3", Up: "up", Host: "A", NUMA: zero},
		{BDF: "gpu0", Up: "down1", Host: "A", NUMA: zero},
		{BDF: "nic0.0", Up: "down2", Host: "A", NUMA: zero},
		{BDF: "nic0.1", Up: "down2", Host: "A", NUMA: zero},
		{BDF: "up2", Up: "down3", Host: "A", NUMA: zero},
		{BDF: "down4", Up: "up2", Host: "A", NUMA: zero},
		{BDF: "gpu1", Up: "down4", Host: "A", NUMA: zero},
		{BDF: "rootA2", Host: "A", NUMA: zero},
		{BDF: "nic1", Up: "rootA2", Host: "A", NUMA: zero},
		{BDF: "rootB", Host: "B", NUMA: zero},
		{BDF: "nic2", Up: "rootB", Host: "B", NUMA: zero},
		{BDF: "rootC", Host: "C", NUMA: one},
		{BDF: "nic3", Up: "rootC", Host: "C", NUMA: one},
		{BDF: "nic4", Host: "D"},
	}}
}

func TestBetween(t *testing.T) {
	tests := []struct {
		a, b string
		want Distance
	}{
		{"gpu0", "gpu0", PIX},
		{"nic0.0", "nic0.1", PIX}, // two functions of one card
		{"gpu0", "nic0.0", PIX},   // one switch
		{"gpu1", "nic0.0", PXB},   // two switches
		{"gpu0", "nic1", PHB},     // two root ports of one host bridge
		{"gpu0", "nic2", NODE},    // two host bridges of one socket
		{"gpu0", "nic3", SYS},     // the other socket
		{"gpu0", "nic4", Unknown}, // another host bridge, whose NUMA node is not known
		{"gpu0", "gone", Unknown},
		{"", "", Unknown},
	}
	n := server()
	for _, tt := range tests {
		if got := Between(n, tt.a, tt.b); got != tt.want {
			t.Errorf("%s to %s: got %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if got := Between(n, tt.b, tt.a); got != tt.want {
			t.Errorf("%s to %s: got %v, want %v", tt.b, tt.a, got, tt.want)
		}
	}
	n.Host.NUMANodes = 1
	if got := Between(n, "gpu0", "nic4"); got != NODE {
		t.Errorf("with one NUMA node in all: got %v, want NODE", got)
	}
}

func TestDistancesReadAndSortLikeNvidiaSMI(t *testing.T) {
	var got string
	for d := Unknown; d <= SYS; d++ {
		got += d.String() + " "
	}
	if want := "? PIX PXB PHB NODE SYS "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
