package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/fact"
	"weft/internal/topo"
)

var fabricSwitch = Check{
	ID:    "fabric.switch",
	Title: "Switch links run at full speed without errors",
	After: []string{"port.up", "port.rate", "ib.width", "port.errors"},
	Judge: func(c *Case) (out []Finding) {
		ib := slices.ContainsFunc(c.DataPorts(), func(pa topo.PortAt) bool { return pa.Port.IB() && pa.Port.Up() })
		switch {
		case !ib:
			return skip("no InfiniBand link is up")
		case c.Fabric == nil:
			return []Finding{{Status: Unknown, Why: "no node could ask the fabric about its switches",
				Fix: []string{install(c.Up()[0], "infiniband-diags", "infiniband-diags"), "run weft as root on a node with an InfiniBand port"}}}
		case len(c.Fabric.Switches) == 0:
			return skip("the fabric has no switch")
		}
		hosts := portsByGUID(c)
		earlier := map[linkKey]map[string]uint64{}
		if c.Before != nil && c.Before.Fabric != nil {
			for _, l := range c.Before.Fabric.Links {
				earlier[keyOf(l)] = l.Errors
			}
		}
		fastest := usualSpeeds(c.Fabric.Links)
		count := 0
		for _, l := range c.Fabric.Links {
			if !l.A.Switch && !l.B.Switch {
				continue
			}
			count++
			before, seen := earlier[keyOf(l)]
			if seen && before == nil {
				before = map[string]uint64{} // it had none to tell of
			}
			if f := judgeSwitchLink(l, fastest[l.A.Switch && l.B.Switch], before, c.Since); f.Status != Pass {
				f.Subject = linkSubject(l, hosts)
				out = append(out, f)
			}
		}
		if len(out) == 0 {
			out = append(out, Finding{Got: strconv.Itoa(count) + " links at full speed without errors"})
		}
		return out
	},
}

// linkKey is a link by its ends.
type linkKey struct{ a, b fact.End }

func keyOf(l fact.FabricLink) linkKey {
	a, b := l.A, l.B
	a.Name, b.Name = "", "" // descriptions change
	return linkKey{a, b}
}

// usualSpeeds is the fastest generation that at least half of the links between
// switches (true) and of those to hosts (false) have.
func usualSpeeds(links []fact.FabricLink) map[bool]string {
	count := map[bool]map[string]int{true: {}, false: {}}
	total := map[bool]int{}
	for _, l := range links {
		if kind := l.A.Switch && l.B.Switch; l.Speed != "" {
			count[kind][l.Speed]++
			total[kind]++
		}
	}
	usual := map[bool]string{}
	for kind, speeds := range count {
		for speed, n := range speeds {
			if n*2 >= total[kind] && ibGen(speed) > ibGen(usual[kind]) {
				usual[kind] = speed
			}
		}
	}
	return usual
}

func judgeSwitchLink(l fact.FabricLink, usual string, before map[string]uint64, since time.Duration) (f Finding) {
	f.Got = strings.TrimSpace(l.Width + " " + l.Speed)
	f.Fix = []string{"reseat the cable between " + endWords(l.A) + " and " + endWords(l.B) + ", then change it", "sudo iblinkinfo"}
	splits := ibLanes(l.Width) == 2 && ibGen(l.Speed) >= ibGen("HDR") && ibLanes(l.MaxWidth) <= 2 // HDR100 and NDR200: two lanes by design
	switch grown, wire := linkErrors(l.Errors, before, since); {
	case l.Width != "" && ibLanes(l.Width) < 4 && !splits:
		f.Status, f.Want, f.Why = Fail, "4x", "lanes are dead, so the link carries a part of what it could, and so does every path over it"
	case l.Speed != "" && ibGen(l.Speed) < ibGen(l.MaxSpeed):
		f.Status, f.Want, f.Why = Fail, l.MaxSpeed, "both ends could run faster, so the cable is bad or a port is forced low"
	case l.Speed != "" && ibGen(l.Speed) < ibGen(usual):
		f.Status, f.Want, f.Why = Warn, usual, "links like this one run faster: an older card, or a bad cable"
	case grown != "" && before != nil:
		f.Status, f.Got, f.Want, f.Why = Fail, grown, "no growth", "the link loses packets, and each stalls the jobs that cross it"
		if !wire {
			f.Why = "packets wait in the switch until it throws them away: a receiver behind it is too slow"
		}
	case grown != "":
		f.Status, f.Got, f.Want = Warn, grown, "no growth"
		f.Why = "errors were counted since the counters were cleared; only growth tells whether they still happen"
		f.Fix = []string{"sudo ibclearerrors", "weft check   # again in an hour"}
	}
	return f
}

// linkErrors returns the counters that grew too fast, or that are high where there
// was no earlier look, and whether the wire is to blame.
func linkErrors(now, before map[string]uint64, since time.Duration) (grown string, wire bool) {
	var words []string
	for _, k := range errorCounters {
		n := now[k.MAD]
		switch {
		case before == nil && k.Much > 0 && n > k.Much:
			words = append(words, fmt.Sprintf("%s %d", k.MAD, n))
		case before != nil && n >= before[k.MAD] && k.exceeded(n-before[k.MAD], since):
			if grown := fmt.Sprintf("%s +%d", k.MAD, n-before[k.MAD]); !slices.Contains(words, grown) { // some have two limits
				words = append(words, grown)
			}
		default:
			continue
		}
		wire = wire || k.Wire
	}
	return strings.Join(words, ", "), wire
}

// linkSubject is the node's port where a link ends at one, so that its own failures
// silence this echo, else the switch's.
func linkSubject(l fact.FabricLink, hosts map[guidPort]topo.PortAt) Subject {
	for _, e := range []fact.End{l.A, l.B} {
		if pa, ok := hosts[guidPort{guidDigits(e.GUID), e.Port}]; ok {
			return on(pa.Node, pa.Port)
		}
	}
	end := l.A
	if !end.Switch {
		end = l.B
	}
	return Subject{cmp.Or(end.Name, end.GUID), "port " + strconv.Itoa(end.Port)}
}

func endWords(e fact.End) string { return fmt.Sprintf("%s port %d", cmp.Or(e.Name, e.GUID), e.Port) }
