package sample

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Netdev is one network interface.
type Netdev struct {
	Name   string
	MAC    string
	BDF    string
	Driver string
	NVM    string // firmware, as ethtool -i tells it
	Mbps   int
	Up     bool
	MTU    int
	Addrs  []string // "192.168.200.1/24"
	Modes  []string // supported link modes
	IPoIB  string   // "datagram", "connected"; "" for Ethernet
	Port   int      // dev_port: 1 for the second port of one PCI function
	QoS    *QoS     // nil: the driver has none
}

// Route is one route beside those of the interfaces' own subnets.
type Route struct{ Dst, Via, Dev string }

// ifindex counts interfaces from 2: 1 is the loopback.
func (m *Machine) ifindex(name string) int {
	for i, d := range m.Net {
		if d.Name == name {
			return i + 2
		}
	}
	return 0
}

const netDir = "/sys/class/net/"

func (m *Machine) writeNet(w writer) {
	for i, d := range m.Net {
		dir := netDir + d.Name
		w.line(dir+"/ifindex", itoa(i+2))
		w.line(dir+"/mtu", itoa(d.MTU))
		w.line(dir+"/address", m.hwaddr(d))
		w.line(dir+"/dev_port", itoa(d.Port))
		kind, state := "1", "down"
		if d.IPoIB != "" {
			kind = "32"
			w.line(dir+"/mode", d.IPoIB)
			w.line(dir+"/dev_id", fmt.Sprintf("0x%x", d.Port))
		}
		if d.Up {
			state = "up"
			w.line(dir+"/speed", itoa(d.Mbps))
		}
		w.line(dir+"/type", kind)
		w.line(dir+"/operstate", state)
		w.line(dir+"/carrier", map[bool]string{true: "1", false: "0"}[d.Up])
		w.line(dir+"/carrier_down_count", "1")
		if d.BDF != "" {
			w.link(dir+"/device", "../../../"+d.BDF)
			w.cmd("ethtool -i "+d.Name, fmt.Sprintf("driver: %s\nversion: %s\nfirmware-version: %s\nexpansion-rom-version: \nbus-info: %s\nsupports-statistics: yes\n", d.Driver, m.Kernel, d.NVM, d.BDF))
			w.cmd("ethtool "+d.Name, d.settings())
		}
	}
	m.writeAddrs(w)
	m.writeRoutes(w)
}

// hwaddr is the interface's address: IPoIB has twenty bytes.
func (m *Machine) hwaddr(d *Netdev) string {
	if d.IPoIB == "" {
		return d.MAC
	}
	return ibMAC(portGUID(d.Driver, guidOf(d.MAC), d.Port+1))
}

func (d *Netdev) settings() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Settings for %s:\n", d.Name)
	if d.Modes == nil {
		b.WriteString("\tSupported ports: [  ]\n\tSupported link modes:   Not reported\n")
	} else {
		b.WriteString("\tSupported ports: [ Backplane ]\n\tSupported link modes:   " + strings.Join(d.Modes, "\n\t                        ") + "\n")
		b.WriteString("\tSupports auto-negotiation: Yes\n\tSupported FEC modes: None\t RS\t BASER\n")
	}
	speed, linked := "Unknown!", "no"
	if d.Up {
		speed, linked = itoa(d.Mbps)+"Mb/s", "yes"
	}
	fmt.Fprintf(&b, "\tSpeed: %s\n\tDuplex: Full\n\tAuto-negotiation: on\n\tPort: Direct Attach Copper\n\tLink detected: %s\n", speed, linked)
	return b.String()
}

type ipLink struct {
	Index int      `json:"ifindex"`
	Name  string   `json:"ifname"`
	Flags []string `json:"flags"`
	MTU   int      `json:"mtu"`
	Qdisc string   `json:"qdisc"`
	State string   `json:"operstate"`
	Group string   `json:"group"`
	QLen  int      `json:"txqlen"`
	Type  string   `json:"link_type"`
	MAC   string   `json:"address"`
	Bus   string   `json:"parentbus,omitempty"`
	Dev   string   `json:"parentdev,omitempty"`
	Addrs []ipAddr `json:"addr_info"`
}

type ipAddr struct {
	Family string `json:"family"`
	Local  string `json:"local"`
	Bits   int    `json:"prefixlen"`
	Brd    string `json:"broadcast,omitempty"`
	Scope  string `json:"scope"`
	Label  string `json:"label,omitempty"`
	Valid  uint32 `json:"valid_life_time"`
	Prefer uint32 `json:"preferred_life_time"`
}

// ever is a lifetime that does not end.
const ever = 1<<32 - 1

func (m *Machine) writeAddrs(w writer) {
	links := []ipLink{{Index: 1, Name: "lo", Flags: []string{"LOOPBACK", "UP", "LOWER_UP"}, MTU: 65536, Qdisc: "noqueue", State: "UNKNOWN", Group: "default", QLen: 1000,
		Type: "loopback", MAC: "00:00:00:00:00:00", Addrs: []ipAddr{{"inet", "127.0.0.1", 8, "", "host", "lo", ever, ever}}}}
	for i, d := range m.Net {
		l := ipLink{Index: i + 2, Name: d.Name, Flags: []string{"NO-CARRIER", "BROADCAST", "MULTICAST", "UP"}, MTU: d.MTU, Qdisc: "mq", State: "DOWN", Group: "default", QLen: 1000,
			Type: "ether", MAC: m.hwaddr(d), Dev: d.BDF, Addrs: []ipAddr{}}
		if d.BDF != "" {
			l.Bus = "pci"
		}
		if d.IPoIB != "" {
			l.Type = "infiniband"
		}
		if d.Up {
			l.Flags, l.State = []string{"BROADCAST", "MULTICAST", "UP", "LOWER_UP"}, "UP"
		}
		for _, p := range prefixes(d.Addrs) {
			l.Addrs = append(l.Addrs, ipAddr{"inet", p.Addr().String(), p.Bits(), broadcast(p).String(), "global", d.Name, ever, ever})
		}
		if d.Up && d.IPoIB == "" {
			l.Addrs = append(l.Addrs, ipAddr{"inet6", linkLocal(d.MAC).String(), 64, "", "link", "", ever, ever})
		}
		links = append(links, l)
	}
	w.cmd("ip -j -d addr", jsonLine(links))
	m.writeQdiscs(w)
}

type tcQdisc struct {
	Kind    string         `json:"kind"`
	Handle  string         `json:"handle"`
	Dev     string         `json:"dev"`
	Root    bool           `json:"root,omitempty"`
	Parent  string         `json:"parent,omitempty"`
	RefCnt  int            `json:"refcnt,omitempty"`
	Options map[string]int `json:"options"`
}

// writeQdiscs gives every interface mq and one fair queue, as the kernel does for a
// card with one transmit queue.
func (m *Machine) writeQdiscs(w writer) {
	all := []tcQdisc{{Kind: "noqueue", Handle: "0:", Dev: "lo", Root: true, RefCnt: 2, Options: map[string]int{}}}
	for _, d := range m.Net {
		all = append(all,
			tcQdisc{Kind: "mq", Handle: "0:", Dev: d.Name, Root: true, Options: map[string]int{}},
			tcQdisc{Kind: "fq_codel", Handle: "0:", Dev: d.Name, Parent: ":1", Options: map[string]int{"limit": 10240, "flows": 1024, "quantum": 1514, "target": 4999, "interval": 99999}})
	}
	w.cmd("tc -j qdisc show", jsonLine(all))
}

type ipRoute struct {
	Dst     string   `json:"dst"`
	Gateway string   `json:"gateway,omitempty"`
	Dev     string   `json:"dev"`
	Proto   string   `json:"protocol"`
	Scope   string   `json:"scope,omitempty"`
	Src     string   `json:"prefsrc,omitempty"`
	Flags   []string `json:"flags"`
}

func (m *Machine) writeRoutes(w writer) {
	var routes []ipRoute
	for _, r := range m.Routes {
		routes = append(routes, ipRoute{Dst: r.Dst, Gateway: r.Via, Dev: r.Dev, Proto: "static", Flags: []string{}})
	}
	for _, d := range m.Net {
		for _, p := range prefixes(d.Addrs) {
			if d.Up {
				routes = append(routes, ipRoute{Dst: p.Masked().String(), Dev: d.Name, Proto: "kernel", Scope: "link", Src: p.Addr().String(), Flags: []string{}})
			}
		}
	}
	slices.SortStableFunc(routes, func(a, b ipRoute) int { return firstOf(a.Dst).Compare(firstOf(b.Dst)) }) // as the kernel keeps them
	w.cmd("ip -j route", jsonLine(routes))
}

// firstOf is the first address that a route leads to.
func firstOf(dst string) netip.Addr {
	if dst == "default" {
		return netip.IPv4Unspecified()
	}
	return prefixes([]string{dst})[0].Addr()
}
