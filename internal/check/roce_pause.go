package check

import (
	"slices"

	"weft/internal/fact"
)

var rocePause = Check{
	ID:    "roce.pause",
	Title: "Global pause is off where priority flow control is on",
	After: []string{"port.up"},
	None:  "no port has PFC on",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			if !p.RoCE() || p.Soft() {
				continue
			}
			if f, ok := judgeGlobalPause(n, p); ok {
				out = append(out, f)
			}
		}
		return out
	},
}

// judgeGlobalPause has no opinion on a port where PFC is known to be off: global pause
// alone is a choice.
func judgeGlobalPause(n *fact.Node, p *fact.Port) (f Finding, ok bool) {
	f.Subject = on(n, p)
	rx, rxRead := p.QoS.PauseRx.Get()
	tx, txRead := p.QoS.PauseTx.Get()
	pfc := slices.Contains(p.QoS.PFC, true)
	switch {
	case p.QoS.PFC != nil && !pfc:
		return f, false
	case p.Netdev == "":
		f.Status, f.Why = Unknown, "no netdev is known for "+p.Device+", so nothing tells its pause state"
	case !rxRead || !txRead:
		f.Status, f.Why = Unknown, "the pause state of "+p.Netdev+" was not read"
		f.Fix = []string{"sudo ethtool -a " + p.Netdev}
	case !rx && !tx:
		f.Got = "global pause off"
	case p.QoS.PFC == nil:
		f.Status, f.Why = Unknown, "global pause is on, and dcb did not tell whether PFC is too"
		f.Fix = []string{"sudo dcb pfc show dev " + p.Netdev}
	default:
		f.Status, f.Got, f.Want = Fail, "global pause and PFC", "PFC alone"
		f.Why = "a link obeys one of them: global pause stops every priority, so the protected one protects nothing"
		f.Fix = []string{"sudo ethtool -A " + p.Netdev + " rx off tx off   # and the same on the switch port"}
	}
	return f, true
}
