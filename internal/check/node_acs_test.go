package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeACS(t *testing.T) {
	set := func(c *Case, bdf string, on bool) { c.Nodes[1].At(bdf).ACSRedir = fact.Some(on) }
	const detour = ", want off: packets between GPU and NIC detour through the CPU instead of the switch, which can halve GPUDirect bandwidth"
	judge(t, nodeACS, []row{
		{name: "off", want: "n1 mlx5_0/1 pass"},
		{name: "above the NIC", do: func(c *Case) { set(c, "0000:18:00.0", true) }, fix: "sudo setpci -s 0000:18:00.0 ECAP_ACS+6.w=0:c", want: "n2 mlx5_0/1 fail: redirect on at 0000:18:00.0" + detour},
		{name: "above both", do: func(c *Case) { set(c, "0000:18:00.0", true); set(c, "0000:18:01.0", true) }, fix: "0000:18:01.0 ECAP_ACS",
			want: "n2 mlx5_0/1 fail: redirect on at 0000:18:00.0, 0000:18:01.0" + detour},
		{name: "above the place where they meet", do: func(c *Case) { set(c, "0000:16:00.0", true) }, want: "n2 mlx5_0/1 pass"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].At("0000:18:01.0").ACSRedir = fact.Val[bool]{} }, fix: "sudo lspci -vvv -s 0000:18:01.0",
			want: "n2 mlx5_0/1 unknown: ACS control was not read at 0000:18:01.0"},
		{name: "one bridge is enough, read or not", do: func(c *Case) { set(c, "0000:18:00.0", true); c.Nodes[1].At("0000:18:01.0").ACSRedir = fact.Val[bool]{} },
			want: "n2 mlx5_0/1 fail: redirect on at 0000:18:00.0" + detour},
		{name: "they meet at the host bridge only", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.At("0000:18:01.0").Up = ""
			}
		}, want: "cluster skip: no GPU shares a PCIe switch with a data port, so there is no shortcut for ACS to close"},
		{name: "the GPU was not read", do: func(c *Case) { c.Nodes[1].PCI = c.Nodes[1].PCI[:6] }, want: "n2 mlx5_0/1 unknown: PCI device 0000:1a:00.0 was not read"},
		{name: "the NIC was not read", do: func(c *Case) { c.Nodes[1].PCI = nil }, want: "n2 mlx5_0/1 unknown: PCI device 0000:19:00.0 was not read"},
		{name: "no GPU", do: func(c *Case) { c.Nodes[0].GPUs, c.Nodes[1].GPUs = nil, nil },
			want: "cluster skip: no GPU shares a PCIe switch with a data port, so there is no shortcut for ACS to close"},
	})
}
