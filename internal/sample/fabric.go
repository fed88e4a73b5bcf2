package sample

import (
	"fmt"
	"strings"
)

// Fabric is an InfiniBand fabric of one switch, or of one cable when Switch is "".
type Fabric struct {
	Switch string // its description
	GUID   string // its GUID: "0002:c902:0048:a1b8"
	Ports  int    // how many it has
	LID    int
	Hosts  []Host
	SMs    []SM
}

// Host is a machine's port in the fabric. Its place in the list is the port of the
// switch, from 1.
type Host struct {
	Machine *Machine
	Device  string
	Link    string // "4xQDR"
}

// SM is a subnet manager.
type SM struct {
	Host     int // which host it runs on, from 0
	State    int // 3 MASTER, 2 STANDBY: IB_SMINFO_STATE_… in opensm's iba/ib_types.h
	Priority int
}

func (h Host) rdma() *RDMA { return h.Machine.Device(h.Device) }

// guid is that of the card's first port.
func (h Host) guid() string { return portGUID(h.rdma().Card.Driver, h.rdma().GUID, 1) }

// node is the description the kernel gives a card: host name and device.
func (h Host) node() string { return h.Machine.Name + " " + h.Device }

func (f *Fabric) write(w writer) {
	w.cmd("ibnetdiscover", f.netdiscover())
	w.cmd("iblinkinfo -l", f.linkinfo())
	nodes := len(f.Hosts)
	if f.Switch != "" {
		nodes++
	}
	w.cmd("ibqueryerrors", fmt.Sprintf("\n## Summary: %d nodes checked, 0 bad nodes found\n##          %d ports checked, 0 ports have errors beyond threshold\n## Thresholds: \n## Suppressed:\n", nodes, f.Ports+len(f.Hosts)))
	var info, records strings.Builder
	for _, sm := range f.SMs {
		h := f.Hosts[sm.Host]
		lid, guid := h.rdma().Ports[0].LID, hexGUID(h.guid())
		fmt.Fprintf(&records, "SMInfoRecord dump:\n\t\tRID\n\t\tLID...................%d\n\t\tSMInfo dump:\n\t\tGUID..................%s\n\t\tSM_Key................0x0000000000000000\n\t\tActCount..............8812\n\t\tPriority..............%d\n\t\tSMState...............%d\n", lid, guid, sm.Priority, sm.State)
		if info.Len() == 0 {
			fmt.Fprintf(&info, "sminfo: sm lid %d sm guid %s, activity count 8812 priority %d state %d SMINFO_MASTER\n", lid, guid, sm.Priority, sm.State)
		}
	}
	if len(f.SMs) == 0 {
		info.WriteString("sminfo: iberror: failed: query\n")
	}
	w.cmd("sminfo", info.String())
	w.cmd("saquery SMIR", records.String())
}

// netdiscover writes the fabric as ibnetdiscover does: the switch and what is on
// its ports, then every card and what it is wired to.
func (f *Fabric) netdiscover() string {
	var b strings.Builder
	first := f.Hosts[0].rdma()
	fmt.Fprintf(&b, "#\n# Topology file: generated on %s\n#\n# Initiated from node %s port %s\n", Now.Format("Mon Jan  2 15:04:05 2006"), hexGUID(first.GUID)[2:], hexGUID(f.Hosts[0].guid())[2:])
	sw := hexGUID(f.GUID)
	if f.Switch != "" {
		fmt.Fprintf(&b, "\nvendid=0x2c9\ndevid=0xbd36\nsysimgguid=%s\nswitchguid=%s(%s)\nSwitch\t%d \"S-%s\"\t\t# \"%s\" base port 0 lid %d lmc 0\n", sw, sw, sw[2:], f.Ports, sw[2:], f.Switch, f.LID)
		for i, h := range f.Hosts {
			d := h.rdma()
			fmt.Fprintf(&b, "[%d]\t\"H-%s\"[1](%s) \t\t# \"%s\" lid %d %s\n", i+1, hexGUID(d.GUID)[2:], hexGUID(h.guid())[2:], h.node(), d.Ports[0].LID, h.Link)
		}
	}
	for i, h := range f.Hosts {
		d := h.rdma()
		g := hexGUID(d.GUID)
		fmt.Fprintf(&b, "\nvendid=0x2c9\ndevid=0x%x\nsysimgguid=%s\ncaguid=%s\nCa\t%d \"H-%s\"\t\t# \"%s\"\n", d.Card.Device, g, g, len(d.Ports), g[2:], h.node())
		there, port, name, lid := "S-"+sw[2:], i+1, f.Switch, f.LID
		if f.Switch == "" {
			other := f.Hosts[(i+1)%len(f.Hosts)]
			there, port, name, lid = "H-"+hexGUID(other.rdma().GUID)[2:], 1, other.node(), other.rdma().Ports[0].LID
		}
		fmt.Fprintf(&b, "[1](%s) \t\"%s\"[%d]\t\t# lid %d lmc 0 \"%s\" lid %d %s\n", hexGUID(h.guid())[2:], there, port, d.Ports[0].LID, name, lid, h.Link)
	}
	return b.String()
}

// linkinfo writes the lines of iblinkinfo -l, from the hosts' side and, where there
// is one, from the switch's.
func (f *Fabric) linkinfo() string {
	var b strings.Builder
	line := func(guid, name string, lid, port int, h Host, toGUID, toName string, toLID, toPort int) {
		width, speed, _ := strings.Cut(h.Link, "x")
		gbps := map[string]string{"QDR": "10.0 Gbps", "FDR": "14.0625 Gbps", "EDR": "25.78125 Gbps", "HDR": "53.125 Gbps"}[speed]
		state := strings.ToUpper(h.rdma().Ports[0].State[3:4]) + strings.ToLower(h.rdma().Ports[0].State[4:])
		fmt.Fprintf(&b, "0x%s %q %6d %4d[  ] ==( %sX %20s %s/  LinkUp)==>  0x%s %6d %4d[  ] %q ( )\n", hexGUID(guid)[2:], fmt.Sprintf("%30s", name), lid, port, width, gbps, state, hexGUID(toGUID)[2:], toLID, toPort, toName)
	}
	for i, h := range f.Hosts {
		d := h.rdma()
		here, lid := h.guid(), d.Ports[0].LID
		if f.Switch == "" {
			other := f.Hosts[(i+1)%len(f.Hosts)]
			line(here, h.node(), lid, 1, h, other.guid(), other.node(), other.rdma().Ports[0].LID, 1)
			continue
		}
		line(here, h.node(), lid, 1, h, f.GUID, f.Switch, f.LID, i+1)
		line(f.GUID, f.Switch, f.LID, i+1, h, here, h.node(), lid, 1)
	}
	return b.String()
}
