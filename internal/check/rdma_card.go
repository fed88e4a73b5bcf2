package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
)

// cardKind is a card's PCI vendor and device.
type cardKind struct{ vendor, device uint16 }

// rdmaCard reports whether a PCI function can do RDMA: weft knows it, its class is
// InfiniBand controller, or it is a network controller of Mellanox, whose cards
// all can.
func rdmaCard(d *fact.PCI) bool {
	_, known := platform.NICOf(d)
	return known && d.Class>>16 == 0x02 || d.Class>>8 == 0x0207 || d.Vendor == 0x15b3 && d.Class>>16 == 0x02
}

// givenAway reports whether a driver holds a card for a guest or for user space.
func givenAway(driver string) bool {
	return slices.Contains([]string{"vfio-pci", "mlx5_vfio_pci", "pci-stub", "xen-pciback", "uio_pci_generic", "igb_uio"}, driver)
}

// inBond reports whether the function's netdev is in a bond whose one RDMA device
// belongs to a sibling function, as mlx5 does (mlx5_bond_0).
func inBond(n *fact.Node, d *fact.PCI) bool {
	card, _, _ := strings.Cut(d.BDF, ".")
	for _, e := range n.Netdevs {
		if m := n.Netdev(e.Master); e.BDF == d.BDF && m != nil && m.Kind == "bond" {
			return slices.ContainsFunc(n.Ports, func(p *fact.Port) bool { return strings.HasPrefix(p.BDF, card+".") })
		}
	}
	return false
}

func portNames(n *fact.Node) string {
	if len(n.Ports) == 0 {
		return "no RDMA port"
	}
	var names []string
	for _, p := range n.Ports {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
