package check

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/fact"
)

// ncclFilter is a list as NCCL_IB_HCA and NCCL_SOCKET_IFNAME write it: "^" first
// turns it into an exclusion, "=" next asks for whole names, else names are
// beginnings; ":1" asks for a port. This is what NCCL's parseStringList and
// matchIfList do, blanks included: they are part of the name.
type ncclFilter struct {
	not, exact bool
	items      []ncclItem
}

type ncclItem struct {
	name string
	port int // 0 is any
}

func parseNCCLFilter(value string) ncclFilter {
	var f ncclFilter
	value, f.not = strings.CutPrefix(value, "^")
	value, f.exact = strings.CutPrefix(value, "=")
	for word := range strings.SplitSeq(value, ",") {
		if word == "" {
			continue
		}
		name, rest, _ := strings.Cut(word, ":")
		num, _, _ := strings.Cut(rest, ":")
		port, _ := strconv.Atoi(num) // as C's atoi: what is no number is port 0, any
		f.items = append(f.items, ncclItem{name, port})
	}
	return f
}

// has reports whether an item of the list names the device and port.
func (f ncclFilter) has(i ncclItem, name string, port int) bool {
	return (name == i.name || !f.exact && strings.HasPrefix(name, i.name)) && (i.port == 0 || port == 0 || i.port == port)
}

// takes reports whether NCCL uses the device and port under this list.
func (f ncclFilter) takes(name string, port int) bool {
	if len(f.items) == 0 {
		return true
	}
	for _, i := range f.items {
		if f.has(i, name, port) {
			return !f.not
		}
	}
	return f.not
}

// ncclPorts returns the ports that NCCL opens under a value of NCCL_IB_HCA: every
// ACTIVE one that the list takes.
func ncclPorts(n *fact.Node, hca string) (out []*fact.Port) {
	f := parseNCCLFilter(hca)
	for _, p := range n.Ports {
		if p.Up() && f.takes(p.Device, p.Num) {
			out = append(out, p)
		}
	}
	return out
}

// ncclVar returns the value of a variable that holds where another is set: the
// last one set there, else the last one of a file that all programs read.
func ncclVar(n *fact.Node, name, where string) string {
	value, near := "", false
	for _, v := range n.Settings.Env {
		if v.Name != name {
			continue
		}
		if v.Where == where {
			value, near = v.Value, true
		} else if !near && ncclForAll(v.Where) {
			value = v.Value
		}
	}
	return value
}

// ncclForAll reports whether a place is a file, which every later program reads,
// and not one unit or container.
func ncclForAll(where string) bool { return strings.HasPrefix(where, "/") }

// ncclList writes ports the way NCCL_IB_HCA wants them: "=mlx5_0:1,mlx5_1:1".
func ncclList(ports []*fact.Port) string {
	var words []string
	for _, p := range ports {
		if p.Up() {
			words = append(words, fmt.Sprintf("%s:%d", p.Device, p.Num))
		}
	}
	return "=" + strings.Join(words, ",")
}
