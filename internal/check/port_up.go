package check

import (
	"fmt"
	"slices"

	"weft/internal/fact"
	"weft/internal/topo"
)

var portUp = Check{
	ID:    "port.up",
	Title: "Data ports are ACTIVE",
	After: []string{"port.present"},
	None:  "no RDMA port is in use",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			out = append(out, judgeUp(n, p, c.master))
		}
		return out
	},
}

func judgeUp(n *fact.Node, p *fact.Port, master bool) Finding {
	f := Finding{Subject: on(n, p), Got: p.State}
	switch {
	case p.Up() && (p.Phys == "" || p.Phys == "LinkUp"):
	case p.Up():
		f.Status, f.Got, f.Want = Warn, p.State+", "+p.Phys, "LinkUp"
		f.Why = "the port is up, but its link is not settled: it is about to recover or to drop"
		f.Fix = []string{"reseat the cable at both ends of " + p.Name, "weft check   # again: port.errors tells whether it drops"}
	case p.State == "":
		f.Status, f.Why = Unknown, "the state of the port was not read"
	case p.IB() && (p.State == "INIT" || p.State == "ARMED"):
		f.Status, f.Want = Fail, "ACTIVE"
		f.Why, f.Fix = waitsForSM(n, p, master)
	default:
		f.Status, f.Got, f.Want = Fail, downWords(p), "ACTIVE"
		f.Why = "nothing is at the other end of the cable, or the port is switched off"
		f.Fix = downFix(p)
		if p.Soft() {
			f.Why, f.Fix = softDown(p)
		}
	}
	return f
}

// smWorks reports whether a subnet manager is at work: it was seen, or nobody could
// look and some port is ACTIVE, so that somebody has set it up.
func smWorks(c *Case) bool {
	return len(smMasters(c)) > 0 || !smRead(c) && slices.ContainsFunc(c.ports, func(pa topo.PortAt) bool { return pa.Port.IB() && pa.Port.Up() })
}

// waitsForSM is the why and the fix of a port with a link and without a LID. The
// link is fine: only a subnet manager can take it further.
func waitsForSM(n *fact.Node, p *fact.Port, master bool) (string, []string) {
	switch {
	case p.Driver == "hfi1":
		return "the link is there, but no fabric manager has set it up, so nothing routes",
			[]string{"on one node only: " + install(n, "opa-fm", "opa-fm") + " && sudo systemctl enable --now opafm"}
	case master:
		return "the link is there and a subnet manager runs, but it has not set this port up",
			[]string{"on the node of the subnet manager: sudo systemctl restart opensm", "sudo tail /var/log/opensm.log"}
	}
	return "the link is there, but no subnet manager has given the port a LID, so nothing routes",
		[]string{"on one node only: " + install(n, "opensm", "opensm") + " && sudo systemctl enable --now opensm"}
}

func downWords(p *fact.Port) string {
	if p.Phys == "" {
		return p.State
	}
	return p.State + ", " + p.Phys
}

// softDown is the why and the fix of a software port, which says of its netdev
// what cards do not: Polling is switched on and without a carrier, Disabled is
// switched off (rxe_query_port in drivers/infiniband/sw/rxe/rxe_verbs.c).
func softDown(p *fact.Port) (string, []string) {
	if p.Phys == "Polling" {
		return p.Netdev + " is switched on, but has no link",
			[]string{"ethtool " + p.Netdev + " | grep 'Link detected'", "reseat the cable at both ends; look at the switch port"}
	}
	return p.Netdev + " is switched off", []string{"sudo ip link set dev " + p.Netdev + " up", "rdma link show"}
}

func downFix(p *fact.Port) []string {
	var fix []string
	if p.Netdev != "" {
		fix = append(fix, "sudo ip link set dev "+p.Netdev+" up")
	}
	if p.IB() && p.Phys == "Disabled" {
		fix = append(fix, fmt.Sprintf("sudo ibportstate -C %s -P %d -D 0 %d enable", p.Device, p.Num, p.Num))
	}
	return append(fix, "reseat the cable at both ends, then try another cable and the other port of the card")
}
