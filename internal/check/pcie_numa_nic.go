package check

import (
	"fmt"
	"slices"
	"strconv"

	"weft/internal/fact"
)

// numaSlot is the place of a NIC in machines of one kind.
type numaSlot struct {
	machine
	port string
}

// numaNICs calls f for every PCI function behind a data port of a node with several
// NUMA nodes, if the kernel says which one it is on. A software port has the function
// of its netdev.
func (c *Case) numaNICs(n *fact.Node, f func(p *fact.Port, numa int)) {
	if len(n.Host.NUMACPUs) < 2 {
		return
	}
	seen := make([]*fact.PCI, 0, 8) // most machines have no more, and then this is no garbage
	for _, p := range c.about(n).data {
		bdf := p.BDF
		if d := n.Netdev(p.Netdev); p.Soft() && d != nil {
			bdf = d.BDF
		}
		dev := n.At(bdf)
		if dev == nil || slices.Contains(seen, dev) {
			continue
		}
		seen = append(seen, dev)
		if numa, ok := dev.NUMA.Get(); ok {
			f(p, numa)
		}
	}
}

// usualNUMA returns the NUMA node that most machines of one kind have a NIC on. It
// has to be most: of two that differ either may be right.
func usualNUMA(c *Case) map[numaSlot]int {
	all := map[numaSlot][]int{}
	for _, n := range c.Up() {
		if m := machineOf(n); m.product != "" {
			c.numaNICs(n, func(p *fact.Port, numa int) {
				all[numaSlot{m, p.Name}] = append(all[numaSlot{m, p.Name}], numa)
			})
		}
	}
	usual := map[numaSlot]int{}
	for slot, list := range all {
		if numa, have := Usual(list, func(numa int) int { return numa }); have*2 > len(list) {
			usual[slot] = numa
		}
	}
	return usual
}

// numaWithCPUs counts the NUMA nodes with processors; first is -1 when there is none.
func numaWithCPUs(n *fact.Node) (near, first int) {
	first = -1
	for id, cpus := range n.Host.NUMACPUs {
		if cpus != "" {
			near++
			if first < 0 || id < first {
				first = id
			}
		}
	}
	return near, first
}

// judgeNICNUMA wants a NIC beside processors, and where its peers have it.
func judgeNICNUMA(c *Case, n *fact.Node, p *fact.Port, numa, near, first int) Finding {
	f := Finding{Subject: on(n, p), Got: "NUMA node " + strconv.Itoa(numa)}
	cpus, known := n.Host.NUMACPUs[numa]
	usual, many := c.numa[numaSlot{machineOf(n), p.Name}]
	switch {
	case known && cpus == "" && near > 0:
		f.Status, f.Got, f.Want = Warn, f.Got+", which has no processors", "a NUMA node with processors"
		f.Why = "whatever a processor does with the NIC or its buffers crosses the link between NUMA nodes"
		f.Fix = []string{fmt.Sprintf("move the card to a slot of NUMA node %d (processors %s); a virtual machine's is set on its host", first, n.Host.NUMACPUs[first])}
	case many && usual != numa && near > 1:
		f.Status, f.Want = Warn, fmt.Sprintf("%d, as on most nodes of this product", usual)
		f.Why = "processes that sit beside the NIC elsewhere are on the far side of it here, and the slowest node sets the pace"
		f.Fix = []string{
			fmt.Sprintf("move the card to the slot that the other nodes have it in (NUMA node %d)", usual),
			fmt.Sprintf("numactl --cpunodebind=%d --membind=%d COMMAND   # where it cannot be moved", numa, numa),
		}
	}
	return f
}
