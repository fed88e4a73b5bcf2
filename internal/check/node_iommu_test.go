package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeIOMMU(t *testing.T) {
	set := func(c *Case, groups int, kind, cmdline string) {
		s := &c.Nodes[1].Settings
		s.IOMMUGroups, s.IOMMUType, c.Nodes[1].Host.CmdLine = fact.Some(groups), kind, cmdline
		if groups < 0 {
			s.IOMMUGroups = fact.Val[int]{}
		}
	}
	const costs = ", want pass through: every address is translated, which costs bandwidth and can break transfers between GPU and NIC"
	judge(t, nodeIOMMU, []row{
		{name: "passes through", want: "n1 pass: passes through"},
		{name: "off", do: func(c *Case) { set(c, 0, "", "quiet") }, want: "n2 pass: off"},
		{name: "translates", do: func(c *Case) { set(c, 80, "DMA-FQ", "quiet") }, fix: "&iommu=pt ", want: "n2 warn: translates (DMA-FQ)" + costs},
		{name: "translates whatever the kernel was told", do: func(c *Case) { set(c, 80, "DMA", "iommu=pt") }, want: "n2 warn: translates (DMA)" + costs},
		{name: "arm64 has another name for it", do: func(c *Case) { set(c, 80, "DMA-FQ", ""); c.Nodes[1].Host.Arch = "aarch64" }, fix: "&iommu.passthrough=1 ",
			want: "n2 warn: translates (DMA-FQ)" + costs},
		{name: "Strix Halo passing through hears of the trade-off", do: func(c *Case) { strixHalo(c.Nodes[1]); set(c, 40, "identity", "iommu=pt") }, want: "n2 pass: passes through: " + strixIOMMU},
		{name: "Strix Halo with it off too", do: func(c *Case) { strixHalo(c.Nodes[1]); set(c, 0, "", "amd_iommu=off") }, want: "n2 pass: off: " + strixIOMMU},
		{name: "Strix Halo translating", do: func(c *Case) { strixHalo(c.Nodes[1]); set(c, 40, "DMA-FQ", "") }, fix: "grubby --update-kernel=ALL --args=\"iommu=pt\"",
			want: "n2 warn: translates (DMA-FQ), want pass through: " + strixIOMMU},
		{name: "the kernel's word where no type was read", do: func(c *Case) { set(c, 80, "", "intel_iommu=on iommu=pt") }, want: "n2 pass: passes through or off, as the kernel was told"},
		{name: "unread", do: func(c *Case) { set(c, -1, "", "") }, want: "n2 unknown: neither the IOMMU's groups nor their type were read"},
		{name: "only software RoCE", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports = []*fact.Port{{Name: "rxe0/1", Driver: "rxe", State: "ACTIVE"}}
			}
		}, want: "cluster skip: no node has an RDMA card"},
	})
}
