package check

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

var rocePFC = Check{
	ID:    "roce.pfc",
	Title: "Priority flow control protects the RDMA priority alone",
	After: []string{"port.up"},
	Judge: func(c *Case) (out []Finding) {
		ports, bad, why := c.lossless()
		if why != "" {
			return skip(why)
		}
		prio := c.Priority()
		with := pfcUser(ports, prio)
		out = make([]Finding, 0, len(ports))
		for _, pa := range ports {
			out = append(out, judgePFC(pa.Node, pa.Port, prio, bad, with))
		}
		return out
	},
}

// pfcUser names a port that has PFC on the RDMA priority; "" when none has.
func pfcUser(ports []topo.PortAt, prio int) string {
	for _, pa := range ports {
		if pfcOn(pa.Port, prio) {
			return pa.Node.Name + " " + pa.Port.Name
		}
	}
	return ""
}

func pfcOn(p *fact.Port, prio int) bool { return prio < len(p.QoS.PFC) && p.QoS.PFC[prio] }

func pfcOthers(p *fact.Port, prio int) bool {
	for i, x := range p.QoS.PFC {
		if x && i != prio {
			return true
		}
	}
	return false
}

func judgePFC(n *fact.Node, p *fact.Port, prio int, bad Status, with string) Finding {
	f := Finding{Subject: on(n, p)}
	if p.QoS.PFC == nil {
		f.Status, f.Why = Unknown, "neither dcb nor mlnx_qos told the PFC state of "+p.Netdev
		f.Fix = qosUnread(n, p, "pfc")
		return f
	}
	f.Got = pfcWords(p.QoS.PFC)
	right, others := pfcOn(p, prio), pfcOthers(p, prio)
	if right && !others {
		return f
	}
	f.Want = fmt.Sprintf("PFC on priority %d alone", prio)
	f.Fix = append(pfcAgent(n, p), pfcSet(n, p, prio)+"   # and the same on the switch port")
	switch {
	case right:
		f.Status = Warn
		f.Why = "one slow receiver pauses ordinary traffic too, ssh and storage among it"
	case with != "":
		f.Status = Fail
		f.Why = with + " has it, so one end asks for a pause that the other does not grant, and packets are dropped"
	default:
		f.Status = bad
		f.Why = "the switch cannot pause this port when a queue fills: packets are dropped, and RoCE sends everything since the loss again"
		if bad == Warn {
			f.Fix = append(f.Fix, sayDirect)
		}
	}
	return f
}

// pfcSet is the command that turns PFC on for one priority alone.
func pfcSet(n *fact.Node, p *fact.Port, prio int) string {
	if !hasMlnxQoS(n, p) {
		return fmt.Sprintf("sudo dcb pfc set dev %s prio-pfc all:off %d:on", p.Netdev, prio)
	}
	flags := make([]string, 8)
	for i := range flags {
		flags[i] = map[bool]string{true: "1", false: "0"}[i == prio]
	}
	return "sudo mlnx_qos -i " + p.Netdev + " --pfc " + strings.Join(flags, ",")
}

// pfcAgent is what must happen first on an E810: its firmware negotiates PFC by
// itself and refuses software (Linux Documentation/networking/device_drivers/ethernet/intel/ice.rst).
func pfcAgent(n *fact.Node, p *fact.Port) []string {
	if p.Driver != "irdma" {
		return nil
	}
	return []string{"sudo ethtool --set-priv-flags " + p.Netdev + " fw-lldp-agent off"}
}

func pfcWords(pfc []bool) string {
	var on []string
	for i, x := range pfc {
		if x {
			on = append(on, strconv.Itoa(i))
		}
	}
	if len(on) == 0 {
		return "PFC off"
	}
	return "PFC on priority " + strings.Join(on, " ")
}
