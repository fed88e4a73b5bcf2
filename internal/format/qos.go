package format

import (
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/dcb"
	"weft/internal/format/ethtool"
	"weft/internal/format/lldp"
)

func readQoS(d *dump.Node, n *fact.Node) {
	for _, p := range n.Ports {
		if p.Netdev == "" || p.IB() {
			continue
		}
		readDCB(d, p)
		readMlnxQoS(d, p)
		p.QoS.ECNNP = ecn(d, p.Netdev, "roce_np")
		p.QoS.ECNRP = ecn(d, p.Netdev, "roce_rp")
		if text, ok := d.Cmd("ethtool -a " + p.Netdev); ok {
			if a, err := ethtool.ParsePause([]byte(text)); err == nil {
				p.QoS.PauseRx, p.QoS.PauseTx = val(a.RX), val(a.TX)
			}
		}
		if text, ok := d.Cmd("ethtool --show-priv-flags " + p.Netdev); ok {
			p.QoS.FWAgent = privFlag(text, "fw-lldp-agent")
		}
		if text, ok := d.Cmd("ethtool -S " + p.Netdev); ok {
			readPauseFrames([]byte(text), p)
		}
		if text, ok := d.Cmd("ethtool -m " + p.Netdev); ok {
			p.Module = readModule([]byte(text))
		}
	}
	for _, cmd := range d.Cmds("lldpctl") {
		text, _ := d.Cmd(cmd)
		neighbours, _ := lldp.Parse([]byte(text))
		for _, x := range neighbours {
			n.Settings.LLDP = append(n.Settings.LLDP, fact.LLDP{Netdev: x.Interface, Chassis: x.ChassisName, Port: x.PortID})
		}
	}
}

func readDCB(d *dump.Node, p *fact.Port) {
	if text, ok := d.Cmd("dcb -j pfc show dev " + p.Netdev); ok {
		if v, err := dcb.ParsePFC([]byte(text)); err == nil {
			p.QoS.PFC = v.Enabled
		}
	}
	if text, ok := d.Cmd("dcb -j app show dev " + p.Netdev); ok {
		if v, err := dcb.ParseApp([]byte(text)); err == nil {
			p.QoS.DSCP = map[int]int{}
			for _, m := range v.DSCP {
				p.QoS.DSCP[m.Key] = m.Prio
			}
			// mlx5 and ice trust DSCP exactly while a DSCP entry is there
			// (mlx5e_dcbnl_ieee_setapp and _delapp in en_dcbnl.c, ice_dcbnl_delapp in
			// ice_dcb_nl.c).
			if len(v.DSCP) > 0 {
				p.QoS.Trust = "dscp"
			} else if p.Driver == "mlx5" || p.Driver == "irdma" {
				p.QoS.Trust = "pcp"
			}
		}
	}
	if text, ok := d.Cmd("dcb -j ets show dev " + p.Netdev); ok {
		if v, err := dcb.ParseETS([]byte(text)); err == nil {
			p.QoS.PrioTC, p.QoS.TSA, p.QoS.TCBW = v.PrioTC, v.TSA, v.TCBW
		}
	}
}

func readMlnxQoS(d *dump.Node, p *fact.Port) {
	text, ok := d.Cmd("mlnx_qos -i " + p.Netdev)
	if !ok {
		return
	}
	q, _ := dcb.ParseMlnxQoS([]byte(text))
	if q.PFC != nil {
		p.QoS.PFC = q.PFC
	}
	if q.Trust != "" {
		p.QoS.Trust = q.Trust
	}
	if q.DSCPPrio != nil {
		p.QoS.DSCP = q.DSCPPrio
	}
	if tcs := q.PrioTC(); tcs != nil && p.QoS.PrioTC == nil {
		p.QoS.PrioTC = tcs
	}
}

// ecn reads which priorities take part in congestion control.
func ecn(d *dump.Node, netdev, side string) []bool {
	dir := netDir + "/" + netdev + "/ecn/" + side + "/enable"
	var on []bool
	for _, prio := range d.Dir(dir) {
		i, err := strconv.Atoi(prio)
		if err != nil || i < 0 || i > 7 {
			continue
		}
		if on == nil {
			on = make([]bool, 8)
		}
		on[i] = word(d, dir+"/"+prio) == "1"
	}
	return on
}

// readPauseFrames takes the pause frames per priority, in mlx5's words
// (rx_prio3_pause) and in ice's (rx_priority_3_xoff.nic).
func readPauseFrames(text []byte, p *fact.Port) {
	s, err := ethtool.ParseStats(text)
	if err != nil {
		return
	}
	for prio := range 8 {
		i := strconv.Itoa(prio)
		for _, name := range []string{"rx_prio" + i + "_pause", "rx_priority_" + i + "_xoff.nic"} {
			if v, ok := s.Counters[name]; ok {
				if p.QoS.PausePrio == nil {
					p.QoS.PausePrio = map[int]uint64{}
				}
				p.QoS.PausePrio[prio] = v
			}
		}
	}
}

func readModule(text []byte) *fact.Module {
	m, err := ethtool.ParseModule(text)
	if err != nil && m.Identifier == "" {
		return nil
	}
	out := &fact.Module{Vendor: strings.TrimSpace(m.Vendor), Part: strings.TrimSpace(m.PartNumber), Temp: val(m.TempC), Alarms: m.Alarms}
	if m.CableM != nil {
		out.Length = strconv.FormatFloat(*m.CableM, 'f', -1, 64) + "m"
	}
	return out
}

// privFlag reads one line of ethtool --show-priv-flags: "fw-lldp-agent          : on".
func privFlag(text, name string) fact.Val[bool] {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return fact.Some(strings.TrimSpace(value) == "on")
		}
	}
	return fact.Val[bool]{}
}
