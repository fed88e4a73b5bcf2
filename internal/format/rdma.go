package format

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/ibdev"
	"weft/internal/format/iproute"
	"weft/internal/unit"
)

const ibDir = "/sys/class/infiniband"

// unsetClasses lists the files of traffic classes that hold nothing: a dump leaves such
// files out, and they say that the driver sets none (traffic_class_show in OFED's mlx5_ib).
const unsetClasses = "traffic classes that are not set"

const zeroGID = "0000:0000:0000:0000:0000:0000:0000:0000"

var rdmaReader = Reader{
	Name: "rdma",
	Why:  "RDMA devices and ports: state, rate, LIDs, GIDs, counters, firmware, temperature",
	Files: []File{
		{Dir: ibDir + "/*", Names: []string{"fw_ver", "hca_type", "board_id", "node_guid", "sys_image_guid", "node_type", "parent", "tc/*/traffic_class"}, Quiet: true},
		{Dir: ibDir + "/*", Names: []string{"ports/*/state", "ports/*/phys_state", "ports/*/rate", "ports/*/link_layer", "ports/*/lid", "ports/*/sm_lid"}},
		{Dir: ibDir + "/*/ports/*", Names: []string{"gids/*"}, Drop: zeroGID, Quiet: true},
		// Entries without a GID answer "invalid argument".
		{Dir: ibDir + "/*/ports/*/gid_attrs", Names: []string{"types/*", "ndevs/*"}, Quiet: true},
		// Functions that firmware restricts refuse their counters.
		{Dir: ibDir + "/*/ports/*", Names: []string{"counters/*", "hw_counters/*"}, Quiet: true},
		{Dir: ibDir + "/*", Names: []string{"hw_counters/*"}, Quiet: true},
		{Dir: ibDir + "/*/device/hwmon/hwmon*", Names: []string{"temp1_input", "temp1_crit"}, Quiet: true},
		{Dir: "/sys/kernel/config/rdma_cm/*/ports/*", Names: []string{"default_roce_mode"}, Quiet: true},
		{Dir: ibDir + "/*", Names: []string{"device", "device/driver"}, Link: true},
	},
	Cmds: append([]Cmd{
		{Run: "rdma -j link", For: ibDir, Quiet: true},
		{Run: "ibv_devinfo", For: ibDir, Quiet: true}, // the packet size in force is in no file
		{Run: unsetClasses, For: ibDir, Sh: `for f in ` + ibDir + `/*/tc/*/traffic_class; do [ -r "$f" ] && [ -z "$(cat "$f")" ] && echo "$f"; done; true`, Quiet: true},
	}, umadCmds...),
	Read: readRDMA,
}

func readRDMA(d *dump.Node, n *fact.Node) {
	for _, dev := range d.Dir(ibDir) {
		dir := ibDir + "/" + dev
		for _, num := range d.Dir(dir + "/ports") {
			i, err := strconv.Atoi(num)
			if err != nil || i < 1 {
				continue
			}
			n.Ports = append(n.Ports, readPort(d, dev, i))
		}
	}
	readDevinfo(d, n)
	readIbstat(d, n)
	readUmad(d, n)
	readRDMALink(d, n)
	readShowGIDs(d, n)
	slices.SortFunc(n.Ports, func(a, b *fact.Port) int { return strings.Compare(a.Name, b.Name) })
}

// readPort reads one port from sysfs.
func readPort(d *dump.Node, dev string, num int) *fact.Port {
	dir := ibDir + "/" + dev
	port := dir + "/ports/" + strconv.Itoa(num)
	p := newPort(dev, num)
	if bdf := target(d, dir+"/device"); isBDF(bdf) {
		p.BDF = bdf
	}
	p.NodeType = word(d, dir+"/node_type")
	p.Driver = rdmaDriver(d, dir, p)
	p.Layer = word(d, port+"/link_layer")
	p.State = afterColon(word(d, port+"/state"))
	p.Phys = afterColon(word(d, port+"/phys_state"))
	p.Rate, p.Width, p.Speed = rate(word(d, port+"/rate"))
	p.LID, p.SMLID = lid(word(d, port+"/lid")), lid(word(d, port+"/sm_lid"))
	p.NodeGUID, p.SysGUID = word(d, dir+"/node_guid"), word(d, dir+"/sys_image_guid")
	p.Firmware, p.Board, p.HCAType = word(d, dir+"/fw_ver"), word(d, dir+"/board_id"), word(d, dir+"/hca_type")
	for _, k := range d.Dir(dir + "/tc") {
		if text := word(d, dir+"/tc/"+k+"/traffic_class"); k == strconv.Itoa(num) && text != "" {
			p.TrafficClass = trafficClass(text)
		}
	}
	if unset, _ := d.Cmd(unsetClasses); !p.TrafficClass.Known() && strings.Contains("\n"+unset, "\n"+dir+"/tc/"+strconv.Itoa(num)+"/traffic_class\n") {
		p.TrafficClass = fact.Some(-1)
	}
	p.CMARoCE = word(d, "/sys/kernel/config/rdma_cm/"+dev+"/ports/"+strconv.Itoa(num)+"/default_roce_mode")
	for _, hw := range d.Dir(dir + "/device/hwmon") {
		p.Temp = milli(d, dir+"/device/hwmon/"+hw+"/temp1_input")
		p.TempMax = milli(d, dir+"/device/hwmon/"+hw+"/temp1_crit")
	}
	readGIDs(d, port, p)
	for _, folder := range []string{"/counters", "/hw_counters"} {
		for _, c := range d.Dir(port + folder) {
			if v, err := strconv.ParseUint(word(d, port+folder+"/"+c), 10, 64); err == nil && c != "lifespan" {
				if p.Counters == nil {
					p.Counters = map[string]uint64{}
				}
				p.Counters[c] = v
			}
		}
	}
	return p
}

func newPort(dev string, num int) *fact.Port {
	return &fact.Port{Name: dev + "/" + strconv.Itoa(num), Device: dev, Num: num}
}

// rdmaDriver names the RDMA driver. Software devices hang on no bus: rxe has a
// parent netdev, siw is an RNIC.
func rdmaDriver(d *dump.Node, dir string, p *fact.Port) string {
	if p.BDF == "" {
		switch {
		case word(d, dir+"/parent") != "":
			return "rxe"
		case strings.Contains(p.NodeType, "RNIC"):
			return "siw"
		}
		return ""
	}
	switch pci := target(d, dir+"/device/driver"); pci {
	case "ice", "i40e", "idpf":
		return "irdma"
	case "bnxt_en":
		return "bnxt_re"
	default:
		return strings.TrimSuffix(pci, "_core")
	}
}

func readGIDs(d *dump.Node, port string, p *fact.Port) {
	// Every port has at least its own GID 0, so a table with no file was not read.
	for _, index := range d.Dir(port + "/gids") {
		i, err := strconv.Atoi(index)
		gid := word(d, port+"/gids/"+index)
		if err != nil || gid == "" || gid == zeroGID {
			continue
		}
		p.GIDs = append(p.GIDs, fact.GID{
			Index:  i,
			GID:    gid,
			Type:   word(d, port+"/gid_attrs/types/"+index),
			Netdev: word(d, port+"/gid_attrs/ndevs/"+index),
		})
	}
	p.GIDsRead = len(p.GIDs) > 0 || p.State == "DOWN" && len(d.Dir(port)) > 0
	slices.SortFunc(p.GIDs, func(a, b fact.GID) int { return a.Index - b.Index })
	for _, g := range p.GIDs {
		if g.Netdev != "" && p.Netdev == "" {
			p.Netdev = g.Netdev
		}
	}
	if parent := word(d, ibDir+"/"+p.Device+"/parent"); parent != "" && p.Netdev == "" {
		p.Netdev = parent
	}
}

// afterColon reads "4: ACTIVE".
func afterColon(s string) string {
	if _, after, ok := strings.Cut(s, ": "); ok {
		return after
	}
	return s
}

// rate reads "100 Gb/sec (4X EDR)". Soft devices say 2.5 (1X SDR) when their
// netdev has no speed.
func rate(s string) (r fact.Val[unit.Rate], width, speed string) {
	v, err := unit.ParseRate(s)
	if err != nil {
		return r, "", ""
	}
	if _, paren, ok := strings.Cut(s, "("); ok {
		width, speed, _ = strings.Cut(strings.TrimSuffix(paren, ")"), " ")
	}
	return fact.Some(v), width, speed
}

// lid reads "0x3db".
func lid(s string) fact.Val[int] {
	v, err := strconv.ParseInt(s, 0, 32)
	if err != nil {
		return fact.Val[int]{}
	}
	return fact.Some(int(v))
}

// trafficClass reads "Global tclass=106", or a number alone. Rules for some addresses
// may stand below: where they stand alone, the others get none.
func trafficClass(text string) fact.Val[int] {
	first, _, _ := strings.Cut(text, "\n")
	global, ok := strings.CutPrefix(strings.TrimSpace(first), "Global tclass=")
	if !ok && strings.HasPrefix(first, "tclass=") {
		return fact.Some(-1)
	}
	v, err := strconv.Atoi(global)
	if err != nil {
		return fact.Val[int]{}
	}
	return fact.Some(v)
}

// readDevinfo adds what only ibv_devinfo tells, and the ports themselves when
// there is no sysfs.
func readDevinfo(d *dump.Node, n *fact.Node) {
	for _, cmd := range d.Cmds("ibv_devinfo") {
		text, _ := d.Cmd(cmd)
		devices, _ := ibdev.ParseDevinfo([]byte(text))
		fillPorts(n, devices)
	}
}

func readIbstat(d *dump.Node, n *fact.Node) {
	for _, cmd := range d.Cmds("ibstat") {
		text, _ := d.Cmd(cmd)
		parse := ibdev.ParseIbstat
		if cmd == "ibstatus" {
			parse = ibdev.ParseIbstatus
		}
		devices, _ := parse([]byte(text))
		fillPorts(n, devices)
	}
}

// fillPorts fills what is still unknown from a tool's view of the devices.
func fillPorts(n *fact.Node, devices []ibdev.Device) {
	for _, dev := range devices {
		for _, q := range dev.Ports {
			p := n.Port(dev.Name + "/" + strconv.Itoa(q.Number))
			if p == nil {
				p = newPort(dev.Name, q.Number)
				n.Ports = append(n.Ports, p)
			}
			fill(&p.Layer, q.LinkLayer)
			fill(&p.State, q.State)
			fill(&p.Phys, q.PhysState)
			fill(&p.Firmware, dev.Firmware)
			fill(&p.Board, dev.BoardID)
			fill(&p.HCAType, dev.CAType)
			fill(&p.NodeGUID, dev.NodeGUID)
			fill(&p.Speed, q.Speed)
			if q.WidthLanes > 0 {
				fill(&p.Width, strconv.Itoa(q.WidthLanes)+"X")
			}
			if dev.Transport == "iWARP" {
				fill(&p.NodeType, "4: RNIC")
			}
			fillVal(&p.ActiveMTU, q.ActiveMTUBytes)
			fillVal(&p.MaxMTU, q.MaxMTUBytes)
			if r, err := unit.ParseRate(q.RateGbps + " Gb/s"); err == nil && !p.Rate.Known() {
				p.Rate = fact.Some(r)
			}
			if q.BaseLID != nil && !p.LID.Known() {
				p.LID = fact.Some(*q.BaseLID)
			}
			if q.SMLID != nil && !p.SMLID.Known() {
				p.SMLID = fact.Some(*q.SMLID)
			}
		}
	}
}

func fill(into *string, s string) {
	if *into == "" {
		*into = s
	}
}

func fillVal(into *fact.Val[int], v int) {
	if !into.Known() && v > 0 {
		*into = fact.Some(v)
	}
}

// readRDMALink adds the netdev of each port, and the ports themselves when no
// file and no other tool told them.
func readRDMALink(d *dump.Node, n *fact.Node) {
	for _, cmd := range d.Cmds("rdma") {
		if !strings.Contains(cmd, "link") {
			continue
		}
		text, _ := d.Cmd(cmd)
		links, _ := iproute.ParseRDMALink([]byte(text))
		for _, l := range links {
			p := n.Port(l.Device + "/" + strconv.Itoa(l.Port))
			if p == nil && l.Port > 0 && len(d.Dir(ibDir)) == 0 {
				p = newPort(l.Device, l.Port)
				n.Ports = append(n.Ports, p)
			}
			if p == nil {
				continue
			}
			fill(&p.Netdev, l.Netdev)
			fill(&p.State, l.State)
			fill(&p.Phys, physWord(l.PhysicalState))
			if l.Netdev != "" {
				fill(&p.Layer, "Ethernet")
			} else if l.LID != nil {
				fill(&p.Layer, "InfiniBand")
			}
			if l.LID != nil && !p.LID.Known() {
				p.LID = fact.Some(*l.LID)
			}
			if l.SMLID != nil && !p.SMLID.Known() {
				p.SMLID = fact.Some(*l.SMLID)
			}
		}
	}
	if text, ok := d.Cmd("ibdev2netdev"); ok {
		nets, _ := ibdev.ParseIbdev2netdev([]byte(text))
		for _, v := range nets {
			p := n.Port(v.Device + "/" + strconv.Itoa(v.Port))
			if p == nil && len(d.Dir(ibDir)) == 0 {
				p = newPort(v.Device, v.Port)
				n.Ports = append(n.Ports, p)
			}
			if p == nil {
				continue
			}
			fill(&p.Netdev, v.Netdev)
			if v.Up != nil && p.State == "" {
				p.State = map[bool]string{true: "ACTIVE", false: "DOWN"}[*v.Up]
			}
		}
	}
}

// physWord turns iproute2's LINK_UP into the kernel's LinkUp.
func physWord(s string) string {
	words := map[string]string{"LINK_UP": "LinkUp", "POLLING": "Polling", "DISABLED": "Disabled", "SLEEP": "Sleep",
		"LINK_ERROR_RECOVER": "LinkErrorRecovery", "PORT_CONFIGURATION_TRAINING": "PortConfigurationTraining"}
	return words[s]
}

// readShowGIDs reads the GID tables of people who only have show_gids.
func readShowGIDs(d *dump.Node, n *fact.Node) {
	text, ok := d.Cmd("show_gids")
	if !ok {
		return
	}
	gids, _ := ibdev.ParseShowGIDs([]byte(text))
	for _, g := range gids {
		p := n.Port(g.Device + "/" + strconv.Itoa(g.Port))
		if p == nil {
			p = newPort(g.Device, g.Port)
			n.Ports = append(n.Ports, p)
		}
		if slices.ContainsFunc(p.GIDs, func(x fact.GID) bool { return x.Index == g.Index }) {
			continue
		}
		p.GIDsRead = true
		kind := map[string]string{"RoCE v1": "IB/RoCE v1"}[g.Type]
		if kind == "" {
			kind = g.Type
		}
		fill(&p.Netdev, g.Netdev)
		p.GIDs = append(p.GIDs, fact.GID{Index: g.Index, GID: longGID(g.Addr), Type: kind, Netdev: g.Netdev})
	}
}
