// Package intent drafts weft.yaml from what nodes said of themselves. Pure.
package intent

import (
	"fmt"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/topo"
)

// Draft writes a small, commented weft.yaml for a cluster. ssh names what ssh is
// given for each node and sshConfig its configuration file, "" for the person's own;
// date stands in the first comment.
func Draft(c *check.Case, ssh map[string]string, sshConfig, date string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# weft.yaml: who is in the cluster and what it should be.
# Written by weft init on %s from what the nodes said. It is yours to edit.

name: %s

# What the cluster is for: training, inference or both. A fabric should carry one.
# purpose: inference

`, date, name(c))
	if sshConfig != "" {
		fmt.Fprintf(&b, "# How ssh reaches the nodes: weft gives it this file.\nssh_config: %q\n\n", sshConfig)
	}
	data(&b, c)
	b.WriteString("nodes:\n")
	for _, n := range c.Nodes {
		node(&b, c, n, ssh[n.Name])
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
	return b.String()
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

// data writes the data plane: what most ports are, and the MTU they should have.
func data(b *strings.Builder, c *check.Case) {
	ports := c.DataPorts()
	if len(ports) == 0 {
		b.WriteString("# The data plane. No RDMA port in use was found yet: name the ports below.\n# data:\n#   layer: roce   # roce, infiniband or iwarp\n#   mtu: 9000\n\n")
		return
	}
	layer, _ := check.Usual(ports, func(p topo.PortAt) string {
		switch {
		case p.Port.IB():
			return "infiniband"
		case p.Port.IWARP():
			return "iwarp"
		}
		return "roce"
	})
	fmt.Fprintf(b, "# The data plane: RDMA traffic only.\ndata:\n  layer: %s   # roce, infiniband or iwarp\n", layer)
	if layer == "infiniband" {
		mode, _ := check.Usual(ports, func(p topo.PortAt) string {
			if d := p.Node.Netdev(p.Port.Netdev); d != nil {
				return d.Mode
			}
			return ""
		})
		if mode != "" {
			fmt.Fprintf(b, "  ipoib: %s   # datagram or connected\n", mode)
		}
		b.WriteString("\n")
		return
	}
	found := map[int]bool{}
	var others []string
	for _, p := range ports {
		if d := p.Node.Netdev(p.Port.Netdev); d != nil {
			if m, ok := d.MTU.Get(); ok && m != 9000 && !found[m] {
				found[m] = true
				others = append(others, fmt.Sprint(m))
			}
		}
	}
	note := "every frame of a RoCE packet of 4096 bytes fits"
	if len(others) > 0 {
		note += "; found " + strings.Join(others, ", ")
	}
	fmt.Fprintf(b, "  mtu: 9000   # %s\n", note)
	if c.Direct() {
		b.WriteString("  switch: none   # direct cables: LLDP shows node to node\n")
	} else {
		b.WriteString("  # switch: none   # none for direct cables, lossless (PFC and ECN) or plain\n")
	}
	b.WriteString("\n")
}

func node(b *strings.Builder, c *check.Case, n *fact.Node, ssh string) {
	fmt.Fprintf(b, "  - name: %s\n", n.Name)
	if ssh != n.Name {
		fmt.Fprintf(b, "    ssh: %s\n", ssh)
	}
	if n.Down != "" {
		why, _, _ := strings.Cut(n.Down, "\n")
		fmt.Fprintf(b, "    # not reached: %s\n", oneLine(why))
		return
	}
	if dev, addr := c.Management(n); dev != nil {
		fmt.Fprintf(b, "    # management: %s on %s\n", addr, dev.Name)
	}
	ports := c.Data(n)
	if len(ports) == 0 {
		b.WriteString("    # no RDMA port in use\n")
		return
	}
	b.WriteString("    data:\n")
	for _, p := range ports {
		fmt.Fprintf(b, "      - port: %s\n", p.Name)
		if p.Netdev != "" {
			fmt.Fprintf(b, "        netdev: %s\n", p.Netdev)
		}
		if addr := address(n, p); addr != "" {
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

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
