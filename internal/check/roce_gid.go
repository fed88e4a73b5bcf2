package check

import (
	"fmt"
	"net/netip"
	"strconv"

	"weft/internal/fact"
	"weft/internal/topo"
)

var roceGID = Check{
	ID:    "roce.gid",
	Title: "Every RoCE port has an IPv4 address in its GID table",
	After: []string{"port.up", "port.layer", "roce.v2"},
	None:  "no RoCE port is in use",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if p.RoCE() {
				out = append(out, judgeGID(c, n, p))
			}
		}
		return out
	},
}

func judgeGID(c *Case, n *fact.Node, p *fact.Port) Finding {
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
	f.Fix = []string{gidFix(c, n, p)}
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
func gidFix(c *Case, n *fact.Node, p *fact.Port) string {
	if d := n.Netdev(p.Netdev); d != nil && d.Master != "" {
		if m := n.Netdev(d.Master); m != nil && m.Kind == "bridge" {
			return fmt.Sprintf("sudo ip link set dev %s nomaster   # a port in a bridge has no address of its own; then address it", p.Netdev)
		}
	}
	if address := c.wish(n, p).Address; address != "" {
		return fmt.Sprintf("sudo ip addr add %s dev %s", address, p.Netdev)
	}
	if peers, ok := c.subnets[p.Name]; ok {
		return fmt.Sprintf("sudo ip addr add ADDRESS dev %s   # a free address in %v, with its prefix length", p.Netdev, peers.subnet)
	}
	return fmt.Sprintf("sudo ip addr add ADDRESS/24 dev %s   # a free address in a subnet of its own, the same on its peers", p.Netdev)
}

// portSubnet is where a RoCE port has its address, and on which node.
type portSubnet struct {
	node   string
	subnet netip.Prefix
}

// peerSubnets returns, by the name of the port, the subnet that RoCE ports have: that
// of the first node by name which has one, so that the order of nodes is no matter.
func peerSubnets(c *Case) map[string]portSubnet {
	subnets := map[string]portSubnet{}
	for _, pa := range c.ports {
		if have, ok := subnets[pa.Port.Name]; !pa.Port.RoCE() || ok && have.node <= pa.Node.Name {
			continue
		}
		if nets := topo.Subnets(pa.Node, pa.Port); len(nets) > 0 {
			subnets[pa.Port.Name] = portSubnet{pa.Node.Name, nets[0]}
		}
	}
	return subnets
}
