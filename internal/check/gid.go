package check

import (
	"net/netip"
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

// GIDAddr is an entry of a port's GID table that carries an IPv4 address.
type GIDAddr struct {
	Index  int
	Addr   netip.Addr
	Netdev string
}

// V2Addrs returns the IPv4-mapped RoCE v2 entries of a port's GID table, in the
// order of the table. Link-local addresses are among them.
func V2Addrs(p *fact.Port) []GIDAddr {
	var out []GIDAddr
	for _, g := range p.GIDs {
		if a := gidAddr(g); gidV2(g) && a.Is4() {
			out = append(out, GIDAddr{g.Index, a, g.Netdev})
		}
	}
	return out
}

// Routable leaves out the link-local addresses: 169.254.0.0/16 is shared by all
// ports that nobody addressed, so it names no link.
func Routable(gids []GIDAddr) []GIDAddr {
	var out []GIDAddr
	for _, g := range gids {
		if !g.Addr.IsLinkLocalUnicast() {
			out = append(out, g)
		}
	}
	return out
}

// gidV2 reports whether the entry is for RoCE v2.
func gidV2(g fact.GID) bool { return strings.Contains(g.Type, "RoCE v2") }

// gidAddr returns the address in a GID, IPv4 where it is mapped; invalid when the
// entry is empty or unreadable.
func gidAddr(g fact.GID) netip.Addr {
	a, err := netip.ParseAddr(g.GID)
	if err != nil || a.IsUnspecified() {
		return netip.Addr{}
	}
	return a.Unmap()
}

// rocePorts returns the RoCE ports in use.
func (c *Case) rocePorts() []topo.PortAt {
	all := c.DataPorts()
	out := make([]topo.PortAt, 0, len(all))
	for _, pa := range all {
		if pa.Port.RoCE() {
			out = append(out, pa)
		}
	}
	return out
}
