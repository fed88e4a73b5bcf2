package check

import (
	"fmt"

	"weft/internal/fact"
)

var roceV2 = Check{
	ID:    "roce.v2",
	Title: "RoCE ports use version 2",
	After: []string{"port.up"},
	None:  "no RoCE port that has a GID is in use",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, p := range c.Data(n) {
			// An empty table has no version; roce.gid says so.
			if p.RoCE() && (!p.GIDsRead || len(p.GIDs) > 0) {
				out = append(out, judgeV2(n, p))
			}
		}
		return out
	},
}

func judgeV2(n *fact.Node, p *fact.Port) Finding {
	f := Finding{Subject: on(n, p)}
	v2, typed := false, false
	for _, g := range p.GIDs {
		v2 = v2 || gidV2(g)
		typed = typed || g.Type != ""
	}
	switch {
	case !p.GIDsRead:
		f.Status, f.Why = Unknown, "the GID table was not read"
	case !typed:
		f.Status, f.Why = Unknown, "the types of the GIDs were not read"
	case !v2:
		f.Status, f.Got, f.Want = Fail, "RoCE v1 only", "RoCE v2"
		f.Why = "version 1 is not IP: no router forwards it, no DSCP marks it, and peers that speak version 2 do not answer"
		f.Fix = []string{"update the card's firmware and driver; what it has now:", "sudo mstflint -d " + p.BDF + " query"}
		if p.Driver == "mlx4" {
			f.Fix = []string{"ConnectX-3 without Pro speaks version 1 only: run the card as InfiniBand, or use another card"}
		}
	case p.CMARoCE != "" && p.CMARoCE != "RoCE v2":
		f.Status, f.Got, f.Want = Warn, "rdma_cm defaults to "+p.CMARoCE, "RoCE v2"
		f.Why = "programs that connect through rdma_cm, such as NFS over RDMA or perftest -R, start version 1"
		f.Fix = []string{cmaMode(n, p)}
	default:
		f.Got = "RoCE v2"
	}
	return f
}

// cmaMode is the command that makes rdma_cm default to version 2 on a port. OFED
// has a tool for it; elsewhere it is a file in configfs.
func cmaMode(n *fact.Node, p *fact.Port) string {
	if n.Settings.OFED != "" {
		return fmt.Sprintf("sudo cma_roce_mode -d %s -p %d -m 2", p.Device, p.Num)
	}
	dir := "/sys/kernel/config/rdma_cm/" + p.Device
	return fmt.Sprintf("sudo mkdir -p %s && echo RoCE v2 | sudo tee %s/ports/%d/default_roce_mode", dir, dir, p.Num)
}
