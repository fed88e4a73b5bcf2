package topo

import (
	"slices"

	"weft/internal/fact"
)

// Distance is how two PCI devices of a node reach each other, in the words that
// nvidia-smi taught people. Nearer is smaller.
type Distance int

// The distances, nearest first; Unknown when a device or its path is not known.
const (
	Unknown Distance = iota
	PIX              // through at most one PCIe switch
	PXB              // through several PCIe switches
	PHB              // through the PCIe host bridge, so through the CPU
	NODE             // through several host bridges of one NUMA node
	SYS              // through the link between NUMA nodes
)

var words = [...]string{"?", "PIX", "PXB", "PHB", "NODE", "SYS"}

// String returns the word.
func (d Distance) String() string { return words[d] }

// Between returns the distance of two PCI devices of a node.
func Between(n *fact.Node, a, b string) Distance {
	var bufA, bufB [deepest]*fact.PCI // asked for every pair of a large cluster: no garbage
	pa, pb := appendPath(bufA[:0], n, a), appendPath(bufB[:0], n, b)
	if len(pa) == 0 || len(pb) == 0 {
		return Unknown
	}
	for j, d := range pb {
		i := slices.Index(pa, d)
		switch {
		case i < 0:
			continue
		case i <= 2 && j <= 2: // endpoint, downstream port, upstream port
			return PIX
		default:
			return PXB
		}
	}
	da, db := pa[0], pb[0]
	if da.Host == db.Host {
		return PHB
	}
	na, oka := da.NUMA.Get()
	nb, okb := db.NUMA.Get()
	switch {
	case n.Host.NUMANodes == 1 || oka && okb && na == nb:
		return NODE
	case oka && okb:
		return SYS
	}
	return Unknown
}
