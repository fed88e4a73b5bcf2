package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

// Topo draws each node's PCIe tree down to its NICs and GPUs, and the distance of
// every NIC to every GPU, from sysfs alone.
func Topo(w io.Writer, c *fact.Cluster) error {
	var b strings.Builder
	words := false
	for i, n := range c.Nodes {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintln(&b, n.Name)
		if len(n.PCI) == 0 {
			b.WriteString("  no PCI path is known\n")
			continue
		}
		drawNode(&b, n)
		words = distances(&b, n) || words
	}
	if words {
		b.WriteString("\nPIX one switch, PXB several switches, PHB through the CPU, NODE between host bridges of one NUMA node, SYS between NUMA nodes\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// drawNode draws the host bridges that have a NIC or a GPU below them.
func drawNode(b *strings.Builder, n *fact.Node) {
	wanted := map[string]bool{} // BDFs on the path of a NIC or a GPU
	for _, d := range n.PCI {
		if label(n, d) != "" {
			for _, p := range topo.Path(n, d.BDF) {
				wanted[p.BDF] = true
			}
		}
	}
	below := map[string][]*fact.PCI{}
	var hosts []string
	for _, d := range n.PCI {
		if !wanted[d.BDF] {
			continue
		}
		parent := d.Up
		if n.At(parent) == nil {
			parent = d.Host
			if !slices.Contains(hosts, parent) {
				hosts = append(hosts, parent)
			}
		}
		below[parent] = append(below[parent], d)
	}
	slices.Sort(hosts)
	for _, h := range hosts {
		numa := ""
		if v, ok := below[h][0].NUMA.Get(); ok {
			numa = fmt.Sprintf("  NUMA %d", v)
		}
		fmt.Fprintf(b, "  %s%s\n", dash(h), numa)
		drawBelow(b, n, below, h, "  ")
	}
}

func drawBelow(b *strings.Builder, n *fact.Node, below map[string][]*fact.PCI, parent, indent string) {
	kids := below[parent]
	slices.SortFunc(kids, func(x, y *fact.PCI) int { return strings.Compare(x.BDF, y.BDF) })
	for i, d := range kids {
		branch, next := "├─ ", "│  "
		if i == len(kids)-1 {
			branch, next = "└─ ", "   "
		}
		text := d.BDF
		if l := label(n, d); l != "" {
			text += "  " + l
		} else {
			text += "  bridge"
		}
		if d.Cur.Width > 0 {
			text += "  " + linkWords(d.Cur)
			if d.Max != d.Cur && d.Max.Width > 0 {
				text += " (can " + linkWords(d.Max) + ")"
			}
		}
		fmt.Fprintf(b, "%s%s%s\n", indent, branch, text)
		drawBelow(b, n, below, d.BDF, indent+next)
	}
}

// label names a NIC or a GPU; "" for anything else.
func label(n *fact.Node, d *fact.PCI) string {
	for _, g := range n.GPUs {
		if g.BDF == d.BDF {
			return fmt.Sprintf("GPU%d %s", g.Index, strings.TrimSpace(g.Name))
		}
	}
	var names []string
	for _, p := range n.Ports {
		if dev := n.Netdev(p.Netdev); p.BDF == d.BDF || p.Soft() && dev != nil && dev.BDF == d.BDF {
			name := p.Name
			if p.Netdev != "" {
				name += " " + p.Netdev
			}
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return strings.Join(names, ", ")
	}
	if d.Class>>16 == 0x02 {
		for _, dev := range n.Netdevs {
			if dev.BDF == d.BDF {
				return dev.Name
			}
		}
		return "network controller"
	}
	return ""
}

// distances writes the NIC–GPU matrix, if there is one.
func distances(b *strings.Builder, n *fact.Node) bool {
	var nics []*fact.Port
	for _, p := range n.Ports {
		if p.BDF != "" && !slices.ContainsFunc(nics, func(q *fact.Port) bool { return q.BDF == p.BDF }) {
			nics = append(nics, p)
		}
	}
	if len(nics) == 0 || len(n.GPUs) == 0 {
		return false
	}
	rows := [][]string{{""}}
	for _, p := range nics {
		rows[0] = append(rows[0], p.Device)
	}
	for _, g := range n.GPUs {
		row := []string{fmt.Sprintf("  GPU%d", g.Index)}
		for _, p := range nics {
			row = append(row, topo.Between(n, g.BDF, p.BDF).String())
		}
		rows = append(rows, row)
	}
	_ = Table(b, rows) // a strings.Builder takes everything
	return true
}
