package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/unit"
)

var portPause = Check{
	ID:    "port.pause",
	Title: "No port is held still by pause frames",
	After: []string{"port.up"},
	None:  "pause frames are judged by how fast they come, and no RoCE port that counts them was seen before in this boot",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			before := earlierPort(c.about(n).counted, p)
			switch {
			case !p.RoCE() || p.Soft() || !p.Up() || before == nil || c.Since <= 0:
			case p.QoS.PausePrio != nil && before.QoS.PausePrio != nil:
				out = append(out, judgePortPause(n, p, before, c.Since.Seconds()))
			case p.Driver == "mlx5" || p.Driver == "mlx4": // these count pause frames by priority
				out = append(out, Finding{Subject: on(n, p), Status: Unknown, Why: "the pause counters of " + p.Netdev + " were not read",
					Fix: []string{"ethtool -S " + p.Netdev + " | grep pause"}})
			}
		}
		return out
	},
}

// longestPause is how many bits a port could have sent while one pause frame holds
// it: at most 65535 quanta of 512 bit times (IEEE 802.3 annex 31B, 802.1Qbb). A
// port of 100 Gb/s stands still for good at 2980 such frames a second.
const longestPause = 65535 * 512

// judgePortPause fails where frames come often enough to hold the port still all the
// time, and warns at a tenth of that. Senders may lift a pause early, so this is
// the most that the port can have lost.
func judgePortPause(n *fact.Node, p, before *fact.Port, seconds float64) Finding {
	f := Finding{Subject: on(n, p), Got: "hardly any pause frames"}
	rate := p.Rate.Or(100 * unit.Gbps)
	var worst float64
	prio := 0
	for i := range 8 {
		now, then := p.QoS.PausePrio[i], before.QoS.PausePrio[i]
		if perSecond := float64(now-then) / seconds; now > then && perSecond > worst {
			worst, prio = perSecond, i
		}
	}
	share := worst * longestPause / float64(rate)
	if share < 0.1 {
		return f
	}
	f.Status, f.Got, f.Want = Warn, fmt.Sprintf("%.0f pause frames/s on priority %d", worst, prio), fmt.Sprintf("under %.0f", 0.1*float64(rate)/longestPause)
	f.Why = fmt.Sprintf("the switch may hold the port still %.0f %% of the time: a receiver or a link behind it is too slow", 100*min(share, 1))
	f.Fix = []string{"weft explain roce.ecn   # ECN should slow senders down before PFC stops them",
		"look for the slow receiver: the port whose tx_prio" + fmt.Sprint(prio) + "_pause grows (ethtool -S)"}
	if share >= 1 {
		f.Status = Fail
		f.Why = "a pause storm: the port can be held still all the time, and so can every port behind it"
	}
	return f
}
