package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
)

var planeRoute = Check{
	ID:    "plane.route",
	Title: "A peer's data address is reached through the data port",
	Judge: func(c *Case) (out []Finding) {
		for _, n := range c.Up() {
			for i := range n.Peers {
				if p := n.Port(n.Peers[i].Port); p != nil && p.Netdev != "" {
					out = append(out, judgeRoute(c, n, p, &n.Peers[i]))
				}
			}
		}
		switch {
		case len(out) > 0:
			return out
		case len(c.Nodes) < 2:
			return skip("one node has no peers")
		case !c.anyAddressed():
			return skip("no RDMA port has an address")
		}
		return []Finding{{Status: Unknown, Why: "no node was asked for its route to another's data address"}}
	},
}

// anyAddressed reports whether any data port has an address: InfiniBand without
// IPoIB has none, and needs none.
func (c *Case) anyAddressed() bool {
	for _, pa := range c.DataPorts() {
		if addressed(pa.Node, pa.Port) {
			return true
		}
	}
	return false
}

func judgeRoute(c *Case, n *fact.Node, p *fact.Port, pe *fact.Peer) Finding {
	f := Finding{Subject: Subject{n.Name, "→ " + pe.Node}}
	switch {
	case routeFits(n, p, pe.RouteDev):
		f.Got = pe.RouteDev
	case p.State == "DOWN":
		f.Status, f.Why = Skip, p.Name+" is down; see port.up"
	case c.away(n, c.wishAddr(n, p)) != "":
		f.Status, f.Why = Skip, c.away(n, c.wishAddr(n, p))
	case pe.RouteDev == "" && noRoute(n, pe.Addr):
		f.Status, f.Got, f.Want = Fail, "no route to "+pe.Addr, p.Netdev
		f.Why = "no connection to " + pe.Node + " can be made over the data plane"
		f.Fix = []string{routeFix(p, pe)}
	case pe.RouteDev == "":
		f.Status, f.Why = Unknown, "no route to "+pe.Addr+" was read"
		f.Fix = []string{"ip route get " + pe.Addr}
	case pe.RouteDev == "lo":
		f.Status, f.Got, f.Want = Fail, pe.Addr+" is this node's own", p.Netdev
		f.Why = "packets for " + pe.Node + " never leave the node, and tests against it measure memory"
		f.Fix = []string{"two nodes have one address; see weft explain roce.subnets"}
	default:
		f.Status, f.Got, f.Want = Fail, pe.Addr+" leaves by "+pe.RouteDev, p.Netdev
		f.Why = "sockets and RDMA connections to " + pe.Node + " take that network instead of the data plane, or find no device at all"
		f.Fix = []string{routeFix(p, pe)}
	}
	return f
}

func routeFix(p *fact.Port, pe *fact.Peer) string {
	return fmt.Sprintf("sudo ip route replace %s dev %s   # until the next boot; see weft explain plane.route for good", pe.Addr, p.Netdev)
}

// noRoute reports whether the kernel was asked for a route and has none.
func noRoute(n *fact.Node, addr string) bool {
	return slices.ContainsFunc(n.Gaps, func(g fact.Gap) bool {
		return g.Path == "$ ip -j route get "+addr && strings.Contains(g.Why, unreachable)
	})
}

// unreachable is the text of ENETUNREACH: the answer to a question about a route,
// not a failure to ask.
const unreachable = "Network is unreachable"

// routeFits reports whether a route leaves by the port: by its netdev, by the
// bond it is in, or by a VLAN that has a GID on it.
func routeFits(n *fact.Node, p *fact.Port, dev string) bool {
	if dev == "" {
		return false
	}
	if dev == p.Netdev {
		return true
	}
	if d := n.Netdev(p.Netdev); d != nil && d.Master == dev {
		return true
	}
	for _, g := range p.GIDs {
		if g.Netdev == dev {
			return true
		}
	}
	return false
}
