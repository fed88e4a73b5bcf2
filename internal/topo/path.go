// Package topo is the graph that facts describe: the PCIe path of a device, how
// far a NIC is from a GPU, and which ports meet on which rail. Pure.
package topo

import (
	"weft/internal/fact"
	"weft/internal/unit"
)

// deepest is more bridges than any machine has above a device: a loop in forged
// facts ends there.
const deepest = 32

// Path returns the PCI device and every bridge above it, device first. It ends
// at the host bridge or where the facts end.
func Path(n *fact.Node, bdf string) []*fact.PCI {
	return appendPath(make([]*fact.PCI, 0, 8), n, bdf)
}

func appendPath(path []*fact.PCI, n *fact.Node, bdf string) []*fact.PCI {
	for d := n.At(bdf); d != nil && len(path) < deepest; d = n.At(d.Up) {
		path = append(path, d)
	}
	return path
}

// Bandwidth is what a PCIe link carries one way after its line code: 8b/10b up
// to 5 GT/s, 128b/130b above, as the kernel counts it (PCIE_SPEED2MBS_ENC in
// include/linux/pci.h, so that 8 GT/s x4 is 31.504 Gb/s in both).
func Bandwidth(l fact.Link) unit.Rate {
	var perLane unit.Rate
	switch l.GTs {
	case 2.5:
		perLane = 2000
	case 5:
		perLane = 4000
	case 8:
		perLane = 7876
	case 16:
		perLane = 15753
	case 32:
		perLane = 31507
	case 64:
		perLane = 63015
	}
	return perLane * unit.Rate(l.Width) * unit.Mbps
}

// rdmaShare is the part of a PCIe link's bandwidth that large RDMA transfers
// reach after packet headers and flow control: 27.6 of 31.5 Gb/s were measured
// on 8 GT/s x4 (seed 000), 50.6 of 63.0 on 16 GT/s x4 (research/community.md
// item 19), so 80 to 88 %.
const rdmaShare = 0.85

// RDMARate is about what RDMA gets through a PCIe link.
func RDMARate(l fact.Link) unit.Rate { return unit.Rate(float64(Bandwidth(l)) * rdmaShare) }

// A Hop is one PCIe link: the device below it and the port above it.
type Hop struct {
	Below, Above *fact.PCI // Above is nil when the facts end there
	Cur, Can     fact.Link // what it runs at, and the weakest of what both ends can do
}

// Hops returns the PCIe links from a device up to the root. A path alternates
// link and switch inside (endpoint — downstream port, upstream port — root port),
// so devices pair up two by two. Speeds and widths that are unknown are zero.
//
// An end that states nothing takes the other's word: a virtual function has no link
// of its own, and some devices tell no maximum. Can is then what the port above
// could do, which the device below may not reach: a hop may seem slower than it
// could be although nothing is wrong, and never the other way round.
func Hops(n *fact.Node, bdf string) []Hop {
	path := Path(n, bdf)
	var hops []Hop
	for i := 0; i < len(path); i += 2 {
		h := Hop{Below: path[i], Cur: path[i].Cur, Can: path[i].Max}
		if i+1 < len(path) {
			h.Above = path[i+1]
			h.Can = weakest(h.Can, h.Above.Max)
			if h.Cur.Width == 0 || h.Cur.GTs == 0 {
				h.Cur = h.Above.Cur
			}
		}
		if h.Cur.Width != 0 || h.Can.Width != 0 {
			hops = append(hops, h)
		}
	}
	return hops
}

// Narrowest returns the hop that carries least now; ok is false when no hop's
// speed is known.
func Narrowest(hops []Hop) (h Hop, ok bool) {
	for _, x := range hops {
		if b := Bandwidth(x.Cur); b > 0 && (!ok || b < Bandwidth(h.Cur)) {
			h, ok = x, true
		}
	}
	return h, ok
}

// weakest takes the lower speed and width of two ends; unknown is left out.
func weakest(a, b fact.Link) fact.Link {
	l := a
	if a.GTs == 0 || b.GTs != 0 && b.GTs < a.GTs {
		l.GTs = b.GTs
	}
	if a.Width == 0 || b.Width != 0 && b.Width < a.Width {
		l.Width = b.Width
	}
	return l
}
