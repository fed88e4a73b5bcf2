package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit"
	"weft/internal/fact"
)

// mendSeparate takes the default route off data ports. That ssh comes in over one only
// a person can change.
func mendSeparate(d *draft, n *fact.Node, f check.Finding) error {
	if f.Status == check.Unknown {
		return byHand("")
	}
	data := map[string]bool{}
	for _, p := range d.Data(n) {
		if dev := n.Netdev(p.Netdev); dev != nil {
			data[dev.Name], data[dev.Master] = true, dev.Master != ""
		}
	}
	found := false
	for i, r := range n.Settings.Routes {
		if r.Dst != "default" || !data[r.Dev] {
			continue
		}
		if err := d.noDefault(n, i); err != nil {
			return err
		}
		found = true
	}
	if to, err := netip.ParseAddr(n.Host.SSHTo); err == nil {
		for _, dev := range n.Netdevs {
			if data[dev.Name] && slices.ContainsFunc(dev.Prefixes(), func(p netip.Prefix) bool { return p.Addr() == to.Unmap() }) {
				return byHand("ssh comes in over %s: let weft.yaml reach the node by another way first", dev.Name)
			}
		}
	}
	if !found {
		return byHand("")
	}
	return nil
}

// noDefault takes away one default route.
func (d *draft) noDefault(n *fact.Node, i int) error {
	r := n.Settings.Routes[i]
	dev := n.Netdev(r.Dev)
	switch {
	case strings.Contains(r.Via, ":"):
		return byHand("the default route of IPv6 comes from a router: forbid it where %s is configured", r.Dev)
	case dev == nil || r.Again == "":
		return byHand("the default route by %s is not one that weft could make again", r.Dev)
	case strings.Contains(r.Again, " proto dhcp") && dev.Manager == "":
		return byHand("a DHCP client that weft does not know gives %s its default route", r.Dev)
	}
	s := Step{
		What: "net/" + r.Dev + "/default", From: r.Again, To: "none",
		Do:    []string{"ip route del " + words(r.Again) + " 2>/dev/null || true"},
		Undo:  []string{addRoute(r)},
		Shows: "ip -4 route show default",
	}
	var left []fact.Route
	for k, o := range n.Settings.Routes {
		if k == i {
			continue
		}
		left = append(left, o)
		if o.Dst == "default" && o.Metric == r.Metric && !strings.Contains(o.Via, ":") {
			return byHand("two default routes have the metric %d, and their order cannot be kept", r.Metric)
		}
	}
	from, _ := netip.ParseAddr(n.Host.SSHFrom)
	switch back := lookup(left, from); {
	case !slices.ContainsFunc(left, func(o fact.Route) bool { return o.Dst == "default" && !strings.Contains(o.Via, ":") }):
		s.Risk, s.Note = RiskSSH, "the node has no other default route: it then reaches only the networks that it is in"
	case from.IsValid() && (back == nil || back.Dev == r.Dev):
		s.Risk, s.Note = RiskSSH, fmt.Sprintf("answers to ssh from %v leave by it", from)
	}
	return d.keep(n, dev, edit.Netdev{NoDefault: true}, s)
}

// lookup returns the route of a table that the kernel takes: the longest, then the one
// of lowest metric; nil when there is none.
func lookup(routes []fact.Route, to netip.Addr) (best *fact.Route) {
	length := -1
	for i := range routes {
		r := &routes[i]
		p := prefix(r.Dst)
		if a, err := netip.ParseAddr(r.Dst); err == nil {
			p = netip.PrefixFrom(a, a.BitLen())
		}
		if r.Dst == "default" {
			p = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
			if via, _ := netip.ParseAddr(r.Via); via.Is6() {
				p = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
			}
		}
		if p.IsValid() && p.Contains(to.Unmap()) && (p.Bits() > length || p.Bits() == length && r.Metric < best.Metric) {
			best, length = r, p.Bits()
		}
	}
	return best
}

// mendRoute leads the packets for peers out of the port that faces them.
func mendRoute(d *draft, n *fact.Node, f check.Finding) error {
	if f.Status == check.Unknown {
		return byHand("")
	}
	node, err := d.now(n)
	if err != nil {
		return err
	}
	wrong := map[string][]fact.Peer{}
	var devs []string
	for _, pe := range node.Peers {
		if p := n.Port(pe.Port); p != nil && "→ "+pe.Node == f.Subject.Part && !byPort(n, p, pe.RouteDev) {
			wrong[p.Netdev] = append(wrong[p.Netdev], pe)
			devs = append(devs, p.Netdev)
		}
	}
	for _, name := range slices.Compact(devs) {
		if err := d.lead(n, node, name, wrong[name]); err != nil {
			return err
		}
	}
	if len(devs) > 0 {
		return nil
	}
	for _, s := range d.of[n.Name] { // the new address brought the route with it
		if strings.HasSuffix(s.What, "/addr") {
			d.add(n, Step{What: s.What})
		}
	}
	return nil
}

// byPort reports whether a route by dev is one by the port: see check plane.route.
func byPort(n *fact.Node, p *fact.Port, dev string) bool {
	here := n.Netdev(p.Netdev)
	return dev != "" && (dev == p.Netdev || here != nil && here.Master == dev || slices.ContainsFunc(p.GIDs, func(g fact.GID) bool { return g.Netdev == dev }))
}

// lead adds routes by a netdev to addresses of a peer: that to the subnet where it is
// missing, else one to the address alone, which comes before what leads elsewhere.
func (d *draft) lead(n, node *fact.Node, netdev string, peers []fact.Peer) error {
	dev := node.Netdev(netdev)
	if dev == nil {
		return byHand("%s has no network interface that weft could change", netdev)
	}
	if err := d.own(n, n.Netdev(netdev)); err != nil {
		return err
	}
	routes := slices.Clone(node.Settings.Routes)
	for _, pe := range peers {
		to, _ := netip.ParseAddr(pe.Addr)
		at := slices.IndexFunc(dev.Prefixes(), func(p netip.Prefix) bool { return p.Addr().Is4() && p.Contains(to) })
		main := lookup(routes, to)
		switch {
		case at < 0:
			return byHand("%s has no address in the subnet of %s", netdev, pe.Addr)
		case pe.RouteDev == "lo":
			return byHand("two nodes have %s: see roce.subnets", pe.Addr)
		case main != nil && main.Dev == netdev:
			return byHand("the main table leads to %s by %s: a rule sends it elsewhere (ip rule)", pe.Addr, netdev)
		case main != nil && main.Dst == pe.Addr+"/32":
			return byHand("somebody routes %s by %s: take that route away where it comes from", pe.Addr, main.Dev)
		}
		mine := dev.Prefixes()[at]
		s := Step{What: "route/" + pe.Addr, From: peerRoute(pe.RouteDev, pe.RouteSrc), To: peerRoute(netdev, mine.Addr().String()), Shows: sh("ip route get %s | head -n 1", pe.Addr)}
		r := kernelRoute(mine, netdev)
		s.Note = "the kernel makes this route by itself with the address, at the next boot, too"
		if missing := !slices.ContainsFunc(routes, func(o fact.Route) bool { return o.Dst == r.Dst && o.Dev == netdev }); !missing || lookup(append(slices.Clone(routes), r), to).Dev != netdev {
			r = fact.Route{Dst: pe.Addr, Dev: netdev, Src: mine.Addr().String(), Again: fmt.Sprintf("%s dev %s proto static scope link src %s", pe.Addr, netdev, mine.Addr())}
			s.Note = runtimeOnly + "; look for what leads to " + peerRoute(pe.RouteDev, "") + " instead"
		}
		s.Do = []string{addRoute(r)}
		s.Undo = []string{"ip route del " + words(r.Again) + " 2>/dev/null || true"}
		d.add(n, s)
	}
	return nil
}

// peerRoute is how a peer is reached: "rail0 from 10.20.0.1", or "none".
func peerRoute(dev, src string) string {
	switch {
	case dev == "":
		return "none"
	case src == "":
		return dev
	}
	return dev + " from " + src
}
