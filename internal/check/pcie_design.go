package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/topo"
)

var pcieDesign = Check{
	ID:    "pcie.design",
	Title: "Links that are narrow by design run as designed",
	None:  "no data port is on a machine known to be narrow by design",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		pl, _ := platform.Of(n)
		design, narrow := pcieDesigns[pl.ID]
		if !narrow {
			return out
		}
		for _, k := range c.cards(n) {
			if k.dev == nil {
				continue // pcie.path says so
			}
			switch h, ok := topo.Narrowest(topo.Hops(k.node, k.dev.BDF)); {
			case !ok:
			case byDesign(k.node, h):
				out = append(out, Finding{Subject: on(k.node, k.port), Got: fmt.Sprintf("%s, about %v of RDMA: %s", pcieText(h.Cur), topo.RDMARate(h.Cur), pl.Note)})
			case pl.ID == platform.Spark.ID && h.Cur.Width < design.Width:
				out = append(out, sparkNarrow(k, h, design))
			}
		}
		return out
	},
}

// pcieDesigns says which link a NIC gets on machines that are narrow by design.
var pcieDesigns = map[string]fact.Link{
	platform.Spark.ID:     {GTs: 32, Width: 4}, // each of the twins: research/anchors.md table D
	platform.StrixHalo.ID: {GTs: 16, Width: 4}, // an M.2 or OCuLink slot, PCIe 4.0: seed 000
}

// byDesign reports whether a link is as narrow as the machine's design makes it. A
// card of an older generation than the slot is slower for its own reason, not for a
// fault.
func byDesign(n *fact.Node, h topo.Hop) bool {
	pl, _ := platform.Of(n)
	d, ok := pcieDesigns[pl.ID]
	return ok && h.Cur == h.Can && h.Cur.Width == d.Width && h.Cur.GTs <= d.GTs
}

// sparkNarrow: firmware from before April 2026 gives the second controller two
// lanes (research/community.md item 19, tonyd2wild PR #35).
func sparkNarrow(k card, h topo.Hop, design fact.Link) Finding {
	return Finding{
		Subject: on(k.node, k.port), Status: Fail, Got: pcieText(h.Cur), Want: pcieText(design),
		Why: "firmware from before April 2026 wires this function with too few lanes, so the port loses part of its rate",
		Fix: []string{"sudo fwupdmgr refresh && sudo fwupdmgr update   # then power off, wait, and on again"},
	}
}
