package trial

import (
	"fmt"
	"strings"

	"weft/internal/check"
	"weft/internal/topo"
	"weft/internal/unit"
)

// Link is a data port with what it is plugged into, and what limits it before any other
// end does.
type Link struct {
	End
	Netdev string    `json:"netdev,omitempty"`
	State  string    `json:"state"`            // the kernel's word; "" unknown
	Rate   unit.Rate `json:"rate"`             // as the port states it; 0 unknown
	Rail   string    `json:"rail,omitempty"`   // "" has none: it is not up, or has no address
	Switch string    `json:"switch,omitempty"` // as LLDP or the fabric name it; "" unknown, or a cable to another node
	Plug   string    `json:"plug,omitempty"`   // the port of the switch

	Want  unit.Rate `json:"want"`            // what RDMA should reach here, one way; 0 unknown
	Limit string    `json:"limit,omitempty"` // what sets Want: "port", "MTU", "PCIe", "twin"; "" unknown
	Why   string    `json:"why"`             // in words without names, so that like links read alike; or why Want is unknown
}

// Links returns the data ports of all nodes, in the order of the cluster.
func Links(c *check.Case) []Link {
	ss := newSides(c)
	ss.place()
	write, _ := ByID("rdma.write.bw")
	var all []Link
	for _, pa := range c.DataPorts() {
		l := Link{End: End{pa.Node.Name, pa.Port.Name}, Netdev: pa.Port.Netdev, State: pa.Port.State, Rate: pa.Port.Rate.Or(0)}
		l.Rail, l.Switch, l.Plug = ss.rails[l.End], ss.plugs[l.End].leaf, ss.plugs[l.End].port
		s := ss.at(l.End)
		h := ss.expect(write, Pair{l.End, l.End})
		l.Want = unit.Rate(h.want)
		switch {
		case h.want == 0:
			l.Why = unnamed(s, h.why)
		case h.limiter == s.pcieWords:
			hop, _ := topo.Narrowest(topo.Hops(pa.Node, pa.Port.BDF))
			l.Limit, l.Why = "PCIe", "PCIe "+linkWords(hop.Cur)
		case h.limiter != s.portWords:
			l.Limit, l.Why = "MTU", fmt.Sprintf("MTU %d", s.mtu)
		case strings.HasPrefix(s.portWords, "half "):
			l.Limit, l.Why = "twin", "half the port (twin)"
		default:
			l.Limit, l.Why = "port", "port rate "+l.Rate.String()
		}
		all = append(all, l)
	}
	return all
}

// unnamed says why nothing can be expected, without the port's name.
func unnamed(s *side, why string) string {
	if s.soft == "" && s.port != nil {
		return "the rate was not read"
	}
	return why
}
