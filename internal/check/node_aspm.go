package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

var nodeASPM = Check{
	ID:    "node.aspm",
	Title: "ASPM is off on the NIC's path",
	None:  "no data port has a PCIe device",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, k := range c.cards(n) {
			out = append(out, judgeASPM(k))
		}
		return out
	},
}

func judgeASPM(k card) Finding {
	f := Finding{Subject: on(k.node, k.port)}
	if k.dev == nil {
		f.Status, f.Why = Unknown, "PCI device "+k.port.BDF+" was not read"
		return f
	}
	var asleep, states, unread []string
	links := false
	for _, d := range topo.Path(k.node, k.dev.BDF) {
		// Every user may read a link's width. A device without one has no link, and
		// no ASPM.
		link := d.Max.Width > 0 || d.Cur.Width > 0
		links = links || link
		switch state, ok := d.ASPM.Get(); {
		case !ok && link:
			unread = append(unread, d.BDF)
		case !ok:
		case state != "off":
			asleep = append(asleep, d.BDF)
			states = append(states, state)
		}
	}
	slices.Sort(states)
	switch {
	case len(asleep) > 0:
		f.Status, f.Got, f.Want = Warn, strings.Join(slices.Compact(states), ", ")+" at "+strings.Join(asleep, ", "), "off"
		f.Why = "the link dozes between messages and takes microseconds to wake, which small messages feel"
		f.Fix = []string{
			"echo performance | sudo tee /sys/module/pcie_aspm/parameters/policy   # until the next boot; or in the BIOS: ASPM disabled",
			bootArg(k.node, "pcie_aspm.policy=performance"),
		}
	case !links:
		f.Status, f.Why = Unknown, "no PCIe link was read on the path of "+k.dev.BDF
	case len(unread) > 0:
		f.Status, f.Why = Unknown, "link control was not read at "+strings.Join(unread, ", ")
		f.Fix = []string{"sudo lspci -vv -s " + k.dev.BDF + " | grep LnkCtl:   # root only"}
	}
	return f
}
