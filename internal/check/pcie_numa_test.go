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
		{name: "no GPU", do: func(c *Case) { c.Nodes[0].GPUs, c.Nodes[1].GPUs = nil, nil }, want: "cluster skip: no node has both a GPU and a data port on PCIe"},
	})
}
