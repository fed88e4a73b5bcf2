package sample

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// The states of a port, as sysfs writes them.
const (
	Active = "4: ACTIVE"
	Init   = "2: INIT"
	Down   = "1: DOWN"

	LinkUp   = "5: LinkUp"
	Polling  = "2: Polling"
	Disabled = "3: Disabled"
)

// RDMA is one RDMA device.
type RDMA struct {
	Name  string
	BDF   string
	Card  Card
	GUID  string // of the node
	IWARP bool   // an Intel card that came up as iWARP
	Ports []*Port

	Temp, TempCrit int // °C; 0: the card tells none
}

// Port is one port of it.
type Port struct {
	Layer      string
	State      string
	Phys       string
	Rate       string
	Netdev     string
	LID, SMLID int
	MTU        int    // InfiniBand's active MTU; 0 is 4096
	Sent       uint64 // port_xmit_data, in words of four bytes
	Errors     map[string]uint64
}

func (m *Machine) hasInfiniBand() bool {
	for _, d := range m.RDMA {
		for _, p := range d.Ports {
			if p.Layer == "InfiniBand" {
				return true
			}
		}
	}
	return false
}

const ibDir = "/sys/class/infiniband/"

func (m *Machine) writeRDMA(w writer) {
	var links []rdmaLink
	var info strings.Builder
	for i, d := range m.RDMA {
		m.writeDevice(w, d)
		fmt.Fprintf(&info, "hca_id:\t%s\n", d.Name)
		d.devinfo(&info)
		for j, p := range d.Ports {
			m.writePort(w, d, p, j+1)
			links = append(links, m.rdmaLink(i, j+1, d, p))
			m.portInfo(&info, p, j+1)
		}
		info.WriteString("\n")
	}
	if len(m.RDMA) == 0 {
		return
	}
	w.cmd("rdma -j link", jsonLine(links))
	w.cmd("ibv_devinfo", info.String())
}

func (m *Machine) writeDevice(w writer, d *RDMA) {
	dir := ibDir + d.Name
	w.line(dir+"/fw_ver", d.Card.Firmware)
	w.line(dir+"/node_guid", d.GUID)
	w.line(dir+"/sys_image_guid", d.GUID)
	w.line(dir+"/node_type", map[bool]string{true: "4: RNIC", false: "1: CA"}[d.IWARP])
	if d.Card.HCA != "" {
		w.line(dir+"/hca_type", d.Card.HCA)
		w.line(dir+"/board_id", d.Card.Board)
	}
	w.link(dir+"/device", "../../../"+d.BDF)
	w.link(dir+"/device/driver", "../../../../bus/pci/drivers/"+d.Card.Driver)
	if d.Temp > 0 {
		w.line(dir+"/device/hwmon/hwmon5/temp1_input", itoa(d.Temp*1000))
		w.line(dir+"/device/hwmon/hwmon5/temp1_crit", itoa(d.TempCrit*1000))
	}
}

func (m *Machine) writePort(w writer, d *RDMA, p *Port, num int) {
	dir := fmt.Sprintf("%s%s/ports/%d", ibDir, d.Name, num)
	w.line(dir+"/link_layer", p.Layer)
	w.line(dir+"/state", p.State)
	w.line(dir+"/phys_state", p.Phys)
	w.line(dir+"/rate", p.Rate)
	w.line(dir+"/lid", fmt.Sprintf("0x%x", p.LID))
	w.line(dir+"/sm_lid", fmt.Sprintf("0x%x", p.SMLID))
	for i, g := range m.gids(d, p, num) {
		w.line(fmt.Sprintf("%s/gids/%d", dir, i), g.addr.StringExpanded())
		w.line(fmt.Sprintf("%s/gid_attrs/types/%d", dir, i), g.kind)
		if p.Layer == "Ethernet" {
			w.line(fmt.Sprintf("%s/gid_attrs/ndevs/%d", dir, i), p.Netdev)
		}
	}
	m.writeCounters(w, dir, d, p)
	if p.Layer == "Ethernet" && m.ofedDriver(d) {
		if q := m.Netdev(p.Netdev).QoS; q != nil {
			w.line(fmt.Sprintf("%s%s/tc/%d/traffic_class", ibDir, d.Name, num), fmt.Sprintf("Global tclass=%d", q.TC))
		}
	}
}

// ofedDriver reports whether OFED's mlx5 drives the device.
func (m *Machine) ofedDriver(d *RDMA) bool {
	return m.OFED != "" && !m.InTree && d.Card.Driver == "mlx5_core"
}

type gid struct {
	addr netip.Addr
	kind string
}

// gids is the table as the kernel fills it. RoCE has the link-local address first,
// then every other one, each for both versions where the driver speaks both; iWARP
// has its MAC alone, InfiniBand its port's GUID.
func (m *Machine) gids(d *RDMA, p *Port, num int) []gid {
	const v1, v2 = "IB/RoCE v1", "RoCE v2"
	if p.Layer == "InfiniBand" {
		a, _ := netip.ParseAddr("fe80:0000:0000:0000:" + portGUID(d.Card.Driver, d.GUID, num))
		return []gid{{a, v1}}
	}
	net := m.Netdev(p.Netdev)
	if d.IWARP {
		ll := linkLocal(net.MAC).As16()
		return []gid{{netip.AddrFrom16([16]byte{ll[8] ^ 2, ll[9], ll[10], ll[13], ll[14], ll[15]}), v1}}
	}
	addrs := []netip.Addr{linkLocal(net.MAC)}
	if net.Up {
		for _, a := range prefixes(net.Addrs) {
			addrs = append(addrs, netip.AddrFrom16(a.Addr().As16()))
		}
	}
	var out []gid
	for _, a := range addrs {
		if d.Card.Driver != "ice" {
			out = append(out, gid{a, v1})
		}
		out = append(out, gid{a, v2})
	}
	return out
}

// writeCounters writes those that checks read, and a few that people look for.
func (m *Machine) writeCounters(w writer, dir string, d *RDMA, p *Port) {
	if d.Card.Driver == "ice" {
		w.line(dir+"/hw_counters/ip4InOctets", fmt.Sprint(p.Sent*4))
		w.line(dir+"/hw_counters/ip4OutOctets", fmt.Sprint(p.Sent*4))
		w.line(dir+"/hw_counters/tcpRetransSegs", "0")
		return
	}
	count := map[string]uint64{"port_xmit_data": p.Sent, "port_rcv_data": p.Sent, "port_xmit_packets": p.Sent / 1024, "port_rcv_packets": p.Sent / 1024}
	for _, name := range []string{"symbol_error", "link_downed", "link_error_recovery", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "port_rcv_errors", "port_xmit_discards"} {
		count[name] = 0
	}
	for name, v := range p.Errors {
		count[name] = v
	}
	for name, v := range count {
		w.line(dir+"/counters/"+name, fmt.Sprint(v))
	}
	if p.Layer == "Ethernet" {
		for _, name := range []string{"rnr_nak_retry_err", "local_ack_timeout_err", "roce_slow_restart", "np_cnp_sent", "rp_cnp_handled"} {
			w.line(dir+"/hw_counters/"+name, "0")
		}
	}
}

type rdmaLink struct {
	Index  int    `json:"ifindex"`
	Name   string `json:"ifname"`
	Port   int    `json:"port"`
	Prefix string `json:"subnet_prefix,omitempty"`
	LID    *int   `json:"lid,omitempty"`
	SMLID  *int   `json:"sm_lid,omitempty"`
	LMC    *int   `json:"lmc,omitempty"`
	State  string `json:"state"`
	Phys   string `json:"physical_state"`
	Netdev string `json:"netdev,omitempty"`
	NetIdx int    `json:"netdev_index,omitempty"`
}

func (m *Machine) rdmaLink(index, num int, d *RDMA, p *Port) rdmaLink {
	phys := map[string]string{LinkUp: "LINK_UP", Polling: "POLLING", Disabled: "DISABLED"}
	l := rdmaLink{Index: index, Name: d.Name, Port: num, State: p.State[3:], Phys: phys[p.Phys]}
	if p.Layer == "InfiniBand" {
		zero := 0
		l.Prefix, l.LID, l.SMLID, l.LMC = "fe80:0000:0000:0000", &p.LID, &p.SMLID, &zero
		return l
	}
	l.Netdev, l.NetIdx = p.Netdev, m.ifindex(p.Netdev)
	return l
}

func (d *RDMA) devinfo(b *strings.Builder) {
	transport, vendor := "InfiniBand (0)", "0x02c9"
	if d.IWARP {
		transport = "iWARP (1)"
	}
	if d.Card.Vendor == 0x8086 {
		vendor = "0x8086"
	}
	fmt.Fprintf(b, "\ttransport:\t\t\t%s\n\tfw_ver:\t\t\t\t%s\n\tnode_guid:\t\t\t%s\n\tsys_image_guid:\t\t\t%s\n", transport, d.Card.Firmware, d.GUID, d.GUID)
	fmt.Fprintf(b, "\tvendor_id:\t\t\t%s\n\tvendor_part_id:\t\t\t%d\n\thw_ver:\t\t\t\t0x0\n", vendor, d.Card.Device)
	if d.Card.Board != "" {
		fmt.Fprintf(b, "\tboard_id:\t\t\t%s\n", d.Card.Board)
	}
	fmt.Fprintf(b, "\tphys_port_cnt:\t\t\t%d\n", len(d.Ports))
}

func (m *Machine) portInfo(b *strings.Builder, p *Port, num int) {
	active := p.MTU
	if active == 0 {
		active = 4096
	}
	if p.Layer == "Ethernet" {
		active = roceMTU(m.Netdev(p.Netdev).MTU)
	}
	code := map[int]int{256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[active]
	fmt.Fprintf(b, "\t\tport:\t%d\n\t\t\tstate:\t\t\tPORT_%s (%s)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t%d (%d)\n", num, p.State[3:], p.State[:1], active, code)
	fmt.Fprintf(b, "\t\t\tsm_lid:\t\t\t%d\n\t\t\tport_lid:\t\t%d\n\t\t\tport_lmc:\t\t0x00\n\t\t\tlink_layer:\t\t%s\n", p.SMLID, p.LID, p.Layer)
}

// roceMTU rounds down as the kernel does (iboe_get_mtu in include/rdma/ib_addr.h):
// 100 bytes of headers, then a power of two.
func roceMTU(netdev int) int {
	size := 4096
	for size > 256 && netdev-100 < size {
		size /= 2
	}
	return size
}

func jsonLine(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only values of this package come here
	}
	return string(b) + "\n"
}
