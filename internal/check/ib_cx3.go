package check

import (
	"slices"

	"weft/internal/fact"
	"weft/internal/platform"
)

var ibCX3 = Check{
	ID:    "ib.cx3",
	Title: "ConnectX-3 cards have a driver, and nobody counts on GPUDirect with them",
	None:  "no ConnectX-3 card",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, d := range n.PCI {
			if isCX3(d) {
				out = append(out, judgeCX3(c, n, d))
			}
		}
		return out
	},
}

// isCX3 reports whether a PCI function is a ConnectX-3 or ConnectX-3 Pro, not a
// virtual function (pci.ids: 15b3:1003 MT27500, 15b3:1007 MT27520).
func isCX3(d *fact.PCI) bool {
	return d.Vendor == 0x15b3 && (d.Device == 0x1003 || d.Device == 0x1007) && d.PhysFn == "" && !givenAway(d.Driver)
}

// cx3Dropped reports whether a ConnectX-3 has no driver because the distribution
// no longer has one.
func cx3Dropped(n *fact.Node, d *fact.PCI) bool {
	_, dropped := platform.DropOf("mlx4_core", n.Host)
	return isCX3(d) && d.Driver == "" && dropped
}

func judgeCX3(c *Case, n *fact.Node, d *fact.PCI) Finding {
	f := Finding{Subject: Subject{n.Name, d.BDF}, Got: "ConnectX-3: no GPUDirect, no driver from RHEL 10 on"}
	switch {
	case cx3Dropped(n, d):
		f.Status, f.Got, f.Want = Fail, "ConnectX-3 without a driver on "+n.Host.OS, "mlx4_core"
		f.Why = "RHEL dropped mlx4 in release 10, so the card is dead on this system"
		f.Fix = []string{"install RHEL 9, Fedora or Debian on this node, which still drive the card", "or put a ConnectX-4 or newer in"}
	case slices.Contains(c.Want.Workload.Features, "gpudirect"):
		f.Status, f.Got, f.Want = Fail, "ConnectX-3", "GPUDirect"
		f.Why = "weft.yaml asks for GPUDirect, and neither this card nor mlx4 can reach GPU memory"
		f.Fix = []string{"put a ConnectX-4 or newer in, or take gpudirect out of workload.features in weft.yaml"}
	case slices.ContainsFunc(n.GPUs, func(g *fact.GPU) bool { known, ok := platform.GPUOf(g); return ok && known.Direct == "yes" }):
		f.Status, f.Got, f.Want = Warn, "ConnectX-3", "a card with GPUDirect"
		f.Why = "the GPU could be reached directly, but this card cannot, so every byte is copied through host memory"
		f.Fix = []string{"put a ConnectX-4 or newer in, or accept ib.cx3 in weft.yaml"}
	}
	return f
}
