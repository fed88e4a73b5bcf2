package check

import (
	"fmt"

	"weft/internal/fact"
)

var ibMTU = Check{
	ID:    "ib.mtu",
	Title: "InfiniBand ports use the largest MTU they can",
	After: []string{"port.up"},
	None:  "no InfiniBand link is up",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if p.IB() && p.Up() {
				out = append(out, judgeIBMTU(n, p))
			}
		}
		return out
	},
}

func judgeIBMTU(n *fact.Node, p *fact.Port) Finding {
	f := Finding{Subject: on(n, p)}
	active, okA := p.ActiveMTU.Get()
	limit, okM := p.MaxMTU.Get()
	if !okA || !okM {
		f.Status, f.Why = Unknown, "active_mtu and max_mtu were not read"
		f.Fix = []string{install(n, "ibverbs-utils", "libibverbs-utils"), "ibv_devinfo -d " + p.Device}
		return f
	}
	f.Got = fmt.Sprintf("mtu %d", active)
	if active >= limit {
		return f
	}
	// 2048 costs little and is all that older switches can; less is a mistake.
	f.Status, f.Want = Warn, fmt.Sprint(limit)
	if active < 2048 {
		f.Status = Fail
	}
	// A manager sets a link to the lesser of both ends' MtuCap and asks nothing else
	// (osm_physp_calc_link_mtu in opensm's osm_port.c).
	f.Why = fmt.Sprintf("the card could send %d-byte packets, so there are %d times as many: the other end of the cable can do no more", limit, limit/max(active, 1))
	f.Fix = []string{"what the other end can do: sudo smpquery -D portinfo 0,1 | grep -i mtu",
		"where that is less, newer firmware or another switch; where it is not: sudo systemctl restart opensm   # on the node of the subnet manager"}
	return f
}
