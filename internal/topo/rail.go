package topo

import (
	"net/netip"
	"slices"
	"strings"

	"weft/internal/fact"
)

// PortAt is a port and the node it is on.
type PortAt struct {
	Node *fact.Node
	Port *fact.Port
}

// Rail is a set of ports that should reach each other directly: one IP subnet, or
// one InfiniBand fabric.
type Rail struct {
	Name  string // "192.168.200.0/24", or "InfiniBand" with the subnet prefix
	Ports []PortAt
}

// Subnets returns the networks of the addresses on the port's netdev, IPv4 first
// and link-local left out.
func Subnets(n *fact.Node, p *fact.Port) []netip.Prefix {
	d := n.Netdev(p.Netdev)
	if d == nil {
		return nil
	}
	nets := slices.Clone(d.Prefixes())
	for i := range nets {
		nets[i] = nets[i].Masked()
	}
	return nets
}

// Rails groups ports into rails: RoCE and iWARP ports by their first subnet,
// InfiniBand ports by the subnet prefix of their first GID.
func Rails(ports []PortAt) []Rail {
	type key struct { // compared for every port of a large cluster: no string is made
		net netip.Prefix
		ib  string
	}
	var rails []Rail
	at := map[key]int{}
	for _, pa := range ports {
		var k key
		if pa.Port.IB() {
			k.ib = subnetPrefix(pa.Port)
		} else if nets := Subnets(pa.Node, pa.Port); len(nets) > 0 {
			k.net = nets[0]
		} else {
			continue
		}
		i, ok := at[k]
		if !ok {
			i = len(rails)
			at[k] = i
			name := "InfiniBand " + k.ib
			if k.ib == "" {
				name = k.net.String()
			}
			rails = append(rails, Rail{Name: name})
		}
		rails[i].Ports = append(rails[i].Ports, pa)
	}
	slices.SortFunc(rails, func(a, b Rail) int { return strings.Compare(a.Name, b.Name) })
	return rails
}

// subnetPrefix is the first half of a port's first GID, fe80:: unless the subnet
// manager gives another.
func subnetPrefix(p *fact.Port) string {
	if len(p.GIDs) > 0 && len(p.GIDs[0].GID) > 19 {
		return p.GIDs[0].GID[:19]
	}
	return "fe80:0000:0000:0000"
}
