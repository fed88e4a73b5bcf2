package job

import (
	"net/netip"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/topo"
)

// cables is how RoCE subnets join the nodes.
type cables struct {
	pairs    bool // three nodes or more, and every subnet joins two of them: direct cables
	complete bool // every two nodes have a subnet in common
	bits     int  // prefix length of the subnets; the longest where they differ
}

// cablesOf looks at the subnets of all RoCE ports. One that joins three nodes ends
// the search, so that a large cluster costs nothing.
func cablesOf(c *check.Case) cables {
	type ends struct{ a, b *fact.Node }
	joined := map[netip.Prefix]ends{}
	nodes := map[*fact.Node]bool{}
	for _, n := range c.Nodes {
		for _, p := range c.Data(n) {
			nets := topo.Subnets(n, p)
			if !p.RoCE() || len(nets) == 0 {
				continue
			}
			e := joined[nets[0]]
			switch {
			case e.a == nil:
				e.a = n
			case e.a == n || e.b == n:
			case e.b == nil:
				e.b = n
			default:
				return cables{}
			}
			joined[nets[0]] = e
			nodes[n] = true
		}
	}
	r := cables{pairs: len(nodes) > 2}
	met := map[ends]bool{}
	for net, e := range joined {
		if e.b == nil {
			continue
		}
		r.bits = max(r.bits, net.Bits())
		met[e] = true
	}
	r.pairs = r.pairs && len(met) > 1
	r.complete = len(met) == len(nodes)*(len(nodes)-1)/2
	return r
}

// gdrLevel returns how far a NIC may be from a GPU for GPUDirect: as far as the
// GPU that is worst off needs. Empty where GPUDirect does not exist or nothing is
// known of the distances.
func gdrLevel(n *fact.Node, ports []*fact.Port) (level, why string) {
	farthest := topo.Unknown
	for _, g := range n.GPUs {
		if known, ok := platform.GPUOf(g); !ok || known.Direct == "no" {
			continue
		}
		nearest := topo.Unknown
		for _, p := range ports {
			dev := n.At(p.BDF)
			if dev == nil {
				continue
			}
			if nic, ok := platform.NICOf(dev); !ok || !nic.GPUDirect {
				continue
			}
			if d := topo.Between(n, g.BDF, p.BDF); d != topo.Unknown && (nearest == topo.Unknown || d < nearest) {
				nearest = d
			}
		}
		farthest = max(farthest, nearest)
	}
	switch farthest {
	case topo.Unknown:
		return "", ""
	case topo.PIX, topo.PXB:
		return farthest.String(), "every GPU has a card behind the same PCIe switches; GPUDirect stays among them"
	case topo.PHB, topo.NODE: // NCCL's PHB is "on the same NUMA node"
		return "PHB", "some GPU reaches its nearest card through the CPU only; GPUDirect is allowed that far"
	}
	return "PHB", "some GPU has a card across the socket link only, where GPUDirect is slower than host memory; it stays off there"
}
