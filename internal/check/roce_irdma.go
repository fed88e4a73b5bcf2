package check

import "weft/internal/fact"

var roceIRDMA = Check{
	ID:    "roce.irdma",
	Title: "Intel cards run RoCE v2, not iWARP",
	After: []string{"port.up"},
	None:  "no port of the irdma driver is in use, or weft.yaml asks for iWARP",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if p.Driver == "irdma" && c.Want.Data.Layer != "iwarp" {
				out = append(out, judgeIRDMA(n, p))
			}
		}
		return out
	},
}

func judgeIRDMA(n *fact.Node, p *fact.Port) Finding {
	f := Finding{Subject: on(n, p)}
	v2 := false
	for _, g := range p.GIDs {
		v2 = v2 || gidV2(g)
	}
	switch {
	case p.IWARP():
		f.Got = "iWARP"
	case v2:
		f.Got = "RoCE v2"
		return f
	case p.NodeType == "" && !p.GIDsRead:
		f.Status, f.Why = Unknown, "neither the node type nor the GIDs of "+p.Device+" were read"
		return f
	case len(p.GIDs) > 0:
		f.Got = "no RoCE v2 GID"
	default: // RoCE mode, no GID yet: that is for roce.gid to say
		f.Got = "RoCE"
		return f
	}
	f.Status, f.Want = Fail, "RoCE v2"
	f.Why = "iWARP has no IP-mapped GIDs: NCCL and llama.cpp find no device they can use and run over TCP"
	f.Fix = irdmaFix(n, p)
	return f
}

// irdmaFix switches an E810 over. The kernel's ice driver takes either parameter
// but not both, so iWARP goes first (Documentation/networking/devlink/ice.rst). An
// X722 sits on i40e and can do iWARP only (irdma README).
func irdmaFix(n *fact.Node, p *fact.Port) []string {
	if d := n.At(p.BDF); d != nil && d.Driver == "i40e" {
		return []string{"an X722 can do iWARP only: use another card, or iWARP on all nodes with weft.yaml saying   data: {layer: iwarp}"}
	}
	return []string{
		"sudo devlink dev param set pci/" + p.BDF + " name enable_iwarp value false cmode runtime",
		"sudo devlink dev param set pci/" + p.BDF + " name enable_roce value true cmode runtime",
	}
}
