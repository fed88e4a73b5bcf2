package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/platform"
)

var fabricCables = Check{
	ID:    "fabric.cables",
	Title: "Cables are where the owner said",
	After: []string{"port.present", "port.up"},
	Judge: func(c *Case) (out []Finding) {
		if len(c.Want.Cables) == 0 {
			return skip("weft.yaml does not say which port is wired to which")
		}
		look := newCableLook(c)
		for _, cable := range c.Want.Cables {
			out = append(out, look.judge(cable.A, cable.B))
		}
		return out
	},
}

func (k cableLook) judge(a, b string) Finding {
	from, to := k.find(a), k.find(b)
	if from.Port == nil {
		from, to = to, from
	}
	if from.Port == nil {
		return Finding{Status: Unknown, Why: fmt.Sprintf("neither %s nor %s is a port that was read", a, b), Fix: []string{"look at cables in weft.yaml: rdma link show"}}
	}
	f := Finding{Subject: on(from.Node, from.Port)}
	peer := to.name
	sees := k.sees(from)
	if len(sees) == 0 && to.Port != nil {
		from, to = to, from
		sees = k.sees(from)
	}
	fresh := slices.IndexFunc(sees, func(e cableEnd) bool { return !e.stale })
	switch {
	case len(sees) == 0:
		f.Status, f.Why = Unknown, "nothing tells what is at the other end: no LLDP, no neighbour seen, no fabric tool"
		f.Fix = []string{install(from.Node, "lldpd", "lldpd") + " && sudo systemctl enable --now lldpd   # on every node", "ping the peer, then run weft check again"}
	case slices.ContainsFunc(sees, func(e cableEnd) bool { return sameEnd(e, to) }):
		f.Got = "wired to " + peer
	case fresh < 0:
		f.Status, f.Why = Unknown, sees[0].name+" was there some time ago, and nothing newer is known"
		f.Fix = []string{"ping the peer, then run weft check again"}
	default:
		f.Status, f.Got, f.Want = Fail, from.name+" is wired to "+sees[fresh].name, to.name
		f.Why = "jobs that trust the plan in weft.yaml use the wrong ports, and a ring in another order does not close"
		f.Fix = []string{"move the cable from " + from.name + " to " + to.name + ", or correct cables in weft.yaml"}
	}
	return f
}

// sameEnd reports whether two ends are one socket. The twins of a Spark port share
// one; a neighbour that tells only its name is believed.
func sameEnd(seen, want cableEnd) bool {
	switch {
	case strings.EqualFold(seen.name, want.name):
		return true
	case seen.Node == nil || seen.Node != want.Node:
		return false
	case seen.Port == nil || seen.Port == want.Port:
		return true
	}
	twin, ok := platform.Twin(want.Node, want.Port)
	return ok && twin == seen.Port
}
