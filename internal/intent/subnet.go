package intent

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"weft/internal/check"
	"weft/internal/fact"
)

// notForHosts are ranges that hold no address of an interface (RFC 6890).
var notForHosts = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("240.0.0.0/4"),
}

func usable(p netip.Prefix) bool {
	return !slices.ContainsFunc(notForHosts, p.Overlaps)
}

// room is how many hosts a subnet has: all but its network and broadcast address.
func room(p netip.Prefix) int { return 1<<(32-p.Bits()) - 2 }

// host is the k-th address of a subnet, from 1.
func host(p netip.Prefix, k int) netip.Prefix {
	var b [4]byte
	ip := p.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(ip[:])+uint32(k))
	return netip.PrefixFrom(netip.AddrFrom4(b), p.Bits())
}

// number is which address of a subnet one is; 0 when it is none for a host.
func number(p netip.Prefix, a netip.Addr) int {
	if !a.Is4() || !p.Contains(a) {
		return 0
	}
	ip, base := a.As4(), p.Addr().As4()
	if k := int(binary.BigEndian.Uint32(ip[:]) - binary.BigEndian.Uint32(base[:])); k <= room(p) {
		return k
	}
	return 0
}

// free is the next subnet of the same size that overlaps none of the taken ones: after
// p, else in the private ranges that people use for such a network.
func free(p netip.Prefix, taken []netip.Prefix) netip.Prefix {
	for _, from := range []string{p.Addr().String(), "192.168.200.0", "10.10.0.0", "172.16.0.0"} {
		a, _ := netip.ParseAddr(from)
		q := netip.PrefixFrom(a, p.Bits()).Masked()
		for range 4096 {
			if q.Addr().IsPrivate() && usable(q) && !slices.ContainsFunc(taken, q.Overlaps) {
				return q
			}
			if q = netip.PrefixFrom(host(q, room(q)+2).Addr(), p.Bits()); q.Addr().Compare(a) < 0 {
				break // past the last address of all
			}
		}
	}
	return netip.Prefix{}
}

// taken is every subnet that the nodes use for anything at all.
func taken(c *check.Case) (nets []netip.Prefix) {
	for _, n := range c.Up() {
		for _, d := range n.Netdevs {
			for _, a := range d.Prefixes() {
				nets = append(nets, a.Masked())
			}
		}
		for _, r := range n.Settings.Routes {
			if p, err := netip.ParsePrefix(r.Dst); err == nil {
				nets = append(nets, p)
			}
		}
		if a, err := netip.ParseAddr(n.Host.SSHFrom); err == nil {
			nets = append(nets, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return nets
}

// other is the flag with another subnet in place of rail i: one of at least so many
// hosts that nobody uses.
func (w Wish) other(c *check.Case, i, hosts int) string {
	nets := slices.Clone(w.Subnets)
	p := nets[i]
	for room(p) < hosts && p.Bits() > largest {
		p = netip.PrefixFrom(p.Addr(), p.Bits()-1).Masked()
	}
	others := slices.Concat(taken(c), slices.Delete(slices.Clone(nets), i, i+1))
	if nets[i] = free(p, others); !nets[i].IsValid() {
		return ""
	}
	return joined(nets)
}

// clash looks for something that a node uses in one of the wished subnets. What is on
// the port that belongs there is no clash: it stays, or moves within the subnet.
func (w Wish) clash(c *check.Case, ports map[*fact.Node][]*fact.Port) error {
	for _, n := range c.Up() {
		for i, s := range w.Subnets {
			own := map[string]bool{}
			if d := n.Netdev(ports[n][i].Netdev); d != nil {
				own[d.Name], own[d.Master] = true, d.Master != ""
			}
			if what := uses(n, s, own); what != "" {
				return wrong("subnet", w.other(c, i, room(s)), "--subnet %v: %s", s, what)
			}
		}
	}
	return nil
}

// uses says what a node uses a subnet for, other than on its own interfaces for it.
func uses(n *fact.Node, s netip.Prefix, own map[string]bool) string {
	for _, d := range n.Netdevs {
		for _, a := range d.Prefixes() {
			if !own[d.Name] && a.Overlaps(s) {
				return fmt.Sprintf("%s of %s is in it already, with %v: the kernel would have two ways into one subnet", d.Name, n.Name, a)
			}
		}
	}
	for _, r := range n.Settings.Routes {
		p, err := netip.ParsePrefix(r.Dst)
		if err == nil && !own[r.Dev] && p.Bits() >= s.Bits() && p.Overlaps(s) {
			return fmt.Sprintf("%s has a route to %v by %s, which would take the data plane's packets", n.Name, p, cmp.Or(r.Dev, "nowhere"))
		}
	}
	if a, err := netip.ParseAddr(n.Host.SSHFrom); err == nil && s.Contains(a.Unmap()) {
		if to, err := netip.ParseAddr(n.Host.SSHTo); err != nil || !s.Contains(to.Unmap()) {
			return fmt.Sprintf("ssh comes to %s from %v, which is in it: the answers would leave by the data port, and the node would be lost", n.Name, a)
		}
	}
	return ""
}

// at is a data port: a node and a rail.
type at struct {
	node *fact.Node
	rail int
}

// address gives every data port its address. A node that has an address in a subnet
// keeps its number there, and has the same one in the others where it can; else the
// k-th node has number k where that is free, and the next free one where not.
func (w Wish) address(c *check.Case, ports map[*fact.Node][]*fact.Port) (map[at]netip.Prefix, error) {
	for i, s := range w.Subnets {
		if room(s) < len(c.Nodes) {
			return nil, wrong("subnet", w.other(c, i, len(c.Nodes)), "--subnet %v has %d addresses for hosts, and there are %d nodes", s, room(s), len(c.Nodes))
		}
	}
	given := map[at]netip.Prefix{}
	used := map[netip.Addr]bool{}
	give := func(n *fact.Node, i, k int) bool {
		a := host(w.Subnets[i], k)
		if k < 1 || k > room(w.Subnets[i]) || used[a.Addr()] || given[at{n, i}].IsValid() {
			return false
		}
		given[at{n, i}], used[a.Addr()] = a, true
		return true
	}
	keeps := map[*fact.Node]int{} // the first number that a node keeps
	for _, n := range c.Up() {
		for i, s := range w.Subnets {
			for _, a := range now(n, ports[n][i]) {
				if k := number(s, a.Addr()); give(n, i, k) && keeps[n] == 0 {
					keeps[n] = k
				}
			}
		}
	}
	next := func(n *fact.Node, i int) {
		for k := 1; !given[at{n, i}].IsValid() && k <= room(w.Subnets[i]); k++ {
			give(n, i, k)
		}
	}
	for _, keeping := range []bool{true, false} {
		for k, n := range c.Nodes {
			if n.Down != "" || (keeps[n] > 0) != keeping {
				continue
			}
			number := keeps[n]
			if number == 0 {
				number = w.alike(used, k+1, len(c.Nodes))
			}
			for i := range w.Subnets {
				give(n, i, number)
				next(n, i)
			}
		}
	}
	return given, nil
}

// alike is a number that is free in every subnet: k itself where it can be, else the
// next one after those that the nodes have by their order; 0 when there is none.
func (w Wish) alike(used map[netip.Addr]bool, k, nodes int) int {
	isFree := func(k int) bool {
		return !slices.ContainsFunc(w.Subnets, func(s netip.Prefix) bool { return k > room(s) || used[host(s, k).Addr()] })
	}
	if isFree(k) {
		return k
	}
	for k = nodes + 1; k <= 2*nodes+1; k++ {
		if isFree(k) {
			return k
		}
	}
	return 0
}

// now is the IPv4 addresses that a port has: its netdev's, or those of the bond or
// bridge that it is in.
func now(n *fact.Node, p *fact.Port) (addrs []netip.Prefix) {
	d := n.Netdev(p.Netdev)
	if d == nil {
		return nil
	}
	addrs = slices.Clone(d.Prefixes())
	if m := n.Netdev(d.Master); m != nil {
		addrs = append(addrs, m.Prefixes()...)
	}
	return addrs
}
