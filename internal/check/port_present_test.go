package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/spec"
)

func TestPortPresent(t *testing.T) {
	nic := func(c *Case) *fact.PCI { return c.Nodes[1].At("0000:19:00.0") }
	lose := func(c *Case) { c.Nodes[1].Ports = c.Nodes[1].Ports[1:] }
	loseAll := func(c *Case) {
		for _, n := range c.Nodes {
			n.Ports = nil
		}
	}
	judge(t, portPresent, []row{
		{name: "both functions are RDMA devices", want: "n1 pass"},
		{name: "lost from the RDMA stack", do: lose, fix: "sudo modprobe -a mlx5_core mlx5_ib",
			want: "n2 0000:19:00.0 fail: ConnectX-7 with driver mlx5_core and no RDMA device, want an RDMA device: the network driver runs but the RDMA stack has lost the card, so everything on it falls back to TCP"},
		{name: "no driver", do: func(c *Case) { lose(c); nic(c).Driver = "" }, fix: "sudo dmesg | grep 0000:19:00.0",
			want: "n2 0000:19:00.0 fail: ConnectX-7 without a driver, want an RDMA device: no driver took the card, so it carries nothing at all"},
		{name: "given to a guest", do: func(c *Case) { lose(c); nic(c).Driver = "vfio-pci" }, want: "n1 pass", not: "0000:19:00.0"},
		{name: "a virtual function", do: func(c *Case) { lose(c); nic(c).PhysFn = "0000:19:00.1" }, want: "n1 pass", not: "0000:19:00.0"},
		{name: "the second function of a bond", do: func(c *Case) {
			n := c.Nodes[1]
			n.Ports = n.Ports[:1]
			n.Netdevs = append(n.Netdevs, &fact.Netdev{Name: "bond0", Kind: "bond"})
			n.Netdev("eth3").Master = "bond0"
		}, want: "n2 pass"},
		{name: "a plain network card by choice", do: func(c *Case) {
			c.Nodes[1].PCI = append(c.Nodes[1].PCI, &fact.PCI{BDF: "0000:99:00.0", Vendor: 0x15b3, Device: 0xfffe, Class: 0x020000, Driver: "mlx5_core"})
		}, want: "n2 0000:99:00.0 warn: RDMA card with driver mlx5_core and no RDMA device, want an RDMA device: the network driver runs but the RDMA stack has lost the card, so everything on it falls back to TCP",
			fix: "modprobe"},
		{name: "an InfiniBand card is never a plain one", do: func(c *Case) {
			c.Nodes[1].PCI = append(c.Nodes[1].PCI, &fact.PCI{BDF: "0000:99:00.0", Vendor: 0x1234, Class: 0x020700})
		}, want: "n2 0000:99:00.0 fail: RDMA card without a driver, want an RDMA device: no driver took the card, so it carries nothing at all"},
		{name: "no RDMA on the node at all", do: loseAll,
			want: "n1 0000:19:00.0 fail: ConnectX-7 with driver mlx5_core and no RDMA device, want an RDMA device: the network driver runs but the RDMA stack has lost the card, so everything on it falls back to TCP"},
		{name: "weft.yaml names a port that is not there", do: func(c *Case) {
			c.Want.Nodes = []spec.Node{{Name: "n2", Data: []spec.DataPort{{Port: "mlx5_0/1"}, {Port: "mlx5_9/1"}}}}
		}, want: "n2 mlx5_9/1 fail: no such RDMA port, want mlx5_9/1: weft.yaml counts on this port, and the node has mlx5_0/1, mlx5_1/1", fix: "rdma link show"},
		{name: "cut off before it told", do: func(c *Case) {
			c.Want.Nodes = []spec.Node{{Name: "n2", Data: []spec.DataPort{{Port: "mlx5_0/1"}}}}
			c.Nodes[1] = &fact.Node{Name: "n2", Gaps: []fact.Gap{{Path: "$ sh", Why: "cut short"}}}
		}, want: "n2 skip: the node's answers broke off: see node.read", not: "no such RDMA port"},
		{name: "a software port is gone", do: func(c *Case) {
			c.Want.Nodes = []spec.Node{{Name: "n2", Data: []spec.DataPort{{Port: "rxe0/1", Netdev: "eth2"}}}}
		}, want: "n2 rxe0/1 fail: no such RDMA port, want rxe0/1: weft.yaml counts on this port, and the node has mlx5_0/1, mlx5_1/1",
			fix: "sudo rdma link add rxe0 type rxe netdev eth2"},
		{name: "a card fell off the bus of one of three", do: func(c *Case) {
			n := goodNode(3)
			n.PCI, n.Ports = n.PCI[:4], nil
			c.Nodes = append(c.Nodes, n)
		}, want: "n3 warn: 0 RDMA functions on the PCI bus, want 2: nodes like this one have more, so a card is missing or has fallen off the bus", fix: "reseat"},
		{name: "one of two has fewer: no majority", do: func(c *Case) { c.Nodes[1].PCI, c.Nodes[1].Ports = c.Nodes[1].PCI[:4], nil }, want: "n1 pass", not: "n2"},
		{name: "unread", do: func(c *Case) {
			c.Nodes[1].Gaps = []fact.Gap{{Path: "/sys/class/infiniband", Why: "permission denied"}}
		}, want: "n2 unknown: /sys/class/infiniband could not be read: permission denied", fix: "root"},
		{name: "the bus was not read", do: func(c *Case) { c.Nodes[1].PCI = nil }, want: "n2 unknown: the PCI devices were not read"},
		{name: "software RDMA only", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.PCI, n.Ports = nil, []*fact.Port{{Name: "rxe0/1", Device: "rxe0", Num: 1, Driver: "rxe"}}
			}
		}, want: "cluster skip: no RDMA card is on any PCI bus"},
	})
}
