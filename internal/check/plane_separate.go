package check

import (
	"fmt"

	"weft/internal/fact"
)

var planeSeparate = Check{
	ID:    "plane.separate",
	Title: "Management does not ride the data plane",
	None:  "no RDMA port with a netdev is in use",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if data := c.dataNetdevs(n); len(data) > 0 {
			out = append(out, judgeSeparate(c, n, data))
		}
		return out
	},
}

// judgeSeparate warns and never fails: one network for both works until it
// breaks, and some owners have no other (seeds/004).
func judgeSeparate(c *Case, n *fact.Node, data map[string]bool) Finding {
	f := Finding{Subject: node(n)}
	ssh, route := netdevWith(n, n.Host.SSHTo), DefaultRoute(n)
	sshOn, routeOn := ssh != nil && onData(n, ssh.Name, data), route != nil && onData(n, route.Dev, data)
	switch {
	case sshOn && routeOn:
		f.Got = "ssh and the default route use " + ssh.Name
	case sshOn:
		f.Got = "ssh arrives on " + ssh.Name
	case routeOn:
		f.Got = "the default route leaves by " + route.Dev
	case ssh == nil && !n.Settings.RoutesRead:
		f.Status, f.Why = Unknown, "neither the routes nor the address that ssh arrived on were read"
		return f
	default:
		f.Got = "separate"
		return f
	}
	f.Status, f.Want = Warn, "an interface that is no data port"
	f.Why = "when the data fabric breaks, so does the way in to mend it; and downloads compete with the job"
	spare := c.spareNetdev(n)
	switch {
	case spare == nil:
		f.Fix = []string{"connect another interface (1 GbE is enough) for ssh and the default route"}
	default:
		a, _ := Addr4(spare)
		if sshOn {
			f.Fix = append(f.Fix, fmt.Sprintf("reach the node through %s; in weft.yaml:   - {name: %s, ssh: %v}", spare.Name, n.Name, a))
		}
		if routeOn {
			f.Fix = append(f.Fix, fmt.Sprintf("let the default route leave by %s; see weft explain plane.separate", spare.Name))
		}
	}
	return f
}

// onData reports whether a netdev is a data port's, or a VLAN or bond over one.
func onData(n *fact.Node, netdev string, data map[string]bool) bool {
	if data[netdev] {
		return true
	}
	for name := range data {
		if d := n.Netdev(name); d != nil && d.Master == netdev {
			return true
		}
	}
	return false
}
