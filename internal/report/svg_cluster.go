package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/trial"
	"weft/internal/unit"
)

// Above these a cluster is drawn as a board of squares: see board.
const (
	mostDrawnNodes = 16
	mostDrawnPorts = 64
)

// netNode is a machine to be drawn, netPort one of its data ports.
type netNode struct {
	name, note string
	class      string // pass, skip, warn, unknown, fail: as its text says, too
	ports      []netPort
}

type netPort struct {
	name        string
	class       string // "up", "narrow", "down", "unknown"
	mark        string // of its dot and text: the class, or the worst finding
	rate        string // what it should reach, or what it moves
	says        string // what limits it, or why it is not up
	title       string // all of it
	rail, swtch string
	thick       int // of its line: 1 to 4
}

// Measures of the drawing, in its own units: a letter of 12 is about 6.6 wide.
const (
	cardX, cardW = 8, 520
	cardHead     = 34
	cardRow      = 22
	cardGap      = 14
	hubX, hubW   = 700, 250
	hubHead      = 34
	spineX       = 1040
	drawnW       = hubX + hubW + 8
	drawnWide    = spineX + hubW + 8
	letter12     = 6.6
)

// netDrawing is a cluster, laid out: nodes on the left, switches and rails on the right.
type netDrawing struct {
	Width, Height int
	Title         string
	Nodes         []drawnNode
	Hubs          []*drawnHub
	Wires         []drawnWire
}

type drawnNode struct {
	X, Y, W, H  int
	Name, Note  string
	Full, Class string
	Ports       []drawnPort
}

type drawnPort struct {
	Y                int
	Name, Rate, Says string
	Class, Title     string
}

type drawnHub struct {
	X, Y, W, H  int
	Name, Note  string
	Full, Class string
	Rails       []*drawnRail
	at          []int // heights of the ends of its wires
}

type drawnRail struct {
	Y          int
	Name, Full string
}

type drawnWire struct {
	D            string
	Class, Title string
	Thick        int
}

// netOf takes nodes and links apart for a drawing. worst is the worst finding of a node,
// and of a port by both names; said is which checks those of a port are.
func netOf(nodes []NodeLine, links []trial.Link, worst, said map[string]string) []netNode {
	var net []netNode
	at := map[string]int{}
	for _, n := range nodes {
		at[n.Name] = len(net)
		net = append(net, netNode{name: n.Name, note: cmp.Or(n.GPUs, n.Machine), class: cmp.Or(worst[n.Name], "pass")})
		if n.Down != "" {
			net[len(net)-1].note, net[len(net)-1].class = n.Down, "unknown"
		}
	}
	for _, l := range links {
		if i, ok := at[l.Node]; ok {
			p := portOf(l)
			key := check.Subject{Node: l.Node, Part: l.Port}.String()
			if p.mark = p.class; p.class == "up" || worst[key] == "fail" {
				p.mark = cmp.Or(worst[key], "up")
			}
			p.title += after("; ", said[key])
			if said[key] != "" && (p.class == "up" || p.mark == "fail" && p.class == "narrow") {
				p.says += "; " + said[key]
			}
			net[i].ports = append(net[i].ports, p)
		}
	}
	return net
}

func portOf(l trial.Link) netPort {
	p := netPort{name: l.Port, class: "up", says: l.Why, rail: l.Rail, swtch: l.Switch, thick: thickOf(l.Rate)}
	if l.Want > 0 {
		p.rate = l.Want.String()
	}
	switch {
	case l.State == "":
		p.class, p.rate, p.says = "unknown", "", "its state was not read"
	case l.State != "ACTIVE":
		p.class, p.rate, p.says = "down", "", "the port is "+l.State
	case l.Rail == "":
		p.class, p.says = "unknown", "no address, so no rail"
	case narrow(l):
		p.class = "narrow"
	}
	p.title = linkTitle(l, p)
	return p
}

// narrow reports whether something behind the port takes more than a tenth of its rate.
func narrow(l trial.Link) bool {
	return l.Limit != "port" && l.Limit != "" && float64(l.Want) < 0.9*float64(l.Rate)
}

func linkTitle(l trial.Link, p netPort) string {
	s := l.End.String() + after(", ", l.Netdev)
	if l.Rate > 0 {
		s += ", " + l.Rate.String()
	}
	s += after(": should reach ", p.rate) + after("; ", p.says) + after("; rail ", l.Rail)
	return s + after("; plugged into ", strings.TrimSpace(l.Switch+" "+l.Plug))
}

func thickOf(r unit.Rate) int {
	switch {
	case r >= 300*unit.Gbps:
		return 4
	case r >= 100*unit.Gbps:
		return 3
	case r >= 25*unit.Gbps:
		return 2
	}
	return 1
}

// fit cuts a text to a width, for letters of a size.
func fit(s string, width int, size float64) string {
	most := int(float64(width) / (letter12 * size / 12))
	r := []rune(clean(s))
	if len(r) <= most {
		return string(r)
	}
	return string(r[:max(0, most-1)]) + "…"
}

// fitBold is fit for thick letters, which are a ninth wider.
func fitBold(s string, width int, size float64) string { return fit(s, width*9/10, size) }

// drawNet lays a cluster out.
func drawNet(title string, net []netNode, fabric *fact.Fabric, direct bool) *netDrawing {
	d := &netDrawing{Width: drawnW, Title: title}
	hubs := map[string]*drawnHub{}
	type wire struct {
		y    int
		port netPort
		hub  *drawnHub
		rail *drawnRail
	}
	var wires []wire
	y := 8
	for _, n := range net {
		c := drawnNode{X: cardX, Y: y, W: cardW, H: cardHead + cardRow*len(n.ports) + 6, Full: n.name + after(": ", n.note), Class: n.class}
		c.Name = fitBold(n.name, 250, 14)
		c.Note = fit(n.note, cardW-60-int(float64(len([]rune(c.Name)))*letter12*14/12*10/9), 12)
		if len(n.ports) == 0 {
			c.H = cardHead + 2
		}
		for i, p := range n.ports {
			row := drawnPort{Y: y + cardHead + i*cardRow + cardRow/2, Name: fit(p.name, 150, 12), Rate: fit(p.rate, 86, 12), Says: fitBold(p.says, 228, 12), Class: cmp.Or(p.mark, p.class), Title: p.title}
			c.Ports = append(c.Ports, row)
			if p.rail == "" && p.swtch == "" {
				continue
			}
			hub := hubs[p.swtch]
			if p.swtch == "" {
				hub = hubs["rail "+p.rail]
			}
			if hub == nil {
				hub = &drawnHub{X: hubX, W: hubW, Full: p.swtch, Class: "switch"}
				if p.swtch == "" {
					hub.Full, hub.Note, hub.Class = "no switch seen", "nothing on this rail says what it is plugged into", "none"
					if direct {
						hub.Full, hub.Note = "cable", "weft.yaml: no switch"
					}
					hubs["rail "+p.rail] = hub
				} else {
					hubs[p.swtch] = hub
				}
				d.Hubs = append(d.Hubs, hub)
			}
			name := cmp.Or(p.rail, "no rail")
			i := slices.IndexFunc(hub.Rails, func(r *drawnRail) bool { return r.Full == name })
			if i < 0 {
				i = len(hub.Rails)
				hub.Rails = append(hub.Rails, &drawnRail{Full: name, Name: fit(name, hubW-24, 12)})
			}
			hub.at = append(hub.at, row.Y)
			wires = append(wires, wire{row.Y, p, hub, hub.Rails[i]})
		}
		d.Nodes = append(d.Nodes, c)
		y += c.H + cardGap
	}
	height := placeHubs(d.Hubs, y)
	for _, w := range wires {
		d.Wires = append(d.Wires, drawnWire{D: curve(cardX+cardW, w.y, w.hub.X, w.rail.Y), Class: w.port.class, Title: w.port.title, Thick: w.port.thick})
	}
	height = max(height, d.spines(fabric, hubs, max(y, height)))
	d.Height = max(y, height) + 2
	return d
}

func curve(x1, y1, x2, y2 int) string {
	mid := (x1 + x2) / 2
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, mid, y1, mid, y2, x2, y2)
}

// placeHubs puts every hub as near to the middle of its wires as the others let it.
func placeHubs(hubs []*drawnHub, bottom int) int {
	slices.SortStableFunc(hubs, func(a, b *drawnHub) int { return cmp.Compare(mean(a.at), mean(b.at)) })
	y, all := 8, 0
	for _, h := range hubs {
		h.H = hubHead + cardRow*len(h.Rails) + 6
		all += h.H + cardGap
		h.Name = fitBold(h.Full, hubW-24, 13)
	}
	for _, h := range hubs {
		room := max(y, bottom-all) // what is below this one must find a place
		h.Y = max(y, min(mean(h.at)-h.H/2, room))
		for i, r := range h.Rails {
			r.Y = h.Y + hubHead + i*cardRow + cardRow/2
		}
		y, all = h.Y+h.H+cardGap, all-h.H-cardGap
	}
	off := 0 // each had to make room for the one above: now they share it
	for _, h := range hubs {
		off += h.Y + h.H/2 - mean(h.at)
	}
	if len(hubs) > 0 {
		off = max(0, min(off/len(hubs), hubs[0].Y-8))
	}
	for _, h := range hubs {
		h.Y -= off
		for _, r := range h.Rails {
			r.Y -= off
		}
	}
	return y - off
}

func mean(list []int) int {
	sum := 0
	for _, v := range list {
		sum += v
	}
	return sum / max(1, len(list))
}

// How many switches behind switches are drawn one by one, and how many switches below
// one are named.
const (
	mostSpines = 24
	mostBelow  = 6
)

// spines draws the switches that no node is plugged into, and how they hang together.
func (d *netDrawing) spines(f *fact.Fabric, leaves map[string]*drawnHub, bottom int) int {
	if f == nil {
		return 0
	}
	type pair struct{ leaf, spine string }
	count, speed := map[pair]int{}, map[pair]string{}
	spines, below := map[string]*drawnHub{}, map[string][]pair{}
	var list []*drawnHub
	for _, l := range f.Links {
		if !l.A.Switch || !l.B.Switch {
			continue
		}
		p := pair{cmp.Or(l.A.Name, l.A.GUID), cmp.Or(l.B.Name, l.B.GUID)}
		if leaves[p.leaf] == nil {
			p = pair{p.spine, p.leaf}
		}
		if leaves[p.leaf] == nil || leaves[p.spine] != nil {
			continue
		}
		h := spines[p.spine]
		if h == nil && len(list) == mostSpines {
			continue
		}
		if h == nil {
			h = &drawnHub{X: spineX, W: hubW, Full: p.spine, Class: "switch"}
			spines[p.spine] = h
			list = append(list, h)
		}
		if count[p] == 0 {
			below[p.spine] = append(below[p.spine], p)
			h.at = append(h.at, leaves[p.leaf].Y+leaves[p.leaf].H/2)
		}
		count[p]++
		speed[p] = strings.TrimSpace(l.Width + " " + l.Speed)
	}
	if len(list) == 0 {
		return 0
	}
	rows := map[pair]*drawnRail{}
	for _, h := range list {
		cables := func(p pair) string { return fmt.Sprintf("%d × %s", count[p], cmp.Or(speed[p], "?")) }
		alike := map[string]int{}
		for _, p := range below[h.Full] {
			alike[cables(p)]++
		}
		for _, p := range below[h.Full] {
			text := p.leaf + ": " + cables(p)
			if len(below[h.Full]) > mostBelow {
				text = fmt.Sprintf("%d below: %s each", alike[cables(p)], cables(p))
			}
			i := slices.IndexFunc(h.Rails, func(r *drawnRail) bool { return r.Full == text })
			if i < 0 {
				i = len(h.Rails)
				h.Rails = append(h.Rails, &drawnRail{Full: text, Name: fit(text, hubW-24, 12)})
			}
			rows[p] = h.Rails[i]
		}
	}
	height := placeHubs(list, bottom)
	d.Hubs = append(d.Hubs, list...)
	d.Width = drawnWide
	for _, h := range list {
		for _, p := range below[h.Full] {
			leaf := leaves[p.leaf]
			d.Wires = append(d.Wires, drawnWire{D: curve(hubX+hubW, leaf.Y+leaf.H/2, spineX, rows[p].Y), Class: "up", Thick: min(4, 1+count[p]/2), Title: p.leaf + " to " + p.spine + ": " + rows[p].Full})
		}
	}
	return height
}

// Where texts stand in their boxes.

func (n drawnNode) NameX() int { return n.X + 16 }
func (n drawnNode) NoteX() int { return n.X + n.W - 12 }
func (n drawnNode) HeadY() int { return n.Y + 22 }
func (p drawnPort) TextY() int { return p.Y + 4 }
func (h drawnHub) NameX() int  { return h.X + 12 }
func (h drawnHub) HeadY() int  { return h.Y + 22 }
func (r drawnRail) TextY() int { return r.Y + 4 }
