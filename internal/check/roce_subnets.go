package check

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"weft/internal/fact"
	"weft/internal/topo"
)

var roceSubnets = Check{
	ID:    "roce.subnets",
	Title: "Every RoCE port has a subnet of its own on its node",
	After: []string{"port.layer", "roce.gid"},
	Judge: func(c *Case) (out []Finding) {
		s := subnetTable{map[netip.Prefix]bool{}, make(map[netip.Addr]topo.PortAt, len(c.DataPorts())), map[netip.Addr][]topo.PortAt{}}
		ports := make([]topo.PortAt, 0, len(c.DataPorts()))
		for _, pa := range c.DataPorts() {
			d := pa.Node.Netdev(pa.Port.Netdev)
			if d == nil || !pa.Port.RoCE() && !pa.Port.IWARP() {
				continue
			}
			ports = append(ports, pa)
			for _, a := range d.Prefixes() {
				s.used[a.Masked()] = true
				if first, twice := s.owner[a.Addr()]; twice && first.Node != pa.Node {
					s.shared[a.Addr()] = append(s.shared[a.Addr()], first, pa)
				} else {
					s.owner[a.Addr()] = pa
				}
			}
		}
		out = make([]Finding, 0, len(ports))
		for _, pa := range ports {
			if f, ok := s.judge(c, pa); ok {
				out = append(out, f)
			}
		}
		if len(out) == 0 {
			return skip("no RoCE port has an address")
		}
		return out
	},
}

// subnetTable is what the judgement of one port needs to know of all of them.
type subnetTable struct {
	used   map[netip.Prefix]bool
	owner  map[netip.Addr]topo.PortAt   // who has an address
	shared map[netip.Addr][]topo.PortAt // ports of different nodes that have the same one
}

// judge has no opinion on a port without an address: roce.gid has.
func (s *subnetTable) judge(c *Case, pa topo.PortAt) (f Finding, ok bool) {
	f.Subject = on(pa.Node, pa.Port)
	addrs := pa.Node.Netdev(pa.Port.Netdev).Prefixes()
	for _, a := range addrs {
		for _, other := range s.shared[a.Addr()] {
			// Where weft.yaml tells who is right, only the other is wrong.
			if other.Node != pa.Node && !(c.wishAddr(pa.Node, pa.Port) == a.Addr().String() && c.wishAddr(other.Node, other.Port) != a.Addr().String()) {
				f.Status, f.Got, f.Want = Fail, fmt.Sprintf("%v is also on %s %s", a.Addr(), other.Node.Name, other.Port.Name), "an address of its own"
				f.Why = "both answer for it, so connections reach now one and now the other"
				f.Fix = []string{fmt.Sprintf("sudo ip addr del %v dev %s   # on the node that should not have it; then give it a free one", a, pa.Port.Netdev)}
				if wish := c.wish(pa.Node, pa.Port).Address; wish != "" && wish != a.String() {
					f.Fix = readdress(a.String(), wish, pa.Port)
				}
				return f, true
			}
		}
	}
	for _, d := range pa.Node.Netdevs {
		// What stands on the port itself, or only serves containers, is not a second way out.
		if d.Name == pa.Port.Netdev || d.Kind != "" && d.Kind != "bond" {
			continue
		}
		for _, b := range d.Prefixes() {
			for _, a := range addrs {
				if a.Overlaps(b) {
					f.Status, f.Got, f.Want = Fail, fmt.Sprintf("%v is also on %s", b.Masked(), d.Name), "a subnet of its own"
					f.Why = "the kernel has two ways into one subnet and takes the same one for both ports: the other carries nothing, or answers for its neighbour"
					f.Fix = subnetFix(a, pa.Port, s.used)
					return f, true
				}
			}
		}
	}
	wish := c.wish(pa.Node, pa.Port).Address
	got := addrNow(pa.Node, pa.Node.Netdev(pa.Port.Netdev), wish)
	switch {
	case len(addrs) == 0 && (wish == "" || got != "" || !pa.Port.IWARP()):
		return f, false
	case got == "" && unreadAddrs(pa.Node) != "":
		f.Status, f.Why = Unknown, unreadAddrs(pa.Node)
	case got == "":
		f.Status, f.Got, f.Want = Fail, "no address", wish
		f.Why = "weft.yaml gives this port an address, and its peers look for it there"
		f.Fix = []string{fmt.Sprintf("sudo ip addr add %s dev %s", wish, pa.Port.Netdev)}
	case wish != "" && got != wish:
		f.Status, f.Got, f.Want = Fail, got, wish
		f.Why = "weft.yaml gives this port another address, and its peers look for it there"
		f.Fix = append(readdress(got, wish, pa.Port), "or write "+got+" into weft.yaml")
	default:
		f.Got = addrs[0].Masked().String()
	}
	return f, true
}

// readdress gives a port the address that weft.yaml says.
func readdress(a, wish string, p *fact.Port) []string {
	return []string{
		fmt.Sprintf("sudo ip addr del %s dev %s", a, p.Netdev),
		fmt.Sprintf("sudo ip addr add %s dev %s", wish, p.Netdev),
	}
}

// subnetFix moves an IPv4 address to the next subnet of the same size that no
// port of the cluster uses, with the same host part, so that every node arrives
// at the same subnet.
func subnetFix(a netip.Prefix, p *fact.Port, used map[netip.Prefix]bool) []string {
	if !a.Addr().Is4() || a.Bits() < 8 {
		return []string{"give " + p.Netdev + " a subnet that no other port of the node has"}
	}
	ip := a.Addr().As4()
	host := binary.BigEndian.Uint32(ip[:])
	for range 256 {
		host += 1 << (32 - a.Bits())
		binary.BigEndian.PutUint32(ip[:], host)
		if b := netip.PrefixFrom(netip.AddrFrom4(ip), a.Bits()); !used[b.Masked()] {
			return []string{
				fmt.Sprintf("sudo ip addr del %v dev %s", a, p.Netdev),
				fmt.Sprintf("sudo ip addr add %v dev %s   # the same port of every node goes into %v", b, p.Netdev, b.Masked()),
			}
		}
	}
	return []string{"give " + p.Netdev + " a subnet that no other port of the node has"}
}
