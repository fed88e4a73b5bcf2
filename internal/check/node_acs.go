package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

var nodeACS = Check{
	ID:    "node.acs",
	Title: "ACS does not redirect traffic between GPU and NIC",
	None:  "no GPU shares a PCIe switch with a data port, so there is no shortcut for ACS to close",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		gpus := make([][]*fact.PCI, len(n.GPUs))
		for i, g := range n.GPUs {
			gpus[i] = topo.Path(n, g.BDF)
		}
		for _, k := range c.cards(n) {
			if bridges, gap := acsBetween(k, gpus); gap != "" {
				out = append(out, Finding{Subject: on(k.node, k.port), Status: Unknown, Why: "PCI device " + gap + " was not read"})
			} else if len(bridges) > 0 {
				out = append(out, judgeACS(k, bridges))
			}
		}
		return out
	},
}

// acsBetween returns the bridges through which the card and the GPUs that share a
// switch with it reach each other; gpus are the paths of the node's GPUs. Where they
// meet only at the host bridge, traffic goes through the CPU with or without ACS. gap
// is a device that was not read.
func acsBetween(k card, gpus [][]*fact.PCI) (bridges []*fact.PCI, gap string) {
	switch {
	case len(gpus) == 0:
		return nil, ""
	case k.dev == nil:
		return nil, k.port.BDF
	}
	up := topo.Path(k.node, k.dev.BDF)
	for g, down := range gpus {
		if len(down) == 0 {
			return nil, k.node.GPUs[g].BDF
		}
		i := slices.IndexFunc(up, func(d *fact.PCI) bool { return slices.Contains(down, d) })
		if i < 1 {
			continue
		}
		j := slices.Index(down, up[i])
		if j < 1 {
			continue
		}
		// Redirection is a matter of the downstream ports below the meeting point.
		for _, below := range [...][]*fact.PCI{up[1:i], down[1:j]} {
			for _, d := range below {
				if !slices.Contains(bridges, d) {
					bridges = append(bridges, d)
				}
			}
		}
	}
	return bridges, ""
}

func judgeACS(k card, bridges []*fact.PCI) Finding {
	f := Finding{Subject: on(k.node, k.port)}
	var redirect, unread []string
	for _, d := range bridges {
		switch on, ok := d.ACSRedir.Get(); {
		case !ok:
			unread = append(unread, d.BDF)
		case on:
			redirect = append(redirect, d.BDF)
			f.Fix = append(f.Fix, "sudo setpci -s "+d.BDF+" ECAP_ACS+6.w=0:c   # until the next boot; see weft explain node.acs for good")
		}
	}
	switch {
	case len(redirect) > 0:
		f.Status, f.Got, f.Want = Fail, "redirect on at "+strings.Join(redirect, ", "), "off"
		f.Why = "packets between GPU and NIC detour through the CPU instead of the switch, which can halve GPUDirect bandwidth"
	case len(unread) > 0:
		f.Status, f.Why = Unknown, "ACS control was not read at "+strings.Join(unread, ", ")
		f.Fix = []string{"sudo lspci -vvv -s " + unread[0] + " | grep ACSCtl   # root only"}
	}
	return f
}
