package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
)

// envHCA judges NCCL_IB_HCA: every name in it is a device of this node, and what
// it takes is ACTIVE.
func envHCA(f *Finding, c *Case, n *fact.Node, v fact.EnvVar) {
	filter := parseNCCLFilter(v.Value)
	best := ncclList(c.Data(n))
	f.Fix = []string{"set NCCL_IB_HCA=" + best + " in " + v.Where}
	if len(n.Ports) == 0 {
		f.Status, f.Want, f.Why = Fail, "an RDMA device", "this node has no RDMA device at all, so NCCL goes over TCP"
		f.Fix = []string{"see weft explain port.present"}
		return
	}
	for _, i := range filter.items {
		if filter.not {
			break // to leave out what is not there does no harm
		}
		var devices []string
		for _, p := range n.Ports {
			if filter.has(i, p.Device, p.Num) && !slices.Contains(devices, p.Device) {
				devices = append(devices, p.Device)
			}
		}
		switch {
		case len(devices) == 0:
			f.Status, f.Want, f.Why = Fail, best, hcaAbsent(n, i)
			return
		case len(devices) > 1 && slices.Contains(devices, i.name):
			f.Status, f.Want = Warn, best
			f.Why = fmt.Sprintf("a name is a beginning, so %s also takes %s", i.name, strings.Join(devices[1:], ", "))
		}
	}
	unknown := slices.ContainsFunc(n.Ports, func(p *fact.Port) bool { return p.State == "" })
	if len(ncclPorts(n, v.Value)) == 0 && !unknown {
		f.Status, f.Want, f.Why = Fail, "an ACTIVE port", "NCCL takes ACTIVE ports alone, and this list leaves none, so it goes over TCP"
		if best == "=" {
			f.Fix = []string{"see weft explain port.up"}
		}
	}
}

// hcaAbsent says why a name matches nothing.
func hcaAbsent(n *fact.Node, i ncclItem) string {
	for _, p := range n.Ports {
		switch i.name {
		case p.Netdev:
			return i.name + " is a netdev; NCCL wants its RDMA device, " + p.Device
		case p.Device:
			return fmt.Sprintf("%s has no port %d, so NCCL does not use it", p.Device, i.port)
		}
	}
	var have []string
	for _, p := range n.Ports {
		if !slices.Contains(have, p.Device) {
			have = append(have, p.Device)
		}
	}
	return fmt.Sprintf("no RDMA device here is called %s, only %s, so NCCL has one device less than was meant, or none and goes over TCP", strconv.Quote(i.name), strings.Join(have, ", "))
}

// envGID judges NCCL_IB_GID_INDEX: NCCL applies it to every RoCE port it opens, so
// it must be filled on each. InfiniBand ports do not heed it.
func envGID(f *Finding, n *fact.Node, v fact.EnvVar) {
	index, err := strconv.Atoi(v.Value)
	if err == nil && index < 0 {
		return // NCCL chooses
	}
	for _, p := range ncclPorts(n, ncclVar(n, "NCCL_IB_HCA", v.Where)) {
		if !p.RoCE() {
			continue
		}
		i := slices.IndexFunc(p.GIDs, func(g fact.GID) bool { return err == nil && g.Index == index && gidAddr(g).IsValid() })
		switch {
		case !p.GIDsRead:
			f.Status, f.Why = Unknown, "the GID table of "+p.Name+" was not read"
			f.Fix = []string{"show_gids " + p.Device + "   # on " + n.Name}
			return
		case i < 0:
			f.Status, f.Want = Fail, gidWanted(p)
			f.Why = fmt.Sprintf("entry %s of %s is empty, so connections fail about a minute into the launch (ibv_modify_qp)", v.Value, p.Name)
		case !gidV2(p.GIDs[i]):
			f.Status, f.Want = Warn, gidWanted(p)
			f.Why = fmt.Sprintf("entry %d of %s is RoCE v1, which no router and few switch settings carry", index, p.Name)
		default:
			continue
		}
		f.Fix = []string{"take NCCL_IB_GID_INDEX out of " + v.Where + ": NCCL finds the RoCE v2 entry by itself since 2.21; or set it to " + f.Want}
		return
	}
}

func gidWanted(p *fact.Port) string {
	if good := Routable(V2Addrs(p)); len(good) > 0 {
		return fmt.Sprint(good[0].Index)
	}
	return "an IPv4-mapped RoCE v2 entry"
}
