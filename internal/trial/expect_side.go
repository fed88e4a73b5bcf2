package trial

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/topo"
	"weft/internal/unit"
)

// side is what facts tell of one end of a pair.
type side struct {
	End
	node *fact.Node
	port *fact.Port // nil where nothing is known of it

	none   string // why no rate can be expected of it; "" when one can
	soft   string // "Soft-RoCE", "Soft-iWARP"; "" is hardware
	shaped string // what a queue of the kernel does to a software port's packets

	link      link
	rate      unit.Rate // of the port, after its line code and what a twin takes
	portWords string
	mtuWords  map[mtuAt]string
	mtu       int // what an RDMA packet carries (iWARP: MTU of the netdev); 0 unknown
	netMTU    int // of the netdev; 0 unknown

	pcie      unit.Rate // what the narrowest PCIe link lets through; 0 unknown
	pcieCould unit.Rate // the same if every link ran as both its ends can
	pcieWords string
	maxRead   int

	rail string
	leaf string // the switch it is plugged into; "" unknown, or none
}

// sides are the ends of a case, each looked at once.
type sides struct {
	c     *check.Case
	known map[End]*side
	rails map[End]string // made by place
	plugs map[End]plug
}

func newSides(c *check.Case) *sides { return &sides{c: c, known: map[End]*side{}} }

// at returns what is known of an end.
func (ss *sides) at(e End) *side {
	s := ss.known[e]
	if s == nil {
		s = ss.look(e)
		ss.known[e] = s
	}
	return s
}

func (ss *sides) look(e End) *side {
	s := &side{End: e, maxRead: 512, rail: ss.rails[e], leaf: ss.plugs[e].leaf}
	if s.node = ss.c.Node(e.Node); s.node == nil {
		s.none = "nothing is known of " + e.Node
		return s
	}
	if s.port = s.node.Port(e.Port); s.port == nil {
		s.none = "nothing is known of " + e.String()
		return s
	}
	p := s.port
	s.link = linkOf(p)
	if d := s.node.Netdev(p.Netdev); d != nil {
		s.netMTU = d.MTU.Or(0)
		s.shaped = shapedBy(s, d)
	}
	s.mtu = p.ActiveMTU.Or(0)
	switch {
	case s.link == iWARP:
		s.mtu = s.netMTU
	case s.mtu == 0 && s.link == roce && s.netMTU > 0:
		s.mtu = packetOf(s.netMTU)
	}
	s.lookPCIe()
	rate, ok := p.Rate.Get()
	switch {
	case p.Soft():
		s.soft = map[bool]string{true: "Soft-iWARP", false: "Soft-RoCE"}[p.Driver == "siw"]
		s.none = s.soft + " has no rate of its own"
	case !ok || rate <= 0:
		s.none = "the rate of " + e.String() + " was not read"
	default:
		s.rate = decoded(p, rate)
		s.portWords = "port rate of " + e.String() + ", " + rate.String()
		if twin, ok := platform.Twin(s.node, p); ok && twin.Up() && slices.Contains(ss.c.Data(s.node), twin) {
			// Both functions of a Spark's port are measured at the same time and share its
			// cable: 92.57 and 97.28 of 200 Gb/s (data/network.csv).
			s.rate /= 2
			s.portWords = fmt.Sprintf("half the port of %s, %v, whose other half is %s", e, rate, twin.Name)
		}
	}
	return s
}

// lookPCIe finds the narrowest PCIe link above a port.
func (s *side) lookPCIe() {
	hops := topo.Hops(s.node, s.port.BDF)
	h, ok := topo.Narrowest(hops)
	if !ok {
		return
	}
	s.pcie = topo.RDMARate(h.Cur)
	s.pcieWords = fmt.Sprintf("PCIe of %s %s: %s at %s", s.Node, s.port.Device, linkWords(h.Cur), h.Below.BDF)
	for _, x := range hops {
		can := topo.RDMARate(x.Can)
		if now := topo.RDMARate(x.Cur); now > can { // an end that tells no maximum
			can = now
		}
		if can > 0 && (s.pcieCould == 0 || can < s.pcieCould) {
			s.pcieCould = can
		}
	}
	if d := s.node.At(s.port.BDF); d != nil {
		s.maxRead = d.MaxRead.Or(512)
	}
}

// linkWords writes a PCIe link the way lspci does.
func linkWords(l fact.Link) string {
	return strconv.FormatFloat(l.GTs, 'g', -1, 64) + " GT/s x" + strconv.Itoa(l.Width)
}

// shapedBy names the queue that holds a software port's packets back. A card's RDMA goes
// past the kernel's queues.
func shapedBy(s *side, d *fact.Netdev) string {
	if !s.port.Soft() {
		return ""
	}
	for _, q := range d.Qdiscs {
		does := slices.Clone(q.Does)
		if rate, ok := q.Rate.Get(); ok {
			does = append(does, "rate "+rate.String())
		}
		if len(does) > 0 {
			return fmt.Sprintf("%s %s on %s of %s", q.Kind, strings.Join(does, ", "), d.Name, s.Node)
		}
	}
	return ""
}
