package check

import (
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

// The priority and DSCP that RDMA traffic gets by custom (seeds/001;
// research/anchors.md table D). weft.yaml may say otherwise.
const (
	usualPriority = 3
	usualDSCP     = 26
)

// Priority is the priority of RDMA traffic.
func (c *Case) Priority() int {
	if c.Want.Data.Priority != 0 {
		return c.Want.Data.Priority
	}
	return usualPriority
}

// TrafficClass is the IP traffic class of RDMA traffic: its DSCP, and the ECN
// field saying that routers may mark it (ECT(0), RFC 3168). 106 for DSCP 26.
func (c *Case) TrafficClass() int {
	return c.dscp()<<2 | 2
}

func (c *Case) dscp() int {
	if c.Want.Data.DSCP != 0 {
		return c.Want.Data.DSCP
	}
	return usualDSCP
}

// Direct reports whether cables join the RoCE ports without a switch: weft.yaml
// says so, or every RoCE port is at the end of a cable it names, or LLDP shows
// another node at the far end. That only two nodes are known proves nothing.
func (c *Case) Direct() bool {
	if c.Want.Data.Switch != "" {
		return c.Want.Data.Switch == "none"
	}
	var cabled, nodes map[string]bool
	found := false
	for _, pa := range c.rocePorts() {
		if pa.Port.Soft() {
			continue
		}
		if !found {
			cabled, nodes = c.cableEnds(), c.lldpNames()
		}
		found = true
		if !cabled[pa.Node.Name+":"+pa.Port.Name] && !nodes[farEnd(pa)] {
			return false
		}
	}
	return found
}

// cableEnds returns the ports that weft.yaml wires to a port of another node:
// "spark1:mlx5_0/1".
func (c *Case) cableEnds() map[string]bool {
	names, ends := map[string]bool{}, map[string]bool{}
	for _, n := range c.Nodes {
		names[n.Name] = true
	}
	for _, w := range c.Want.Cables {
		a, _, _ := strings.Cut(w.A, ":")
		b, _, _ := strings.Cut(w.B, ":")
		if names[a] && names[b] {
			ends[w.A], ends[w.B] = true, true
		}
	}
	return ends
}

// lldpNames returns what the nodes may call themselves in LLDP: a name or a MAC
// address.
func (c *Case) lldpNames() map[string]bool {
	names := map[string]bool{}
	for _, n := range c.Nodes {
		names[strings.ToLower(n.Name)] = true
		names[strings.ToLower(n.Host.Hostname)] = true
		for _, d := range n.Netdevs {
			names[strings.ToLower(d.MAC)] = true
		}
	}
	delete(names, "")
	return names
}

// farEnd is the neighbour that LLDP shows on a port's netdev; "" when none does.
func farEnd(pa topo.PortAt) string {
	for _, l := range pa.Node.Settings.LLDP {
		if l.Netdev == pa.Port.Netdev {
			return strings.ToLower(l.Chassis)
		}
	}
	return ""
}

// lossless returns the RoCE ports that a switch may drop packets of, and how bad
// it is when nothing prevents that: a failure where the owner says the switch is
// lossless, a warning where nobody said. When there is nothing to judge, skip
// says why.
func (c *Case) lossless() (ports []topo.PortAt, bad Status, skip string) {
	soft := false
	all := c.rocePorts()
	ports = make([]topo.PortAt, 0, len(all))
	for _, pa := range all {
		if pa.Port.Soft() {
			soft = true
			continue
		}
		ports = append(ports, pa)
	}
	switch {
	case len(ports) == 0 && soft:
		return nil, 0, "software RoCE has no queues of its own"
	case len(ports) == 0:
		return nil, 0, "no RoCE port is in use"
	case c.Direct():
		return nil, 0, "cables are direct: there is no switch whose queue could overflow"
	case c.Want.Data.Switch == "plain":
		return nil, 0, "weft.yaml says the switch is plain: what it does not do, the hosts need not ask for"
	case c.Want.Data.Switch == "lossless":
		return ports, Fail, ""
	}
	return ports, Warn, ""
}

// ofedOnly reports whether a missing setting means that it was not read: only
// OFED's own mlx5 has the sysfs files for traffic class and ECN. OFED's user space
// may sit on the in-tree module, which has none; node.ofed speaks of that.
func ofedOnly(n *fact.Node, p *fact.Port) bool {
	return hasMlnxQoS(n, p) && !ofedInTree(n.Settings.ModPaths["mlx5_core"])
}

// hasMlnxQoS reports whether a port is set with mlnx_qos, which comes with OFED's
// user space, and not with dcb: one tool for all settings of a port.
func hasMlnxQoS(n *fact.Node, p *fact.Port) bool {
	return n.Settings.OFED != "" && p.Driver == "mlx5"
}

// qosShow is the command that tells a port's settings: "pfc" or "app" to dcb.
func qosShow(n *fact.Node, p *fact.Port, what string) string {
	if hasMlnxQoS(n, p) {
		return "sudo mlnx_qos -i " + p.Netdev
	}
	return "sudo dcb " + what + " show dev " + p.Netdev
}

// qosUnread is what to do when no tool told a port's settings.
func qosUnread(n *fact.Node, p *fact.Port, what string) []string {
	if hasMlnxQoS(n, p) {
		return []string{qosShow(n, p, what)}
	}
	return []string{install(n, "iproute2", "iproute"), qosShow(n, p, what)}
}

// sayDirect is the way out of a warning where the switch is not known.
const sayDirect = "if the cables are direct, say so in weft.yaml:   data: {switch: none}"
