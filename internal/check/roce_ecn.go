package check

import (
	"fmt"

	"weft/internal/fact"
)

var roceECN = Check{
	ID:    "roce.ecn",
	Title: "Ports slow down when the switch marks RDMA packets",
	After: []string{"port.up"},
	Judge: func(c *Case) (out []Finding) {
		ports, bad, why := c.lossless()
		if why != "" {
			return skip(why)
		}
		out = make([]Finding, 0, len(ports))
		for _, pa := range ports {
			q := &pa.Port.QoS
			if q.ECNNP != nil || q.ECNRP != nil || ofedOnly(pa.Node, pa.Port) {
				out = append(out, judgeECN(pa.Node, pa.Port, c.Priority(), bad))
			}
		}
		if len(out) == 0 {
			return skip("no port tells its ECN state, which only mlx5 under OFED does; ConnectX firmware has it on by default")
		}
		return out
	},
}

func judgeECN(n *fact.Node, p *fact.Port, prio int, bad Status) Finding {
	f := Finding{Subject: on(n, p)}
	if prio >= len(p.QoS.ECNNP) || prio >= len(p.QoS.ECNRP) {
		f.Status, f.Why = Unknown, "the ECN state of "+p.Netdev+" was not read; run weft as root"
		return f
	}
	np, rp := p.QoS.ECNNP[prio], p.QoS.ECNRP[prio]
	if np && rp {
		f.Got = "ECN on"
		return f
	}
	f.Status, f.Want = bad, fmt.Sprintf("ECN on for priority %d, both ways", prio)
	enable := func(way string) string {
		return fmt.Sprintf("echo 1 | sudo tee /sys/class/net/%s/ecn/%s/enable/%d", p.Netdev, way, prio)
	}
	switch {
	case rp:
		f.Got, f.Fix = "notification off", []string{enable("roce_np")}
		f.Why = "this port sees the marks and tells no sender, so queues fill until PFC stops everybody"
	case np:
		f.Got, f.Fix = "reaction off", []string{enable("roce_rp")}
		f.Why = "this port is told to slow down and does not, so queues fill until PFC stops everybody"
	default:
		f.Got, f.Fix = "ECN off", []string{enable("roce_np"), enable("roce_rp")}
		f.Why = "nothing slows a sender before a queue is full, so PFC stops everybody instead"
	}
	return f
}
