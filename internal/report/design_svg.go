package report

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"weft/internal/design"
	"weft/internal/nodeset"
	"weft/internal/unit"
)

// The drawing: rows from the router down to the nodes. What does not fit a row is
// folded into one box that says how many it stands for.
const (
	drawWidth  = 1200
	drawMargin = 24
	drawMost   = 16 // boxes in a row
	drawBox    = 34 // height
	drawGap    = 96 // between rows
)

// drawing is SVG in the making: lines first, so that boxes lie over them.
type drawing struct {
	lines, boxes strings.Builder
	y            int
}

type place struct{ x, y, w int }

func (p place) top() (x, y int)    { return p.x + p.w/2, p.y }
func (p place) bottom() (x, y int) { return p.x + p.w/2, p.y + drawBox }

// item is a box of a row: one device, or many.
type item struct {
	names []string
	note  string
	class string
}

// DesignSVG draws a design: self-contained, readable in a browser at any size.
func DesignSVG(d *design.Design) string {
	g := &drawing{y: drawMargin + 40}
	router := g.row([]item{{names: []string{"router1"}, note: "to the rest of the world", class: "router"}})[0]
	for _, f := range d.Fabrics {
		g.fabric(d, f, router)
	}
	where := "on switches of their own, not drawn"
	if d.Manage.Switches == 0 {
		where = "on the access switch"
	}
	g.text(drawMargin, g.y, "note", fmt.Sprintf("management: %d ports, %s", d.Manage.Ports, where))
	height := g.y + drawMargin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="12">`+"\n", drawWidth, height, drawWidth, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(drawTitle(d)))
	b.WriteString(`<style>
rect{stroke:#334;stroke-width:1;rx:4}
.router{fill:#f6d8c8}.spine{fill:#cfe0f5}.leaf{fill:#d6efd8}.switch{fill:#d6efd8}.access{fill:#eee}.node{fill:#fff6d6}.fold{fill:#f4f4f8;stroke-dasharray:4 3}
line{stroke:#667;stroke-width:1;stroke-opacity:.6}line.up{stroke:#c60;stroke-width:2;stroke-opacity:1}
text{fill:#112}.rate{font-size:11px;fill:#445;paint-order:stroke;stroke:#fff;stroke-width:4px}.note{font-size:11px;fill:#445}.title{font-size:16px;font-weight:bold}.head{font-weight:bold;paint-order:stroke;stroke:#fff;stroke-width:5px}
</style>
`)
	fmt.Fprintf(&b, `<rect x="0" y="0" width="%d" height="%d" style="fill:#fff;stroke:none"/>`+"\n", drawWidth, height)
	fmt.Fprintf(&b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", drawMargin, drawMargin+8, html.EscapeString(drawTitle(d)))
	b.WriteString(g.lines.String())
	b.WriteString(g.boxes.String())
	b.WriteString("</svg>\n")
	return b.String()
}

func drawTitle(d *design.Design) string {
	var parts []string
	for _, f := range d.Fabrics {
		parts = append(parts, fmt.Sprintf("%s × %s, %s", plural(f.Nodes, "node"), plural(f.GPUs, "GPU"), f.Workload))
	}
	return strings.Join(parts, " and ")
}

func (g *drawing) text(x, y int, class, s string) {
	fmt.Fprintf(&g.boxes, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, html.EscapeString(s))
}

func (g *drawing) middle(x, y int, class, s string) {
	fmt.Fprintf(&g.boxes, `<text class="%s" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", class, x, y, html.EscapeString(s))
}

func (g *drawing) line(class string, ax, ay, bx, by int) {
	fmt.Fprintf(&g.lines, `<line class="%s" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", class, ax, ay, bx, by)
}

// row draws boxes side by side and returns where they are.
func (g *drawing) row(items []item) []place {
	width := (drawWidth - 2*drawMargin) / max(1, len(items))
	var out []place
	for i, it := range items {
		p := place{drawMargin + i*width + 4, g.y, min(width-8, 240)}
		p.x += (width - 8 - p.w) / 2
		name := nodeset.Fold(it.names)
		size := letters(name, p.w, 12)
		fmt.Fprintf(&g.boxes, `<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>`+"\n", it.class, p.x, p.y, p.w, drawBox)
		y := p.y + drawBox/2 + 4
		if it.note != "" {
			y = p.y + 14
			fmt.Fprintf(&g.boxes, `<text class="note" x="%d" y="%d" text-anchor="middle" style="font-size:%dpx">%s</text>`+"\n", p.x+p.w/2, p.y+28, letters(it.note, p.w, 11), html.EscapeString(it.note))
		}
		fmt.Fprintf(&g.boxes, `<text x="%d" y="%d" text-anchor="middle" font-size="%d">%s</text>`+"\n", p.x+p.w/2, y, size, html.EscapeString(name))
		out = append(out, p)
	}
	g.y += drawBox + drawGap
	return out
}

// letters is a size at which a text fits a width: a letter is about 0.6 wide.
func letters(s string, width, most int) int {
	return max(5, min(most, width*10/(6*max(1, len([]rune(s))))))
}

// foldRow keeps a row readable: the first ones, one box for the middle, the last.
// index tells for every item which box it is in.
func foldRow(all []item) (shown []item, index []int) {
	if len(all) <= drawMost {
		for i := range all {
			index = append(index, i)
		}
		return all, index
	}
	const head = drawMost - 2
	shown = append(shown, all[:head]...)
	middle := item{class: "fold"}
	for _, it := range all[head : len(all)-1] {
		middle.names = append(middle.names, it.names...)
	}
	middle.note = fmt.Sprintf("%d more", len(all)-1-head)
	shown = append(shown, middle, all[len(all)-1])
	for i := range all {
		switch {
		case i < head:
			index = append(index, i)
		case i < len(all)-1:
			index = append(index, head)
		default:
			index = append(index, head+1)
		}
	}
	return shown, index
}

// fabric draws one fabric below what is there.
func (g *drawing) fabric(d *design.Design, f *design.Fabric, router place) {
	title := f.Name
	switch {
	case f.Shape == "none":
		title += ": one node, no fabric"
	case len(f.Planes) > 1:
		title += fmt.Sprintf(": %d leaves, %d spines in %d planes; plane 1 is drawn, the others are alike", f.Leaves, f.Spines, len(f.Planes))
	case f.Shape == "clos":
		title += fmt.Sprintf(": %d leaves, %d spines, %s:1", f.Leaves, f.Spines, strconv.FormatFloat(f.Planes[0].Ratio, 'g', 3, 64))
	case f.Shape == "direct":
		title += ": direct cables of " + f.Rate.String()
	default:
		title += fmt.Sprintf(": one switch of %d ports", f.Ports)
	}
	g.text(drawMargin, g.y-12, "head", title)
	box := map[string]place{} // device to where it is drawn
	g.place(d, f, box, design.RoleAccess)
	g.place(d, f, box, design.RoleSpine)
	g.place(d, f, box, design.RoleLeaf)
	g.place(d, f, box, design.RoleSwitch)
	g.nodes(f, d, box)
	box["router1"] = router
	g.cables(d, f, box)
	if f.Shape != "direct" { // whose cables hang below the nodes
		g.y -= drawGap / 2
	}
}

// place draws the devices of one role as a row, if there are any.
func (g *drawing) place(d *design.Design, f *design.Fabric, box map[string]place, role string) {
	var all []item
	for _, x := range d.Devices {
		if x.Role != role || x.Fabric != f.Name || x.Plane > 1 {
			continue
		}
		note := ""
		switch {
		case x.Role == design.RoleLeaf && f.Rails > 1:
			note = fmt.Sprintf("rail %d", x.Rail)
		case x.Routed():
			note = fmt.Sprintf("AS %d", x.AS)
		}
		all = append(all, item{[]string{x.Name}, note, role})
	}
	if len(all) == 0 {
		return
	}
	shown, index := foldRow(all)
	at := g.row(shown)
	for i, it := range all {
		box[it.names[0]] = at[index[i]]
	}
}

// nodes draws nodes: each by itself while they are few, else those of one leaf
// together.
func (g *drawing) nodes(f *design.Fabric, d *design.Design, box map[string]place) {
	per := 1
	switch {
	case f.Shape == "clos" && f.Nodes > drawMost:
		per = f.Planes[0].Down
	case f.Nodes > drawMost:
		per = (f.Nodes + drawMost - 1) / drawMost
	}
	var all []item
	var names []string
	for _, x := range d.Devices {
		if x.Role == design.RoleNode && x.Fabric == f.Name {
			names = append(names, x.Name)
		}
	}
	gpus := plural(f.GPUs, "GPU")
	for i := 0; i < len(names); i += per {
		some := names[i:min(len(names), i+per)]
		note := gpus
		if len(some) > 1 {
			note = fmt.Sprintf("%d × %s", len(some), gpus)
		}
		all = append(all, item{some, note, "node"})
	}
	shown, index := foldRow(all)
	at := g.row(shown)
	for i, it := range all {
		for _, n := range it.names {
			box[n] = at[index[i]]
		}
	}
}

// cables draws one line between two boxes, however many cables it stands for, and
// writes what it stands for where there is room: once for each pair of rows.
func (g *drawing) cables(d *design.Design, f *design.Fabric, box map[string]place) {
	type pair struct{ a, b place }
	type stands struct {
		n    int
		rate unit.Rate
		kind string
	}
	lines := map[pair]*stands{}
	var order []pair
	for _, c := range d.Cables {
		if c.Plane == design.Management {
			continue
		}
		a, okA := box[c.A.Device]
		b, okB := box[c.B.Device]
		if !okA || !okB || d.Device(c.A.Device).Fabric != f.Name {
			continue
		}
		if a.y > b.y {
			a, b = b, a
		}
		k := pair{a, b}
		if lines[k] == nil {
			lines[k] = &stands{rate: c.Rate, kind: c.Plane}
			order = append(order, k)
		}
		lines[k].n++
	}
	said := map[[2]int]bool{}
	uplinks := 0
	for _, s := range lines {
		if s.kind == design.UplinkLine {
			uplinks += s.n
		}
	}
	for _, k := range order {
		s := lines[k]
		class := "data"
		if s.kind == design.UplinkLine {
			class = "up"
		}
		ax, ay := k.a.bottom()
		bx, by := k.b.top()
		if k.a.y == k.b.y { // nodes beside each other
			ay, by = k.a.y+drawBox, k.b.y+drawBox
			mid := (ax + bx) / 2
			drop := ay + 24 + gapOf(bx-ax)/12
			fmt.Fprintf(&g.lines, `<path d="M%d %d Q%d %d %d %d" fill="none" stroke="#667"/>`+"\n", ax, ay, mid, drop+24, bx, by)
			g.middle(mid, (ay+drop+24)/2+4, "rate", fmt.Sprintf("%d × %v", s.n, s.rate))
			continue
		}
		g.line(class, ax, ay, bx, by)
		rows := [2]int{k.a.y, k.b.y}
		if said[rows] {
			continue
		}
		said[rows] = true
		text := fmt.Sprintf("%d × %v", s.n, s.rate)
		if class == "up" {
			text = fmt.Sprintf("uplink: %d × %v", uplinks, s.rate)
		}
		g.middle((ax*2+bx)/3, (ay*2+by)/3, "rate", text)
	}
}

func gapOf(n int) int { return max(n, -n) }
