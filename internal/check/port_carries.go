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
	None:  "no node has two equal data ports whose traffic could be compared",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		equal := map[string][]traffic{} // kind of card → its ports that are up
		for _, p := range c.Data(n) {
			if k := portFamily(n, p) + p.Layer; p.Up() && !p.Soft() {
				equal[k] = append(equal[k], trafficOf(p, earlierPort(c.about(n).counted, p)))
			}
		}
		for _, ports := range equal {
			out = judgeCarries(n, ports, out)
		}
		return out
	},
}

// carriesMuch is how much the busiest port must have sent before silence means
// something: two of four ports had sent nothing at all while jobs ran on the others
// (research/community.md item 13).
const carriesMuch = 1 * unit.GiB

// traffic is what a port has sent.
type traffic struct {
	port     *fact.Port
	total    unit.Size // since the driver was loaded
	growth   unit.Size // since the earlier look
	known    bool
	compared bool // there was an earlier look in this boot, and the counter has not begun anew
}

// trafficOf reads port_xmit_data, which counts words of four bytes (the kernel's
// Documentation/ABI/stable/sysfs-class-infiniband).
func trafficOf(now, before *fact.Port) traffic {
	words, known := now.Counters["port_xmit_data"]
	t := traffic{port: now, total: unit.Size(words * 4), known: known}
	if before != nil {
		then, ok := before.Counters["port_xmit_data"]
		if t.compared = ok && known && words >= then; t.compared {
			t.growth = unit.Size((words - then) * 4)
		}
	}
	return t
}

func judgeCarries(n *fact.Node, ports []traffic, out []Finding) []Finding {
	if len(ports) < 2 {
		return out
	}
	most, busiest := ports[0].total, ports[0]
	for _, t := range ports {
		most = max(most, t.total)
		if t.growth > busiest.growth {
			busiest = t
		}
	}
	for _, t := range ports {
		f := Finding{Subject: on(n, t.port), Got: "as busy as the others"}
		switch idle := t.compared && t.growth == 0; {
		case !t.known && len(t.port.Counters) > 0:
			continue // the driver has no such counter
		case !t.known:
			f.Status, f.Got, f.Why = Unknown, "", "port_xmit_data was not read"
		case idle && busiest.growth >= carriesMuch:
			f.Status, f.Got, f.Want, f.Fix = Fail, "sent nothing", "traffic on every data port", carriesFix(ports)
			f.Why = fmt.Sprintf("%s sent %v in the same time, so jobs use only a part of the ports", busiest.port.Name, busiest.growth)
		case t.total == 0 && most >= carriesMuch:
			f.Status, f.Got, f.Want, f.Fix = Warn, "sent nothing since the driver was loaded", "traffic on every data port", carriesFix(ports)
			f.Why = fmt.Sprintf("an equal port of this node sent %v, so jobs may use only a part of the ports", most)
		case idle || t.total == 0:
			f.Got = "idle like the others"
		}
		out = append(out, f)
	}
	return out
}

func carriesFix(ports []traffic) []string {
	list := ""
	for i, t := range ports {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf("%s:%d", t.port.Device, t.port.Num)
	}
	return []string{"name every port: NCCL_IB_HCA==" + list, "give each port an address in a subnet of its own, and look at: ip route get PEER"}
}
