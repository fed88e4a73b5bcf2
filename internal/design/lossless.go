package design

import (
	"fmt"
	"strings"
)

// Lossless is what every switch, port and NIC of a RoCE fabric must agree on.
type Lossless struct {
	HostMTU   int     `json:"node_mtu"`
	SwitchMTU int     `json:"switch_mtu"`
	Priority  int     `json:"priority"`
	DSCP      int     `json:"dscp"`
	CNP       int     `json:"cnp_dscp"`
	Headroom  float64 `json:"headroom_bytes"` // for a lossless priority on a port of the longest cable, at least
	Lines     []Line  `json:"arithmetic"`
	Switch    string  `json:"switch,omitempty"` // settings as text
}

// RoCE's class: DSCP 26 is priority 3, congestion notifications are DSCP 48 and
// priority 6. Seed 001 for 26 and 3; Cumulus Linux's "RDMA over Converged Ethernet"
// page for the rest: what nv set qos roce does.
const (
	rocePriority, roceDSCP = 3, 26
	cnpPriority, cnpDSCP   = 6, 48
	hostMTU, switchMTU     = 9000, 9216
	nsPerMetre             = 5 // light in fibre, electrons in copper: about two thirds of c
)

func (d *Design) lossless() {
	l := &d.Lossless
	if d.Card.Layer == "InfiniBand" {
		l.Lines = append(l.Lines, Line{"InfiniBand", "is lossless by credits: no PFC, no ECN; MTU 4096 on every port, set by the subnet manager"})
		return
	}
	l.HostMTU, l.SwitchMTU, l.Priority, l.DSCP, l.CNP = hostMTU, switchMTU, rocePriority, roceDSCP, cnpDSCP
	l.Lines = append(l.Lines, Line{"MTU", fmt.Sprintf("%d on every node, %d on every switch port: RoCE then sends 4096-byte packets", hostMTU, switchMTU)})
	if !d.switched() {
		l.Lines = append(l.Lines, Line{"PFC, ECN", "not needed on a cable between two nodes: nothing is queued on the way"})
		return
	}
	longest := 0.0
	rate := 0.0
	for _, c := range d.Cables {
		if c.Plane == Data && c.Metres > longest {
			longest, rate = c.Metres, gb(c.Rate)
		}
	}
	flight := rate * 2 * longest * nsPerMetre / 8 // bytes: Gb/s × ns = bits
	l.Headroom = flight + 2*switchMTU
	l.Lines = append(l.Lines,
		Line{"class", fmt.Sprintf("DSCP %d → priority %d: PFC and ECN on; DSCP %d (CNP) → priority %d: strict; all else priority 0: lossy", roceDSCP, rocePriority, cnpDSCP, cnpPriority)},
		Line{"headroom", fmt.Sprintf("at least %s Gb/s × 2 × %s m × %d ns/m / 8 + 2 × %d B = %s B for each port of the longest cable; the switch's template adds its own reaction time", num(rate), num(longest), nsPerMetre, switchMTU, num(l.Headroom))})
	l.Switch = qos(d.ask.PortName, d.Fabrics)
}

func (d *Design) switched() bool {
	for _, f := range d.Fabrics {
		if f.Shape == "switch" || f.Shape == "clos" {
			return true
		}
	}
	return false
}

// qos is the text for the switches. Words first, as every vendor spells it otherwise;
// then what Cumulus Linux needs.
func qos(port string, fabrics []*Fabric) string {
	last := 0
	for _, f := range fabrics {
		last = max(last, f.Ports)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Lossless class for RoCE v2: the same on every data switch and port. FRR does not
# set it, because it belongs to the switch's own software.
#
#   trust             DSCP (not PCP)
#   DSCP %d           -> priority %d, traffic class %d: RoCE
#   DSCP %d           -> priority %d, traffic class %d: CNP
#   everything else   -> priority 0, traffic class 0
#   PFC               on for priority %d alone, sending and receiving
#   ECN               marking on for traffic class %d, lossless threshold of the switch's template
#   scheduling        class %d strict, classes %d and 0 share by weight, half each
#   global pause      off (it would stop every class)
#   PFC watchdog      on, so that one stuck NIC does not stop the fabric
#   MTU               %d on every port
#   DCQCN             on at the NICs (ECN for priority %d); their defaults are fine at 4 to 16 nodes
#
# Cumulus Linux 5 (NVUE); one template sets trust, maps, PFC, ECN and buffers:
nv set qos roce mode lossless
nv set interface %s1-%d link mtu %d
nv config apply
#
# Then, on every node: weft plan 'roce.*' and weft check say the same for the NICs.
`, roceDSCP, rocePriority, rocePriority, cnpDSCP, cnpPriority, cnpPriority, rocePriority, rocePriority, cnpPriority, rocePriority, switchMTU, rocePriority, port, last, switchMTU)
	return b.String()
}
