package design

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"

	"weft/internal/unit"
)

// Cable lengths that a person has not said, in metres: of one rack, and of rows of
// racks, where a leaf serves nodes of several. Ours: a floor plan knows better.
const (
	rackHost, rackSpine = 2, 3
	rowHost, rowSpine   = 20, 30
)

// wire lists devices, cables and addresses of the data planes, and the uplinks.
func (d *Design) wire() error {
	host, spine, why := float64(rackHost), float64(rackSpine), "metres; all in one or two racks"
	if !d.small() {
		host, spine, why = rowHost, rowSpine, "metres; rows of racks: measure yours, because it decides between copper and optics"
	}
	if d.ask.HostLength == 0 {
		d.ask.HostLength = host
		d.assume("host-length", num(host), why)
	}
	if d.ask.SpineLength == 0 {
		d.ask.SpineLength = spine
		d.assume("spine-length", num(spine), why)
	}
	for _, f := range d.Fabrics {
		for i := range f.Nodes {
			d.device(&Device{Name: f.name(i), Role: RoleNode, Fabric: f.Name})
		}
	}
	router := d.device(&Device{Name: "router1", Role: RoleRouter})
	for _, f := range d.Fabrics {
		switch {
		case f.Shape == "direct":
			d.wireDirect(f)
		case f.Shape == "switch":
			d.wireSwitch(f, router)
		case f.Shape == "clos":
			d.wireClos(f, router)
		}
		if f.Uplink.Via != "data switches" {
			d.wireAccess(f, router)
		}
	}
	d.number()
	return nil
}

// small reports whether all of it stands together: no more nodes than one switch may
// have.
func (d *Design) small() bool {
	n := 0
	for _, f := range d.Fabrics {
		n += f.Nodes
	}
	return n <= mostSingle
}

// name is the name of a node, counted from 0.
func (f *Fabric) name(i int) string { return f.node + strconv.Itoa(i+1) }

func (d *Design) device(x *Device) *Device {
	d.Devices = append(d.Devices, x)
	d.at[x.Name] = x
	return x
}

// Device returns a device by name, or nil.
func (d *Design) Device(name string) *Device { return d.at[name] }

// cable joins two ports.
func (d *Design) cable(plane string, a *Device, aPort string, b *Device, bPort string, rate unit.Rate, metres float64) {
	a.cables, b.cables = append(a.cables, len(d.Cables)), append(b.cables, len(d.Cables))
	d.Cables = append(d.Cables, Cable{Plane: plane, A: End{a.Name, aPort}, B: End{b.Name, bPort}, Rate: rate, Metres: metres, from: a, to: b})
}

func (d *Design) address(x *Device, port string, p netip.Prefix, use string) *Address {
	d.Addresses = append(d.Addresses, Address{Device: x.Name, Port: port, Address: p, Use: use})
	return &d.Addresses[len(d.Addresses)-1]
}

func (d *Design) swp(n int) string { return d.ask.PortName + strconv.Itoa(n) }

// next names the next free port of the router.
func next(router *Device) string { return "port" + strconv.Itoa(len(router.cables)+1) }

// rail names a data port of a node.
func rail(r int) string { return "rail" + strconv.Itoa(r+1) }

// wireDirect joins nodes by cables: a /31 each (RFC 3021), so that a port's subnet
// holds its peer alone.
func (d *Design) wireDirect(f *Fabric) {
	for r := range f.Rails {
		base := d.sixteen(f.block + r).Addr()
		for i, p := range pairs(f.Nodes) {
			a, b := d.at[f.name(p[0])], d.at[f.name(p[1])]
			aPort, bPort := rail(r), rail(r)
			if f.Nodes > 2 { // a card of two ports: a to the next node, b to the one before
				aPort, bPort = aPort+"a", bPort+"b"
			}
			d.cable(Data, a, aPort, b, bPort, f.Rate, d.ask.HostLength)
			d.address(a, aPort, netip.PrefixFrom(add(base, 2*i), 31), "data, to "+b.Name)
			d.address(b, bPort, netip.PrefixFrom(add(base, 2*i+1), 31), "data, to "+a.Name)
		}
	}
}

// flat gives every node an address in one subnet for each rail.
func (d *Design) flat(f *Fabric, use string) {
	for r := range f.Rails {
		base := d.sixteen(f.block + r).Addr()
		for i := range f.Nodes {
			d.address(d.at[f.name(i)], rail(r), netip.PrefixFrom(add(base, i+1), flatBits(f.Nodes)), use)
		}
	}
}

// flatBits is the prefix length that holds n nodes and a router: at least a /24.
func flatBits(n int) int { return min(24, 32-bits.Len(uint(n+2))) }

func (d *Design) wireSwitch(f *Fabric, router *Device) {
	s := d.device(&Device{Name: f.prefix + "switch1", Role: RoleSwitch, Fabric: f.Name, Ports: f.Ports})
	for r := range f.Rails {
		for i := range f.Nodes {
			d.cable(Data, d.at[f.name(i)], rail(r), s, d.swp(r*f.Nodes+i+1), f.Rate, d.ask.HostLength)
		}
	}
	if f.Layer == "InfiniBand" {
		d.flat(f, "data, IPoIB")
		return
	}
	for k := range f.Uplink.Links {
		d.cable(UplinkLine, s, d.swp(f.Ports-f.Uplink.Links+1+k), router, next(router), f.Uplink.Rate, d.ask.SpineLength)
	}
	d.flat(f, "data")
	bits := flatBits(f.Nodes)
	d.address(router, f.routerPort(router, d), netip.PrefixFrom(add(d.sixteen(f.block).Addr(), 1<<(32-bits)-2), bits), "gateway of "+f.Name+", rail 1")
}

// routerPort is the router's port towards a fabric on one switch: the cable, or the
// LAG of several.
func (f *Fabric) routerPort(router *Device, d *Design) string {
	if f.Uplink.Links > 1 {
		return "lag-" + f.Name
	}
	return d.Cables[router.cables[len(router.cables)-1]].B.Port
}

// wireClos numbers leaves so that those of the same nodes stand together: leaf
// 1 … R are the rails of the first nodes. A leaf's first ports go to nodes, its last
// to spines, those before to the router; a spine's first to leaves, its last to the
// router.
func (d *Design) wireClos(f *Fabric, router *Device) {
	leafN, spineN := 0, 0
	for pi, p := range f.Planes {
		var spines, leaves []*Device
		for range p.Spines {
			spineN++
			spines = append(spines, d.device(&Device{Name: f.prefix + "spine" + strconv.Itoa(spineN), Role: RoleSpine, Fabric: f.Name, Plane: pi + 1, Ports: f.Ports}))
		}
		for g := range p.PerRail {
			for _, r := range p.Rails {
				leafN++
				leaves = append(leaves, d.device(&Device{Name: f.prefix + "leaf" + strconv.Itoa(leafN), Role: RoleLeaf, Fabric: f.Name, Plane: pi + 1, Rail: r, Ports: f.Ports, group: g}))
			}
		}
		for _, leaf := range leaves {
			d.wireLeaf(f, p, leaf)
		}
		for li, leaf := range leaves {
			for s, spine := range spines {
				for k := range p.Parallel {
					d.cable(Data, leaf, d.swp(f.Ports-p.Up+s*p.Parallel+k+1), spine, d.swp(li*p.Parallel+k+1), f.Rate, d.ask.SpineLength)
				}
			}
		}
		if pi > 0 || f.Layer == "InfiniBand" {
			continue
		}
		at, last := leaves, f.Ports-p.Up
		if p.EdgeAt == RoleSpine {
			at, last = spines, f.Ports
		}
		for k := range f.Uplink.Links {
			x := at[k%len(at)]
			x.border = true
			d.cable(UplinkLine, x, d.swp(last-p.Edge+k/len(at)+1), router, next(router), f.Uplink.Rate, d.ask.SpineLength)
		}
	}
	if f.Layer == "InfiniBand" {
		d.flat(f, "data, IPoIB")
	}
}

// wireLeaf joins a leaf's nodes. Each port is a routed /31 (RFC 3021) out of the
// leaf's own block, which is all that the leaf announces.
func (d *Design) wireLeaf(f *Fabric, p Plane, leaf *Device) {
	size := 2 << bits.Len(uint(p.Down-1)) // two addresses for each port, a power of two
	net := d.sixteen(f.block + leaf.Rail - 1)
	base := add(net.Addr(), leaf.group*size)
	if f.Layer == "Ethernet" {
		leaf.Own = netip.PrefixFrom(base, 33-bits.Len(uint(size)))
	}
	for slot := range p.Down {
		i := leaf.group*p.Down + slot
		if i >= f.Nodes {
			break
		}
		node, port := d.at[f.name(i)], rail(leaf.Rail-1)
		d.cable(Data, node, port, leaf, d.swp(slot+1), f.Rate, d.ask.HostLength)
		if f.Layer == "InfiniBand" {
			continue
		}
		d.address(leaf, d.swp(slot+1), netip.PrefixFrom(add(base, 2*slot), 31), "gateway of "+node.Name)
		a := d.address(node, port, netip.PrefixFrom(add(base, 2*slot+1), 31), "data")
		a.Gateway, a.Route = add(base, 2*slot), net.String()
	}
}

// An access switch has 48 ports for nodes and 8 faster ones: an SN2410's shape
// (mlxsw wiki, 5.13 release notes). Its nodes and its gateway are one /26.
const accessDown, accessUp, accessNet = 48, 8, 64

// wireAccess gives nodes whose fabric has no Ethernet switch a way to the uplink: a
// port of their own each.
func (d *Design) wireAccess(f *Fabric, router *Device) {
	count := max(ceil(f.Nodes, accessDown), ceil(f.Uplink.Links, accessUp))
	per := ceil(f.Nodes, count)
	count = max(ceil(f.Nodes, per), ceil(f.Uplink.Links, accessUp))
	up := ceil(f.Uplink.Links, count)
	use := "ingest"
	if d.ownPorts() {
		use = "management and ingest"
	}
	for s := range count {
		x := d.device(&Device{Name: f.prefix + "access" + strconv.Itoa(s+1), Role: RoleAccess, Fabric: f.Name, Ports: accessDown + accessUp})
		base := d.accessBase(f, s)
		gateway := add(base, accessNet-2)
		for i := s * per; i < min(f.Nodes, (s+1)*per); i++ {
			node := d.at[f.name(i)]
			d.cable(Access, node, "eth", x, "port"+strconv.Itoa(i-s*per+1), f.Uplink.NodePort, d.ask.HostLength)
			a := d.address(node, "eth", netip.PrefixFrom(add(base, i-s*per+1), 26), use)
			a.Gateway, a.Route = gateway, "0.0.0.0/0"
		}
		for k := range up {
			d.cable(UplinkLine, x, "port"+strconv.Itoa(accessDown+k+1), router, next(router), f.Uplink.Rate, d.ask.SpineLength)
		}
		port := d.Cables[router.cables[len(router.cables)-1]].B.Port
		if up > 1 {
			port = "lag-" + x.Name
		}
		d.address(router, port, netip.PrefixFrom(gateway, 26), "gateway of "+x.Name)
	}
	f.Uplink.line("access", "%s, each for %d nodes at most and with %d × %s to the router", plural(count, "switch", "switches"), per, up, gbe(f.Uplink.Rate))
}

// accessBase is the first address of an access switch.
func (d *Design) accessBase(f *Fabric, s int) netip.Addr {
	half := 0
	if f != d.Fabrics[0] {
		half = 1 << 15
	}
	return add(d.sixteen(blockAccess).Addr(), half+s*accessNet)
}

// AS numbers for private use: RFC 6996.
const (
	firstAS16, lastAS16 = 64512, 65534
	firstAS32           = 4200000000
)

// number gives every routing device an AS of its own and a loopback.
func (d *Design) number() {
	var routed []*Device
	for _, x := range d.Devices {
		if x.Role == RoleSpine || x.Role == RoleLeaf {
			if f := d.fabric(x.Fabric); f.Layer == "Ethernet" {
				routed = append(routed, x)
			}
		}
	}
	if len(routed) == 0 {
		return
	}
	routed = append([]*Device{d.at["router1"]}, routed...)
	first := uint32(firstAS16)
	if len(routed) > lastAS16-firstAS16+1 {
		first = firstAS32
	}
	for i, x := range routed {
		x.AS = first + uint32(i)
		x.Loopback = add(d.Net.Loopbacks.Addr(), i+1)
		d.address(x, "lo", netip.PrefixFrom(x.Loopback, 32), "loopback, BGP router ID of AS "+fmt.Sprint(x.AS))
	}
}

func (d *Design) fabric(name string) *Fabric {
	for _, f := range d.Fabrics {
		if f.Name == name {
			return f
		}
	}
	return nil
}
