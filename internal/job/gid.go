package job

import (
	"fmt"
	"slices"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
)

// NCCL looks for the GID itself since 2.21, where NCCL_IB_ROCE_VERSION_NUM and
// NCCL_IB_ADDR_FAMILY appeared (NCCL user guide, environment variables).
const ncclFindsGID = "2.21"

// gidIndex returns the GID index that NCCL must be told, and why; ok is false when
// it finds the right entry by itself, when the node has no RoCE port, or when no
// one index is right on all of its ports.
func gidIndex(n *fact.Node, ports []*fact.Port) (index int, why string, ok bool) {
	index, common := commonIndex(ports)
	if !common {
		return 0, "", false
	}
	if p := misled(ports); p != nil {
		return index, misledWhy(p, "NCCL"), true
	}
	for _, l := range n.Settings.NCCL {
		if recent, known := platform.AtLeast(l.Version, ncclFindsGID); l.Name == "libnccl" && known && !recent {
			return index, fmt.Sprintf("NCCL %s does not look for the RoCE v2 entry by itself; %s and newer do", l.Version, ncclFindsGID), true
		}
	}
	return 0, "", false
}

// ucxIndex is the same for UCX, which takes the first IPv4 entry for RoCE v2 too.
func ucxIndex(ports []*fact.Port) (index int, why string, ok bool) {
	index, common := commonIndex(ports)
	if p := misled(ports); common && p != nil {
		return index, misledWhy(p, "UCX"), true
	}
	return 0, "", false
}

// commonIndex returns the lowest index that is right on every RoCE port.
func commonIndex(ports []*fact.Port) (int, bool) {
	var common []int
	first := true
	for _, p := range ports {
		if !p.RoCE() {
			continue
		}
		right := rightIndices(p)
		if first {
			common, first = right, false
			continue
		}
		common = slices.DeleteFunc(common, func(i int) bool { return !slices.Contains(right, i) })
	}
	if len(common) == 0 {
		return 0, false
	}
	return slices.Min(common), true
}

// rightIndices returns where a port's own address is: on its netdev, or on what
// stands on it (a VLAN, a bond) when the netdev itself has none.
func rightIndices(p *fact.Port) []int {
	var own, other []int
	for _, g := range check.Routable(check.V2Addrs(p)) {
		if g.Netdev == p.Netdev {
			own = append(own, g.Index)
		} else {
			other = append(other, g.Index)
		}
	}
	if len(own) > 0 {
		return own
	}
	return other
}

// misled returns a RoCE port where the first IPv4 entry for RoCE v2, which is the
// one that NCCL and UCX take, is not a right one; nil when there is none.
func misled(ports []*fact.Port) *fact.Port {
	for _, p := range ports {
		if all := check.V2Addrs(p); p.RoCE() && len(all) > 0 && !slices.Contains(rightIndices(p), all[0].Index) {
			return p
		}
	}
	return nil
}

func misledWhy(p *fact.Port, who string) string {
	g := check.V2Addrs(p)[0]
	return fmt.Sprintf("%s would take GID %d of %s, which is %v", who, g.Index, p.Device, g.Addr)
}
