package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/unit"
)

// offer is what NCCL opens on a node.
type offer struct {
	node  *fact.Node
	ports []*fact.Port
	cause Subject // of the failure that makes it less than was meant; zero when there is none
}

// total is what the ports carry together; a rate that is unknown is left out.
func (o offer) total() (sum unit.Rate) {
	for _, p := range o.ports {
		sum += p.Rate.Or(0)
	}
	return sum
}

func (o offer) slowest() *fact.Port {
	return slices.MinFunc(o.ports, func(a, b *fact.Port) int { return int(a.Rate.Or(0) - b.Rate.Or(0)) })
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
	if len(names) == 0 {
		return "0"
	}
	return fmt.Sprintf("%d: %s", len(names), strings.Join(names, ", "))
}

// findCauses finds, where offers differ, what earlier checks say of the nodes: a
// list that names what is not there, a port that is down, a card that the RDMA
// stack has lost. A finding about that very subject is then silenced.
func findCauses(c *Case, offers []offer) {
	first := offers[0]
	if !slices.ContainsFunc(offers, func(o offer) bool { return len(o.ports) != len(first.ports) }) {
		return
	}
	lost := map[string]Subject{}
	for _, f := range portPresent.Judge(c) {
		if f.Status == Fail {
			lost[f.Subject.Node] = f.Subject
		}
	}
	for i := range offers {
		o := &offers[i]
		n, list := o.node, lastHCA(o.node)
		filter := parseNCCLFilter(list.Value)
		down := func(p *fact.Port) bool { return !p.Up() && filter.takes(p.Device, p.Num) }
		var env Finding
		if list.Value != "" {
			envHCA(&env, c, n, list)
		}
		if env.Status == Fail {
			o.cause = Subject{n.Name, list.Name}
		} else if k := slices.IndexFunc(c.Data(n), down); k >= 0 {
			o.cause = on(n, c.Data(n)[k])
		} else {
			o.cause = lost[n.Name]
		}
	}
}

// lastHCA is the NCCL_IB_HCA that holds: the later setting wins.
func lastHCA(n *fact.Node) (last fact.EnvVar) {
	for _, v := range n.Settings.Env {
		if v.Name == "NCCL_IB_HCA" {
			last = v
		}
	}
	return last
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
