package check

import (
	"fmt"
	"math"
	"slices"

	"weft/internal/fact"
)

var nodeClock = Check{
	ID:    "node.clock",
	Title: "Clocks agree",
	Judge: func(c *Case) (out []Finding) {
		nodes := c.Up()
		if len(nodes) == 1 && !nodes[0].Host.ClockSkew.Known() && !nodes[0].Host.ClockSync.Known() {
			return skip("one node, and no other clock to hold it against")
		}
		ref, whom := clockRef(nodes)
		for _, n := range nodes {
			out = append(out, judgeClock(n, ref, whom))
		}
		if len(out) == 0 {
			return skip("no node answered")
		}
		return out
	},
}

// clockLimit is the skew that still counts as agreeing, in seconds: CHECKS.md,
// node.clock.
const clockLimit = 0.1

// clockRef returns the skew to judge against. It is 0, the clock of the machine
// that runs weft, unless most nodes agree on another time: then it is that machine
// whose clock is wrong, and it is no node.
func clockRef(nodes []*fact.Node) (ref float64, whom string) {
	var skews []float64
	for _, n := range nodes {
		if s, ok := n.Host.ClockSkew.Get(); ok {
			skews = append(skews, s)
		}
	}
	whom = "the machine that runs weft"
	if len(skews) < 2 {
		return 0, whom
	}
	slices.Sort(skews)
	median, agree := skews[(len(skews)-1)/2], 0
	for _, s := range skews {
		if math.Abs(s-median) <= clockLimit {
			agree++
		}
	}
	if math.Abs(median) > clockLimit && agree*2 > len(skews) {
		return median, "the other nodes"
	}
	return 0, whom
}

// ClockRef is the skew of a node whose clock is right.
func ClockRef(nodes []*fact.Node) float64 {
	ref, _ := clockRef(nodes)
	return ref
}

func judgeClock(n *fact.Node, ref float64, whom string) Finding {
	f := Finding{Subject: node(n), Got: "within 100 ms"}
	skew, measured := n.Host.ClockSkew.Get()
	sync, told := n.Host.ClockSync.Get()
	off, rough := math.Abs(skew-ref), n.Host.SkewError.Or(0)
	side := "ahead of "
	if skew < ref {
		side = "behind "
	}
	switch {
	case !measured && !told:
		f.Status, f.Got, f.Why = Unknown, "", "neither the clock nor its NTP state was read"
	case measured && off-rough > clockLimit:
		f.Status, f.Got, f.Want = Fail, fmt.Sprintf("%.1f s ", off)+side+whom, "within 100 ms"
		f.Why = "logs of one event carry different times, and certificates and rendezvous time-outs go astray"
		f.Fix = clockFix(n)
	case told && !sync:
		f.Status, f.Got, f.Want = Warn, "not synchronised", "NTP"
		f.Why = "the clock will drift away from the others"
		f.Fix = clockFix(n)
	case !told && off+rough > clockLimit:
		f.Status, f.Got = Unknown, ""
		f.Why = fmt.Sprintf("the node answered too slowly to measure its clock (give or take %.1f s), and its NTP state was not read", rough)
	case !measured:
		f.Got = "synchronised by NTP"
	}
	return f
}

func clockFix(n *fact.Node) []string {
	unit := "chronyd"
	if n.Host.Debian() {
		unit = "chrony"
	}
	return []string{install(n, "chrony", "chrony"), "sudo systemctl enable --now " + unit, "sudo chronyc makestep"}
}
