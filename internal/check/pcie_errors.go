package check

import (
	"fmt"
	"time"

	"weft/internal/fact"
	"weft/internal/topo"
)

var pcieErrors = Check{
	ID:    "pcie.errors",
	Title: "PCIe errors do not grow",
	None:  "no device on a data port's path counts PCIe errors (no AER)",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, k := range c.cards(n) {
			if f, counted := judgePCIeErrors(k, c.about(n).counted, c.Since); counted {
				out = append(out, f)
			}
		}
		return out
	},
}

// aerBits is the share of bits that a healthy PCIe link may get wrong: the bit
// error ratio of the PCI Express Base Specification, 10^-12. Each is a correctable
// error, so 8 GT/s x4 may show one every half minute.
const aerBits = 1e-12

// judgePCIeErrors returns the worst of what the devices on a card's path tell; counted
// is false where none of them counts. The counters are open to every user, so a
// device without them has none.
func judgePCIeErrors(k card, before *fact.Node, since time.Duration) (f Finding, counted bool) {
	subject := on(k.node, k.port)
	if k.dev == nil {
		return Finding{Subject: subject, Status: Unknown, Why: "PCI device " + k.port.BDF + " was not read"}, true
	}
	for _, d := range topo.Path(k.node, k.dev.BDF) {
		counted = counted || d.AER != nil
		if g := judgeAER(d, before, since); g.Status > f.Status {
			f = g
		}
	}
	f.Subject = subject
	return f, counted
}

// judgeAER judges the error totals of one device against those of the earlier look.
func judgeAER(d *fact.PCI, before *fact.Node, since time.Duration) Finding {
	var f Finding
	var was map[string]int
	if before != nil && before.At(d.BDF) != nil {
		was = before.At(d.BDF).AER
	}
	grown := func(kind string) int {
		if d.AER[kind] < was[kind] { // the device was found anew, and counts from zero
			return d.AER[kind]
		}
		return d.AER[kind] - was[kind]
	}
	bad, soft := grown("nonfatal")+grown("fatal"), grown("correctable")
	more := func(n int, kind string) string {
		return fmt.Sprintf("+%d %s at %s in %v", n, kind, d.BDF, since.Round(time.Second))
	}
	allowed := d.Cur.GTs * 1e9 * float64(d.Cur.Width) * aerBits * since.Seconds()
	if bad == 0 && soft == 0 {
		return f
	}
	fix := []string{"reseat the card and its riser or cable", "grep . /sys/bus/pci/devices/" + d.BDF + "/aer_dev_*"}
	switch {
	case was == nil && bad > 0:
		f = Finding{Status: Warn, Got: fmt.Sprintf("%d uncorrectable at %s since boot", bad, d.BDF), Want: "none", Fix: fix,
			Why: "transfers were lost at some time; whether it goes on, the next look tells"}
	case was == nil && soft > 0:
		f = Finding{Status: Unknown, Got: fmt.Sprintf("%d correctable at %s since boot", soft, d.BDF), Fix: []string{"weft check   # again in a few minutes"},
			Why: "there is no earlier look in this boot to tell whether they grow"}
	case bad > 0:
		f = Finding{Status: Fail, Got: more(bad, "uncorrectable"), Want: "none", Fix: fix,
			Why: "transfers are being lost between the card and the CPU"}
	case float64(soft) > allowed:
		f = Finding{Status: Warn, Got: more(soft, "correctable"), Want: "none that a healthy link would not make", Fix: fix,
			Why: "the link repeats packets more often than the standard lets it, which costs bandwidth and comes before worse"}
	}
	return f
}
