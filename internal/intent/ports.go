package intent

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
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

// alone leaves out the twins without which a Spark port carries its whole link.
func alone(n *fact.Node, ports []*fact.Port) (out []*fact.Port) {
	for _, p := range ports {
		if twin, ok := platform.Twin(n, p); !ok || !slices.Contains(out, twin) || check.NeedsTwin(n, twin) {
			out = append(out, p)
		}
	}
	return out
}

// fit gives every node one data port for each subnet, or says who has more or fewer.
func (w Wish) fit(c *check.Case, ports map[*fact.Node][]*fact.Port) (map[*fact.Node][]*fact.Port, error) {
	fitting := map[*fact.Node][]*fact.Port{}
	for _, n := range c.Up() {
		fitting[n] = w.take(n, ports[n], len(w.Subnets))
		if fitting[n] != nil {
			continue
		}
		have := len(ports[n])
		if have == 0 {
			return nil, &Error{What: n.Name + " has no RDMA port with a cable: " + whyNone(c, n), Node: n.Name}
		}
		what := count(have, "RDMA port") + " with a cable"
		if w.names(n) {
			what = count(have, "data port")
		}
		flag, try := w.instead(c, ports)
		return nil, wrong(flag, try, "%s has %s (%s), and --subnet gives %s: each data port needs one of its own", n.Name, what, portList(ports[n]), count(len(w.Subnets), "subnet"))
	}
	return fitting, w.addressable(c, fitting)
}

// take returns so many ports of a node: all, or all but the twins that are not needed;
// nil when these are more or fewer. Ports that the owner named are all meant.
func (w Wish) take(n *fact.Node, ports []*fact.Port, rails int) []*fact.Port {
	switch less := alone(n, ports); {
	case len(ports) == rails:
		return ports
	case len(less) == rails && !w.names(n):
		return less
	}
	return nil
}

// names reports whether the wish names ports of a node.
func (w Wish) names(n *fact.Node) bool {
	named, err := w.named(n)
	return err != nil || named != nil
}

// instead is a flag with which ports and subnets are as many: more or fewer subnets
// where all nodes agree, else the first ports of each node.
func (w Wish) instead(c *check.Case, ports map[*fact.Node][]*fact.Port) (flag, try string) {
	up := c.Up()
	for k := len(ports[up[0]]); k > 0; k-- {
		if slices.ContainsFunc(up, func(n *fact.Node) bool { return w.take(n, ports[n], k) == nil }) {
			continue
		}
		nets := slices.Clone(w.Subnets[:min(k, len(w.Subnets))])
		for len(nets) < k {
			next := free(nets[len(nets)-1], slices.Concat(taken(c), nets))
			if !next.IsValid() {
				return "", ""
			}
			nets = append(nets, next)
		}
		return "subnet", joined(nets)
	}
	var names []string
	for _, n := range up {
		if len(ports[n]) < len(w.Subnets) {
			return "", ""
		}
		for _, p := range ports[n][:len(w.Subnets)] {
			names = append(names, n.Name+":"+p.Name)
		}
	}
	return "port", strings.Join(names, ",")
}

// addressable wants every port whose address would change to be one that may have one.
func (w Wish) addressable(c *check.Case, ports map[*fact.Node][]*fact.Port) error {
	for _, n := range c.Up() {
		manages := management(c, n)
		for i, p := range ports[n] {
			if slices.ContainsFunc(now(n, p), func(a netip.Prefix) bool { return number(w.Subnets[i], a.Addr()) > 0 }) {
				continue // it keeps the one it has
			}
			d := n.Netdev(p.Netdev)
			switch {
			case manages(p):
				return wrong("", "", "--port: %s carries ssh or the default route of %s, and another address would cut it off: choose another port, or the subnet that it is in", p.Name, n.Name)
			case d != nil && d.Master != "":
				return wrong("", "", "%s of %s, the interface of %s, is in %s: the address belongs there, which weft leaves to you\nwrite weft.yaml without --subnet and put the address of %s into it", d.Name, n.Name, p.Name, d.Master, d.Master)
			}
		}
	}
	return nil
}

// whyNone says why a node has no port that could be a data port.
func whyNone(c *check.Case, n *fact.Node) string {
	var words []string
	manages := management(c, n)
	for _, p := range n.Ports {
		word := p.Name + " is " + cmp.Or(p.State, "unread")
		if manages(p) {
			word = p.Name + " carries management"
		}
		words = append(words, word)
	}
	if len(words) > 0 {
		return strings.Join(words, ", ")
	}
	for _, d := range n.PCI {
		if nic, ok := platform.NICOf(d); ok {
			return fmt.Sprintf("its %s at %s is no RDMA device, perhaps because a driver is not loaded", nic.Name, d.BDF)
		}
	}
	return "it has no RDMA device, and no card that weft knows"
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func portList(ports []*fact.Port) string {
	var names []string
	for _, p := range ports {
		names = append(names, p.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

func joined(nets []netip.Prefix) string {
	var words []string
	for _, p := range nets {
		words = append(words, p.String())
	}
	return strings.Join(words, ",")
}

// natural compares names as people count: mlx5_2 before mlx5_10.
func natural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, _ := strconv.ParseUint(a[:da], 10, 64)
			y, _ := strconv.ParseUint(b[:db], 10, 64)
			if d := cmp.Or(cmp.Compare(x, y), cmp.Compare(da, db)); d != 0 {
				return d
			}
			a, b = a[da:], b[db:]
			continue
		}
		if d := cmp.Compare(a[0], b[0]); d != 0 {
			return d
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(a, b)
}

// digits is how many digits a text begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
