package check

import (
	"net/netip"
	"strings"

	"weft/internal/fact"
)

// netdevWith returns the network interface of a node that has an address, or nil.
func netdevWith(n *fact.Node, addr string) *fact.Netdev {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return nil
	}
	for _, d := range n.Netdevs {
		for _, s := range d.Addrs {
			if p, err := netip.ParsePrefix(s); err == nil && p.Addr() == a.Unmap() {
				return d
			}
		}
	}
	return nil
}

// away says why a node is not to be found at one of the data addresses that
// weft.yaml gives it, and which check has more; "" when it should be there.
func (c *Case) away(n *fact.Node, addr string) string {
	if n.Down != "" {
		return n.Name + " did not answer; see node.read"
	}
	for _, dp := range c.about(n).wants {
		if wish, err := netip.ParsePrefix(dp.Address); err != nil || wish.Addr().String() != addr {
			continue
		}
		p := n.Port(dp.Port)
		switch {
		case p == nil:
			return n.Name + " has no " + dp.Port + "; see port.present"
		case p.State != "" && !p.Up():
			return p.Name + " of " + n.Name + " is " + p.State + "; see port.up"
		case netdevWith(n, addr) != nil:
		case c.layerOff(p):
			return p.Name + " of " + n.Name + " speaks " + p.Layer + "; see port.layer"
		case p.IB():
			return n.Name + " does not have " + addr + "; see ib.ipoib"
		case n.Netdev(p.Netdev) == nil:
		case addressed(n, p) || p.IWARP():
			return n.Name + " does not have " + addr + "; see roce.subnets"
		default:
			return n.Name + " does not have " + addr + "; see roce.gid"
		}
	}
	return ""
}

// wishAddr returns the address that weft.yaml gives a port; "" when it gives none.
func (c *Case) wishAddr(n *fact.Node, p *fact.Port) string {
	if wish, err := netip.ParsePrefix(c.wish(n, p).Address); err == nil {
		return wish.Addr().String()
	}
	return ""
}

// addrNow returns the address that a port has where weft.yaml wants wish: wish itself
// or the same with another prefix length, be it on a bond over it, else the first of
// its netdev; "" when it has none.
func addrNow(n *fact.Node, d *fact.Netdev, wish string) string {
	if w, err := netip.ParsePrefix(wish); err == nil {
		if at := netdevWith(n, w.Addr().String()); at != nil {
			for _, a := range at.Prefixes() {
				switch {
				case a == w:
					return wish // as it is written
				case a.Addr() == w.Addr():
					return a.String()
				}
			}
			return wish
		}
	}
	if d == nil || len(d.Prefixes()) == 0 {
		return ""
	}
	return d.Prefixes()[0].String()
}

// unreadAddrs is why nothing can be said of a node's addresses; "" when they were read. A
// node that was asked over the network has one at least.
func unreadAddrs(n *fact.Node) string {
	for _, d := range n.Netdevs {
		if len(d.Addrs) > 0 {
			return ""
		}
	}
	return "the addresses of " + n.Name + " were not read"
}

// DefaultRoute returns the default route that a node uses: the one of lowest
// metric, IPv4 before IPv6; nil when there is none.
func DefaultRoute(n *fact.Node) *fact.Route {
	var best *fact.Route
	for i := range n.Settings.Routes {
		r := &n.Settings.Routes[i]
		if r.Dst != "default" {
			continue
		}
		v6, best6 := strings.Contains(r.Via, ":"), best != nil && strings.Contains(best.Via, ":")
		if best == nil || best6 && !v6 || best6 == v6 && r.Metric < best.Metric {
			best = r
		}
	}
	return best
}

// Management returns the network interface that a node is managed through and
// its address there: where ssh arrived, else where the default route leaves, else
// the first addressed one that is no data port's. The interface is nil when none
// of these is known.
func (c *Case) Management(n *fact.Node) (*fact.Netdev, netip.Addr) {
	if d := netdevWith(n, n.Host.SSHTo); d != nil {
		a, _ := netip.ParseAddr(n.Host.SSHTo)
		return d, a.Unmap()
	}
	if r := DefaultRoute(n); r != nil {
		if d := n.Netdev(r.Dev); d != nil {
			if a, ok := Addr4(d); ok {
				return d, a
			}
		}
	}
	if d := c.spareNetdev(n); d != nil {
		a, _ := Addr4(d)
		return d, a
	}
	return nil, netip.Addr{}
}

// Addr4 returns the first IPv4 address of a network interface.
func Addr4(d *fact.Netdev) (netip.Addr, bool) {
	for _, s := range d.Addrs {
		if p, err := netip.ParsePrefix(s); err == nil && p.Addr().Is4() {
			return p.Addr(), true
		}
	}
	return netip.Addr{}, false
}

// dataNetdevs returns the names of the network interfaces under the data ports.
func (c *Case) dataNetdevs(n *fact.Node) map[string]bool {
	names := map[string]bool{}
	for _, p := range c.Data(n) {
		if p.Netdev != "" {
			names[p.Netdev] = true
		}
	}
	return names
}

// spareNetdev returns an addressed network interface of a node that could carry
// management: up, no data port's, and no container bridge; nil when there is none.
func (c *Case) spareNetdev(n *fact.Node) *fact.Netdev {
	data := c.dataNetdevs(n)
	for _, d := range n.Netdevs {
		if a, ok := Addr4(d); ok && d.Oper == "up" && !data[d.Name] && !a.IsLinkLocalUnicast() && d.Type == "ether" && (d.Kind == "" || d.Kind == "bond") {
			return d
		}
	}
	return nil
}
