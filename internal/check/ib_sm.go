package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/topo"
)

var ibSM = Check{
	ID:    "ib.sm",
	Title: "Exactly one subnet manager is master",
	After: []string{"port.up"},
	Judge: func(c *Case) []Finding {
		var ib, active, waiting []topo.PortAt
		for _, pa := range c.DataPorts() {
			switch p := pa.Port; {
			case !p.IB():
				continue
			case p.Up():
				active = append(active, pa)
			case p.State == "INIT" || p.State == "ARMED":
				waiting = append(waiting, pa)
			}
			ib = append(ib, pa)
		}
		switch masters := smMasters(c); {
		case len(ib) == 0:
			return skip("no InfiniBand port is in use")
		case len(masters) == 0 && len(waiting) > 0 && (len(active) == 0 || smRead(c)):
			return smAbsent(waiting)
		case len(active) == 0:
			return skip("no InfiniBand link is up")
		case len(masters) > smSubnets(c, active):
			return []Finding{smRacing(masters)}
		case len(masters) == 0 && smRead(c):
			return []Finding{smGone(c)}
		default:
			return []Finding{smQuiet(c, active, masters)}
		}
	},
}

func smRead(c *Case) bool { return c.Fabric != nil && c.Fabric.SMsRead }

func smMasters(c *Case) (names []string) {
	if c.Fabric == nil {
		return nil
	}
	for _, sm := range c.Fabric.SMs {
		if sm.State == "MASTER" {
			names = append(names, cmp.Or(sm.Name, sm.GUID))
		}
	}
	return names
}

// smAbsent says so at every port that waits, so that port.up, which says the same
// of the port, is the one that is heard.
func smAbsent(waiting []topo.PortAt) (out []Finding) {
	for _, pa := range waiting {
		why, fix := waitsForSM(pa.Node, pa.Port, false)
		out = append(out, Finding{Subject: on(pa.Node, pa.Port), Status: Fail, Got: "no subnet manager", Want: "one MASTER", Why: why, Fix: fix})
	}
	return out
}

func smRacing(masters []string) Finding {
	return Finding{Status: Fail, Got: fmt.Sprintf("%d MASTER: %s", len(masters), strings.Join(masters, ", ")), Want: "one MASTER",
		Why: "two masters give out LIDs against each other, so paths break at random",
		Fix: []string{"on every node but one: sudo systemctl disable --now opensm", "sudo saquery -s"}}
}

func smGone(c *Case) Finding {
	return Finding{Status: Fail, Got: "no MASTER", Want: "one MASTER",
		Why: "ports that are up stay up, but the next one that restarts stays in INIT",
		Fix: []string{"on one node only: " + install(c.Up()[0], "opensm", "opensm") + " && sudo systemctl enable --now opensm"}}
}

// smQuiet judges a fabric that works: does its manager come back after a boot,
// and is there only one?
func smQuiet(c *Case, active []topo.PortAt, masters []string) Finding {
	hosts, enabled := smHosts(c)
	f := Finding{Got: "MASTER on " + strings.Join(masters, ", ")}
	subnets := smSubnets(c, active)
	lids := smLIDs(active)
	switch {
	case len(hosts) == 1 && enabled == 0 && (!smRead(c) || len(c.Fabric.SMs) == 1):
		f.Status, f.Got, f.Want = Warn, "opensm runs on "+hosts[0]+" but is not enabled", "enabled"
		f.Why = "after the next boot of that node every port that restarts stays in INIT"
		f.Fix = []string{"on " + hosts[0] + ": sudo systemctl enable opensm"}
	case smRead(c):
	case len(hosts) > subnets:
		f.Status, f.Got, f.Want = Warn, "opensm runs on "+strings.Join(hosts, ", "), "one, or one MASTER and the others STANDBY"
		f.Why = "nothing tells whether one of them stands by or both give out LIDs"
		f.Fix = []string{"sudo saquery -s", "on every node but one: sudo systemctl disable --now opensm"}
	case len(lids) > subnets:
		f.Status, f.Got, f.Want = Warn, fmt.Sprintf("ports obey %d subnet managers, at LIDs %s", len(lids), smJoin(lids)), "one"
		f.Why = "ports of one subnet that obey different managers may not find each other"
		f.Fix = []string{"sudo sminfo", "sudo saquery -s"}
	case len(lids) == 0:
		f.Status, f.Got = Unknown, ""
		f.Why = "neither the subnet managers nor the ports' sm_lid could be read"
		f.Fix = []string{"sudo sminfo"}
	default:
		f.Got = "LIDs assigned by the manager at LID " + smJoin(lids)
	}
	return f
}

// smHosts returns the nodes where opensm runs (opensm.service, opensm@mlx5_0.service,
// opensmd.service), and how many of them start it at boot.
func smHosts(c *Case) (hosts []string, enabled int) {
	for _, n := range c.Up() {
		runs, boots := false, false
		for unit, s := range n.Settings.Services {
			if strings.HasPrefix(unit, "opensm") && s.Active == "active" {
				runs, boots = true, boots || s.Enabled != "disabled"
			}
		}
		if runs {
			hosts = append(hosts, n.Name)
		}
		if boots {
			enabled++
		}
	}
	return hosts, enabled
}

// smLIDs returns the different LIDs of the managers that ports obey, sorted.
func smLIDs(active []topo.PortAt) []int {
	lids := map[int]bool{}
	for _, pa := range active {
		lids[pa.Port.SMLID.Or(0)] = true
	}
	delete(lids, 0)
	return slices.Sorted(maps.Keys(lids))
}

func smJoin(xs []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(xs), " ", ", "), "[]")
}
