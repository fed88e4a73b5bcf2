package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/unit"
	"weft/internal/fact"
)

// qosTool is what sets the queues of a port. dcb is iproute2's and the kernel's own way.
// On mlx5 under OFED mlnx_qos comes first: it also knows OFED's sysfs files for trust and
// for receive buffers, which take the place of the kernel's way there.
func qosTool(n *fact.Node, p *fact.Port) (string, error) {
	if err := tool(n); err != nil {
		return "", err
	}
	mlnx := p.Driver == "mlx5" && n.Settings.Has("mlnx_qos")
	switch {
	case mlnx && n.Settings.OFED != "":
		return "mlnx_qos", nil
	case n.Settings.Has("dcb"):
		return "dcb", nil
	case mlnx:
		return "mlnx_qos", nil
	}
	return "", byHand("neither dcb nor mlnx_qos is there")
}

// agentOff takes the queues of an E810 from its firmware, which otherwise negotiates them
// by itself and refuses software. The line that does so comes first in all that follows,
// also at boot.
func (d *draft) agentOff(n *fact.Node, p *fact.Port) (lines []string, err error) {
	if p.Driver != "irdma" {
		return nil, nil
	}
	if err := tool(n, "ethtool"); err != nil {
		return nil, err
	}
	set := func(to string) string { return sh("ethtool --set-priv-flags %s fw-lldp-agent "+to, p.Netdev) }
	switch on, known := p.QoS.FWAgent.Get(); {
	case !known:
		return nil, byHand("whether the firmware of %s keeps its queues to itself (fw-lldp-agent) was not read", p.Netdev)
	case on:
		d.add(n, Step{What: "net/" + p.Netdev + "/fw_agent", From: "on", To: "off", Risk: RiskLink,
			Do: []string{set("off")}, Undo: []string{set("on")},
			Shows: sh("ethtool --show-priv-flags %s | grep '^fw-lldp-agent'", p.Netdev),
			Note:  "the card's firmware no longer negotiates priorities with the switch"})
	}
	return []string{set("off")}, nil
}

// queues is what every step about a port's queues begins with: the port, the tool, and
// the lines that come first.
func (d *draft) queues(n *fact.Node, f check.Finding) (p *fact.Port, with string, first []string, err error) {
	if p, err = d.data(n, f); err == nil {
		with, err = qosTool(n, p)
	}
	if err == nil {
		first, err = d.agentOff(n, p)
	}
	return p, with, first, err
}

// bits writes which priorities have something: "0,0,0,1,0,0,0,0".
func bits(on []bool) string {
	words := make([]string, len(on))
	for i, x := range on {
		words[i] = map[bool]string{true: "1", false: "0"}[x]
	}
	return strings.Join(words, ",")
}

func mendPFC(d *draft, n *fact.Node, f check.Finding) error {
	p, with, first, err := d.queues(n, f)
	if err != nil {
		return err
	}
	if p.QoS.PauseRx.Or(false) || p.QoS.PauseTx.Or(false) { // a link obeys one of them
		if err := d.pauseOff(n, p); err != nil {
			return err
		}
	}
	if d.Priority() >= len(p.QoS.PFC) {
		return byHand("%s tells of %d priorities", p.Netdev, len(p.QoS.PFC))
	}
	want := make([]bool, len(p.QoS.PFC))
	want[d.Priority()] = true
	set := func(on []bool) string {
		if with == "mlnx_qos" {
			return sh("mlnx_qos -i %s --pfc %s >/dev/null", p.Netdev, bits(on))
		}
		words := make([]string, len(on))
		for i, x := range on {
			words[i] = fmt.Sprintf("%d:%s", i, onOff(x))
		}
		return sh("dcb pfc set dev %s prio-pfc ", p.Netdev) + strings.Join(words, " ")
	}
	// mlx5 and ice take the link down and up again when PFC changes.
	s := Step{What: "net/" + p.Netdev + "/pfc", From: bits(p.QoS.PFC), To: bits(want), Undo: []string{set(p.QoS.PFC)}, Risk: RiskLink,
		Note: "the switch port must have the same"}
	s.Shows = sh("dcb pfc show dev %s prio-pfc", p.Netdev)
	if with == "mlnx_qos" {
		s.Shows = sh("mlnx_qos -i %s | grep enabled", p.Netdev)
	}
	return d.tune(n, s, []string{"pfc", p.Netdev}, "Priority flow control of "+p.Netdev, []string{unit.Device(p.Netdev)}, append(first, set(want))...)
}

func onOff(x bool) string { return map[bool]string{true: "on", false: "off"}[x] }

func mendPause(d *draft, n *fact.Node, f check.Finding) error {
	p, err := d.data(n, f)
	if err != nil {
		return err
	}
	return d.pauseOff(n, p)
}

// pauseOff is the step that turns global pause off.
func (d *draft) pauseOff(n *fact.Node, p *fact.Port) error {
	if err := tool(n, "ethtool"); err != nil {
		return err
	}
	shows := sh(`ethtool -a %s | sed -n 's/^\(RX\|TX\):[[:space:]]*/\1 /p' | paste -sd " " -`, p.Netdev)
	// ethtool calls it an error when nothing changes, so what counts is how it is then.
	set := func(rx, tx bool) string {
		want := fmt.Sprintf("RX %s TX %s", onOff(rx), onOff(tx))
		return sh("ethtool -A %s rx "+onOff(rx)+" tx "+onOff(tx)+" 2>/dev/null; [ \"$(", p.Netdev) + shows + `)" = ` + quote(want) + " ]"
	}
	rx, tx := p.QoS.PauseRx.Or(false), p.QoS.PauseTx.Or(false)
	s := Step{What: "net/" + p.Netdev + "/pause", From: pauseWords(rx, tx), To: pauseWords(false, false), Undo: []string{set(rx, tx)}, Shows: shows,
		Risk: RiskLink, Note: "the switch port must have the same", Then: []string{"roce.pause"}}
	return d.tune(n, s, []string{"pause", p.Netdev}, "No global pause on "+p.Netdev, []string{unit.Device(p.Netdev)}, set(false, false))
}

func pauseWords(rx, tx bool) string { return "rx " + onOff(rx) + " tx " + onOff(tx) }

func mendECN(d *draft, n *fact.Node, f check.Finding) error {
	p, err := d.data(n, f)
	if err != nil {
		return err
	}
	q, prio := &p.QoS, d.Priority()
	np, rp := slices.Clone(q.ECNNP), slices.Clone(q.ECNRP)
	np[prio], rp[prio] = true, true
	file := func(way string) string { return fmt.Sprintf("/sys/class/net/%s/ecn/%s/enable/%d", p.Netdev, way, prio) }
	set := func(np, rp []bool) []string {
		return []string{sh("echo "+bits(np[prio:prio+1])+" >%s", file("roce_np")), sh("echo "+bits(rp[prio:prio+1])+" >%s", file("roce_rp"))}
	}
	s := Step{What: "net/" + p.Netdev + "/ecn", From: ecnWords(q.ECNNP, q.ECNRP), To: ecnWords(np, rp),
		Undo: set(q.ECNNP, q.ECNRP), Shows: sh("cat %s %s", file("roce_np"), file("roce_rp")), Note: "the switch must mark, too"}
	return d.tune(n, s, []string{"ecn", p.Netdev}, "Congestion control of "+p.Netdev, []string{unit.Device(p.Netdev)}, set(np, rp)...)
}

func ecnWords(np, rp []bool) string { return "np " + bits(np) + " rp " + bits(rp) }

func mendETS(d *draft, n *fact.Node, f check.Finding) error {
	p, with, first, err := d.queues(n, f)
	if err != nil {
		return err
	}
	q, prio := &p.QoS, d.Priority()
	free, ok := check.FreeClass(q.PrioTC, prio)
	switch {
	case !ok:
		return byHand("no class is free")
	case len(q.TSA) != len(q.PrioTC) || len(q.TCBW) != len(q.PrioTC):
		return byHand("how the classes of %s share the bandwidth was not read: dcb tells, mlnx_qos only of classes in use", p.Netdev)
	}
	// The new class is served as the one that it comes from. Where that has a part of
	// the bandwidth, the new one gets half of it: all parts together stay 100 %.
	old := q.PrioTC[prio]
	tcs, tsa, bw := slices.Clone(q.PrioTC), slices.Clone(q.TSA), slices.Clone(q.TCBW)
	tcs[prio], tsa[free] = free, tsa[old]
	if tsa[old] == "ets" {
		bw[free] += bw[old] / 2
		bw[old] -= bw[old] / 2
	}
	for _, kind := range tsa {
		if !slices.Contains([]string{"ets", "strict", "vendor"}, kind) {
			return byHand("a class of %s is served by %q, which weft does not share out", p.Netdev, kind)
		}
	}
	set := func(tcs []int, tsa []string, bw []int) string {
		if with == "mlnx_qos" {
			line := sh("mlnx_qos -i %s --prio_tc %s --tsa %s", p.Netdev, commas(tcs), strings.Join(tsa, ","))
			if slices.Contains(tsa, "ets") { // it wants 0 for a class that has no part
				parts := slices.Clone(bw)
				for i, kind := range tsa {
					if kind != "ets" {
						parts[i] = 0
					}
				}
				line += " --tcbw " + commas(parts)
			}
			return line + " >/dev/null"
		}
		return sh("dcb ets set dev %s prio-tc ", p.Netdev) + pairs(tcs) + " tc-tsa " + pairs(tsa) + " tc-bw " + pairs(bw)
	}
	s := Step{What: "net/" + p.Netdev + "/classes", From: classWords(q.PrioTC, q.TSA, q.TCBW), To: classWords(tcs, tsa, bw),
		Undo: []string{set(q.PrioTC, q.TSA, q.TCBW)}, Shows: sh("dcb ets show dev %s prio-tc tc-tsa tc-bw", p.Netdev)}
	if with == "mlnx_qos" {
		s.Shows = sh("mlnx_qos -i %s | grep -E '^tc:|priority:'", p.Netdev)
	}
	if p.Driver != "mlx5" { // others set their queues up anew for it
		s.Risk = RiskLink
	}
	return d.tune(n, s, []string{"classes", p.Netdev}, "Traffic classes of "+p.Netdev, []string{unit.Device(p.Netdev)}, append(first, set(tcs, tsa, bw))...)
}

// commas writes numbers as mlnx_qos takes them, pairs values as dcb does: "0:1 1:0".
func commas(list []int) string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = strconv.Itoa(x)
	}
	return strings.Join(words, ",")
}

func pairs[T any](list []T) string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = fmt.Sprintf("%d:%v", i, x)
	}
	return strings.Join(words, " ")
}

// classWords is the value of a port's classes: "0,0,0,3,0,0,0,0 ets,… 50,0,…".
func classWords(tcs []int, tsa []string, bw []int) string {
	return commas(tcs) + " " + strings.Join(tsa, ",") + " " + commas(bw)
}
