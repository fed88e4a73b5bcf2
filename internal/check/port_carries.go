package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/unit"
)

var portCarries = Check{
	ID:    "port.carries",
	Title: "A port that is up also carries data",
	After: []string{"port.up"},
	Judge: func(c *Case) (out []Finding) {
		earlier := earlierNodes(c)
		for _, n := range c.Up() {
			siblings := map[string][]*fact.Port{} // kind of card → its ports that are up
			for _, p := range c.Data(n) {
				if p.Up() && !p.Soft() {
					k := portFamily(n, p) + p.Layer
					siblings[k] = append(siblings[k], p)
				}
			}
			for _, p := range c.Data(n) {
				if ports := siblings[portFamily(n, p)+p.Layer]; p.Up() && !p.Soft() && len(ports) > 1 {
					out = append(out, judgeCarries(n, p, ports, earlier[n.Name])...)
				}
			}
		}
		if len(out) == 0 {
			return skip("no node has two equal data ports whose traffic could be compared")
		}
		return out
	},
}

// carriesMuch is how much the busiest sibling must have sent before silence means
// something: two of four ports had sent nothing at all while jobs ran on the others
// (research/community.md item 13).
const carriesMuch = 1 * unit.GiB

// carriesSent is what a port has sent: port_xmit_data counts words of four bytes (IBTA
// PortCounters; the kernel's Documentation/ABI/stable/sysfs-class-infiniband).
func carriesSent(p *fact.Port) (unit.Size, bool) {
	words, ok := p.Counters["port_xmit_data"]
	return unit.Size(words * 4), ok
}

func judgeCarries(n *fact.Node, p *fact.Port, ports []*fact.Port, earlier *fact.Node) []Finding {
	f := Finding{Subject: on(n, p)}
	total, ok := carriesSent(p)
	if !ok {
		if len(p.Counters) > 0 {
			return nil // the driver has no such counter
		}
		f.Status, f.Why = Unknown, "port_xmit_data was not read"
		return []Finding{f}
	}
	growth, compared := carriesSince(p, earlierPort(earlier, p))
	var most, mostGrowth unit.Size
	var busiest *fact.Port
	for _, q := range ports {
		all, _ := carriesSent(q)
		since, _ := carriesSince(q, earlierPort(earlier, q))
		if since > mostGrowth {
			mostGrowth, busiest = since, q
		}
		if most = max(most, all); busiest == nil && most == all {
			busiest = q
		}
	}
	f.Want = "traffic on every data port"
	f.Fix = []string{"name every port: NCCL_IB_HCA=" + carriesHCAs(ports), "give each port an address in a subnet of its own, and look at: ip route get PEER"}
	switch {
	case compared && growth == 0 && mostGrowth >= carriesMuch:
		f.Status, f.Got = Fail, "sent nothing"
		f.Why = fmt.Sprintf("%s sent %v in the same time, so jobs use only a part of the ports", busiest.Name, mostGrowth)
	case total == 0 && most >= carriesMuch:
		f.Status, f.Got = Warn, "sent nothing since the driver was loaded"
		f.Why = fmt.Sprintf("an equal port of this node sent %v, so jobs may use only a part of the ports", most)
	default:
		f = Finding{Subject: f.Subject, Got: "as busy as the others"}
		if total == 0 || compared && growth == 0 {
			f.Got = "idle like the others"
		}
	}
	return []Finding{f}
}

// carriesSince is what a port has sent since the earlier look; ok is false when that
// cannot be told, because there was none or the counter began anew.
func carriesSince(now, before *fact.Port) (unit.Size, bool) {
	if before == nil {
		return 0, false
	}
	a, oka := carriesSent(before)
	b, okb := carriesSent(now)
	return b - a, oka && okb && b >= a
}

func carriesHCAs(ports []*fact.Port) string {
	s := "="
	for i, p := range ports {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprintf("%s:%d", p.Device, p.Num)
	}
	return s
}
