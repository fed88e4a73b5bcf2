package check

import (
	"cmp"
	"fmt"
	"slices"

	"weft/internal/unit"
)

var ncclSymmetry = Check{
	ID:    "nccl.symmetry",
	Title: "Every node offers NCCL the same number of HCAs at the same rate",
	After: []string{"port.present", "port.up", "port.rate", "nccl.env"}, // each may be why a node offers less
	Judge: func(c *Case) (out []Finding) {
		var offers []offer
		some := false
		for _, n := range ncclNodes(c) {
			if why := offerUnread(n); why != "" {
				out = append(out, Finding{Subject: node(n), Status: Unknown, Why: why, Fix: []string{"run weft as root on " + n.Name}})
				continue
			}
			ports := ncclPorts(n, lastHCA(n).Value)
			offers = append(offers, offer{node: n, ports: ports})
			some = some || len(ports) > 0
		}
		switch {
		case len(offers)+len(out) < 2:
			return skip("one node alone has nothing to be equal to")
		case !some:
			return append(out, skip("no node offers an ACTIVE RDMA port")...)
		}
		return append(out, judgeOffers(c, offers)...)
	},
}

// judgeOffers compares the nodes with what is usual among those that lack nothing:
// of two nodes, the one with a port down is the odd one.
func judgeOffers(c *Case, offers []offer) (out []Finding) {
	findCauses(c, offers)
	voters := slices.DeleteFunc(slices.Clone(offers), func(o offer) bool { return len(o.ports) == 0 || o.cause != Subject{} })
	if len(voters) == 0 {
		voters = slices.DeleteFunc(slices.Clone(offers), func(o offer) bool { return len(o.ports) == 0 })
	}
	count, _ := Usual(voters, func(o offer) int { return len(o.ports) })
	like := voters[slices.IndexFunc(voters, func(o offer) bool { return len(o.ports) == count })]
	voters = slices.DeleteFunc(voters, func(o offer) bool { return len(o.ports) != count })
	// Negative, so that a tie goes to the faster: the slower node holds the rest up.
	rate, _ := Usual(voters, func(o offer) unit.Rate { return -o.total() })
	fast := voters[slices.IndexFunc(voters, func(o offer) bool { return -o.total() == rate })]
	for _, o := range offers {
		f := Finding{Subject: node(o.node), Got: o.String()}
		switch {
		case len(o.ports) != count:
			f.Subject, f.Status, f.Want = cmp.Or(o.cause, f.Subject), Fail, fmt.Sprintf("%d, as on %s", count, like.node.Name)
			f.Why = "ranks open different numbers of devices and wait for each other: the job hangs with busy GPUs and no word"
			f.Fix = offerFix(o, like)
		case o.total() != fast.total():
			f.Status, f.Want = Warn, fast.String()
			f.Why = "a collective runs at the rate of its slowest port, so the faster ones wait"
			f.Fix = []string{"list ports of one rate on every node with NCCL_IB_HCA, or mend the slower ones: weft explain port.rate"}
			if o.total() < fast.total() {
				f.Subject = on(o.node, o.slowest())
			}
		}
		out = append(out, f)
	}
	return out
}

func offerFix(o, like offer) []string {
	switch {
	case len(o.ports) == 0:
		return []string{"let NCCL find an ACTIVE port here: weft explain nccl.env, weft explain port.up"}
	case len(o.ports) < len(like.ports):
		return []string{"bring the missing port up, or list as few on the other nodes: NCCL_IB_HCA=" + ncclList(like.ports[:len(o.ports)]) + " on " + like.node.Name}
	}
	return []string{"list as many on every node: NCCL_IB_HCA=" + ncclList(o.ports[:len(like.ports)])}
}
