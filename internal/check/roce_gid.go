package check

import (
	"fmt"
	"strconv"

	"weft/internal/fact"
	"weft/internal/topo"
)

var roceGID = Check{
	ID:    "roce.gid",
	Title: "Every RoCE port has an IPv4 address in its GID table",
	After: []string{"port.up", "roce.v2"},
	Judge: func(c *Case) (out []Finding) {
		ports := c.rocePorts()
		if len(ports) == 0 {
			return skip("no RoCE port is in use")
		}
		subnets := map[string]string{} // port name → the subnet of its peers
		for _, pa := range ports {
			if subnets[pa.Port.Name] == "" {
				if nets := topo.Subnets(pa.Node, pa.Port); len(nets) > 0 {
					subnets[pa.Port.Name] = nets[0].String()
				}
			}
		}
		out = make([]Finding, 0, len(ports))
		for _, pa := range ports {
			out = append(out, judgeGID(c, pa.Node, pa.Port, subnets[pa.Port.Name]))
		}
		return out
	},
}

func judgeGID(c *Case, n *fact.Node, p *fact.Port, subnet string) Finding {
	f := Finding{Subject: on(n, p)}
	if !p.GIDsRead {
		f.Status, f.Why = Unknown, "the GID table was not read"
		return f
	}
	all := V2Addrs(p)
	if good := Routable(all); len(good) > 0 {
		f.Got = "GID " + strconv.Itoa(good[0].Index) + " is " + good[0].Addr.String()
		return f
	}
	f.Status, f.Want = Fail, "an IPv4-mapped RoCE v2 GID"
	f.Why = "NCCL finds no address to send from: it stops in ibv_modify_qp, or runs over sockets"
	f.Fix = []string{gidFix(c, n, p, subnet)}
	f.Got = "the GID table is empty"
	for _, g := range p.GIDs {
		switch a := gidAddr(g); {
		case !a.IsValid():
		case a.Is4():
			f.Got = "an IPv4 GID for RoCE v1 only"
		case !a.IsLinkLocalUnicast() && gidV2(g):
			f.Status, f.Got = Warn, "IPv6 GIDs only"
			f.Why = "NCCL looks for an IPv4 address unless NCCL_IB_ADDR_FAMILY is AF_INET6 on every node"
			return f
		default:
			f.Got = "link-local GIDs only"
		}
	}
	if len(all) > 0 {
		f.Got = "link-local GIDs only (" + all[0].Addr.String() + ")"
		f.Why = "a link-local address changes and belongs to no subnet, so peers and routes cannot rely on it"
	}
	return f
}

// gidFix says how to address a port: with the owner's address where weft.yaml has
// one, else in the subnet that the same port has on other nodes.
func gidFix(c *Case, n *fact.Node, p *fact.Port, subnet string) string {
	if d := n.Netdev(p.Netdev); d != nil && d.Master != "" {
		if m := n.Netdev(d.Master); m != nil && m.Kind == "bridge" {
			return fmt.Sprintf("sudo ip link set dev %s nomaster   # a port in a bridge has no address of its own; then address it", p.Netdev)
		}
	}
	if want := c.Want.Node(n.Name); want != nil {
		for _, dp := range want.Data {
			if dp.Port == p.Name && dp.Address != "" {
				return fmt.Sprintf("sudo ip addr add %s dev %s", dp.Address, p.Netdev)
			}
		}
	}
	if subnet == "" {
		return fmt.Sprintf("sudo ip addr add ADDRESS/24 dev %s   # a free address in a subnet of its own, the same on its peers", p.Netdev)
	}
	return fmt.Sprintf("sudo ip addr add ADDRESS dev %s   # a free address in %s, with its prefix length", p.Netdev, subnet)
}
