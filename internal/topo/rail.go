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
	var nets []netip.Prefix
	d := n.Netdev(p.Netdev)
	if d == nil {
		return nil
	}
	for _, a := range d.Addrs {
		prefix, err := netip.ParsePrefix(a)
		if err != nil || prefix.Addr().IsLinkLocalUnicast() && prefix.Addr().Is6() {
			continue
		}
		nets = append(nets, prefix.Masked())
	}
	slices.SortStableFunc(nets, func(a, b netip.Prefix) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	return nets
}

// Rails groups ports into rails: RoCE and iWARP ports by their first subnet,
// InfiniBand ports by the subnet prefix of their first GID.
func Rails(ports []PortAt) []Rail {
	var rails []Rail
	at := map[string]int{}
	for _, pa := range ports {
		name := railName(pa)
		if name == "" {
			continue
		}
		i, ok := at[name]
		if !ok {
			i = len(rails)
			at[name] = i
			rails = append(rails, Rail{Name: name})
		}
		rails[i].Ports = append(rails[i].Ports, pa)
	}
	slices.SortFunc(rails, func(a, b Rail) int { return strings.Compare(a.Name, b.Name) })
	return rails
}

func railName(pa PortAt) string {
	if pa.Port.IB() {
		prefix := "fe80:0000:0000:0000"
		if len(pa.Port.GIDs) > 0 && len(pa.Port.GIDs[0].GID) > 19 {
			prefix = pa.Port.GIDs[0].GID[:19]
		}
		return "InfiniBand " + prefix
	}
	if nets := Subnets(pa.Node, pa.Port); len(nets) > 0 {
		return nets[0].String()
	}
	return ""
}
