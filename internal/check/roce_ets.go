package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
)

var roceETS = Check{
	ID:    "roce.ets",
	Title: "RDMA traffic has a traffic class of its own",
	After: []string{"port.up"},
	Judge: func(c *Case) (out []Finding) {
		ports, _, why := c.lossless()
		if why == "" {
			why = c.noPFC(ports)
		}
		if why != "" {
			return skip(why)
		}
		for _, pa := range ports {
			if pa.Port.QoS.PrioTC != nil {
				out = append(out, judgeETS(pa.Node, pa.Port, c.Priority()))
			}
		}
		if len(out) == 0 {
			return skip("no port tells its traffic classes: dcb and mlnx_qos do, where the driver has them")
		}
		return out
	},
}

func judgeETS(n *fact.Node, p *fact.Port, prio int) Finding {
	f := Finding{Subject: on(n, p)}
	class, others := p.QoS.PrioTC[prio], classMates(p.QoS.PrioTC, prio)
	f.Got = fmt.Sprintf("class %d", class)
	if len(others) == 0 {
		return f
	}
	f.Status, f.Want = Warn, "a class of its own"
	f.Got += " together with priority " + strings.Join(others, " ")
	f.Why = "a class is one queue: small RDMA messages wait behind bulk traffic, and what PFC stops, it stops for both"
	f.Fix = []string{etsSet(n, p, prio)}
	return f
}

// classMates are the other priorities in the class of one.
func classMates(prioTC []int, prio int) (mates []string) {
	for i, tc := range prioTC {
		if i != prio && tc == prioTC[prio] {
			mates = append(mates, strconv.Itoa(i))
		}
	}
	return mates
}

// FreeClass returns a traffic class that no priority is in: the priority's own number,
// else the lowest. There is none only where every priority has its own already.
func FreeClass(prioTC []int, prio int) (class int, ok bool) {
	for _, tc := range append([]int{prio}, 0, 1, 2, 3, 4, 5, 6, 7) {
		if !slices.Contains(prioTC, tc) {
			return tc, true
		}
	}
	return 0, false
}

// etsSet is the command that gives a priority a class of its own.
func etsSet(n *fact.Node, p *fact.Port, prio int) string {
	class, _ := FreeClass(p.QoS.PrioTC, prio)
	if !hasMlnxQoS(n, p) {
		return fmt.Sprintf("sudo dcb ets set dev %s prio-tc %d:%d", p.Netdev, prio, class)
	}
	tcs := make([]string, len(p.QoS.PrioTC))
	for i, tc := range p.QoS.PrioTC {
		tcs[i] = strconv.Itoa(tc)
	}
	tcs[prio] = strconv.Itoa(class)
	return "sudo mlnx_qos -i " + p.Netdev + " --prio_tc " + strings.Join(tcs, ",")
}
