// Package intent drafts weft.yaml from what nodes said of themselves. Pure.
package intent

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/spec"
	"weft/internal/topo"
)

// Draft writes a small, commented weft.yaml for a cluster: what it is and, beyond that,
// what the owner wishes it to be. ssh names what ssh is given for each node and
// sshConfig its configuration file, "" for the person's own; date stands in the first
// comment. An error is an *Error: a wish that cannot be had.
func Draft(c *check.Case, w Wish, ssh map[string]string, sshConfig, date string) (string, error) {
	d, err := settle(c, w)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# weft.yaml: who is in the cluster and what it should be.
# Written by weft init on %s from what the nodes said. It is yours to edit.

name: %s

# What the cluster is for: training, inference or both. A fabric should carry one.
`, date, word(name(c)))
	if w.Purpose != "" {
		fmt.Fprintf(&b, "purpose: %s\n\n", w.Purpose)
	} else {
		b.WriteString("# purpose: inference\n\n")
	}
	if sshConfig != "" {
		fmt.Fprintf(&b, "# How ssh reaches the nodes: weft gives it this file.\nssh_config: %q\n\n", sshConfig)
	}
	d.data(&b)
	b.WriteString("nodes:\n")
	for _, n := range c.Nodes {
		d.node(&b, n, ssh[n.Name])
	}
	b.WriteString(`
# What will run: lets weft judge memory, quantisation and GPU features.
# workload:
#   model: Qwen/Qwen3-32B
#   quant: w4a16

# Findings you live with, each with a reason and, if you like, a last day.
# accept:
#   - check: node.iommu
#     nodes: NODE
#     reason: virtual machines need it
#     until: 2027-01-31
`)
	return b.String(), nil
}

// draft is a weft.yaml in the making.
type draft struct {
	*check.Case
	Wish
	plane spec.Data
	ports map[*fact.Node][]*fact.Port // the data ports of the nodes that answered
	addrs map[at]netip.Prefix         // what they should have, where the wish says so
}

// settle works out what the nodes and the wish come to.
func settle(c *check.Case, w Wish) (d draft, err error) {
	d = draft{Case: c, Wish: w}
	if d.ports, err = w.choose(c); err != nil {
		return d, err
	}
	if d.plane, err = w.settlePlane(c, d.all()); err != nil {
		return d, err
	}
	if len(w.Subnets) == 0 {
		return d, nil
	}
	if err = w.clash(c, d.ports); err != nil {
		return d, err
	}
	d.addrs, err = w.address(c, d.ports)
	return d, err
}

// all is the data ports of all nodes.
func (d *draft) all() (ports []topo.PortAt) {
	for _, n := range d.Up() {
		for _, p := range d.ports[n] {
			ports = append(ports, topo.PortAt{Node: n, Port: p})
		}
	}
	return ports
}

// name is what the node names share, else "cluster".
func name(c *check.Case) string {
	if len(c.Nodes) == 0 {
		return "cluster"
	}
	common := c.Nodes[0].Name
	for _, n := range c.Nodes[1:] {
		for !strings.HasPrefix(n.Name, common) {
			common = common[:len(common)-1]
		}
	}
	if common = strings.TrimRight(common, "0123456789-_."); common == "" {
		return "cluster"
	}
	return common
}

// data writes the data plane: what its ports are or should be, and their MTU.
func (d *draft) data(b *strings.Builder) {
	ports, plane := d.all(), d.plane
	if len(ports) == 0 && plane == (spec.Data{}) {
		b.WriteString("# The data plane. No RDMA port in use was found yet: name the ports below.\n# data:\n#   layer: roce   # roce, infiniband or iwarp\n#   mtu: 9000\n\n")
		return
	}
	b.WriteString("# The data plane: RDMA traffic only.\ndata:\n")
	if plane.Layer != "" {
		fmt.Fprintf(b, "  layer: %s   # roce, infiniband or iwarp\n", plane.Layer)
	}
	if plane.IPoIB != "" {
		fmt.Fprintf(b, "  ipoib: %s   # datagram or connected\n", plane.IPoIB)
	}
	switch {
	case plane.Layer != "infiniband":
		mtu := cmp.Or(plane.MTU, 9000)
		fmt.Fprintf(b, "  mtu: %d   # every frame of a RoCE packet of 4096 bytes fits%s\n", mtu, found(ports, mtu))
	case plane.MTU != 0:
		fmt.Fprintf(b, "  mtu: %d   # of the IPoIB interfaces%s\n", plane.MTU, found(ports, plane.MTU))
	}
	switch {
	case plane.Switch != "":
		fmt.Fprintf(b, "  switch: %s   # none for direct cables, lossless (PFC and ECN) or plain\n", plane.Switch)
	case plane.Layer == "infiniband":
	case d.Direct():
		b.WriteString("  switch: none   # direct cables: LLDP shows node to node\n")
	default:
		b.WriteString("  # switch: none   # none for direct cables, lossless (PFC and ECN) or plain\n")
	}
	b.WriteString("\n")
}

// found lists the MTUs that ports have and should not.
func found(ports []topo.PortAt, want int) string {
	seen := map[int]bool{want: true}
	var others []string
	for _, p := range ports {
		if dev := p.Node.Netdev(p.Port.Netdev); dev != nil {
			if m, ok := dev.MTU.Get(); ok && !seen[m] {
				seen[m] = true
				others = append(others, fmt.Sprint(m))
			}
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "; found " + strings.Join(others, ", ")
}

func (d *draft) node(b *strings.Builder, n *fact.Node, ssh string) {
	fmt.Fprintf(b, "  - name: %s\n", word(n.Name))
	if ssh != n.Name {
		fmt.Fprintf(b, "    ssh: %s\n", word(ssh))
	}
	if n.Down != "" {
		why, _, _ := strings.Cut(n.Down, "\n")
		fmt.Fprintf(b, "    # not reached: %s\n", oneLine(why))
		return
	}
	if dev, addr := d.Management(n); dev != nil {
		fmt.Fprintf(b, "    # management: %s on %s\n", addr, oneLine(dev.Name))
	}
	ports := d.ports[n]
	if len(ports) == 0 {
		b.WriteString("    # no RDMA port in use\n")
		return
	}
	b.WriteString("    data:\n")
	for i, p := range ports {
		fmt.Fprintf(b, "      - port: %s\n", word(p.Name))
		switch {
		case d.Layer != "" && p.IB() != (d.Layer == "infiniband"):
			fmt.Fprintf(b, "        # netdev: a new one, once the port no longer speaks %s\n", p.Layer)
		case p.Netdev != "":
			fmt.Fprintf(b, "        netdev: %s\n", word(p.Netdev))
		}
		addr := address(n, p)
		if wish, ok := d.addrs[at{n, i}]; ok {
			addr = wish.String()
		}
		if addr != "" {
			fmt.Fprintf(b, "        address: %s\n", addr)
		} else {
			b.WriteString("        # address: none yet\n")
		}
	}
}

// address is the port's first address, IPv4 before IPv6.
func address(n *fact.Node, p *fact.Port) string {
	d := n.Netdev(p.Netdev)
	if d == nil {
		return ""
	}
	six := ""
	for _, a := range d.Addrs {
		switch {
		case strings.Contains(a, "."):
			return a
		case six == "" && !strings.HasPrefix(a, "fe80"):
			six = a
		}
	}
	return six
}

// plainWord is what YAML reads as a text without quotes: a name, or an IPv4 address.
var plainWord = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_./@-]*|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)$`)

// word writes a name so that YAML reads it as that name again.
func word(s string) string {
	if plainWord.MatchString(s) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off"}, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
