package check

import (
	"fmt"
	"strconv"

	"weft/internal/fact"
	"weft/internal/topo"
)

var roceTrust = Check{
	ID:    "roce.trust",
	Title: "Ports sort RDMA packets by DSCP, all alike",
	After: []string{"port.up"},
	Judge: func(c *Case) (out []Finding) {
		ports, bad, why := c.lossless()
		if why == "" {
			why = c.noPFC(ports)
		}
		if why != "" {
			return skip(why)
		}
		keys := make([]string, len(ports))
		for i, pa := range ports {
			keys[i] = dscpKey(pa.Port)
		}
		usual, _ := Usual(keys, func(k string) string { return k })
		out = make([]Finding, 0, len(ports))
		for i, pa := range ports {
			f := judgeTrust(pa.Node, pa.Port, c.dscp(), c.Priority(), bad)
			if f.Status == Pass && keys[i] != usual {
				f.Status, f.Got, f.Want = Warn, "another DSCP map than most ports", "one map"
				f.Why = "what is urgent at one end is ordinary at the other; CNPs and storage suffer first"
				f.Fix = []string{qosShow(pa.Node, pa.Port, "app") + "   # here and on a port that passes, then make them equal"}
			}
			out = append(out, f)
		}
		return out
	},
}

// noPFC says that nobody set this fabric up to be lossless, so that one warning,
// that of roce.pfc, is enough.
func (c *Case) noPFC(ports []topo.PortAt) string {
	if c.Want.Data.Switch == "" && pfcUser(ports, c.Priority()) == "" {
		return "no port has PFC on, and weft.yaml does not say that the switch is lossless; see roce.pfc"
	}
	return ""
}

func judgeTrust(n *fact.Node, p *fact.Port, dscp, prio int, bad Status) Finding {
	f := Finding{Subject: on(n, p), Want: dscpWords(dscp, prio)}
	got, mapped := p.QoS.DSCP[dscp]
	switch {
	case p.QoS.Trust == "":
		f.Status, f.Want, f.Why = Unknown, "", "what "+p.Netdev+" trusts was not read"
		f.Fix = qosUnread(n, p, "app")
		return f
	case p.QoS.Trust != "dscp":
		f.Got = "trusts " + p.QoS.Trust
		f.Why = "untagged RoCE packets carry no " + p.QoS.Trust + ", so they land in priority 0, which nothing protects"
	case p.QoS.DSCP == nil:
		f.Status, f.Want, f.Why = Unknown, "", "the DSCP map of "+p.Netdev+" was not read"
		return f
	case mapped && got == prio:
		f.Got, f.Want = f.Want, ""
		return f
	case mapped:
		f.Got = dscpWords(dscp, got)
		f.Why = "RDMA packets land in a priority that PFC does not protect"
	default:
		f.Got = fmt.Sprintf("DSCP %d is not mapped", dscp)
		f.Why = "RDMA packets land in priority 0, which nothing protects"
	}
	f.Status = bad
	f.Fix = append(pfcAgent(n, p), fmt.Sprintf("sudo dcb app replace dev %s dscp-prio %d:%d", p.Netdev, dscp, prio))
	if hasMlnxQoS(n, p) {
		// mlnx_qos refuses both in one command.
		f.Fix = []string{"sudo mlnx_qos -i " + p.Netdev + " --trust dscp", fmt.Sprintf("sudo mlnx_qos -i %s --dscp2prio set,%d,%d", p.Netdev, dscp, prio)}
	}
	return f
}

func dscpWords(dscp, prio int) string {
	return "DSCP " + strconv.Itoa(dscp) + " to priority " + strconv.Itoa(prio)
}

// dscpKey is a DSCP map in a form that can be compared: one byte for each DSCP.
func dscpKey(p *fact.Port) string {
	var key [64]byte // DSCP has six bits (RFC 2474)
	for dscp, prio := range p.QoS.DSCP {
		if dscp >= 0 && dscp < len(key) {
			key[dscp] = byte(prio + 1)
		}
	}
	return string(key[:])
}
