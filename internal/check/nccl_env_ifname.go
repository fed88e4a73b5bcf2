package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
)

// envIfname judges a variable that names network interfaces: they are here, up
// and addressed. Gloo and TensorPipe take whole names, NCCL its lists.
func envIfname(f *Finding, c *Case, n *fact.Node, v fact.EnvVar) {
	filter := parseNCCLFilter(v.Value)
	if v.Name != "NCCL_SOCKET_IFNAME" {
		filter.exact = true
	}
	f.Status = Fail
	if strings.HasPrefix(v.Where, "container") {
		f.Status = Warn // its own network may have other names
	}
	f.Want = "an interface that is up"
	f.Fix = []string{"set " + v.Name + "=" + managementNetdev(n) + " in " + v.Where}
	usable := func(d *fact.Netdev) bool {
		return filter.takes(d.Name, 0) && d.Oper != "down" && d.Carrier.Or(true) && len(d.Addrs) > 0
	}
	self := false // lo is meant, and there is but one node
	if !filter.not {
		for _, i := range filter.items {
			if i.name == "lo" {
				f.Why = "lo reaches this node alone, so ranks of other nodes never connect"
				if len(c.Nodes) > 1 {
					return
				}
				self = true
				continue
			}
			if !slices.ContainsFunc(n.Netdevs, func(d *fact.Netdev) bool { return filter.has(i, d.Name, 0) }) {
				f.Why = "no interface here is called " + i.name + ", so ranks cannot find each other"
				if n.Port(i.name+"/1") != nil {
					f.Why = i.name + " is an RDMA device; this variable wants a network interface"
				}
				return
			}
		}
	}
	switch {
	case !self && !slices.ContainsFunc(n.Netdevs, usable):
		f.Why = "what it takes is down or has no address, so ranks cannot find each other"
	case v.Name == "NCCL_SOCKET_IFNAME" && pinsDataAlone(c, n, filter, v.Where):
		f.Status, f.Want = Warn, "NCCL_IB_HCA beside it"
		f.Why = "it chooses the way to meet, not the way for data: NCCL still takes every RDMA port"
		f.Fix = []string{"also set NCCL_IB_HCA=" + ncclList(c.Data(n)) + " in " + v.Where}
	default:
		f.Status, f.Want, f.Why, f.Fix = Pass, "", "", nil
	}
}

// pinsDataAlone: the owner named a data port's interface, said nothing of HCAs,
// and there are several to take.
func pinsDataAlone(c *Case, n *fact.Node, filter ncclFilter, where string) bool {
	if filter.not || ncclVar(n, "NCCL_IB_HCA", where) != "" || len(ncclPorts(n, "")) < 2 {
		return false
	}
	return slices.ContainsFunc(c.Data(n), func(p *fact.Port) bool { return p.Netdev != "" && filter.takes(p.Netdev, 0) })
}

// managementNetdev is the interface that ssh came in by, else that of the default
// route.
func managementNetdev(n *fact.Node) string {
	for _, d := range n.Netdevs {
		for _, a := range d.Addrs {
			if addr, _, _ := strings.Cut(a, "/"); addr == n.Host.SSHTo && addr != "" {
				return d.Name
			}
		}
	}
	for _, r := range n.Settings.Routes {
		if r.Dst == "default" {
			return r.Dev
		}
	}
	return "NETDEV"
}
