package design

import (
	"fmt"
	"net/netip"
	"strings"

	"weft/internal/unit"
)

// Names inside the configurations.
const (
	peerFabric = "FABRIC" // between leaves and spines
	peerEdge   = "EDGE"   // between leaves and the router
)

// Timers in seconds: what "frr defaults datacenter" sets (FRR 8.4, bgpd/bgpd.h),
// written out so that a reader sees them.
const keepalive, hold, connect = 3, 9, 10

// mostPaths is how many next hops FRR can hold where it was built for most, as
// Debian's is (--enable-multipath=256; its own default is 16).
const mostPaths = 256

// Routed reports whether a device runs BGP in this design.
func (x *Device) Routed() bool { return x.AS != 0 }

// FRR returns the complete configuration of a device that runs BGP: an integrated
// frr.conf. "" for every other device.
func (d *Design) FRR(x *Device) string {
	if x == nil || !x.Routed() {
		return ""
	}
	c := &config{}
	c.head(d, x)
	c.interfaces(d, x)
	c.lists(d, x)
	c.bgp(d, x)
	c.add("end")
	return c.String()
}

// config is text in the making.
type config struct{ strings.Builder }

func (c *config) add(format string, args ...any) { fmt.Fprintf(&c.Builder, format+"\n", args...) }

func (c *config) head(d *Design, x *Device) {
	c.add("! %s: %s, AS %d. Written by weft design.", x.Name, role(x), x.AS)
	c.add("! Needs zebra and bgpd%s in /etc/frr/daemons. The management port (eth0) is not", map[bool]string{true: " and bfdd"}[d.ask.BFD])
	c.add("! named here: it belongs to the switch's own configuration, best in a VRF.")
	if x.Role == RoleRouter {
		c.add("! Its way to the rest of the world, and what may pass, are yours to add.")
	}
	c.add("frr defaults datacenter")
	c.add("hostname %s", x.Name)
	c.add("log syslog informational")
	c.add("service integrated-vtysh-config")
	// The kernel drops a port that is set down from its nexthop groups, and zebra goes
	// on using a group that it kept, so that half of the paths stay away after the port
	// is back (seen with FRR 8.4.4 in TestRealFRR). Routes without groups do not suffer.
	c.add("no zebra nexthop kernel enable")
	c.add("ip forwarding")
	c.add("ipv6 forwarding")
	c.add("!")
	c.add("interface lo")
	c.add(" ip address %v/32", x.Loopback)
	c.add("exit")
	c.add("!")
}

func role(x *Device) string {
	switch x.Role {
	case RoleLeaf:
		return fmt.Sprintf("leaf of rail %d", x.Rail)
	case RoleRouter:
		return "router, where fabrics and the rest of the world meet"
	}
	return x.Role
}

// link is one cable as a device sees it.
type link struct {
	port string
	peer *Device
	far  string // port of the peer
	rate unit.Rate
}

// links lists the data and uplink cables of a device, in the order of its ports.
func (d *Design) links(x *Device) []link {
	var out []link
	for _, i := range x.cables {
		c := d.Cables[i]
		switch {
		case c.Plane != Data && c.Plane != UplinkLine:
		case c.from == x:
			out = append(out, link{c.A.Port, c.to, c.B.Port, c.Rate})
		default:
			out = append(out, link{c.B.Port, c.from, c.A.Port, c.Rate})
		}
	}
	return out
}

// interfaces writes every port: addresses towards nodes, none towards switches,
// where IPv6 link-local addresses and router advertisements find the peer (RFC 5549).
func (c *config) interfaces(d *Design, x *Device) {
	addresses := d.byPort(x)
	for _, l := range d.links(x) {
		a := addresses[l.port]
		c.add("interface %s", l.port)
		c.add(" description %s:%s %s", l.peer.Name, l.far, v(l.rate))
		switch {
		case l.peer.Routed():
			c.add(" no ipv6 nd suppress-ra")
			c.add(" ipv6 nd ra-interval %d", connect)
		case a.IsValid():
			c.add(" ip address %v", a)
		}
		c.add("exit")
		c.add("!")
		delete(addresses, l.port)
	}
	if x.Role != RoleRouter {
		return
	}
	for _, a := range d.Addresses { // LAGs: several cables, one address
		if p, ok := addresses[a.Port]; ok && a.Device == x.Name {
			c.add("interface %s", a.Port)
			c.add(" description %s", a.Use)
			c.add(" ip address %v", p)
			c.add("exit")
			c.add("!")
		}
	}
}

// byPort returns the addresses of a device's ports, loopback and management aside.
func (d *Design) byPort(x *Device) map[string]netip.Prefix {
	if d.portAddress == nil {
		d.portAddress = map[string]map[string]netip.Prefix{}
		for _, a := range d.Addresses {
			if a.Port == "lo" || a.Port == "mgmt" || a.Port == "bmc" {
				continue
			}
			if d.portAddress[a.Device] == nil {
				d.portAddress[a.Device] = map[string]netip.Prefix{}
			}
			d.portAddress[a.Device][a.Port] = a.Address
		}
	}
	out := map[string]netip.Prefix{}
	for port, p := range d.portAddress[x.Name] {
		out[port] = p
	}
	return out
}

// lists writes what may be announced. A leaf announces itself and its nodes, and the
// default route where it has an uplink: nothing that it heard from one spine goes to
// another, so a leaf never becomes a way between spines.
func (c *config) lists(d *Design, x *Device) {
	seq := 0
	permit := func(list, what string) {
		seq += 5
		c.add("ip prefix-list %s seq %d permit %s", list, seq, what)
	}
	if x.border {
		for _, net := range d.fabricNets(x.Fabric) {
			permit("INSIDE", fmt.Sprintf("%v le 32", net))
		}
		permit("INSIDE", fmt.Sprintf("%v le 32", d.Net.Loopbacks))
		seq = 0
		permit("OUTSIDE", "0.0.0.0/0")
		seq = 0
	}
	switch x.Role {
	case RoleLeaf:
		permit("OWN", fmt.Sprintf("%v le 32", x.Own))
		permit("OWN", fmt.Sprintf("%v/32", x.Loopback))
		if x.border {
			permit("OWN", "0.0.0.0/0")
		}
		c.add("!")
		c.add("route-map CONNECTED permit 10")
		c.add(" match ip address prefix-list OWN")
		c.add("exit")
		c.add("!")
	case RoleRouter:
		for _, net := range d.Net.Rails {
			permit("FABRICS", fmt.Sprintf("%v le 32", net))
		}
		permit("FABRICS", fmt.Sprintf("%v le 32", d.Net.Loopbacks))
		seq = 0
		permit("DEFAULT", "0.0.0.0/0")
		c.add("!")
	}
}

// fabricNets are the nets of a fabric's rails.
func (d *Design) fabricNets(name string) []netip.Prefix {
	f := d.fabric(name)
	var out []netip.Prefix
	for r := range f.Rails {
		out = append(out, d.sixteen(f.block+r))
	}
	return out
}

func (c *config) bgp(d *Design, x *Device) {
	fabric, edge := 0, 0
	for _, l := range d.links(x) {
		switch {
		case !l.peer.Routed():
		case l.peer.Role == RoleRouter || x.Role == RoleRouter:
			edge++
		default:
			fabric++
		}
	}
	c.add("router bgp %d", x.AS)
	c.add(" bgp router-id %v", x.Loopback)
	c.add(" no bgp ebgp-requires-policy")
	c.add(" bgp bestpath as-path multipath-relax")
	c.add(" timers bgp %d %d", keepalive, hold)
	group := func(name string) {
		c.add(" neighbor %s peer-group", name)
		c.add(" neighbor %s remote-as external", name)
		c.add(" neighbor %s advertisement-interval 0", name)
		c.add(" neighbor %s timers connect %d", name, connect)
		if d.ask.BFD {
			c.add(" neighbor %s bfd", name)
		}
	}
	if fabric > 0 {
		group(peerFabric)
	}
	if edge > 0 {
		group(peerEdge)
	}
	for _, l := range d.links(x) {
		switch {
		case !l.peer.Routed():
		case l.peer.Role == RoleRouter || x.Role == RoleRouter:
			c.add(" neighbor %s interface peer-group %s", l.port, peerEdge)
		default:
			c.add(" neighbor %s interface peer-group %s", l.port, peerFabric)
		}
	}
	c.add(" !")
	c.add(" address-family ipv4 unicast")
	switch x.Role {
	case RoleLeaf:
		c.add("  redistribute connected route-map CONNECTED")
		c.add("  aggregate-address %v summary-only", x.Own)
		c.add("  neighbor %s prefix-list OWN out", peerFabric)
	case RoleSpine:
		c.add("  network %v/32", x.Loopback)
	case RoleRouter:
		c.add("  network %v/32", x.Loopback)
		c.add("  neighbor %s default-originate", peerEdge)
		c.add("  neighbor %s prefix-list DEFAULT out", peerEdge)
		c.add("  neighbor %s prefix-list FABRICS in", peerEdge)
	}
	if x.border {
		c.add("  neighbor %s prefix-list INSIDE out", peerEdge)
		c.add("  neighbor %s prefix-list OUTSIDE in", peerEdge)
	}
	c.add("  maximum-paths %d", min(mostPaths, max(2, fabric, edge)))
	c.add(" exit-address-family")
	c.add("exit")
	c.add("!")
}

// Configure puts the configuration of every device that routes into it, for JSON.
func (d *Design) Configure() {
	for _, x := range d.Devices {
		x.Config = d.FRR(x)
	}
}
