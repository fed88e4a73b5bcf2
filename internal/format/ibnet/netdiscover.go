package ibnet

import (
	"strings"

	"weft/internal/format/printed"
)

// ParseNetdiscover reads ibnetdiscover, the topology form and the port-list
// form of -p.
func ParseNetdiscover(b []byte) (Net, error) {
	d := discovery{nodes: map[uint64]int{}, ends: map[endKey]int{}, cur: -1}
	for num, line := range printed.Lines(b) {
		d.line(num, line)
	}
	return d.net, d.Err(len(d.net.Nodes) > 0)
}

// discovery is the state between the lines of one ibnetdiscover.
type discovery struct {
	faults
	net   Net
	nodes map[uint64]int // GUID to place in net.Nodes
	ends  map[endKey]int // to place in net.Links
	cur   int            // the node whose ports are being listed, -1 when none
	guid  uint64         // its GUID
	head  Node           // vendid, devid, sysimgguid: they come before their node
}

type endKey struct {
	guid uint64
	port int
}

func (d *discovery) line(num int, line string) {
	switch {
	case line[0] == '[':
		d.topoPort(num, line)
	case line[0] == '#':
		if rest, ok := strings.CutPrefix(line, "# Initiated from node "); ok {
			from, _, _ := strings.Cut(rest, " ")
			d.guidField(&d.net.From, num, "initiator", from)
		}
	default:
		first, rest, _ := strings.Cut(line, " ")
		if word, _, tab := strings.Cut(first, "\t"); tab {
			first, rest = word, line[len(word)+1:]
		}
		switch first {
		case "Switch":
			d.topoNode(num, "SW", rest)
		case "Ca":
			d.topoNode(num, "CA", rest)
		case "Rt":
			d.topoNode(num, "RT", rest)
		case "CA", "SW", "RT":
			d.portList(num, first, rest)
		default:
			d.topoHead(num, line)
		}
	}
}

// topoHead reads the lines between two nodes.
func (d *discovery) topoHead(num int, line string) {
	key, val, ok := strings.Cut(line, "=")
	switch {
	case ok && key == "vendid":
		d.cur, d.head = -1, Node{VendorID: val}
	case ok && key == "devid":
		d.head.DeviceID = val
	case ok && key == "sysimgguid":
		d.guidField(&d.head.SysImageGUID, num, key, val)
	case ok && (key == "switchguid" || key == "caguid" || key == "rtguid"):
		// the same GUID follows in the node's own line
	case strings.HasPrefix(line, "DR path slid"):
		// -s says how it got there
	default:
		d.other(num, line, "ibnetdiscover")
	}
}

// topoNode reads what follows "Switch": 36 "S-0000000000200001"	# "sw2" base port 0 lid 3 lmc 0
func (d *discovery) topoNode(num int, kind, rest string) {
	d.cur = -1
	count, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	ports, ok := printed.Number(count)
	c := cursor{rest: rest}
	_, id := c.id()
	if !ok || c.bad || ports < 1 {
		d.Add(num, "node: %.60q has no port count and GUID", rest)
		return
	}
	d.cur, d.guid = d.node(kind, id, ""), id
	n := &d.net.Nodes[d.cur]
	n.Kind, n.NumPorts = kind, ports
	n.VendorID, n.DeviceID, n.SysImageGUID = d.head.VendorID, d.head.DeviceID, d.head.SysImageGUID
	if name, tail, ok := quoted(c.comment(), '"'); ok {
		n.Name = name
		if lid, ok := after(tail, "lid"); ok {
			n.LID = lid
		}
	}
}

// topoPort reads one port of the current node. A switch prints
//
//	[1]	"H-0000000000100008"[1](100009) 	# "host5" lid 7 4xSDR
//
// and a CA
//
//	[1](10000f) 	"S-0000000000200001"[4]	# lid 10 lmc 0 "sw2" lid 3 4xSDR
func (d *discovery) topoPort(num int, line string) {
	if d.cur < 0 {
		d.Add(num, "port: %.60q belongs to no node", line)
		return
	}
	c := cursor{rest: line}
	var near, far End
	near.Port, near.PortGUID = c.port(), c.portGUID()
	kind, farGUID := c.id()
	far.Kind, far.Port, far.PortGUID = kind, c.port(), c.portGUID()
	if c.bad {
		d.Add(num, "port: %.60q does not name both ends", line)
		return
	}
	note := c.comment()
	name, tail, ok := quoted(note, '"')
	if !ok {
		d.Add(num, "port: %.60q does not name its peer", line)
		return
	}
	far.Name = name
	near.LID, _ = after(note[:strings.IndexByte(note, '"')], "lid")
	far.LID, _ = after(tail, "lid")

	n := &d.net.Nodes[d.cur]
	if n.LID == 0 {
		n.LID = near.LID
	}
	if near.LID == 0 {
		near.LID = n.LID
	}
	near.Kind, near.GUID, near.Name = n.Kind, n.GUID, n.Name
	far.GUID = d.net.Nodes[d.node(far.Kind, farGUID, far.Name)].GUID

	link := Link{A: near, B: far}
	for w := range strings.FieldsSeq(tail) {
		if width, speed, ok := strings.Cut(w, "x"); ok && width != "" && speed != "" {
			d.rate(num, &link, width, speed)
			break
		}
	}
	d.link(num, link, endKey{d.guid, near.Port}, endKey{farGUID, far.Port})
}

// rate reads a width and a generation, either of which may be question marks.
func (d *discovery) rate(num int, l *Link, width, speed string) {
	var ok bool
	if l.WidthLanes, ok = lanes(width); !ok && strings.Trim(width, "?x") != "" {
		d.Add(num, "width: %.60q is not a width", width)
	}
	if l.Speed, ok = generation(speed); !ok {
		d.Add(num, "speed: %.60q is not a speed", speed)
	}
}

// node finds or makes the node with this GUID.
func (d *discovery) node(kind string, id uint64, name string) int {
	i, ok := d.nodes[id]
	if !ok {
		i = len(d.net.Nodes)
		d.nodes[id] = i
		d.net.Nodes = append(d.net.Nodes, Node{Kind: kind, GUID: guidText(id), Name: name})
	}
	return i
}

// link keeps a cable once. The second sighting comes from the other end: it
// must agree, and it may know what the first did not print.
func (d *discovery) link(num int, l Link, a, b endKey) {
	i, seen := d.ends[a]
	if !seen {
		if _, taken := d.ends[b]; taken {
			d.Add(num, "port %s[%d]: already linked elsewhere", l.B.GUID, l.B.Port)
			return
		}
		d.ends[a], d.ends[b] = len(d.net.Links), len(d.net.Links)
		d.net.Links = append(d.net.Links, l)
		return
	}
	old := &d.net.Links[i]
	same := old.B.GUID == l.A.GUID && old.B.Port == l.A.Port && old.A.GUID == l.B.GUID && old.A.Port == l.B.Port
	if !same {
		if old.A.GUID != l.A.GUID || old.A.Port != l.A.Port || old.B.GUID != l.B.GUID || old.B.Port != l.B.Port {
			d.Add(num, "port %s[%d]: already linked elsewhere", l.A.GUID, l.A.Port)
		}
		return // the same line twice says nothing new
	}
	old.B.fill(l.A)
	old.A.fill(l.B)
	if old.WidthLanes != l.WidthLanes || old.Speed != l.Speed {
		d.Add(num, "port %s[%d]: %dx%s here, %dx%s at its peer", l.A.GUID, l.A.Port, l.WidthLanes, l.Speed, old.WidthLanes, old.Speed)
	}
}

func (e *End) fill(from End) {
	if e.PortGUID == "" {
		e.PortGUID = from.PortGUID
	}
	if e.LID == 0 {
		e.LID = from.LID
	}
}
