package check

import (
	"slices"

	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/topo"
)

var portTwins = Check{
	ID:    "port.twins",
	Title: "Both PCIe functions of a Spark port are up and addressed",
	After: []string{"port.up"},
	None:  "no Spark port is in use",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if pl, ok := platform.Of(n); !ok || pl.ID != platform.Spark.ID {
			return out
		}
		for _, p := range c.Data(n) {
			if !p.Soft() {
				out = append(out, judgeTwins(c, n, p)...)
			}
		}
		return out
	},
}

// judgeTwins judges the pair of a data port, and speaks of the twin that lacks
// something. A pair of two data ports is judged once, by the first.
func judgeTwins(c *Case, n *fact.Node, p *fact.Port) []Finding {
	twin, ok := platform.Twin(n, p)
	switch {
	case !ok && !p.Up():
		return nil // port.up speaks of it
	case !ok:
		return []Finding{twinCosts(n, p, Finding{Subject: on(n, p), Status: Fail, Got: "one PCIe function", Want: "two",
			Why: "the other function of this QSFP port is missing, and each carries only half of the bandwidth",
			Fix: []string{"lspci -d 15b3:", "sudo modprobe -r mlx5_ib && sudo modprobe mlx5_ib"}})}
	case slices.Contains(c.Data(n), twin) && twin.BDF < p.BDF:
		return nil
	case !p.Up():
		p, twin = twin, p
	}
	f := Finding{Subject: on(n, twin), Got: "both up and addressed"}
	switch {
	case !p.Up():
		return nil // neither is up: port.up speaks of them
	case !twin.Up():
		f.Status, f.Got, f.Want = Fail, downWords(twin), "ACTIVE"
		f.Why = "its twin " + p.Name + " is up, and one function alone carries half of what the cable can"
		f.Fix = []string{"sudo ip link set dev " + twin.Netdev + " up"}
	case !addressed(n, p) && !addressed(n, twin):
		f.Status, f.Got, f.Why = Skip, "", "neither twin has an address yet"
	case !addressed(n, p) || !addressed(n, twin):
		if addressed(n, twin) {
			p, twin = twin, p
			f.Subject = on(n, twin)
		}
		f.Status, f.Got, f.Want = Fail, "no address", "an address in a subnet of its own"
		f.Why = "only its twin " + p.Name + " is used, so one function carries what two should"
		f.Fix = []string{"sudo ip address add ADDRESS/24 dev " + twin.Netdev + "   # a subnet that no other port of this node has",
			"NCCL_IB_HCA=" + p.Device + "," + twin.Device}
	case !slices.Contains(c.Data(n), twin):
		f.Status, f.Got, f.Want = Warn, "not in weft.yaml", twin.Name
		f.Why = "weft.yaml names only its twin " + p.Name + ", so half of the cable stays idle"
		f.Fix = []string{"add port " + twin.Name + " to the node's data in weft.yaml"}
	}
	return []Finding{twinCosts(n, p, f)}
}

// twinCosts lets a twin that lacks something pass where the other carries the whole
// link by itself: one function of 32 GT/s x4 does at 100 Gb/s (seeds/004 measured 93
// of 100), and does not at 200 (research/community.md item 1: 98 alone, 161 with both).
func twinCosts(n *fact.Node, used *fact.Port, f Finding) Finding {
	if f.Status != Fail && f.Status != Warn {
		return f
	}
	switch rate, ok := used.Rate.Get(); {
	case !ok:
		f.Status, f.Want, f.Fix = Unknown, "", nil
		f.Why = "the rate of " + used.Name + " was not read, so nobody can tell whether it needs its twin"
	case !NeedsTwin(n, used):
		return Finding{Subject: f.Subject, Got: f.Got + ", which costs nothing: " + used.Name + " alone carries the link's " + rate.String()}
	}
	return f
}

// NeedsTwin reports whether one function of a Spark port cannot carry the whole link;
// one whose rate was not read is taken to need its twin.
func NeedsTwin(n *fact.Node, p *fact.Port) bool {
	alone := topo.RDMARate(sparkFunction)
	for _, h := range topo.Hops(n, p.BDF) {
		if most := topo.RDMARate(h.Can); most > 0 {
			alone = min(alone, most)
		}
	}
	rate, ok := p.Rate.Get()
	return !ok || rate > alone
}

// sparkFunction is the PCIe link of each function of a Spark port
// (platform.Spark.Note), for a node whose PCI devices were not read.
var sparkFunction = fact.Link{GTs: 32, Width: 4}
