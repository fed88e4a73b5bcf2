package check

import (
	"testing"

	"weft/internal/fact"
)

func TestPCIeNUMA(t *testing.T) {
	// far puts the GPU of n2 on the other socket.
	far := func(c *Case) {
		g := c.Nodes[1].At("0000:1a:00.0")
		g.Up, g.Host, g.NUMA = "", "pci0000:97", fact.Some(1)
	}
	judge(t, pcieNUMA, []row{
		{name: "below one switch", want: "n1 gpu0 pass: PIX"},
		{name: "another socket", do: far, fix: "move the card to a slot of NUMA node 1, where GPU 0 is",
			want: "n2 gpu0 warn: SYS to mlx5_0, the nearest NIC, want NODE or nearer: every byte between them crosses the link between the processors, and GPUDirect across it is slow or off"},
		{name: "another host bridge of the same socket", do: func(c *Case) { far(c); c.Nodes[1].At("0000:1a:00.0").NUMA = fact.Some(0) }, want: "n2 gpu0 pass: NODE"},
		{name: "a second NIC on its socket is enough", do: func(c *Case) {
			far(c)
			n := c.Nodes[1]
			n.PCI = append(n.PCI, &fact.PCI{BDF: "0000:98:00.0", Vendor: 0x15b3, Device: 0x1021, Host: "pci0000:97", NUMA: fact.Some(1)})
			n.Ports = append(n.Ports, &fact.Port{Name: "mlx5_5/1", Device: "mlx5_5", BDF: "0000:98:00.0", State: "ACTIVE"})
		}, want: "n2 gpu0 pass: PHB"},
		{name: "a spare port does not count", do: func(c *Case) {
			far(c)
			d := c.Nodes[1].At("0000:19:00.1")
			d.Up, d.Host, d.NUMA = "", "pci0000:97", fact.Some(1)
		}, want: "n2 gpu0 warn: SYS to mlx5_0, the nearest NIC, want NODE or nearer: every byte between them crosses the link between the processors, and GPUDirect across it is slow or off"},
		{name: "unified memory on one NUMA node", do: func(c *Case) { spark(c.Nodes[1], fact.Link{GTs: 32, Width: 4}) }, want: "n2 gpu0 pass: NODE"},
		{name: "unread", do: func(c *Case) { far(c); c.Nodes[1].At("0000:1a:00.0").NUMA = fact.Val[int]{} }, fix: "0000:1a:00.0/numa_node",
			want: "n2 gpu0 unknown: where the GPU and the NICs sit on PCIe was not read"},
		{name: "no GPU", do: func(c *Case) { c.Nodes[0].GPUs, c.Nodes[1].GPUs = nil, nil }, want: "cluster skip: no node has a data port on PCIe and a GPU, or several NUMA nodes, to be near to"},
	})
}

func TestPCIeNUMAWithoutGPUs(t *testing.T) {
	// sockets gives three nodes without GPUs the NUMA nodes of a cpulist each, and
	// n2's NIC the NUMA node.
	sockets := func(numa int, cpus ...string) func(c *Case) {
		return func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(1))
			c.Nodes[2].Name = "n3"
			for _, n := range c.Nodes {
				n.GPUs, n.Host.NUMACPUs = nil, map[int]string{}
				for i, list := range cpus {
					n.Host.NUMACPUs[i] = list
				}
			}
			c.Nodes[1].At("0000:19:00.0").NUMA = fact.Some(numa)
		}
	}
	and := func(do ...func(c *Case)) func(c *Case) {
		return func(c *Case) {
			for _, f := range do {
				f(c)
			}
		}
	}
	// soft makes n2's port Soft-RoCE on the same card's netdev.
	soft := func(c *Case) { c.Nodes[1].Ports[0].Driver, c.Nodes[1].Ports[0].BDF = "rxe", "" }
	const (
		empty = "n2 mlx5_0/1 warn: NUMA node 1, which has no processors, want a NUMA node with processors: whatever a processor does with the NIC or its buffers crosses the link between NUMA nodes"
		other = "n2 mlx5_0/1 warn: NUMA node 1, want 0, as on most nodes of this product: processes that sit beside the NIC elsewhere are on the far side of it here, and the slowest node sets the pace"
		none  = "cluster skip: no node has a data port on PCIe and a GPU, or several NUMA nodes, to be near to"
	)
	judge(t, pcieNUMA, []row{
		{name: "beside processors", do: sockets(0, "0-15", "16-31"), want: "n2 mlx5_0/1 pass: NUMA node 0"},
		{name: "no processors there", do: sockets(1, "0-15", ""), want: empty, fix: "NUMA node 0 (processors 0-15)"},
		{name: "no processors there, Soft-RoCE", do: and(sockets(1, "0-15", ""), soft), want: empty},
		{name: "processors there, and memory elsewhere", do: sockets(0, "0-15", ""), want: "n2 mlx5_0/1 pass: NUMA node 0"},
		{name: "another socket than its peers", do: sockets(1, "0-15", "16-31"), want: other, fix: "numactl --cpunodebind=1 --membind=1"},
		{name: "another socket, and GPUs", do: func(c *Case) {
			sockets(1, "0-15", "16-31")(c)
			for i, n := range c.Nodes {
				n.GPUs = goodNode(i + 1).GPUs
			}
		}, want: other, not: "n1 mlx5_0/1"},
		{name: "of two that differ either may be right", do: func(c *Case) { sockets(1, "0-15", "16-31")(c); c.Nodes = c.Nodes[:2] }, want: "n2 mlx5_0/1 pass: NUMA node 1"},
		{name: "another product may differ", do: func(c *Case) { sockets(1, "0-15", "16-31")(c); c.Nodes[1].Host.Product = "other" }, want: "n2 mlx5_0/1 pass: NUMA node 1"},
		{name: "one NUMA node", do: sockets(0, "0-15"), want: none},
		{name: "processors unread", do: func(c *Case) {
			sockets(1, "0-15", "")(c)
			for _, n := range c.Nodes {
				n.Host.NUMACPUs = nil
			}
		}, want: none},
		{name: "the kernel does not say where the NIC is", do: func(c *Case) {
			sockets(1, "0-15", "")(c)
			c.Nodes[1].At("0000:19:00.0").NUMA = fact.Val[int]{}
		}, want: "n1 mlx5_0/1 pass: NUMA node 0", not: "n2"},
	})
}
