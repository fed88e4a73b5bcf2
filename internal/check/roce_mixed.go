package check

import (
	"fmt"
	"strings"

	"weft/internal/fact"
	"weft/internal/topo"
)

var roceMixed = Check{
	ID:    "roce.mixed",
	Title: "Ports that meet speak one RDMA protocol and are of one vendor",
	Judge: func(c *Case) (out []Finding) {
		var ports []topo.PortAt
		for _, pa := range c.DataPorts() {
			if pa.Port.RoCE() || pa.Port.IWARP() {
				ports = append(ports, pa)
			}
		}
		if len(ports) == 0 {
			return skip("no RoCE or iWARP port is in use")
		}
		for _, r := range topo.Rails(ports) {
			if len(r.Ports) > 1 {
				out = append(out, judgeMixed(r))
			}
		}
		if len(out) == 0 {
			return skip("no two RoCE or iWARP ports share a subnet")
		}
		return out
	},
}

func judgeMixed(r topo.Rail) Finding {
	protocols, p := mixedKinds(r, func(p *fact.Port) string {
		if p.IWARP() {
			return "iWARP"
		}
		return "RoCE"
	})
	vendors, v := mixedKinds(r, vendorFamily)
	f := Finding{Got: r.Name + ": " + p + ", " + v}
	switch {
	case protocols > 1:
		f.Status, f.Got, f.Want = Fail, r.Name+": "+p, "one protocol"
		f.Why = "iWARP and RoCE cannot talk to each other at all, so these nodes share TCP only"
		f.Fix = []string{"put every Intel card into RoCE v2 (weft explain roce.irdma), or use matching cards"}
		if vendors == 1 && v == "software" {
			f.Fix = []string{"make the software devices alike: rdma link delete DEVICE, then rdma link add DEVICE type rxe netdev NETDEV"}
		}
	case strings.Contains(v, "unknown"):
		f.Status, f.Why = Unknown, "the driver of a port on "+r.Name+" was not read"
	case vendors > 1:
		f.Status, f.Got, f.Want = Warn, r.Name+": "+v, "one vendor"
		f.Why = "vendors are rarely tested against each other; mixed pairs were seen slower than one node alone"
		f.Fix = []string{"prove each mixed pair before relying on it, or use matching cards:", "weft prove"}
	}
	return f
}

// vendorFamily is who makes the card, as its driver tells: ConnectX-5 and
// ConnectX-7 are one family.
func vendorFamily(p *fact.Port) string {
	switch d := p.Driver; d {
	case "mlx4", "mlx5":
		return "NVIDIA"
	case "irdma":
		return "Intel"
	case "bnxt_re":
		return "Broadcom"
	case "rxe", "siw":
		return "software"
	case "":
		return "unknown"
	default:
		return d
	}
}

// mixedKinds counts the kinds of port on a rail and says where each is first met:
// "iWARP on n1 and 3 more, RoCE on n2"; one kind alone is just named.
func mixedKinds(r topo.Rail, kind func(*fact.Port) string) (int, string) {
	count, first := map[string]int{}, map[string]string{}
	var order []string
	for _, pa := range r.Ports {
		k := kind(pa.Port)
		if count[k] == 0 {
			order = append(order, k)
			first[k] = pa.Node.Name
		}
		count[k]++
	}
	if len(order) == 1 {
		return 1, order[0]
	}
	for i, k := range order {
		order[i] = k + " on " + first[k]
		if n := count[k]; n > 1 {
			order[i] += fmt.Sprintf(" and %d more", n-1)
		}
	}
	return len(order), strings.Join(order, ", ")
}
