package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/fact"
)

var portErrors = Check{
	ID:    "port.errors",
	Title: "Error counters do not grow",
	After: []string{"port.up"},
	None:  "no data port counts errors",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			f := Finding{Subject: on(n, p)}
			switch {
			case (p.Soft() || len(p.Counters) > 0) && !countsErrors(p):
				continue // of these rxe counts link_downed, siw nothing, irdma only its own
			case len(p.Counters) == 0:
				f.Status, f.Why = Unknown, "the counters of the port were not read"
			default:
				var before map[string]uint64
				if q := earlierPort(c.about(n).counted, p); q != nil {
					before = q.Counters
				}
				judgePortErrors(&f, p, before, c.Since)
			}
			out = append(out, f)
		}
		return out
	},
}

func judgePortErrors(f *Finding, p *fact.Port, before map[string]uint64, since time.Duration) {
	var grown, much, full []string
	wire := false
	for _, k := range errorCounters {
		now, ok := p.Counters[k.Name]
		then, seen := before[k.Name]
		switch {
		case !ok:
		case seen && now >= then && k.exceeded(now-then, since):
			if words := fmt.Sprintf("%s +%d", k.Name, now-then); !slices.Contains(grown, words) { // some have two limits
				grown = append(grown, words)
			}
			wire = wire || k.Wire
		case k.Full > 0 && now >= k.Full && !p.Soft(): // rxe counts in 64 bits
			full = append(full, fmt.Sprintf("%s %d", k.Name, now))
		case !seen && k.Much > 0 && now > k.Much:
			much = append(much, fmt.Sprintf("%s %d", k.Name, now))
		}
	}
	switch {
	case len(grown) > 0:
		f.Status, f.Got, f.Want = Fail, strings.Join(grown, ", ")+" in "+errorsSince(since), "no growth"
		f.Why = "the far end cannot take or acknowledge packets in time, so they are sent again"
		f.Fix = []string{"look for congestion: what port.pause, roce.pfc and roce.ecn say"}
		if wire {
			f.Why = "the link loses packets, and each costs a retransmission or a stall"
			f.Fix = []string{"change the cable (or both transceivers) first, then the port at the other end", "weft check   # again, to see whether it still grows"}
		}
	case len(full) > 0:
		f.Status, f.Got, f.Want = Warn, strings.Join(full, ", "), "a counter that can count"
		f.Why = "the counter is full, so growth can no longer be seen"
		f.Fix = []string{fmt.Sprintf("sudo perfquery -C %s -P %d -R   # clears it", p.Device, p.Num)}
	case len(much) > 0:
		f.Status, f.Got, f.Want = Warn, strings.Join(much, ", "), "no growth"
		f.Why = "errors were counted since the driver was loaded; only growth tells whether they still happen"
		f.Fix = []string{"weft check   # again in an hour: it compares"}
	case before == nil:
		f.Got = "few errors since the driver was loaded"
	default:
		f.Got = "no growth"
	}
}

// errorsSince writes a time the way people say it: "45 s", "12 min", "3 h".
func errorsSince(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d h", d/time.Hour)
}
