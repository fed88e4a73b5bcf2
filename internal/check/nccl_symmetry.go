package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/unit"
)

var ncclSymmetry = Check{
	ID:    "nccl.symmetry",
	Title: "Every node offers NCCL the same number of HCAs at the same rate",
	Judge: func(c *Case) (out []Finding) {
		var offers []offer
		some := false
		for _, n := range ncclNodes(c) {
			if why := offerUnread(n); why != "" {
				out = append(out, Finding{Subject: node(n), Status: Unknown, Why: why, Fix: []string{"run weft as root on " + n.Name}})
				continue
			}
			ports := ncclPorts(n, lastHCA(n))
			offers = append(offers, offer{n, ports})
			some = some || len(ports) > 0
		}
		switch {
		case len(offers)+len(out) < 2:
			return skip("one node alone has nothing to be equal to")
		case !some:
			return append(out, skip("no node offers an ACTIVE RDMA port")...)
		}
		return append(out, judgeOffers(offers)...)
	},
}

// offer is what NCCL opens on a node.
type offer struct {
	node  *fact.Node
	ports []*fact.Port
}

// total is what the ports carry together; a rate that is unknown is left out.
func (o offer) total() (sum unit.Rate) {
	for _, p := range o.ports {
		sum += p.Rate.Or(0)
	}
	return sum
}

func (o offer) String() string {
	var names []string
	for _, p := range o.ports {
		name := p.Name
		if r, ok := p.Rate.Get(); ok {
			name += " at " + r.String()
		}
		names = append(names, name)
	}
	return fmt.Sprintf("%d: %s", len(names), strings.Join(names, ", "))
}

func judgeOffers(offers []offer) (out []Finding) {
	count, _ := Usual(offers, func(o offer) int { return len(o.ports) })
	// Negative, so that a tie goes to the faster: the slower node holds the rest up.
	usual, _ := Usual(offers, func(o offer) unit.Rate { return -o.total() })
	like := slices.IndexFunc(offers, func(o offer) bool { return len(o.ports) == count })
	for _, o := range offers {
		f := Finding{Subject: node(o.node), Got: o.String()}
		switch {
		case len(o.ports) != count:
			f.Status, f.Want = Fail, fmt.Sprintf("%d, as on %s", count, offers[like].node.Name)
			f.Why = "ranks open different numbers of devices and wait for each other: the job hangs with busy GPUs and no word"
			f.Fix = []string{"list as many on every node: NCCL_IB_HCA=" + ncclList(o.ports[:min(count, len(o.ports))])}
			if len(o.ports) < count {
				f.Fix = []string{"bring the missing port up, or list as many on every node: NCCL_IB_HCA=" + ncclList(offers[like].ports) + " on " + offers[like].node.Name}
			}
		case -o.total() != usual:
			f.Status, f.Want = Warn, offers[slices.IndexFunc(offers, func(o offer) bool { return -o.total() == usual })].String()
			f.Why = "a collective runs at the rate of its slowest port, so the faster ones wait"
			f.Fix = []string{"list ports of one rate on every node with NCCL_IB_HCA, or mend the slower ones: weft explain port.rate"}
		}
		out = append(out, f)
	}
	return out
}

// lastHCA is the NCCL_IB_HCA that holds: the later setting wins.
func lastHCA(n *fact.Node) (value string) {
	for _, v := range n.Settings.Env {
		if v.Name == "NCCL_IB_HCA" {
			value = v.Value
		}
	}
	return value
}

// offerUnread says what was not read of a node; "" when its offer is known.
func offerUnread(n *fact.Node) string {
	if !n.Settings.EnvRead {
		return "where NCCL_IB_HCA may be set was not read"
	}
	for _, p := range n.Ports {
		if p.State == "" {
			return "the state of " + p.Name + " was not read"
		}
	}
	return ""
}
