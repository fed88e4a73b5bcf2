package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func TestPCIePath(t *testing.T) {
	// slot puts the card of n2 straight into a slot.
	slot := func(c *Case, rate unit.Rate, cur, card, slot fact.Link) {
		n := c.Nodes[1]
		n.PCI = []*fact.PCI{
			{BDF: "0000:00:01.0", Class: 0x060400, Host: "pci0000:00", Cur: cur, Max: slot},
			{BDF: "0000:19:00.0", Vendor: 0x15b3, Device: 0x1003, Up: "0000:00:01.0", Host: "pci0000:00", Cur: cur, Max: card},
		}
		n.Ports[0].Rate = fact.Some(rate)
	}
	l := func(gts float64, width int) fact.Link { return fact.Link{GTs: gts, Width: width} }
	at := func(c *Case, bdf string, cur fact.Link) { c.Nodes[1].At(bdf).Cur = cur }
	soft := func(c *Case, speed fact.Val[unit.Rate]) {
		c.Nodes[1].Ports[0].Driver, c.Nodes[1].Ports[0].BDF = "rxe", ""
		c.Nodes[1].Netdev("eth2").Speed = speed
	}
	judge(t, pciePath, []row{
		{name: "full speed", want: "n1 mlx5_0/1 pass: 32 GT/s x16"},
		{name: "an older slot is no fault (sichek #122)", do: func(c *Case) { slot(c, 200*unit.Gbps, l(16, 16), l(32, 16), l(16, 16)) }, want: "n2 mlx5_0/1 pass: 16 GT/s x16"},
		{name: "seed 000 on a Strix Halo: by design", do: func(c *Case) { strixHalo(c.Nodes[1]) }, want: "n2 mlx5_0/1 pass: 8 GT/s x4 by design, about 26.8 Gb/s of RDMA"},
		{name: "seed 000 elsewhere: the slot's capability, with a ceiling", do: func(c *Case) { slot(c, 56*unit.Gbps, l(8, 4), l(8, 8), l(16, 4)) }, fix: "plan with 26.8 Gb/s",
			want: "n2 mlx5_0/1 warn: 8 GT/s x4, want room for 56 Gb/s: the link from 0000:19:00.0 to 0000:00:01.0 can do no more, so RDMA gets about 26.8 Gb/s of the port's 56 Gb/s; it is no fault"},
		{name: "the same card trained badly in a wide slot", do: func(c *Case) { slot(c, 56*unit.Gbps, l(8, 4), l(8, 8), l(8, 16)) }, fix: "reseat the card 0000:19:00.0",
			want: "n2 mlx5_0/1 fail: 8 GT/s x4, want 8 GT/s x8: the link from 0000:19:00.0 to 0000:00:01.0 runs below what both its ends can do, so RDMA gets about 26.8 Gb/s of the port's 56 Gb/s"},
		{name: "a slow generation", do: func(c *Case) { slot(c, 100*unit.Gbps, l(2.5, 16), l(16, 16), l(16, 16)) },
			want: "n2 mlx5_0/1 fail: 2.5 GT/s x16, want 16 GT/s x16: the link from 0000:19:00.0 to 0000:00:01.0 runs below what both its ends can do, so RDMA gets about 27.2 Gb/s of the port's 100 Gb/s"},
		{name: "lanes lost on a Strix Halo are a fault too", do: func(c *Case) { strixHalo(c.Nodes[1]); at(c, "0000:19:00.0", l(8, 2)) },
			want: "n2 mlx5_0/1 fail: 8 GT/s x2, want 8 GT/s x4: the link from 0000:19:00.0 to 0000:00:02.5 runs below what both its ends can do, so RDMA gets about 13.4 Gb/s of the port's 56 Gb/s"},
		{name: "the hop above the switch is named", do: func(c *Case) { at(c, "0000:17:00.0", l(32, 4)) },
			want: "n2 mlx5_0/1 fail: 32 GT/s x4, want 32 GT/s x16: the link from 0000:17:00.0 to 0000:16:00.0 runs below what both its ends can do, so RDMA gets about 107.1 Gb/s of the port's 200 Gb/s"},
		{name: "of two that fell, the worse is named", do: func(c *Case) { at(c, "0000:17:00.0", l(32, 8)); at(c, "0000:19:00.0", l(8, 8)) },
			want: "n2 mlx5_0/1 fail: 8 GT/s x8, want 32 GT/s x16: the link from 0000:19:00.0 to 0000:18:00.0 runs below what both its ends can do, so RDMA gets about 53.6 Gb/s of the port's 200 Gb/s"},
		{name: "a lane lost where another hop is narrower costs nothing", do: func(c *Case) {
			slow := l(16, 16)
			c.Nodes[1].At("0000:19:00.0").Cur, c.Nodes[1].At("0000:19:00.0").Max = slow, slow
			at(c, "0000:17:00.0", l(32, 8))
		}, want: "n2 mlx5_0/1 pass: 16 GT/s x16"},
		{name: "FDR on x8 is as good as it gets", do: func(c *Case) { slot(c, 56*unit.Gbps, l(8, 8), l(8, 8), l(8, 8)) }, want: "n2 mlx5_0/1 pass: 8 GT/s x8"},
		{name: "200 Gb/s in a PCIe 3.0 slot", do: func(c *Case) { slot(c, 200*unit.Gbps, l(8, 16), l(16, 16), l(8, 16)) },
			want: "n2 mlx5_0/1 warn: 8 GT/s x16, want room for 200 Gb/s: the link from 0000:19:00.0 to 0000:00:01.0 can do no more, so RDMA gets about 107.1 Gb/s of the port's 200 Gb/s; it is no fault"},
		{name: "a downed port states no rate", do: func(c *Case) { slot(c, 200*unit.Gbps, l(8, 4), l(8, 8), l(16, 4)); c.Nodes[1].Ports[0].State = "DOWN" }, want: "n2 mlx5_0/1 pass: 8 GT/s x4"},
		{name: "a Spark's twin", do: func(c *Case) { spark(c.Nodes[1], l(32, 4)) }, want: "n2 mlx5_0/1 pass: 32 GT/s x4 by design, about 107.1 Gb/s of RDMA"},
		{name: "a virtual function is judged by its card", do: func(c *Case) {
			n := c.Nodes[1]
			n.PCI = append(n.PCI, &fact.PCI{BDF: "0000:19:01.0", Vendor: 0x15b3, PhysFn: "0000:19:00.0", Up: "0000:18:00.0"})
			n.Ports[0].BDF = "0000:19:01.0"
		}, want: "n2 mlx5_0/1 pass: 32 GT/s x16"},
		{name: "in a virtual machine the slot is not seen", do: func(c *Case) {
			c.Nodes[1].PCI = []*fact.PCI{{BDF: "0000:19:00.0", Vendor: 0x15b3, Cur: l(16, 8), Max: l(32, 16)}}
		}, want: "n2 mlx5_0/1 unknown: 16 GT/s x8: what the port above 0000:19:00.0 can do was not read, so nobody can say whether the card is slowed"},
		{name: "in a virtual machine, at full speed", do: func(c *Case) {
			c.Nodes[1].PCI = []*fact.PCI{{BDF: "0000:19:00.0", Vendor: 0x15b3, Cur: l(32, 16), Max: l(32, 16)}}
		}, want: "n2 mlx5_0/1 pass: 32 GT/s x16"},
		{name: "no speed was read", do: func(c *Case) { slot(c, 200*unit.Gbps, l(0, 0), l(0, 0), l(0, 0)) }, want: "n2 mlx5_0/1 unknown: no link speed was read on the path of 0000:19:00.0"},
		{name: "the device was not read", do: func(c *Case) { c.Nodes[1].PCI = nil }, want: "n2 mlx5_0/1 unknown: PCI device 0000:19:00.0 was not read"},
		{name: "Soft-RoCE has the path of its netdev, and its speed", do: func(c *Case) {
			slot(c, 400*unit.Gbps, l(2.5, 1), l(2.5, 1), l(16, 16))
			soft(c, fact.Some(100*unit.Gbps))
		},
			want: "n2 mlx5_0/1 warn: 2.5 GT/s x1, want room for 100 Gb/s: the link from 0000:19:00.0 to 0000:00:01.0 can do no more, so RDMA gets about 1.7 Gb/s of the port's 100 Gb/s; it is no fault"},
		{name: "Soft-RoCE on a slow netdev", do: func(c *Case) { slot(c, 400*unit.Gbps, l(2.5, 1), l(2.5, 1), l(16, 16)); soft(c, fact.Some(unit.Gbps)) }, want: "n2 mlx5_0/1 pass: 2.5 GT/s x1"},
		{name: "Soft-RoCE on a netdev that tells no speed", do: func(c *Case) { slot(c, 400*unit.Gbps, l(2.5, 1), l(2.5, 1), l(16, 16)); soft(c, fact.Val[unit.Rate]{}) }, want: "n2 mlx5_0/1 pass: 2.5 GT/s x1"},
		{name: "Soft-RoCE on a NIC that trained badly", do: func(c *Case) { slot(c, 400*unit.Gbps, l(8, 4), l(8, 8), l(8, 16)); soft(c, fact.Val[unit.Rate]{}) },
			want: "n2 mlx5_0/1 fail: 8 GT/s x4, want 8 GT/s x8: the link from 0000:19:00.0 to 0000:00:01.0 runs below what both its ends can do, so RDMA gets about 26.8 Gb/s"},
		{name: "Soft-RoCE on a NIC without a PCIe link", do: func(c *Case) { slot(c, 400*unit.Gbps, l(0, 0), l(0, 0), l(0, 0)); soft(c, fact.Some(unit.Gbps)) }, want: "n1 mlx5_0/1 pass: 32 GT/s x16", not: "n2"},
		{name: "only software RoCE", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports = []*fact.Port{{Name: "rxe0/1", Driver: "rxe", State: "ACTIVE"}}
			}
		}, want: "cluster skip: no data port has a PCIe device"},
	})
}
