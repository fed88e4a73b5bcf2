package check

import (
	"fmt"

	"weft/internal/fact"
)

var pcieMRRS = Check{
	ID:    "pcie.mrrs",
	Title: "ConnectX cards read 4096 bytes at a time",
	None:  "no data port is on a ConnectX card",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, k := range c.cards(n) {
			// A virtual function without its physical one has no setting of its own.
			if k.dev == nil || k.dev.Vendor == 0x15b3 && k.dev.PhysFn == "" {
				out = append(out, judgeMRRS(k))
			}
		}
		return out
	},
}

// mrrsWant is what sichek, ngc_multinode_perf and NVIDIA's NIC operator set:
// research/anchors.md table D.
const mrrsWant = 4096

func judgeMRRS(k card) Finding {
	f := Finding{Subject: on(k.node, k.port), Got: "4096"}
	if k.dev == nil {
		f.Status, f.Got, f.Why = Unknown, "", "PCI device "+k.port.BDF+" was not read"
		return f
	}
	switch size, ok := k.dev.MaxRead.Get(); {
	case !ok:
		f.Status, f.Got, f.Why = Unknown, "", "MaxReadReq was not read"
		f.Fix = []string{"sudo lspci -vv -s " + k.dev.BDF + " | grep MaxReadReq   # root only"}
	case size < mrrsWant:
		f.Status, f.Got, f.Want = Warn, fmt.Sprint(size), "4096"
		f.Why = fmt.Sprintf("the card asks for memory in pieces of %d bytes, so it needs %d times as many requests to send", size, mrrsWant/max(size, 1))
		// Bits 14 to 12 of Device Control hold the size; 5 is 4096 (PCI_EXP_DEVCTL_READRQ).
		f.Fix = []string{"sudo setpci -s " + k.dev.BDF + " CAP_EXP+8.w=5000:7000   # until the next boot; see weft explain pcie.mrrs for good"}
	}
	return f
}
