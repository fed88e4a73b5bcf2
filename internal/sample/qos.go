package sample

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// QoS is how an Ethernet port treats RDMA traffic. A port starts with none of it
// and global pause off, as on a direct cable.
type QoS struct {
	PFC   [8]bool
	DSCP  map[int]int // DSCP → priority; empty: the port trusts the VLAN tag
	TC    int         // traffic_class, which OFED alone has
	Pause bool        // global pause, both ways
	Cable string      // part number; "" when the module tells nothing
}

// Lossless sets a port up for a lossless switch: priority 3, DSCP 26, class 106.
func (q *QoS) Lossless() {
	q.PFC[3], q.TC = true, 106
	for dscp := range 64 {
		q.DSCP[dscp] = dscp / 8 // the map that mlx5 starts with once it trusts DSCP
	}
}

func (m *Machine) writeQoS(w writer) {
	for _, d := range m.RDMA {
		for _, p := range d.Ports {
			if net := m.Netdev(p.Netdev); net != nil && net.QoS != nil {
				m.writePortQoS(w, d, net)
			}
		}
	}
}

func (m *Machine) writePortQoS(w writer, d *RDMA, net *Netdev) {
	q, name := net.QoS, net.Name
	w.cmd("dcb -j pfc show dev "+name, jsonLine(map[string]any{"pfc_cap": 8, "macsec_bypass": false, "delay": 0, "prio_pfc": q.PFC}))
	app := map[string]any{}
	var table [][2]int
	for _, dscp := range slices.Sorted(maps.Keys(q.DSCP)) {
		table = append(table, [2]int{dscp, q.DSCP[dscp]})
	}
	if table != nil {
		app["dscp_prio"] = table
	}
	w.cmd("dcb -j app show dev "+name, jsonLine(app))
	pause := map[bool]string{true: "on", false: "off"}[q.Pause]
	w.cmd("ethtool -a "+name, fmt.Sprintf("Pause parameters for %s:\nAutonegotiate:\toff\nRX:\t\t%s\nTX:\t\t%s\n", name, pause, pause))
	var stats strings.Builder
	stats.WriteString("NIC statistics:\n     rx_packets: 1843020\n     tx_packets: 1790112\n")
	for prio := range 8 {
		form := "     rx_prio%d_pause: 0\n     tx_prio%d_pause: 0\n"
		if d.Card.Driver == "ice" {
			form = "     rx_priority_%d_xoff.nic: 0\n     tx_priority_%d_xoff.nic: 0\n"
		}
		fmt.Fprintf(&stats, form, prio, prio)
	}
	w.cmd("ethtool -S "+name, stats.String())
	if q.Cable != "" && net.Up {
		w.cmd("ethtool -m "+name, fmt.Sprintf("\tIdentifier                                : 0x11 (QSFP28)\n\tConnector                                 : 0x23 (No separable connector)\n"+
			"\tTransmitter technology                    : 0xa0 (Copper cable unequalized)\n\tLength (Copper or Active cable)           : 1m\n\tVendor name                               : Mellanox\n\tVendor PN                                 : %s\n", q.Cable))
	}
	if m.ofedDriver(d) {
		w.cmd("mlnx_qos -i "+name, q.mlnx())
		for prio := range 8 {
			w.line(fmt.Sprintf("%s%s/ecn/roce_np/enable/%d", netDir, name, prio), "1")
			w.line(fmt.Sprintf("%s%s/ecn/roce_rp/enable/%d", netDir, name, prio), "1")
		}
	}
}

// mlnx is the part of mlnx_qos that says what dcb says.
func (q *QoS) mlnx() string {
	var b strings.Builder
	b.WriteString("DCBX mode: OS controlled\n")
	if len(q.DSCP) == 0 {
		b.WriteString("Priority trust state: pcp\n")
	} else {
		b.WriteString("Priority trust state: dscp\ndscp2prio mapping:\n")
		for prio := range 8 {
			fmt.Fprintf(&b, "\tprio:%d dscp:", prio)
			for _, dscp := range slices.Backward(slices.Sorted(maps.Keys(q.DSCP))) {
				if q.DSCP[dscp] == prio {
					fmt.Fprintf(&b, "%02d,", dscp)
				}
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("Cable len: 7\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     ")
	for _, on := range q.PFC {
		b.WriteString(map[bool]string{true: "1   ", false: "0   "}[on])
	}
	b.WriteString("\n")
	return b.String()
}
