package ibnet

import (
	"strings"

	"weft/internal/format/printed"
)

// PortLink is one port as iblinkinfo sees it.
type PortLink struct {
	Kind       string // as Node.Kind; the -l form does not print it
	GUID       string // a switch's node GUID, a CA's port GUID
	Name       string
	LID        int
	Port       int
	WidthLanes int    // 0 when the port is down
	Speed      string // as Link.Speed; empty when the port is down
	State      string // the kernel's word: DOWN INIT ARMED ACTIVE
	PhysState  string // the kernel's word: LinkUp, Polling, Disabled, …
	Peer       End    // Peer.Port 0: nothing there; the default form prints no Peer.GUID
	CouldLanes int    // both ends could be this wide; 0 when nothing better is possible
	CouldSpeed string // both ends could be this fast; empty when nothing better is possible
}

// ParseLinkinfo reads iblinkinfo, the default form and the line form of -l.
func ParseLinkinfo(b []byte) ([]PortLink, error) {
	var (
		f     faults
		ports []PortLink
		node  PortLink // what the ports below a node's line share
	)
	for num, line := range printed.Lines(b) {
		if left, right, ok := strings.Cut(line, "==("); ok {
			p := node
			if p.linkLine(&f, num, left, right) {
				ports = append(ports, p)
			}
			continue
		}
		kind, name, ok := linkinfoNode(line)
		if !ok {
			f.other(num, line, "iblinkinfo")
			continue
		}
		node = PortLink{Kind: kind, Name: name}
		if id, rest := word(name); kind == "SW" {
			node.Name = strings.TrimSpace(rest)
			f.guidField(&node.GUID, num, "node", id)
		}
	}
	return ports, f.Err(len(ports) > 0)
}

// linkinfoNode reads "CA: host7:" and "Switch: 0x0000000000200001 sw2:".
func linkinfoNode(line string) (kind, name string, ok bool) {
	line, colon := strings.CutSuffix(line, ":")
	head, name, ok := strings.Cut(line, ": ")
	switch head {
	case "CA":
		kind = "CA"
	case "Switch":
		kind = "SW"
	case "Router":
		kind = "RT"
	}
	return kind, name, ok && colon && kind != ""
}

// linkLine reads a port's line, cut at "==(":
//
//	0x000000000010000f "  host8"  10  1[  ] | 4X  2.5 Gbps Active/  LinkUp)==>  0x0000000000200001  3  4[  ] "sw2" (Could be 12X )
func (p *PortLink) linkLine(f *faults, num int, left, right string) bool {
	near, ok := linkEnd(left)
	if !ok || near.Port == 0 && near.LID == 0 {
		f.Add(num, "port: %.60q has no LID and port", left)
		return false
	}
	p.LID, p.Port = near.LID, near.Port
	if near.GUID != "" {
		p.GUID = near.GUID
	}
	if near.Name != "" {
		p.Name = near.Name
	}
	mid, far, ok := strings.Cut(right, "==>")
	if !ok {
		f.Add(num, "port: %.60q has no peer", right)
		return false
	}
	mid, _, _ = strings.Cut(mid, ")")
	p.rate(f, num, mid)
	_, remarks, _ := quoted(far, '"')
	if p.Peer, ok = linkEnd(far[:len(far)-len(remarks)]); !ok {
		f.Add(num, "peer: %.60q has no LID and port", far)
	}
	p.could(remarks)
	return true
}

// rate reads "4X  53.125 Gbps Active/  LinkUp" and "Down/ Polling".
func (p *PortLink) rate(f *faults, num int, s string) {
	front, phys, _ := strings.Cut(s, "/")
	var ok bool
	if p.PhysState, ok = physState(strings.TrimSpace(phys)); !ok {
		f.Add(num, "physical state: %.60q is not one", phys)
	}
	front = strings.TrimSpace(front)
	at := strings.LastIndexAny(front, " \t") + 1
	if p.State, ok = linkState(front[at:]); !ok {
		f.Add(num, "state: %.60q is not a port state", front[at:])
	}
	width, speed := word(front[:at])
	if width == "" {
		return // a port that is down has neither
	}
	if p.WidthLanes, ok = lanes(width); !ok {
		f.Add(num, "width: %.60q is not a width", width)
	}
	if p.Speed, ok = laneSpeed(strings.TrimSpace(speed)); !ok {
		f.Add(num, "speed: %.60q is not a speed", speed)
	}
}

// linkEnd reads `0x000000000010000f "name" 10 1[  ]` in the orders in which the
// two forms print it. An end with nothing there is `[  ] ""`.
func linkEnd(s string) (e End, ok bool) {
	if id, rest := word(s); strings.HasPrefix(id, "0x") {
		g, ok := guid(id)
		if !ok {
			return End{}, false
		}
		e.GUID, s = guidText(g), rest
	}
	if name, behind, ok := quoted(s, '"'); ok {
		e.Name = strings.TrimSpace(name)
		// -l prints the near end's name before its numbers, the far end's behind.
		if s = s[:strings.IndexByte(s, '"')]; strings.TrimSpace(s) == "" {
			s = behind
		}
	}
	s, _, _ = strings.Cut(s, "[")
	lid, rest := word(s)
	port, rest := word(rest)
	if lid == "" {
		return e, e.Name == ""
	}
	var ok1, ok2 bool
	e.LID, ok1 = printed.Number(lid)
	e.Port, ok2 = printed.Number(port)
	return e, ok1 && ok2 && strings.TrimSpace(rest) == ""
}

// could reads "(Could be 12X Could be 10.0 Gbps)".
func (p *PortLink) could(s string) {
	parts := strings.Split(s, "Could be ")
	for _, part := range parts[1:] {
		part, _, _ = strings.Cut(part, "(") // "FDR10 (Found link at …"
		part = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(part), ")"))
		if n, ok := lanes(part); ok {
			p.CouldLanes = n
		} else if g, ok := laneSpeed(part); ok {
			p.CouldSpeed = g
		}
	}
}
