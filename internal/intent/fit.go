package intent

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
)

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
