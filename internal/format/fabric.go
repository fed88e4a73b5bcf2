package format

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/ibnet"
)

var fabricReader = Reader{
	Name: "fabric",
	Why:  "the InfiniBand fabric: switches, links, errors and subnet managers, asked of one node for all",
	Once: hasInfiniBand,
	Cmds: []Cmd{
		{Run: "ibnetdiscover", Root: true},
		{Run: "iblinkinfo -l", Root: true, Quiet: true},
		{Run: "ibqueryerrors", Root: true, Quiet: true},
		{Run: "sminfo", Root: true, Quiet: true}, // fails when no manager answers, which is an answer: see readSMs
		{Run: "saquery SMIR", Root: true, Quiet: true},
		{Run: everySM, Sh: `saquery -s | sed -n '/IsSMdisabled/q; s/^[[:space:]]*base_lid\.*//p' | sort -u | head -n 8 | while read -r l; do sminfo "$l"; done`, Root: true, Quiet: true},
	},
	Read: func(*dump.Node, *fact.Node) {}, // the answer is about the cluster: see Fabric
}

// everySM asks every port on which a manager runs. A master that ignores the others
// does not tell of them, so two that race are seen only by asking each of them.
const everySM = "sminfo of every manager"

// hasInfiniBand reports whether a node has an InfiniBand port with something at the
// other end: one without cannot see the fabric.
func hasInfiniBand(d *dump.Node) bool {
	n := &fact.Node{}
	readRDMA(d, n)
	return slices.ContainsFunc(n.Ports, func(p *fact.Port) bool { return p.IB() && p.State != "DOWN" })
}

// Fabric reads what the fabric tools said on any node; nil when none did.
func Fabric(d *dump.Dump) *fact.Fabric {
	f := &fact.Fabric{}
	w := where{map[string]string{}, map[string]string{}, map[int]string{}}
	told, counted := false, map[portKey]bool{}
	for _, n := range d.Nodes {
		for _, cmd := range n.Cmds("ibnetdiscover") {
			text, _ := n.Cmd(cmd)
			net, _ := ibnet.ParseNetdiscover([]byte(text))
			if len(net.Nodes) > 0 && len(f.Links) == 0 {
				told = true
				readSubnet(f, w, net)
			}
		}
		for _, cmd := range n.Cmds("iblinkinfo") {
			text, _ := n.Cmd(cmd)
			ports, _ := ibnet.ParseLinkinfo([]byte(text))
			told = told || len(ports) > 0
			readLinkinfo(f, w, ports)
		}
		for _, cmd := range n.Cmds("ibqueryerrors") {
			text, _ := n.Cmd(cmd)
			report, _ := ibnet.ParseQueryErrors([]byte(text))
			readErrors(f, w, counted, report)
		}
		readSMs(f, n)
	}
	if !told && !f.SMsRead {
		return nil
	}
	nameSMs(f, w)
	return f
}

// where says who is at which GUID and LID. mlx5 gives a port the GUID of its node,
// mlx4 counts on from it, and tools print one or the other.
type where struct {
	node map[string]string // port GUID → GUID of its node
	name map[string]string // GUID of a node or port → description
	lid  map[int]string    // LID → description
}

func (w where) see(e ibnet.End) {
	if e.PortGUID != "" {
		w.node[e.PortGUID], w.name[e.PortGUID] = e.GUID, e.Name
	}
	if e.LID != 0 {
		w.lid[e.LID] = e.Name
	}
	w.name[e.GUID] = e.Name
}

// nodeOf returns the GUID of the node that a port's GUID belongs to.
func (w where) nodeOf(guid string) string { return cmp.Or(w.node[guid], guid) }

func readSubnet(f *fact.Fabric, w where, net ibnet.Net) {
	for _, n := range net.Nodes {
		w.see(ibnet.End{GUID: n.GUID, Name: n.Name, LID: n.LID})
		if n.Kind == "SW" {
			f.Switches = append(f.Switches, fact.Switch{GUID: n.GUID, Name: n.Name, LID: n.LID, Ports: n.NumPorts})
		}
	}
	for _, l := range net.Links {
		w.see(l.A)
		w.see(l.B)
		f.Links = append(f.Links, fact.FabricLink{A: end(l.A), B: end(l.B), Width: lanes(l.WidthLanes), Speed: l.Speed})
	}
}

func end(e ibnet.End) fact.End {
	return fact.End{GUID: e.GUID, Name: e.Name, Port: e.Port, Switch: e.Kind == "SW"}
}

func lanes(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + "x"
}

// readLinkinfo adds what both ends of a link could do, and the links themselves
// when nothing else told them.
func readLinkinfo(f *fact.Fabric, w where, ports []ibnet.PortLink) {
	byPort := map[portKey]int{}
	for i, l := range f.Links {
		byPort[portKey{l.A.GUID, l.A.Port}] = i
		byPort[portKey{l.B.GUID, l.B.Port}] = i
	}
	for _, p := range ports {
		if p.Peer.Port == 0 {
			continue
		}
		p.GUID, p.Peer.GUID = w.nodeOf(p.GUID), w.nodeOf(p.Peer.GUID)
		i, ok := byPort[portKey{p.GUID, p.Port}]
		if !ok {
			if _, again := byPort[portKey{p.Peer.GUID, p.Peer.Port}]; again && p.Peer.GUID != "" {
				continue
			}
			w.see(ibnet.End{GUID: p.GUID, Name: p.Name, LID: p.LID})
			w.see(p.Peer)
			i = len(f.Links)
			byPort[portKey{p.GUID, p.Port}] = i
			f.Links = append(f.Links, fact.FabricLink{
				A:     fact.End{GUID: p.GUID, Name: p.Name, Port: p.Port, Switch: p.Kind == "SW"},
				B:     end(p.Peer),
				Width: lanes(p.WidthLanes), Speed: p.Speed,
			})
		}
		fill(&f.Links[i].MaxWidth, lanes(p.CouldLanes))
		fill(&f.Links[i].MaxSpeed, p.CouldSpeed)
	}
}

type portKey struct {
	guid string
	port int
}

// readErrors adds what was counted to the links, a port's once, though several nodes
// may have asked it. Hosts are listed by the GUID of their port.
func readErrors(f *fact.Fabric, w where, counted map[portKey]bool, report ibnet.ErrorReport) {
	for _, p := range report.Ports {
		guid := w.nodeOf(p.GUID)
		if p.All || counted[portKey{guid, p.Port}] {
			continue
		}
		counted[portKey{guid, p.Port}] = true
		for i := range f.Links {
			l := &f.Links[i]
			if l.A.Port == p.Port && l.A.GUID == guid || l.B.Port == p.Port && (l.B.GUID == guid || l.B.Name == p.Name) {
				if l.Errors == nil {
					l.Errors = map[string]uint64{}
				}
				for name, v := range p.Counters {
					l.Errors[name] += v
				}
				break
			}
		}
	}
}

func readSMs(f *fact.Fabric, n *dump.Node) {
	var sms []ibnet.SM
	if text, ok := n.Cmd(everySM); ok { // first: what a manager says of itself is right
		each, _ := ibnet.ParseSminfo([]byte(text))
		sms = append(sms, each...)
	}
	if text, ok := n.Cmd("saquery SMIR"); ok {
		sa, _ := ibnet.ParseSaquery([]byte(text))
		sms = append(sms, sa.SMs...)
	}
	if text, ok := n.Cmd("sminfo"); ok {
		some, _ := ibnet.ParseSminfo([]byte(text))
		// It asked and nobody answered. Where it could not even ask it says "Failed
		// to open". Seen with sminfo 44 on ibsim, before opensm and after its death.
		f.SMsRead = f.SMsRead || strings.Contains(text, "iberror: failed: query")
		sms = append(sms, some...)
	}
	for _, sm := range sms {
		known := false
		for _, x := range f.SMs {
			known = known || x.GUID == sm.GUID && x.LID == sm.LID
		}
		if !known {
			f.SMsRead = true
			f.SMs = append(f.SMs, fact.SM{GUID: sm.GUID, LID: sm.LID, State: sm.State, Priority: sm.Priority})
		}
	}
}

// nameSMs names subnet managers by the port they run on, else by its LID.
func nameSMs(f *fact.Fabric, w where) {
	for i, sm := range f.SMs {
		f.SMs[i].Name = cmp.Or(w.name[sm.GUID], w.lid[sm.LID])
	}
}
