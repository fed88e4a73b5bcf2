package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeASPM(t *testing.T) {
	set := func(c *Case, bdf, state string) { c.Nodes[1].At(bdf).ASPM = fact.Some(state) }
	const dozes = ", want off: the link dozes between messages and takes microseconds to wake, which small messages feel"
	judge(t, nodeASPM, []row{
		{name: "off", want: "n1 mlx5_0/1 pass"},
		{name: "at the card", do: func(c *Case) { set(c, "0000:19:00.0", "L1") }, fix: "pcie_aspm.policy=performance", want: "n2 mlx5_0/1 warn: L1 at 0000:19:00.0" + dozes},
		{name: "at both ends, and above", do: func(c *Case) {
			set(c, "0000:19:00.0", "L1")
			set(c, "0000:18:00.0", "L1")
			set(c, "0000:16:00.0", "L0s L1")
		},
			want: "n2 mlx5_0/1 warn: L0s L1, L1 at 0000:19:00.0, 0000:18:00.0, 0000:16:00.0" + dozes},
		{name: "the GPU's path is its own matter", do: func(c *Case) { set(c, "0000:1a:00.0", "L1"); set(c, "0000:18:01.0", "L1") }, want: "n2 mlx5_0/1 pass"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].At("0000:17:00.0").ASPM = fact.Val[string]{} }, fix: "sudo lspci -vv -s 0000:19:00.0",
			want: "n2 mlx5_0/1 unknown: link control was not read at 0000:17:00.0"},
		{name: "a bridge without a link has none to doze", do: func(c *Case) {
			d := c.Nodes[1].At("0000:17:00.0")
			d.ASPM, d.Cur, d.Max = fact.Val[string]{}, fact.Link{}, fact.Link{}
		}, want: "n2 mlx5_0/1 pass"},
		{name: "no link at all", do: func(c *Case) {
			c.Nodes[1].PCI = []*fact.PCI{{BDF: "0000:19:00.0", Vendor: 0x15b3}}
		}, want: "n2 mlx5_0/1 unknown: no PCIe link was read on the path of 0000:19:00.0"},
		{name: "the device was not read", do: func(c *Case) { c.Nodes[1].PCI = nil }, want: "n2 mlx5_0/1 unknown: PCI device 0000:19:00.0 was not read"},
		{name: "only software RoCE", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports = []*fact.Port{{Name: "rxe0/1", Driver: "rxe", State: "ACTIVE"}}
			}
		}, want: "cluster skip: no data port has a PCIe device"},
	})
}
