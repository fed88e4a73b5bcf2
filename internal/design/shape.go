package design

import (
	"fmt"
	"slices"
	"strings"
)

// How many nodes want which shape: seed 001 and CHECKS.md, "Uplinks and growth".
const (
	mostDirect = 3  // every pair has a cable of its own
	mostRing   = 4  // a ring that people run; opposite nodes have no cable
	mostSwitch = 8  // one switch by itself
	mostSingle = 16 // one switch when asked for
)

// shape decides how the nodes of a fabric are joined, and with how many switches.
func (d *Design) shape(f *Fabric, k kind, m model) error {
	f.Shape = k.shape
	switch {
	case f.Nodes == 1:
		if k.shape != "" && len(d.Fabrics) == 1 {
			return bad("fabric", d.ask.Fabric, "one node has nobody to talk to")
		}
		f.Shape, f.Why = "none", "one node needs no fabric"
	case k.shape == "direct" && f.Nodes > mostRing:
		return bad("fabric", d.ask.Fabric, "%d nodes on direct cables: %s", f.Nodes, directWhy(f.Nodes))
	case k.shape == "direct":
		f.Why = "asked for"
	case k.shape == "switch" && f.Nodes > mostSingle:
		return bad("fabric", d.ask.Fabric, "%d nodes on one switch: above %d a routed Clos is the only sensible answer (Kentino wiki): one switch is one failure for all, and L2 has no multipath", f.Nodes, mostSingle)
	case k.shape == "switch":
		f.Why = "asked for"
	case k.shape == "clos":
		f.Why = "asked for"
	case f.Nodes <= mostDirect:
		f.Shape, f.Why = "direct", fmt.Sprintf("up to %d nodes reach each other by a cable for each pair; no switch is needed", mostDirect)
	case f.Nodes <= mostSwitch:
		f.Shape, f.Why = "switch", fmt.Sprintf("up to %d nodes one switch is fine (Kentino wiki)", mostSwitch)
	case f.Layer == "InfiniBand":
		f.Shape, f.Why = "clos", fmt.Sprintf("above %d nodes one switch is one failure for too many; two tiers survive a spine", mostSwitch)
	default:
		f.Shape, f.Why = "clos", fmt.Sprintf("above %d nodes L2 grows painful: a routed Clos has multipath and survives a spine (Kentino wiki, RFC 7938)", mostSwitch)
	}
	w, _ := workloadOf(f.Workload)
	if err := d.uplink(f, w, m); err != nil {
		return err
	}
	switch f.Shape {
	case "direct":
		d.direct(f)
	case "switch":
		ok, err := d.single(f)
		if err != nil || ok {
			return err
		}
		need := f.Nodes*f.Rails + d.edges(f)
		if k.shape == "switch" {
			return bad("fabric", d.ask.Fabric, "one switch would need %d × %d + %d = %d ports, and has %d", f.Nodes, f.Rails, d.edges(f), need, f.Ports)
		}
		f.Shape, f.Why = "clos", fmt.Sprintf("one switch would need %d × %d + %d = %d ports", f.Nodes, f.Rails, d.edges(f), need)
		return d.clos(f)
	case "clos":
		return d.clos(f)
	}
	return nil
}

func directWhy(n int) string {
	return fmt.Sprintf("a cable for each pair would be %d × %d / 2 = %d cables and %d ports in each node; direct cables are for 2 to %d, or a ring of %d", n, n-1, n*(n-1)/2, n-1, mostDirect, mostRing)
}

// edges is how many ports of the data switches the uplink takes.
func (d *Design) edges(f *Fabric) int {
	if f.Uplink.Via == "data switches" {
		return f.Uplink.Links
	}
	return 0
}

func (f *Fabric) line(what, format string, args ...any) {
	f.Lines = append(f.Lines, Line{what, fmt.Sprintf(format, args...)})
}

// pairs lists the node pairs that have a direct cable: one for two nodes, else a ring.
func pairs(n int) [][2]int {
	if n == 2 {
		return [][2]int{{0, 1}}
	}
	var out [][2]int
	for i := range n {
		out = append(out, [2]int{i, (i + 1) % n})
	}
	return out
}

func (d *Design) direct(f *Fabric) {
	cables := len(pairs(f.Nodes))
	each := 2 * cables / f.Nodes
	f.line("cables", "%d × %s = %d; a node has %s on each of %s", cables, plural(f.Rails, "rail", "rails"), cables*f.Rails, plural(each, "port", "ports"), plural(f.Rails, "card", "cards"))
	f.line("switches", "0")
	f.line("oversubscription", "none: a cable belongs to one pair")
	if f.Nodes == mostRing {
		d.Notes = append(d.Notes, fmt.Sprintf("a ring of 4: %s1 and %s3, %s2 and %s4 have no cable; their traffic goes through a neighbour, so NCCL must build rings in cable order, or the nodes must forward", f.node, f.node, f.node, f.node))
	}
}

// sizes returns the switches that may be taken, smallest first.
func (d *Design) sizes(f *Fabric) ([]box, error) {
	if d.ask.Ports > 0 {
		b := box{f.Layer, f.Rate, d.ask.Ports, "", ""}
		for _, x := range boxes {
			if x.layer == f.Layer && x.rate == f.Rate && x.ports == d.ask.Ports {
				b.example = x.example
			}
		}
		return []box{b}, nil
	}
	var out []box
	for _, b := range boxes {
		if b.layer == f.Layer && b.rate == f.Rate {
			out = append(out, b)
		}
	}
	if len(out) == 0 {
		return nil, bad("ports", "", "weft knows no %s switch with ports of %s: say how many ports yours has, like --ports 32", f.Layer, v(f.Rate))
	}
	slices.SortFunc(out, func(a, b box) int { return a.ports - b.ports })
	return out, nil
}

func (d *Design) take(f *Fabric, b box) {
	f.Ports, f.Switch = b.ports, b.example
	if d.ask.Ports > 0 {
		return
	}
	source := b.example + ": " + b.source
	if slices.ContainsFunc(d.Assumed, func(a Assumed) bool { return a.Field == "ports" && a.Value == fmt.Sprint(b.ports) }) {
		return
	}
	d.assume("ports", fmt.Sprint(b.ports), "the smallest that fits; such as "+source)
}

// single fits a fabric onto one switch, if one has the ports.
func (d *Design) single(f *Fabric) (bool, error) {
	sizes, err := d.sizes(f)
	if err != nil {
		return false, err
	}
	edge := d.edges(f)
	need := f.Nodes*f.Rails + edge
	for _, b := range sizes {
		f.Ports = b.ports
		if b.ports < need {
			continue
		}
		d.take(f, b)
		f.Leaves = 1
		f.line("node ports", "%d nodes × %s = %d", f.Nodes, plural(f.Rails, "rail", "rails"), f.Nodes*f.Rails)
		f.line("switches", "1 of %d ports; %d to nodes + %d uplink = %d used, %d free", b.ports, f.Nodes*f.Rails, edge, need, b.ports-need)
		f.line("cables", "%d to nodes + %d uplink = %d", f.Nodes*f.Rails, edge, need)
		f.line("oversubscription", "none: a switch passes what its ports send")
		return true, nil
	}
	return false, nil
}

// slack is how much oversubscription weft takes where nobody said how much, when the
// uplink wants the last ports of a Clos that is full without it: 16 node ports on 15
// spine ports are 1.067:1.
const slack = 1.07

// fit plans a plane, exactly as asked if that does not cost many switches for the
// sake of the uplink alone.
func (d *Design) fit(p, n int, rails []int, uplinks int) (Plane, bool) {
	ratio := d.ask.Oversubscription
	exact, ok := plan(p, n, rails, ratio, ratio, uplinks)
	if !d.loose || uplinks == 0 {
		return exact, ok
	}
	if without, _ := plan(p, n, rails, ratio, ratio, 0); ok && exact.switches() == without.switches() {
		return exact, true
	}
	near, found := plan(p, n, rails, ratio, slack, uplinks)
	if found && (!ok || 10*near.switches() < 9*exact.switches()) {
		return near, true
	}
	return exact, ok
}

func (p Plane) switches() int { return p.Leaves + p.Spines }

// plan finds the fewest switches that carry some rails of n nodes with p ports each.
// A leaf has at least one spine port for ratio node ports, or else for loose of them.
// The uplinks take ports of the leaves or of the spines.
func plan(p, n int, rails []int, ratio, loose float64, uplinks int) (best Plane, ok bool) {
	for per := max(1, ceil(n, p)); per*len(rails) <= p; per++ { // a spine has a port for each leaf
		down := ceil(n, per)
		leaves := ceil(n, down) * len(rails) // without the leaves that would stay empty
		if leaves < 2 || ok && leaves+2 > best.switches() {
			continue // one leaf would be one switch
		}
		for up := max(2, ceilFloat(float64(down)/loose)); up <= max(2, ceilFloat(float64(down)/ratio)); up++ {
			for spines := max(2, ceil(up, p/leaves)); spines <= up; spines++ { // a spine has p ports for the links of all leaves
				links := ceil(up, spines)
				q := Plane{Rails: rails, PerRail: leaves / len(rails), Leaves: leaves, Spines: spines, Down: down, Up: links * spines, Parallel: links, Ratio: float64(down) / float64(links*spines)}
				q.at(RoleLeaf, uplinks)
				if !q.within(p) {
					q.at(RoleSpine, uplinks)
				}
				if !q.within(p) {
					continue
				}
				if !ok || q.cost(ratio) < best.cost(ratio) {
					best, ok = q, true
				}
				break // more spines cost more
			}
		}
	}
	return best, ok
}

func (p *Plane) at(role string, uplinks int) {
	if uplinks > 0 {
		p.Edge, p.EdgeAt = ceil(uplinks, map[string]int{RoleLeaf: p.Leaves, RoleSpine: p.Spines}[role]), role
	}
}

func (p Plane) within(ports int) bool { return p.leafPorts() <= ports && p.spinePorts() <= ports }

// cost counts switches, and what is missing to the ratio that was asked for as if
// it were switches: bandwidth is what they are bought for.
func (p Plane) cost(ratio float64) float64 {
	return float64(p.switches()) * max(1, p.Ratio/ratio)
}

// leafPorts is how many ports of a leaf are used at most.
func (p Plane) leafPorts() int {
	n := p.Down + p.Up
	if p.EdgeAt == RoleLeaf {
		n += p.Edge
	}
	return n
}

func (p Plane) spinePorts() int {
	n := p.Leaves * p.Parallel
	if p.EdgeAt == RoleSpine {
		n += p.Edge
	}
	return n
}

func ceilFloat(f float64) int {
	n := int(f)
	if float64(n) < f-1e-9 {
		n++
	}
	return n
}

// clos fits a fabric into two tiers: all rails in one Clos, so that every port
// reaches every other; where that is too large, one Clos for each rail.
func (d *Design) clos(f *Fabric) error {
	sizes, err := d.sizes(f)
	if err != nil {
		return err
	}
	edge := d.edges(f)
	all := make([]int, f.Rails)
	for r := range all {
		all[r] = r + 1
	}
	f.Planes = nil
	for _, b := range sizes {
		if p, ok := d.fit(b.ports, f.Nodes, all, edge); ok {
			d.take(f, b)
			f.Planes = []Plane{p}
			break
		}
	}
	if f.Planes == nil && f.Rails > 1 {
		for _, b := range sizes {
			first, ok := d.fit(b.ports, f.Nodes, all[:1], edge)
			if !ok {
				continue
			}
			d.take(f, b)
			f.Planes = []Plane{first}
			for r := 1; r < f.Rails; r++ {
				p, _ := d.fit(b.ports, f.Nodes, all[r:r+1], 0)
				f.Planes = append(f.Planes, p)
			}
			f.Why += fmt.Sprintf("; %d × %d = %d ports do not fit one Clos of two tiers, so each rail is one of its own", f.Nodes, f.Rails, f.Nodes*f.Rails)
			d.Notes = append(d.Notes, fmt.Sprintf("%s: the rails do not meet: NCCL_CROSS_NIC=0 keeps every ring on one rail, and data leaves a node only by the NIC that its peer has on the same rail", f.Name))
			break
		}
	}
	if f.Planes == nil {
		return d.tooLarge(f, sizes[len(sizes)-1].ports, edge)
	}
	d.full(f, edge)
	if p := f.Planes[0]; p.Ratio > d.ask.Oversubscription {
		d.Notes = append(d.Notes, fmt.Sprintf("%s: %s:1 instead of 1:1 saves switches, because the uplink wants ports too: --oversubscription 1 has it exactly", f.Name, num(p.Ratio)))
	}
	d.closLines(f, edge)
	return nil
}

// full says where the uplink's few ports cost whole switches.
func (d *Design) full(f *Fabric, edge int) {
	p := f.Planes[0]
	ratio := d.ask.Oversubscription
	without, ok := plan(f.Ports, f.Nodes, p.Rails, ratio, ratio, 0)
	if !ok || edge == 0 || p.switches() <= without.switches() {
		return
	}
	note := fmt.Sprintf("%s: the uplink makes it %d switches instead of %d, because switches of %d ports are full without it; larger --ports avoid that", f.Name, p.switches(), without.switches(), f.Ports)
	for _, more := range []float64{1.1, 1.15, 1.2, 1.25, 1.5} {
		if q, ok := plan(f.Ports, f.Nodes, p.Rails, ratio*more, ratio*more, edge); ok && q.switches() <= without.switches() {
			note += fmt.Sprintf(", and --oversubscription %s needs %d", num4(ratio*more), q.switches())
			break
		}
	}
	d.Notes = append(d.Notes, note)
}

func (d *Design) tooLarge(f *Fabric, p, edge int) error {
	o := d.ask.Oversubscription
	down := int(float64(p) * o / (1 + o))
	return bad("nodes", f.Nodes, "%d × %s + %d uplink do not fit two tiers of %d-port switches: at %s:1 a leaf has about %d ports for nodes and a spine %d for leaves, so %d × %d = %d node ports, even with a Clos for each rail; larger --ports, or --oversubscription, or fewer --rails",
		f.Nodes, plural(f.Rails, "rail", "rails"), edge, p, num4(o), down, p, down, p, down*p)
}

func (d *Design) closLines(f *Fabric, edge int) {
	p := f.Planes[0]
	planes := len(f.Planes)
	f.line("node ports", "%d nodes × %s = %d", f.Nodes, plural(f.Rails, "rail", "rails"), f.Nodes*f.Rails)
	if planes > 1 {
		f.line("planes", "%d, one for each rail; each is:", planes)
	}
	leaf := fmt.Sprintf("%d to nodes + %d to spines", p.Down, p.Up)
	spine := fmt.Sprintf("%d leaves × %d", p.Leaves, p.Parallel)
	switch p.EdgeAt {
	case RoleLeaf:
		leaf += fmt.Sprintf(" + %d to the router at most", p.Edge)
	case RoleSpine:
		spine += fmt.Sprintf(" + %d to the router at most", p.Edge)
	}
	f.line("leaf", "%s = %d of %d ports, %d free", leaf, p.leafPorts(), f.Ports, f.Ports-p.leafPorts())
	f.line("leaves", "⌈%d nodes / %d⌉ × %s = %d", f.Nodes, p.Down, plural(len(p.Rails), "rail", "rails"), p.Leaves)
	f.line("spines", "%d: %d spine ports of a leaf / %d = %d to each", p.Spines, p.Up, p.Spines, p.Parallel)
	f.line("spine", "%s = %d of %d ports, %d free", spine, p.spinePorts(), f.Ports, f.Ports-p.spinePorts())
	f.line("oversubscription", "%d ports to nodes / %d to spines = %s:1", p.Down, p.Up, num(p.Ratio))
	if p.Ratio > 1 {
		f.line("", "with every node sending to another leaf, a port gets %s × %d / %d = %s", v(f.Rate), p.Up, p.Down, num(gb(f.Rate)/p.Ratio)+" Gb/s")
	}
	f.line("a spine down", "keeps 100 × %d / %d = %s %% of the bandwidth between leaves, and every node reachable", p.Spines-1, p.Spines, num(100*float64(p.Spines-1)/float64(p.Spines)))
	var cables []string
	total := 0
	for _, q := range f.Planes {
		f.Leaves += q.Leaves
		f.Spines += q.Spines
		total += q.Leaves * q.Up
	}
	f.line("switches", "%d leaves + %d spines = %d", f.Leaves, f.Spines, f.Leaves+f.Spines)
	cables = append(cables, fmt.Sprintf("%d to nodes + %d leaves × %d to spines", f.Nodes*f.Rails, f.Leaves, p.Up))
	if edge > 0 {
		cables = append(cables, fmt.Sprintf("%d uplink", edge))
	}
	f.line("cables", "%s = %d", strings.Join(cables, " + "), f.Nodes*f.Rails+total+edge)
}
