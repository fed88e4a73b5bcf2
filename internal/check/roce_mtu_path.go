package check

import (
	"cmp"
	"fmt"

	"weft/internal/fact"
)

var roceMTUPath = Check{
	ID:    "roce.mtu.path",
	Title: "Full-size frames cross the path between RoCE ports",
	After: []string{"roce.mtu"}, // port.up is of one end alone: see pathCut
	Judge: func(c *Case) (out []Finding) {
		byName := make(map[string]*fact.Node, len(c.Nodes))
		for _, n := range c.Nodes {
			byName[n.Name] = n
		}
		for _, n := range c.Up() {
			for i := range n.Peers {
				pe := &n.Peers[i]
				if p := n.Port(pe.Port); p != nil && p.RoCE() {
					out = append(out, judgePath(c, n, p, pe, byName[pe.Node]))
				}
			}
		}
		switch {
		case len(out) > 0:
			return out
		case len(c.rocePorts()) == 0:
			return skip("no RoCE port is in use")
		case len(c.Nodes) < 2:
			return skip("one node has no path to another")
		}
		return []Finding{{Status: Unknown, Why: "no node was asked to ping another over the data plane"}}
	},
}

// pingHeaders is what a ping adds to its payload: IPv4 20, ICMP 8 (RFC 791, RFC 792).
const pingHeaders = 28

func judgePath(c *Case, n *fact.Node, p *fact.Port, pe *fact.Peer, peer *fact.Node) Finding {
	f := Finding{Subject: Subject{n.Name, "→ " + pe.Node}}
	jumbo, asked := pe.Jumbo.Get()
	ping, pinged := pe.Ping.Get()
	small := pathTooSmall(n, n.Netdev(p.Netdev), pe.JumboSize)
	cut := cmp.Or(pathCut(n, n.Netdev(p.Netdev)), c.away(n, c.wishAddr(n, p)))
	if peer != nil {
		there := netdevWith(peer, pe.Addr)
		small = cmp.Or(small, pathTooSmall(peer, there, pe.JumboSize))
		cut = cmp.Or(cut, pathCut(peer, there), c.away(peer, pe.Addr))
	}
	switch {
	case asked && jumbo:
		f.Got = fmt.Sprintf("%d bytes cross", pe.JumboSize+pingHeaders)
	case cut != "":
		f.Status, f.Why = Skip, cut
	case pinged && !ping:
		f.Status, f.Why = Unknown, "not even a small ping to "+pe.Addr+" came back"
		f.Fix = []string{fmt.Sprintf("ping -c 3 -I %s %s   # address, cable or firewall", p.Netdev, pe.Addr)}
	case !asked:
		f.Status, f.Why = Unknown, "no full-size ping was sent to "+pe.Addr
	case small != "":
		f.Status, f.Why = Skip, small+"; see roce.mtu"
	default:
		f.Status, f.Got, f.Want = Fail, fmt.Sprintf("%d bytes are lost", pe.JumboSize+pingHeaders), "both ends send them"
		f.Why = "small packets pass and large ones vanish in the switch, so connections open and then hang"
		f.Fix = []string{"set the MTU of the switch ports between them to 9216 (or the most they take), then:",
			fmt.Sprintf("ping -M do -c 3 -s %d -I %s %s", pe.JumboSize, p.Netdev, pe.Addr)}
	}
	return f
}

// pathCut says that the port of a netdev is down, so that there is no path: the
// subject here is a pair, which port.up cannot silence.
func pathCut(n *fact.Node, d *fact.Netdev) string {
	if d == nil {
		return ""
	}
	for _, p := range n.Ports {
		if p.Netdev == d.Name && p.State != "" && !p.Up() {
			return p.Name + " of " + n.Name + " is " + p.State + "; see port.up"
		}
	}
	return ""
}

// pathTooSmall says that a netdev cannot send the ping at all, so that its loss
// says nothing of the path.
func pathTooSmall(n *fact.Node, d *fact.Netdev, payload int) string {
	if d == nil {
		return ""
	}
	if mtu, ok := d.MTU.Get(); ok && mtu < payload+pingHeaders {
		return fmt.Sprintf("%s of %s has mtu %d", d.Name, n.Name, mtu)
	}
	return ""
}
