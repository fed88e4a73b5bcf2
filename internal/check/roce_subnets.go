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
	After: []string{"roce.gid"},
	Judge: func(c *Case) (out []Finding) {
		var ports []topo.PortAt
		used := map[netip.Prefix]bool{}
		owner := map[netip.Addr][]topo.PortAt{}
		for _, pa := range c.DataPorts() {
			d := pa.Node.Netdev(pa.Port.Netdev)
			if d == nil || !(pa.Port.RoCE() || pa.Port.IWARP()) {
				continue
			}
			ports = append(ports, pa)
			for _, a := range subnetAddrs(d) {
				used[a.Masked()] = true
				owner[a.Addr()] = append(owner[a.Addr()], pa)
			}
		}
		for _, pa := range ports {
			out = append(out, judgeSubnets(pa, used, owner)...)
		}
		if len(out) == 0 {
			return skip("no RoCE port has an address")
		}
		return out
	},
}

func judgeSubnets(pa topo.PortAt, used map[netip.Prefix]bool, owner map[netip.Addr][]topo.PortAt) []Finding {
	f := Finding{Subject: on(pa.Node, pa.Port)}
	addrs := subnetAddrs(pa.Node.Netdev(pa.Port.Netdev))
	for _, a := range addrs {
		for _, other := range owner[a.Addr()] {
			if other.Node != pa.Node {
				f.Status, f.Got, f.Want = Fail, fmt.Sprintf("%v is also on %s %s", a.Addr(), other.Node.Name, other.Port.Name), "an address of its own"
				f.Why = "both answer for it, so connections reach now one and now the other"
				f.Fix = []string{fmt.Sprintf("sudo ip addr del %v dev %s   # on the node that should not have it; then give it a free one", a, pa.Port.Netdev)}
				return []Finding{f}
			}
		}
	}
	for _, d := range pa.Node.Netdevs {
		// What stands on the port itself, or only serves containers, is not a second way out.
		if d.Name == pa.Port.Netdev || d.Kind != "" && d.Kind != "bond" {
			continue
		}
		for _, b := range subnetAddrs(d) {
			for _, a := range addrs {
				if a.Overlaps(b) {
					f.Status, f.Got, f.Want = Fail, fmt.Sprintf("%v is also on %s", b.Masked(), d.Name), "a subnet of its own"
					f.Why = "the kernel has two ways into one subnet and takes the same one for both ports: the other carries nothing, or answers for its neighbour"
					f.Fix = subnetFix(a, pa.Port, used)
					return []Finding{f}
				}
			}
		}
	}
	if len(addrs) == 0 { // roce.gid says so
		return nil
	}
	f.Got = addrs[0].Masked().String()
	return []Finding{f}
}

// subnetAddrs returns the addresses of a netdev with their prefix, IPv6
// link-local left out: every interface has one.
func subnetAddrs(d *fact.Netdev) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range d.Addrs {
		if p, err := netip.ParsePrefix(s); err == nil && !(p.Addr().Is6() && p.Addr().IsLinkLocalUnicast()) {
			out = append(out, p)
		}
	}
	return out
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
