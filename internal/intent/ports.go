package intent

import (
	"cmp"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
)

// choose returns the data ports of every node that answered: those that the wish
// names; where it names none and gives subnets, those with a cable; else those that
// are in use.
func (w Wish) choose(c *check.Case) (map[*fact.Node][]*fact.Port, error) {
	ports := map[*fact.Node][]*fact.Port{}
	if err := w.known(c); err != nil {
		return nil, err
	}
	for _, n := range c.Up() {
		named, err := w.named(n)
		switch {
		case err != nil:
			return nil, err
		case named != nil:
			ports[n] = named
		case len(w.Subnets)+len(w.Ports) > 0:
			ports[n] = w.plugged(c, n)
		default:
			ports[n] = c.Data(n)
		}
	}
	if len(w.Subnets) == 0 {
		return ports, nil
	}
	return w.fit(c, ports)
}

// known wants every port and node that the wish names to be there at all.
func (w Wish) known(c *check.Case) error {
	up := c.Up()
	if len(up) == 0 {
		return nil // nothing is known of anybody
	}
	for _, want := range w.Ports {
		if want.Node != "" && c.Node(want.Node) == nil {
			return wrong("", "", "--port %s:%s: there is no node %s; the first is %s", want.Node, want.Port, want.Node, c.Nodes[0].Name)
		}
		if want.Node == "" && !slices.ContainsFunc(up, func(n *fact.Node) bool { return n.Port(want.Port) != nil }) {
			return wrong("", "", "--port %s: no node has it; %s has %s", want.Port, up[0].Name, portList(up[0].Ports))
		}
	}
	return nil
}

// named returns the ports of a node that the wish names: those for this node, else
// those for all; nil when it has none of them.
func (w Wish) named(n *fact.Node) (ports []*fact.Port, err error) {
	var mine, all []string
	for _, want := range w.Ports {
		switch want.Node {
		case n.Name:
			mine = append(mine, want.Port)
		case "":
			all = append(all, want.Port)
		}
	}
	names := all
	if len(mine) > 0 {
		names = mine
	}
	lacks := ""
	for _, name := range names {
		if p := n.Port(name); p != nil {
			ports = append(ports, p)
		} else {
			lacks = name
		}
	}
	if lacks != "" && (len(ports) > 0 || len(mine) > 0) {
		return nil, wrong("", "", "--port: %s has no %s; it has %s", n.Name, lacks, portList(n.Ports))
	}
	return ports, nil
}

// plugged returns the ports of a node that have a cable and do not carry management,
// sorted by name, the twin of a Spark port beside it. Functions of virtual machines and
// software devices count only where there is nothing else, and so does a port that
// speaks another layer than the wish.
func (w Wish) plugged(c *check.Case, n *fact.Node) (ports []*fact.Port) {
	manages := management(c, n)
	for _, p := range n.Ports {
		if cabled(n, p) && !manages(p) {
			ports = append(ports, p)
		}
	}
	ports = prefer(ports, func(p *fact.Port) bool { d := n.At(p.BDF); return d == nil || d.PhysFn == "" })
	ports = prefer(ports, func(p *fact.Port) bool { return !p.Soft() })
	ports = prefer(ports, func(p *fact.Port) bool { return w.Layer == "" || w.Layer == layerOf(p) })
	slices.SortFunc(ports, func(a, b *fact.Port) int {
		return cmp.Or(natural(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
	})
	var out []*fact.Port
	for _, p := range ports {
		if slices.Contains(out, p) {
			continue
		}
		out = append(out, p)
		if twin, ok := platform.Twin(n, p); ok && slices.Contains(ports, twin) {
			out = append(out, twin)
		}
	}
	return out
}

// cabled reports whether something is plugged into a port. One that is switched off
// tells of no carrier, neither yes nor no: then its module answers for it.
func cabled(n *fact.Node, p *fact.Port) bool {
	if p.Phys == "LinkUp" || p.State != "" && p.State != "DOWN" {
		return true
	}
	d := n.Netdev(p.Netdev)
	if d == nil {
		return false
	}
	return d.Carrier.Or(false) || (d.Off || !d.Carrier.Known()) && p.Module != nil
}

// management reports whether a port carries the node's management: ssh or the default
// route, also through a bond or a VLAN over it, which has the same MAC.
func management(c *check.Case, n *fact.Node) func(*fact.Port) bool {
	var devs []*fact.Netdev
	if d, _ := c.Management(n); d != nil {
		devs = append(devs, d)
	}
	if r := check.DefaultRoute(n); r != nil && n.Netdev(r.Dev) != nil {
		devs = append(devs, n.Netdev(r.Dev))
	}
	return func(p *fact.Port) bool {
		d := n.Netdev(p.Netdev)
		return d != nil && slices.ContainsFunc(devs, func(m *fact.Netdev) bool {
			return m.Name == d.Name || m.Name == d.Master || m.MAC != "" && m.MAC == d.MAC
		})
	}
}

// prefer keeps the ports that are better, where there are some.
func prefer(ports []*fact.Port, better func(*fact.Port) bool) []*fact.Port {
	var good []*fact.Port
	for _, p := range ports {
		if better(p) {
			good = append(good, p)
		}
	}
	if len(good) == 0 {
		return ports
	}
	return good
}
