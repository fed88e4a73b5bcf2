package check

import (
	"fmt"
	"strconv"

	"weft/internal/fact"
)

var roceTC = Check{
	ID:    "roce.tc",
	Title: "RDMA packets carry the traffic class that the switch expects",
	After: []string{"port.up"},
	Judge: func(c *Case) (out []Finding) {
		ports, bad, why := c.lossless()
		if why == "" {
			why = c.noPFC(ports)
		}
		if why != "" {
			return skip(why)
		}
		out = make([]Finding, 0, len(ports))
		for _, pa := range ports {
			if pa.Port.TrafficClass.Known() || ofedOnly(pa.Node, pa.Port) {
				out = append(out, judgeTC(pa.Node, pa.Port, c.TrafficClass(), bad))
			}
		}
		if len(out) == 0 {
			return skip("no port has a traffic class of its own, which only mlx5 under OFED has; weft env sets NCCL_IB_TC instead")
		}
		return out
	},
}

func judgeTC(n *fact.Node, p *fact.Port, want int, bad Status) Finding {
	f := Finding{Subject: on(n, p)}
	tc, ok := p.TrafficClass.Get()
	f.Got = "traffic class " + strconv.Itoa(tc)
	switch {
	case !ok:
		f.Status, f.Got, f.Why = Unknown, "", "tc/1/traffic_class of "+p.Device+" was not read; run weft as root"
		return f
	case tc < 0:
		f.Status, f.Got = bad, "no traffic class"
		f.Why = "programs choose one, and those that do not say DSCP 0, so their packets share a queue with everything else"
	case tc>>2 != want>>2: // the upper six bits are the DSCP (RFC 2474)
		f.Status = bad
		f.Why = fmt.Sprintf("packets say DSCP %d while the switch protects DSCP %d, so they share a queue with everything else", tc>>2, want>>2)
	case tc&3 == 0: // the lower two are ECN; 0 is "not ECN-capable" (RFC 3168)
		f.Status = Warn
		f.Why = "the packets say that they must not be marked, so the switch drops where it could have warned"
	default:
		return f
	}
	f.Want = fmt.Sprint(want)
	f.Fix = []string{fmt.Sprintf("echo %d | sudo tee /sys/class/infiniband/%s/tc/%d/traffic_class   # until the next boot; see weft explain roce.tc for good", want, p.Device, p.Num)}
	return f
}
