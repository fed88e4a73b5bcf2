package check

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/topo"
)

var roceGIDIndex = Check{
	ID:    "roce.gid.index",
	Title: "One GID index has an IPv4 address on every RoCE port",
	After: []string{"roce.gid"},
	Judge: func(c *Case) []Finding {
		ports := c.rocePorts()
		if len(ports) == 0 {
			return skip("no RoCE port is in use")
		}
		return judgeGIDIndex(c, ports)
	},
}

// judgeGIDIndex keeps the indices that every port so far has, and stops at the
// first port that has none of them: two tables side by side say enough.
func judgeGIDIndex(c *Case, ports []topo.PortAt) []Finding {
	var common []int
	var first topo.PortAt
	for _, pa := range ports {
		if !pa.Port.GIDsRead {
			return []Finding{{Status: Unknown, Why: fmt.Sprintf("the GID table of %s %s was not read", pa.Node.Name, pa.Port.Name)}}
		}
		has := Routable(V2Addrs(pa.Port))
		if len(has) == 0 { // roce.gid says so
			continue
		}
		if first.Port == nil {
			first = pa
			for _, g := range has {
				common = append(common, g.Index)
			}
			continue
		}
		common = slices.DeleteFunc(common, func(i int) bool {
			return !slices.ContainsFunc(has, func(g GIDAddr) bool { return g.Index == i })
		})
		if len(common) == 0 {
			return []Finding{noCommonIndex(c, first, pa)}
		}
	}
	if first.Port == nil {
		return skip("no RoCE port has an IPv4-mapped GID; see roce.gid")
	}
	return []Finding{{Got: fmt.Sprintf("index %d", common[0])}}
}

func noCommonIndex(c *Case, a, b topo.PortAt) Finding {
	f := Finding{Status: Warn, Got: gidTable(a) + "; " + gidTable(b), Want: "a common index"}
	f.Why = "no NCCL_IB_GID_INDEX is right on both; NCCL 2.21 and newer choose well by themselves, older ones do not"
	f.Fix = []string{"leave NCCL_IB_GID_INDEX unset, or set it node by node:", "weft env --node " + a.Node.Name, "weft env --node " + b.Node.Name}
	for _, n := range c.Up() {
		for _, v := range n.Settings.Env {
			if v.Name == "NCCL_IB_GID_INDEX" {
				f.Status = Fail
				f.Why = fmt.Sprintf("%s on %s sets NCCL_IB_GID_INDEX=%s, which is empty or another address elsewhere: NCCL stops in ibv_modify_qp", v.Where, n.Name, v.Value)
				return f
			}
		}
	}
	return f
}

// gidTable writes the part of a GID table that matters here: "n1 mlx5_0/1 has 3 (192.168.200.1)".
func gidTable(pa topo.PortAt) string {
	var entries []string
	for _, g := range Routable(V2Addrs(pa.Port)) {
		entries = append(entries, fmt.Sprintf("%d (%v)", g.Index, g.Addr))
	}
	return pa.Node.Name + " " + pa.Port.Name + " has " + strings.Join(entries, ", ")
}
