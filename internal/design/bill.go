package design

import (
	"cmp"
	"fmt"
	"slices"

	"weft/internal/topo"
	"weft/internal/unit"
)

// Item is one line of the bill of materials. Prices are not weft's to know.
type Item struct {
	Count int    `json:"count"`
	What  string `json:"what"`
	For   string `json:"for"`
	Note  string `json:"note,omitempty"`
}

// mediumOf picks the shortest medium that reaches.
func mediumOf(rate unit.Rate, metres float64) (medium, error) {
	known := false
	best := medium{}
	for _, m := range media {
		if m.rate != rate {
			continue
		}
		known = true
		if m.metres >= metres && (best.name == "" || m.metres < best.metres) {
			best = m
		}
	}
	switch {
	case !known:
		return medium{rate: rate, name: "cable (its reach is not known to weft)"}, nil
	case best.name == "":
		return best, bad("spine-length", num(metres), "no medium that weft knows carries %s over %s m", v(rate), num(metres))
	}
	return best, nil
}

// bill lists what to buy.
func (d *Design) bill() error {
	for _, f := range d.Fabrics {
		if f.Shape == "none" {
			continue
		}
		d.nics(f)
		if n := f.Leaves + f.Spines; n > 0 {
			what := fmt.Sprintf("%s switch, %d ports of %s", f.Layer, f.Ports, v(f.Rate))
			use := f.Name + ": one switch"
			if f.Shape == "clos" {
				use = fmt.Sprintf("%s: %d leaves, %d spines", f.Name, f.Leaves, f.Spines)
			}
			note := ""
			if f.Switch != "" {
				note = "such as " + f.Switch
			}
			if f.Layer == "Ethernet" {
				note = cmp.Or(note, "any") + "; must run FRR (Cumulus Linux, SONiC) or its own BGP unnumbered, with PFC and ECN"
				if f.Shape == "switch" {
					note = cmp.Or(f.Switch, "any") + "; with PFC, ECN and DSCP trust"
				}
			}
			d.item(n, what, use, note)
		}
	}
	if err := d.cablesBill(); err != nil {
		return err
	}
	for _, role := range []struct{ role, what, use, note string }{
		{RoleAccess, fmt.Sprintf("Ethernet switch, %d ports for nodes, %d for uplinks", accessDown, accessUp), "nodes' way to the uplink", "such as SN2410; fewer ports do for few nodes"},
		{RoleManage, fmt.Sprintf("Ethernet switch, %d × 1 GbE and %d × 10 GbE", manageDown, manageUp), "management", "no RoCE settings; never on the data switches; a core has 10 GbE ports"},
		{RoleRouter, "L3 router", "uplinks; the only place where fabrics meet", ""},
	} {
		n := 0
		for _, x := range d.Devices {
			if x.Role == role.role {
				n++
			}
		}
		if role.role == RoleAccess && d.ownPorts() {
			for _, x := range d.Devices {
				if x.Role == RoleAccess {
					d.item(1, fmt.Sprintf("Ethernet switch, %d ports or more of %s", len(x.cables), gbe(d.fabric(x.Fabric).Uplink.NodePort)), "management and the way to the uplink", "any; it carries no RDMA")
				}
			}
			continue
		}
		if n > 0 {
			d.item(n, role.what, role.use, role.note)
		}
	}
	return nil
}

func (d *Design) item(n int, what, use, note string) {
	d.Bill = append(d.Bill, Item{n, what, use, note})
}

// nics counts cards and the lanes they take.
func (d *Design) nics(f *Fabric) {
	ports := 1
	if f.Shape == "direct" && f.Nodes > 2 {
		ports = 2
	}
	what := fmt.Sprintf("NIC, %s of %s %s", plural(ports, "port", "ports"), v(d.Card.Rate), f.Layer)
	if d.Card.Name != "" {
		what = d.Card.Name + ", " + plural(ports, "port", "ports") + " at " + v(d.Card.Rate)
	}
	note := "wants " + enough(d.Card.Rate)
	if d.Card.Link != nil {
		lanes := d.Card.Link.Count * d.Card.Link.Link.Width
		note = fmt.Sprintf("%v: about %s; PCIe lanes in a node: %d × %d = %d", *d.Card.Link, v(d.Card.Gets), f.Rails, lanes, f.Rails*lanes)
	}
	if ports == 2 && d.Card.Link != nil && topo.RDMARate(d.Card.Link.Link)*unit.Rate(d.Card.Link.Count) < 2*d.Card.Rate {
		note += "; both ports share the slot: a ring sends on one and receives on the other, which it carries"
	}
	d.item(f.Nodes*f.Rails, what, fmt.Sprintf("%s: %d nodes × %d", f.Name, f.Nodes, f.Rails), note)
}

// cablesBill counts cables by rate, length and medium, and names each one's medium.
func (d *Design) cablesBill() error {
	type sort struct {
		plane  string
		rate   unit.Rate
		metres float64
	}
	counts := map[sort]int{}
	var order []sort
	kinds := map[sort]medium{}
	for i := range d.Cables {
		c := &d.Cables[i]
		k := sort{c.Plane, c.Rate, c.Metres}
		if counts[k] == 0 {
			m, err := mediumOf(c.Rate, c.Metres)
			if err != nil {
				return err
			}
			kinds[k] = m
			order = append(order, k)
		}
		counts[k]++
		c.Medium = kinds[k].name
	}
	slices.SortStableFunc(order, func(a, b sort) int {
		return cmp.Or(cmp.Compare(b.rate, a.rate), cmp.Compare(a.metres, b.metres), cmp.Compare(a.plane, b.plane))
	})
	for _, k := range order {
		m := kinds[k]
		note := ""
		if m.transceivers > 0 {
			note = fmt.Sprintf("%d × %d = %d transceivers", counts[k], m.transceivers, counts[k]*m.transceivers)
		}
		d.item(counts[k], fmt.Sprintf("%s, %s, %s m", m.name, v(k.rate), num(k.metres)), k.plane, note)
	}
	return nil
}

// notes are what a buyer wishes to have known.
func (d *Design) notes() {
	n := func(format string, args ...any) { d.Notes = append(d.Notes, fmt.Sprintf(format, args...)) }
	if d.Card.Note != "" {
		n("%s: %s", d.Card.Name, d.Card.Note)
	}
	if d.Card.Slot != nil && d.Card.Slot.Count > 1 {
		n("a port that is fed by %d PCIe links shows as %d RDMA devices: give each an address of its own, and name all in NCCL_IB_HCA (weft explain port.twins)", d.Card.Slot.Count, d.Card.Slot.Count)
	}
	for _, f := range d.Fabrics {
		if f.Rails > f.GPUs {
			n("%s: %d rails beside %s: some NIC has no GPU of its own", f.Name, f.Rails, plural(f.GPUs, "GPU", "GPUs"))
		}
		if f.Shape == "switch" && f.Nodes > mostSwitch {
			n("%s: %d nodes on one switch work; it is one failure for all of them. From %d on a Clos with two spines pays for itself: --fabric clos", f.Name, f.Nodes, mostSwitch)
		}
		if f.Shape == "switch" && f.Nodes == mostSwitch {
			n("%s: %d nodes is where a Clos with two spines starts to pay for itself: --fabric clos", f.Name, f.Nodes)
		}
		if f.Shape == "clos" && f.Nodes <= mostSwitch && len(d.Fabrics) == 1 {
			n("%s: one switch would do for %d nodes: --fabric switch", f.Name, f.Nodes)
		}
		if f.Layer == "InfiniBand" && f.Shape != "none" {
			n("%s: exactly one subnet manager for each fabric: on the switch, or opensm on one node; nothing routes before it runs", f.Name)
		}
		if f.Layer == "Ethernet" && (f.Shape == "switch" || f.Shape == "clos") {
			n("%s: a node's default route stays on management; a route to the storage goes by rail 1: ip route add STORAGE via the gateway of rail 1", f.Name)
		}
		if f.Uplink.Links > 16 {
			n("%s: an uplink of %d × %s means that the storage belongs beside the nodes, on leaves of its own, not behind a router", f.Name, f.Uplink.Links, gbe(f.Uplink.Rate))
		}
		if f.Uplink.Links == 1 && f.Nodes > mostSwitch {
			n("%s: one uplink is one failure; a second one of the same rate takes one more port of another switch", f.Name)
		}
	}
	if len(d.Fabrics) > 1 {
		n("training and inference share no switch and no subnet: they meet at router1 by IP alone, so an all-reduce cannot starve a request")
	}
	n("prices, power and racks are not known to weft")
}
