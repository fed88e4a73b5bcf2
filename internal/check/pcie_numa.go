package check

import (
	"fmt"
	"strconv"

	"weft/internal/fact"
	"weft/internal/topo"
)

var pcieNUMA = Check{
	ID:    "pcie.numa",
	Title: "NICs are on the NUMA node of the GPUs and processors that use them",
	None:  "no node has a data port on PCIe and a GPU, or several NUMA nodes, to be near to",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		cards := c.cards(n)
		for _, g := range n.GPUs {
			if len(cards) > 0 {
				out = append(out, judgeNUMA(n, g, cards))
			}
		}
		near, first := numaWithCPUs(n)
		c.numaNICs(n, func(p *fact.Port, numa int) {
			if f := judgeNICNUMA(c, n, p, numa, near, first); f.Status != Pass || len(n.GPUs) == 0 {
				out = append(out, f) // beside GPUs, which say more, a pass would be noise
			}
		})
		return out
	},
}

func judgeNUMA(n *fact.Node, g *fact.GPU, cards []card) Finding {
	f := Finding{Subject: Subject{n.Name, "gpu" + strconv.Itoa(g.Index)}}
	best, near, unread := topo.SYS+1, cards[0], false
	for _, k := range cards {
		d := topo.Between(n, g.BDF, k.port.BDF)
		switch {
		case d == topo.Unknown:
			unread = true
		case d < best:
			best, near = d, k
		}
		if best == topo.PIX { // nothing is nearer
			break
		}
	}
	switch {
	case best < topo.SYS:
		f.Got = best.String()
	case unread: // the one not read may be the near one
		f.Status, f.Why = Unknown, "where the GPU and the NICs sit on PCIe was not read"
		f.Fix = []string{"lspci -tv; cat /sys/bus/pci/devices/" + g.BDF + "/numa_node"}
	default:
		f.Status, f.Got, f.Want = Warn, "SYS to "+near.port.Device+", the nearest NIC", "NODE or nearer"
		f.Why = "every byte between them crosses the link between the processors, and GPUDirect across it is slow or off"
		numa := 0
		if d := n.At(g.BDF); d != nil {
			numa = d.NUMA.Or(0)
		}
		f.Fix = []string{
			fmt.Sprintf("move the card to a slot of NUMA node %d, where GPU %d is", numa, g.Index),
			"export NCCL_NET_GDR_LEVEL=SYS   # where it cannot be moved: measure with and without",
		}
	}
	return f
}
