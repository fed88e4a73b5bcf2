package format

import (
	"slices"
	"strconv"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/ibdev"
	"weft/internal/format/ibnet"
	"weft/internal/unit"
)

// noSysfs runs a tool where the kernel has no RDMA device and the tools may still
// have one: those of ibsim are in libibumad's view alone.
const noSysfs = "[ -e " + ibDir + " ] || "

// umadCmds tell of such a port what sysfs tells of others: the port, its counters,
// and its width, speed and packet size.
var umadCmds = []Cmd{
	{Run: "ibstat", Sh: noSysfs + "ibstat", Quiet: true},
	{Run: "perfquery", Sh: noSysfs + "perfquery", Root: true, Quiet: true},
	{Run: "smpquery -D portinfo 0", Sh: noSysfs + "smpquery -D portinfo 0", Root: true, Quiet: true},
}

// readUmad adds what perfquery and smpquery told of this node's own port. They name
// it by its LID.
func readUmad(d *dump.Node, n *fact.Node) {
	if text, ok := d.Cmd("smpquery -D portinfo 0"); ok {
		infos, _ := ibdev.ParseIbportstate([]byte(text))
		for _, info := range infos {
			if p := portAt(n, info.BaseLID); p != nil {
				fillInfo(d, p, info)
			}
		}
	}
	if text, ok := d.Cmd("perfquery"); ok {
		ports, _ := ibnet.ParsePerfquery([]byte(text))
		for _, q := range ports {
			if p := portAt(n, &q.LID); p != nil && !q.All && p.Num == q.Port && p.Counters == nil {
				p.Counters = sysfsCounters(q.Counters)
			}
		}
	}
}

// portAt returns the one port that has a LID, nil when none has it or two have.
func portAt(n *fact.Node, lid *int) *fact.Port {
	has := func(p *fact.Port) bool {
		at, ok := p.LID.Get()
		return ok && lid != nil && at == *lid && at != 0
	}
	i := slices.IndexFunc(n.Ports, has)
	if i < 0 || slices.ContainsFunc(n.Ports[i+1:], has) {
		return nil
	}
	return n.Ports[i]
}

func fillInfo(d *dump.Node, p *fact.Port, info ibdev.PortState) {
	if info.WidthActive > 0 {
		fill(&p.Width, strconv.Itoa(info.WidthActive)+"X")
	}
	fill(&p.Speed, info.SpeedActive)
	fillVal(&p.ActiveMTU, info.MTUActive)
	fillVal(&p.MaxMTU, info.MTUSupported)
	// The kernel makes its rate of these two. ibstat prints what libibumad found in a
	// file, and ibsim writes the same rate for EDR and HDR there.
	if gen := laneRate[info.SpeedActive]; gen > 0 && info.WidthActive > 0 && len(d.Dir(ibDir+"/"+p.Device)) == 0 {
		p.Rate = fact.Some(gen * unit.Rate(info.WidthActive))
	}
}

// laneRate is what one lane of a generation counts as: ib_port_attr_to_speed_info in
// drivers/infiniband/core/verbs.c.
var laneRate = map[string]unit.Rate{
	"SDR": 5 * unit.Gbps / 2, "DDR": 5 * unit.Gbps, "QDR": 10 * unit.Gbps, "FDR10": 10 * unit.Gbps, "FDR": 14 * unit.Gbps,
	"EDR": 25 * unit.Gbps, "HDR": 50 * unit.Gbps, "NDR": 100 * unit.Gbps, "XDR": 200 * unit.Gbps,
}

// sysfsNames are the kernel's names of the counters of a port: PORT_PMA_ATTR in
// drivers/infiniband/core/sysfs.c.
var sysfsNames = map[string]string{
	"SymbolErrorCounter": "symbol_error", "LinkErrorRecoveryCounter": "link_error_recovery", "LinkDownedCounter": "link_downed",
	"PortRcvErrors": "port_rcv_errors", "PortRcvRemotePhysicalErrors": "port_rcv_remote_physical_errors",
	"PortRcvSwitchRelayErrors": "port_rcv_switch_relay_errors", "PortXmitDiscards": "port_xmit_discards",
	"PortXmitConstraintErrors": "port_xmit_constraint_errors", "PortRcvConstraintErrors": "port_rcv_constraint_errors",
	"LocalLinkIntegrityErrors": "local_link_integrity_errors", "ExcessiveBufferOverrunErrors": "excessive_buffer_overrun_errors",
	"VL15Dropped": "VL15_dropped", "PortXmitData": "port_xmit_data", "PortRcvData": "port_rcv_data",
	"PortXmitPkts": "port_xmit_packets", "PortRcvPkts": "port_rcv_packets", "PortXmitWait": "port_xmit_wait",
}

func sysfsCounters(mad map[string]uint64) map[string]uint64 {
	counters := map[string]uint64{}
	for name, v := range mad {
		if sysfs, ok := sysfsNames[name]; ok {
			counters[sysfs] = v
		}
	}
	return counters
}
