package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
)

// addrWords are addresses as a person reads them: the usual ones without what is usual.
// NetworkManager makes the routes itself, with a metric: "10.0.0.1/24 noprefixroute 101".
func addrWords(n *fact.Node, netdev string, addrs []string) string {
	var out []string
	for _, a := range addrs {
		p := prefix(strings.Fields(a)[0])
		switch {
		case !p.IsValid():
		case a == usual(p):
			a = p.String()
		case a == usual(p)+" noprefixroute":
			a = p.String() + " noprefixroute"
			for _, r := range n.Settings.Routes {
				if made(r, netdev, p) {
					a += " " + strconv.Itoa(r.Metric)
				}
			}
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// made reports whether a route is the one to an address's own subnet.
func made(r fact.Route, netdev string, a netip.Prefix) bool {
	plain := kernelRoute(a, netdev)
	return r.Dev == netdev && (r.Again == plain.Again || r.Again == fmt.Sprintf("%s metric %d", plain.Again, r.Metric))
}

// setAddrs sets the IPv4 addresses of a netdev, and what the kernel makes of them: GIDs
// and routes.
func setAddrs(n *fact.Node, name, value string) error {
	d := n.Netdev(name)
	if d == nil {
		return fmt.Errorf("%q is no netdev", name)
	}
	var addrs, again []string
	var new []netip.Prefix
	metric := map[netip.Prefix]int{} // -1 without a route
	if value != "none" {
		for _, a := range strings.Split(value, ", ") {
			f := strings.Fields(a)
			if len(f) == 0 {
				return fmt.Errorf("%q are no addresses", value)
			}
			p := prefix(f[0])
			if len(f) > 2 && f[1] == "peer" {
				own, _ := netip.ParseAddr(f[0])
				p = netip.PrefixFrom(own, prefix(f[2]).Bits())
			}
			if !p.IsValid() || !p.Addr().Is4() {
				return fmt.Errorf("%q is no address", a)
			}
			switch {
			case len(f) == 1:
				a = usual(p)
			case f[1] == "?":
				a = ""
			case f[1] == "noprefixroute":
				a, metric[p] = usual(p)+" noprefixroute", -1
				if len(f) > 2 {
					metric[p], _ = strconv.Atoi(f[2])
				}
			}
			new, addrs, again = append(new, p), append(addrs, p.String()), append(again, a)
		}
	}
	old := map[netip.Prefix]bool{}
	for i, s := range d.Addrs {
		p := prefix(s)
		if p.Addr().Is4() {
			old[p] = true
			continue
		}
		addrs = append(addrs, s)
		if i < len(d.Again) {
			again = append(again, d.Again[i])
		}
	}
	before := slices.Clone(n.Settings.Routes)
	for p := range old {
		if !slices.Contains(new, p) {
			lose(n, d, p)
		}
	}
	d.Addrs, d.Again = addrs, again
	for _, p := range new {
		if !old[p] {
			gain(n, d, p, metric[p])
		}
	}
	reroute(n, before)
	return nil
}

// lose takes away what the kernel made of an address.
func lose(n *fact.Node, d *fact.Netdev, a netip.Prefix) {
	for _, p := range n.Ports {
		if p.Netdev == d.Name && p.RoCE() {
			p.GIDs = slices.DeleteFunc(p.GIDs, func(g fact.GID) bool { return g.GID == gidOf(a.Addr()) && (g.Netdev == d.Name || g.Netdev == "") })
		}
	}
	n.Settings.Routes = slices.DeleteFunc(n.Settings.Routes, func(r fact.Route) bool { return made(r, d.Name, a) })
}

// gidOf is an IPv4 address as a GID.
func gidOf(a netip.Addr) string { return netip.AddrFrom16(a.As16()).StringExpanded() }

// gain is what the kernel makes of an address: GIDs at the first free indices, one for
// each version of RoCE that the port speaks, and the route to its subnet.
func gain(n *fact.Node, d *fact.Netdev, a netip.Prefix, metric int) {
	for _, p := range n.Ports {
		if p.Netdev != d.Name || !p.RoCE() || !p.GIDsRead {
			continue
		}
		kinds := []string{"IB/RoCE v1", "RoCE v2"}
		if p.Soft() || p.Driver == "irdma" {
			kinds = kinds[1:]
		}
		if len(p.GIDs) > 0 {
			kinds = slices.DeleteFunc(kinds, func(k string) bool {
				return !slices.ContainsFunc(p.GIDs, func(g fact.GID) bool { return g.Type == k })
			})
		}
		for _, kind := range kinds {
			free := 0
			for free < len(p.GIDs) && p.GIDs[free].Index == free {
				free++
			}
			p.GIDs = slices.Insert(p.GIDs, free, fact.GID{Index: free, GID: gidOf(a.Addr()), Type: kind, Netdev: d.Name})
		}
	}
	if d.Oper == "down" || metric < 0 {
		return
	}
	route := kernelRoute(a, d.Name)
	if metric > 0 {
		route.Metric, route.Again = metric, fmt.Sprintf("%s metric %d", route.Again, metric)
	}
	// ip route lists by destination, the default first, and equal ones as they came.
	at := slices.IndexFunc(n.Settings.Routes, func(r fact.Route) bool {
		to, other := prefix(r.Dst), n.Netdev(r.Dev)
		return r.Dst != "default" && (!to.Addr().Is4() || to.Addr().Compare(a.Masked().Addr()) > 0 || to == a.Masked() && other != nil && other.Index > d.Index)
	})
	if at < 0 {
		at = len(n.Settings.Routes)
	}
	n.Settings.Routes = slices.Insert(n.Settings.Routes, at, route)
}

// reroute finds anew by which netdev peers are reached, where the table before tells
// what the kernel said.
func reroute(n *fact.Node, before []fact.Route) {
	way := func(routes []fact.Route, to string) (dev, src string) {
		a, _ := netip.ParseAddr(to)
		r := lookup(routes, a)
		if r == nil {
			return "", ""
		}
		if src = r.Src; src == "" && n.Netdev(r.Dev) != nil {
			for _, p := range n.Netdev(r.Dev).Prefixes() {
				if p.Addr().Is4() && src == "" {
					src = p.Addr().String()
				}
			}
		}
		return r.Dev, src
	}
	for i := range n.Peers {
		pe := &n.Peers[i]
		dev, src := way(before, pe.Addr)
		newDev, newSrc := way(n.Settings.Routes, pe.Addr)
		if dev == pe.RouteDev && src == pe.RouteSrc {
			pe.RouteDev, pe.RouteSrc = newDev, newSrc
		}
	}
}
