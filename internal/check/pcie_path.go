package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/topo"
	"weft/internal/unit"
)

var pciePath = Check{
	ID:    "pcie.path",
	Title: "The NIC's PCIe link runs at the weakest capability on its path",
	After: []string{"pcie.design"},
	None:  "no data port has a PCIe device",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, k := range c.cards(n) {
			out = append(out, judgePCIePath(k, k.port.Rate))
		}
		for _, p := range c.Data(n) {
			if d := n.Netdev(p.Netdev); p.Soft() && d != nil && linkTold(n, d.BDF) {
				out = append(out, judgePCIePath(card{n, p, n.At(d.BDF)}, d.Speed))
			}
		}
		return out
	},
}

// linkTold reports whether the NIC below a software port tells of its PCIe link: a
// virtual one often has none.
func linkTold(n *fact.Node, bdf string) bool {
	hops := topo.Hops(n, bdf)
	narrow, ok := topo.Narrowest(hops)
	return ok && !hopUnread(narrow)
}

// pathHealthy is the share of a port's rate that its PCIe path must carry before it
// counts as the limit: 93 % of a ceiling is healthy (CHECKS.md, expected numbers).
// So an FDR card on 8 GT/s x8, 53.6 of 56 Gb/s, is as it should be.
const pathHealthy = 0.93

// judgePCIePath holds a card's path against what it could do and against the rate of
// the port; the rate that a software port states is made up, its netdev's is not.
func judgePCIePath(k card, rateOf fact.Val[unit.Rate]) Finding {
	f := Finding{Subject: on(k.node, k.port)}
	if k.dev == nil {
		f.Status, f.Why = Unknown, "PCI device "+k.port.BDF+" was not read"
		return f
	}
	hops := topo.Hops(k.node, k.dev.BDF)
	narrow, ok := topo.Narrowest(hops)
	slow, fell := pathFallen(hops)
	f.Got = pcieText(narrow.Cur)
	ceiling := topo.RDMARate(narrow.Cur)
	rate, known := rateOf.Get()
	known = known && k.port.Up() // a downed port states a rate it does not have
	look := "sudo lspci -vv -s " + k.dev.BDF + " | grep -E 'LnkCap:|LnkSta:'"
	switch {
	case !ok:
		f.Status, f.Got, f.Why = Unknown, "", "no link speed was read on the path of "+k.dev.BDF
		f.Fix = []string{look}
	case fell:
		f.Status, f.Got, f.Want = Fail, pcieText(slow.Cur), pcieText(slow.Can)
		f.Why = "the link " + hopText(slow) + " runs below what both its ends can do, so RDMA gets about " + topo.RDMARate(slow.Cur).String()
		if known {
			f.Why += " of the port's " + rate.String()
		}
		f.Fix = []string{"power off, reseat the card " + slow.Below.BDF + " and its riser or cable, clean the contacts; then the BIOS: PCIe speed auto", look}
	case hopUnread(narrow):
		f.Status, f.Why = Unknown, "what the port above "+narrow.Below.BDF+" can do was not read, so nobody can say whether the card is slowed"
		f.Fix = []string{look}
	case byDesign(k.node, narrow):
		f.Got += fmt.Sprintf(" by design, about %v of RDMA", ceiling)
	case known && float64(ceiling) < pathHealthy*float64(rate):
		f.Status, f.Want = Warn, "room for "+rate.String()
		f.Why = fmt.Sprintf("the link %s can do no more, so RDMA gets about %v of the port's %v; it is no fault", hopText(narrow), ceiling, rate)
		f.Fix = []string{"move the card to a slot with more lanes (or a newer generation), or plan with " + ceiling.String(), look}
	}
	return f
}
