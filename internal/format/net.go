package format

import (
	"path"
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/ethtool"
	"weft/internal/format/iproute"
	"weft/internal/unit"
)

const netDir = "/sys/class/net"

// rdmaNetdevs matches the netdevs of RDMA devices.
const rdmaNetdevs = ibDir + "/*/device/net/*"

var netReader = Reader{
	Name: "net",
	Why:  "network interfaces, addresses, routes and neighbours",
	Files: []File{
		{Dir: netDir + "/*", Names: []string{"ifindex", "mtu", "operstate", "type", "address"}},
		// A link that is down has no carrier and no speed: "invalid argument".
		{Dir: netDir + "/*", Names: []string{"carrier", "speed", "mode", "dev_port", "dev_id", "carrier_down_count"}, Quiet: true},
		{Dir: netDir + "/*", Names: []string{"device", "master"}, Link: true},
		{Dir: netDir, Names: []string{"*"}, Link: true}, // where a virtio NIC, whose device is on no PCI bus, hangs
	},
	Cmds: []Cmd{
		{Run: "ip -j -d addr"},
		{Run: "ip -j route"},
		{Run: "ip -j -6 route", Quiet: true},
		{Run: "ip -j neigh", Quiet: true},
		{Run: "tc -j qdisc show"},
		{Run: "ethtool -i {}", For: rdmaNetdevs, Quiet: true},
		{Run: "ethtool {}", For: rdmaNetdevs, Quiet: true},
	},
	Read: readNet,
}

// arphrd names the hardware types of include/uapi/linux/if_arp.h that matter.
var arphrd = map[int]string{1: "ether", 32: "infiniband", 772: "loopback"}

func readNet(d *dump.Node, n *fact.Node) {
	for _, name := range d.Dir(netDir) {
		dir := netDir + "/" + name
		dev := &fact.Netdev{
			Name:  name,
			Index: number(d, dir+"/ifindex").Or(0),
			MAC:   word(d, dir+"/address"),
			Type:  arphrd[number(d, dir+"/type").Or(0)],
			Oper:  word(d, dir+"/operstate"),
			MTU:   number(d, dir+"/mtu"),
			Mode:  word(d, dir+"/mode"),
			Flaps: number(d, dir+"/carrier_down_count"),
		}
		if dev.Type == "loopback" || dev.Index == 0 && dev.MAC == "" {
			continue
		}
		if bdf := target(d, dir+"/device"); isBDF(bdf) {
			dev.BDF = bdf
			if p := n.At(bdf); p != nil {
				dev.Driver = p.Driver
			}
		} else {
			dev.BDF = virtioBDF(d.Link[dir])
		}
		dev.Master = target(d, dir+"/master")
		if c, ok := number(d, dir+"/carrier").Get(); ok {
			dev.Carrier = fact.Some(c == 1)
		}
		if s, ok := number(d, dir+"/speed").Get(); ok && s > 0 {
			dev.Speed = fact.Some(unit.Rate(s) * unit.Mbps)
		}
		n.Netdevs = append(n.Netdevs, dev)
	}
	readAddrs(d, n)
	readQdiscs(d, n)
	for _, dev := range n.Netdevs {
		readEthtool(d, dev)
	}
	bindNetdevs(d, n)
	readRoutes(d, n)
}

// virtioBDF returns the PCI function of a virtio NIC from where its netdev hangs:
// "../../devices/pci0000:00/0000:00:04.0/virtio2/net/enp0s4"; "" for any other.
func virtioBDF(link string) string {
	before, _, ok := strings.Cut(link, "/virtio")
	if bdf := path.Base(before); ok && isBDF(bdf) {
		return bdf
	}
	return ""
}

// readAddrs adds addresses and kinds, and the interfaces themselves when there is
// no sysfs.
func readAddrs(d *dump.Node, n *fact.Node) {
	links := map[string][]iproute.Link{}
	for _, cmd := range append(d.Cmds("ip"), d.Cmds("ifconfig")...) {
		parse := iproute.ParseLinks
		switch {
		case cmd == "ifconfig" || cmd == "ifconfig -a":
			parse = iproute.ParseIfconfig
		case !strings.Contains(cmd, " a") && !strings.Contains(cmd, " link") || strings.HasPrefix(cmd, "ip -j route"):
			continue
		}
		text, _ := d.Cmd(cmd)
		some, _ := parse([]byte(text))
		for _, l := range some {
			links[l.Name] = append(links[l.Name], l)
		}
	}
	for name, told := range links {
		if name == "lo" {
			continue
		}
		dev := n.Netdev(name)
		if dev == nil {
			if len(d.Dir(netDir)) > 0 {
				continue
			}
			dev = &fact.Netdev{Name: name}
			n.Netdevs = append(n.Netdevs, dev)
		}
		for _, l := range told {
			fill(&dev.Kind, l.Kind)
			fill(&dev.Type, l.Type)
			fill(&dev.MAC, l.MAC)
			fill(&dev.Oper, strings.ToLower(l.State))
			dev.Off = dev.Off || len(l.Flags) > 0 && !l.Has("UP")
			fill(&dev.Mode, l.IPoIBMode)
			fill(&dev.Master, l.Master)
			if l.Qdisc != "" && len(dev.Qdiscs) == 0 {
				dev.Qdiscs = []fact.Qdisc{{Kind: l.Qdisc}}
			}
			if l.MTU != nil {
				fillVal(&dev.MTU, *l.MTU)
			}
			if len(dev.Addrs) > 0 {
				continue
			}
			for _, a := range l.Addrs {
				bits := a.IP.BitLen()
				if a.PrefixLen != nil {
					bits = *a.PrefixLen
				}
				dev.Addrs = append(dev.Addrs, a.IP.String()+"/"+strconv.Itoa(bits))
				dev.Again = append(dev.Again, a.Again)
			}
		}
	}
	sortNetdevs(n)
}

func readEthtool(d *dump.Node, dev *fact.Netdev) {
	if text, ok := d.Cmd("ethtool -i " + dev.Name); ok {
		if i, err := ethtool.ParseDriver([]byte(text)); err == nil {
			fill(&dev.Driver, i.Driver)
			dev.Firmware = i.Firmware
			if isBDF(i.BusInfo) {
				fill(&dev.BDF, i.BusInfo)
			}
		}
	}
	if text, ok := d.Cmd("ethtool " + dev.Name); ok {
		s, _ := ethtool.ParseSettings([]byte(text))
		if most := s.MaxSupportedMbps(); most != nil {
			dev.MaxSpeed = fact.Some(unit.Rate(*most) * unit.Mbps)
		}
		if s.SpeedMbps != nil && !dev.Speed.Known() {
			dev.Speed = fact.Some(unit.Rate(*s.SpeedMbps) * unit.Mbps)
		}
	}
}

// bindNetdevs finds the netdev of a port that no GID and no tool named: the one on
// the same PCI function with the same port number. mlx4 and IPoIB count ports in
// dev_port or, in older kernels, in dev_id, from zero.
func bindNetdevs(d *dump.Node, n *fact.Node) {
	for _, p := range n.Ports {
		if p.Netdev != "" || p.BDF == "" {
			continue
		}
		for _, dev := range n.Netdevs {
			if dev.BDF != p.BDF || dev.Kind == "vlan" || (dev.Type == "infiniband") != p.IB() {
				continue
			}
			port := number(d, netDir+"/"+dev.Name+"/dev_port").Or(0)
			if port == 0 {
				id, _ := strconv.ParseInt(word(d, netDir+"/"+dev.Name+"/dev_id"), 0, 32)
				port = int(id)
			}
			if port == p.Num-1 {
				p.Netdev = dev.Name
				break
			}
		}
	}
}

func readRoutes(d *dump.Node, n *fact.Node) {
	for _, cmd := range []string{"ip -j route", "ip -j -6 route", "ip route"} {
		text, ok := d.Cmd(cmd)
		if !ok {
			continue
		}
		n.Settings.RoutesRead = true
		routes, _ := iproute.ParseRoutes([]byte(text))
		for _, r := range routes {
			out := fact.Route{Dev: r.Dev, Dst: "default", Again: r.Again}
			if !r.Default {
				out.Dst = r.Dst.String()
			}
			if r.Via.IsValid() {
				out.Via = r.Via.String()
			}
			if r.PrefSrc.IsValid() {
				out.Src = r.PrefSrc.String()
			}
			if r.Metric != nil {
				out.Metric = *r.Metric
			}
			n.Settings.Routes = append(n.Settings.Routes, out)
		}
	}
	for _, cmd := range []string{"ip -j neigh", "ip neigh"} {
		text, _ := d.Cmd(cmd)
		neighbours, _ := iproute.ParseNeigh([]byte(text))
		for _, x := range neighbours {
			if x.Resolved() {
				n.Settings.Neighbours = append(n.Settings.Neighbours, fact.Neighbour{
					Addr: x.IP.String(), Dev: x.Dev, MAC: x.MAC, State: strings.Join(x.States, " ")})
			}
		}
	}
}
