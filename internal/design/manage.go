package design

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"

	"weft/internal/unit"
)

// Manage is the management plane: ssh, BMC, NTP, metrics. It shares nothing with
// the data plane, so that it works when that does not.
type Manage struct {
	Ports    int          `json:"ports"`
	Switches int          `json:"switches"`
	Cores    int          `json:"cores"`
	Net      netip.Prefix `json:"net"`
	Lines    []Line       `json:"arithmetic"`
}

// A management switch has 48 ports of 1 GbE and four faster ones, as most do.
const manageDown, manageUp = 48, 4

// manage joins everything that has a management port.
func (d *Design) manage() error {
	if !d.ask.NoBMC {
		d.assume("bmc", "true", "servers have one; --bmc=false for mini PCs and workstations")
	}
	if d.ownPorts() {
		d.manageSmall()
		return nil
	}
	type end struct {
		x    *Device
		port string
	}
	var ends []end
	switches, nodes, bmcs := 0, 0, 0
	for _, x := range d.Devices {
		ends = append(ends, end{x, "mgmt"})
		if x.Role == RoleNode {
			nodes++
		} else {
			switches++
		}
	}
	for _, x := range d.Devices {
		if x.Role == RoleNode && !d.ask.NoBMC {
			ends = append(ends, end{x, "bmc"})
			bmcs++
		}
	}
	m := &d.Manage
	m.Ports = len(ends)
	m.Switches = ceil(len(ends), manageDown)
	m.line("ports", "%d nodes + %d BMCs + %d switches and routers = %d", nodes, bmcs, switches, m.Ports)
	m.line("switches", "⌈%d / %d⌉ = %d of %d × 1 GbE and %d faster ports, L2, no lossless class", m.Ports, manageDown, m.Switches, manageDown, manageUp)
	office := d.device(&Device{Name: "office", Role: RoleOffice})
	net := netip.PrefixFrom(d.Net.Manage.Addr(), min(24, 32-bits.Len(uint(m.Ports+m.Switches+2+m.Switches/manageDown+1))))
	m.Net = net
	if net.Bits() < 16 {
		return bad("nodes", d.Nodes, "%d management ports do not fit a /16", m.Ports)
	}
	var access []*Device
	for s := range m.Switches {
		access = append(access, d.device(&Device{Name: "mgmt" + strconv.Itoa(s+1), Role: RoleManage, Ports: manageDown + manageUp}))
	}
	n := 0
	give := func(x *Device, port, use string) {
		n++
		d.address(x, port, netip.PrefixFrom(add(net.Addr(), n), net.Bits()), use)
	}
	for i, e := range ends {
		d.cable(Management, e.x, e.port, access[i/manageDown], "port"+strconv.Itoa(i%manageDown+1), unit.Gbps, d.ask.HostLength)
		give(e.x, e.port, map[bool]string{true: "BMC", false: "management"}[e.port == "bmc"])
	}
	for _, x := range access {
		give(x, "mgmt", "management")
	}
	upRate := 10 * unit.Gbps
	tops := access
	if len(access) > 1 {
		m.Cores = ceil(len(access), manageDown)
		m.line("cores", "⌈%d / %d⌉ = %s of %d × 10 GbE, one uplink from each switch", len(access), manageDown, plural(m.Cores, "core switch", "core switches"), manageDown)
		tops = nil
		for c := range m.Cores {
			x := d.device(&Device{Name: "mgmt-core" + strconv.Itoa(c+1), Role: RoleManage, Ports: manageDown + manageUp})
			tops = append(tops, x)
			give(x, "mgmt", "management")
		}
		for i, x := range access {
			d.cable(Management, x, "port"+strconv.Itoa(manageDown+1), tops[i/manageDown], "port"+strconv.Itoa(i%manageDown+1), upRate, d.ask.SpineLength)
		}
	}
	for i, x := range tops {
		d.cable(Management, x, "port"+strconv.Itoa(manageDown+manageUp), office, "port"+strconv.Itoa(i+1), upRate, d.ask.SpineLength)
	}
	return nil
}

// manageSmall is for a few nodes on direct cables: the access switch, which carries
// no RDMA, is the management plane.
func (d *Design) manageSmall() {
	m := &d.Manage
	for _, f := range d.Fabrics {
		x := d.at[f.prefix+"access1"]
		base := d.accessBase(f, 0)
		free := f.Nodes + 1
		m.Ports += f.Nodes
		for i := 0; i < f.Nodes && !d.ask.NoBMC; i++ {
			d.cable(Management, d.at[f.name(i)], "bmc", x, "port"+strconv.Itoa(free+i), unit.Gbps, d.ask.HostLength)
			d.address(d.at[f.name(i)], "bmc", netip.PrefixFrom(add(base, free+i), 26), "BMC")
			m.Ports++
		}
		m.Net = netip.PrefixFrom(d.accessBase(d.Fabrics[0], 0), 26)
	}
	m.line("ports", "%d on the access switch: the nodes' own Ethernet ports and BMCs; the direct cables carry RDMA alone, so ssh works when they do not", m.Ports)
}

// ownPorts reports whether no fabric has a switch: a few nodes on direct cables.
func (d *Design) ownPorts() bool {
	for _, f := range d.Fabrics {
		if f.Shape == "switch" || f.Shape == "clos" {
			return false
		}
	}
	return true
}

func (m *Manage) line(what, format string, args ...any) {
	m.Lines = append(m.Lines, Line{what, fmt.Sprintf(format, args...)})
}
