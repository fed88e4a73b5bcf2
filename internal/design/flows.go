package design

import (
	"fmt"
	"math/bits"

	"weft/internal/nodeset"
	"weft/internal/unit"
)

// flows sets what one flow gets beside what all of them get: capacity is given to
// flows, not pooled.
func (d *Design) flows() {
	for _, f := range d.Fabrics {
		add := func(what, format string, args ...any) {
			f.Flows = append(f.Flows, Line{what, fmt.Sprintf(format, args...)})
		}
		if f.Shape == "none" {
			continue
		}
		get := d.Card.Gets
		add("a node", "%d × %s = %s in aggregate, each way; one flow uses one NIC, at most %s / 8 = %s GB/s", f.Rails, v(get), v(get*unit.Rate(f.Rails)), v(get), num(gb(get)/8))
		if f.Rails > 1 {
			add("NCCL", "opens flows on every NIC of NCCL_IB_HCA, so it uses the aggregate; a single download does not: read with %d or more streams", f.Rails)
		}
		switch {
		case f.Shape == "clos":
			p := f.Planes[0]
			add("leaf to leaf", "%d × %s = %s in aggregate; one QP or TCP flow is hashed onto one of them, so several on each pair fill them more evenly", p.Up, v(f.Rate), v(f.Rate*unit.Rate(p.Up)))
		case f.Shape == "direct" && f.Nodes > 2:
			add("a pair", "one cable: %s; the other port of the card goes to another node", v(get))
		}
	}
}

// plans says how addresses and AS numbers were given.
func (d *Design) plans() {
	n := &d.Net
	line := func(what, format string, args ...any) {
		n.Lines = append(n.Lines, Line{what, fmt.Sprintf(format, args...)})
	}
	line("block", "%v = 16 × /16: a rail each, access 13, management 14, loopbacks 15", n.Block)
	i := 0
	for _, f := range d.Fabrics {
		for r := range f.Rails {
			net := n.Rails[i]
			i++
			what := fmt.Sprintf("%s rail %d", f.Name, r+1)
			switch {
			case f.Shape == "none":
			case f.Shape == "direct":
				line(what, "%v: a /31 for each cable", net)
			case f.Layer == "InfiniBand":
				line(what, "%v/%d: IPoIB, one subnet; node n has its nth address", net.Addr(), flatBits(f.Nodes))
			case f.Shape == "switch":
				line(what, "%v/%d: one subnet; node n has its nth address, the router the last but one", net.Addr(), flatBits(f.Nodes))
			default:
				p := f.Planes[min(r, len(f.Planes)-1)]
				if len(f.Planes) == 1 {
					p = f.Planes[0]
				}
				size := 2 << bits.Len(uint(p.Down-1))
				line(what, "%v: a leaf has %d × 2 = %d addresses, so a block of %d (/%d); port p has the /31 at 2 × (p − 1), the node the upper address", net, p.Down, 2*p.Down, size, 33-bits.Len(uint(size)))
			}
		}
	}
	var routers, spines, leaves []string
	first, last := uint32(0), uint32(0)
	for _, x := range d.Devices {
		if !x.Routed() {
			continue
		}
		if first == 0 || x.AS < first {
			first = x.AS
		}
		last = max(last, x.AS)
		switch x.Role {
		case RoleRouter:
			routers = append(routers, x.Name)
		case RoleSpine:
			spines = append(spines, x.Name)
		default:
			leaves = append(leaves, x.Name)
		}
	}
	if first == 0 {
		return
	}
	count := int(last-first) + 1
	kind := fmt.Sprintf("%d to %d, %d numbers for private use (RFC 6996)", firstAS16, lastAS16, lastAS16-firstAS16+1)
	if first >= firstAS32 {
		kind = fmt.Sprintf("%d are more than %d: the four-byte range from %d (RFC 6996)", count, lastAS16-firstAS16+1, uint32(firstAS32))
	}
	line("AS", "one for each switch (RFC 7938): 1 router + %d spines + %d leaves = %d", len(spines), len(leaves), count)
	line("", "%d to %d for %s, %s, %s; %s", first, last, nodeset.Fold(routers), nodeset.Fold(spines), nodeset.Fold(leaves), kind)
	line("loopbacks", "%v and %d more, in the same order", add(n.Loopbacks.Addr(), 1), count-1)
}
