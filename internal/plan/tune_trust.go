package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/edit/unit"
	"weft/internal/fact"
)

func mendTrust(d *draft, n *fact.Node, f check.Finding) error {
	p, err := d.data(n, f)
	if err != nil {
		return err
	}
	with, err := qosTool(n, p)
	if err != nil {
		return err
	}
	first, err := d.agentOff(n, p)
	if err != nil {
		return err
	}
	want := d.usualDSCP(p, with)
	if p.QoS.Trust == "dscp" && dscpWords(want) == dscpWords(p.QoS.DSCP) {
		return nil // its map is right: others become like it
	}
	s := Step{What: "net/" + p.Netdev + "/trust", From: trustWords(p.QoS.Trust, p.QoS.DSCP), To: trustWords("dscp", want)}
	if p.QoS.Trust != "dscp" || p.Driver != "mlx5" { // queues are set up anew
		s.Risk = RiskLink
	}
	lines := dcbDSCP(p.Netdev, p.QoS.DSCP, want)
	s.Undo = dcbDSCP(p.Netdev, want, p.QoS.DSCP)
	s.Shows = sh("dcb app show dev %s dscp-prio", p.Netdev)
	if with == "mlnx_qos" {
		lines, s.Undo = mlnxDSCP(p, want, d.TrafficClass()>>2)
		s.Shows = sh("mlnx_qos -i %s | grep -E 'trust state|prio:'", p.Netdev)
	}
	return d.tune(n, s, []string{"trust", p.Netdev}, "Sorting by DSCP on "+p.Netdev, []string{unit.Device(p.Netdev)}, append(first, lines...)...)
}

// usualDSCP is the map that a port should have: that of most ports that are right, so
// that all are alike in the end, else its own with RDMA's entry.
func (d *draft) usualDSCP(p *fact.Port, with string) map[int]int {
	dscp, prio := d.TrafficClass()>>2, d.Priority()
	var right []map[int]int
	for _, pa := range d.DataPorts() {
		if q := &pa.Port.QoS; pa.Port.RoCE() && q.Trust == "dscp" {
			if got, ok := q.DSCP[dscp]; ok && got == prio {
				right = append(right, q.DSCP)
			}
		}
	}
	if len(right) > 0 {
		key, _ := check.Usual(right, dscpWords)
		i := slices.IndexFunc(right, func(m map[int]int) bool { return dscpWords(m) == key })
		return right[i]
	}
	own := maps.Clone(p.QoS.DSCP)
	if p.QoS.Trust != "dscp" || own == nil {
		if own = map[int]int{}; with == "mlnx_qos" {
			own = eightEach()
		}
	}
	own[dscp] = prio
	return own
}

// dscpWords writes a map: "26:3,48:6".
func dscpWords(m map[int]int) string {
	var words []string
	for _, dscp := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%d:%d", dscp, m[dscp]))
	}
	return strings.Join(words, ",")
}

func trustWords(trust string, m map[int]int) string {
	return strings.TrimSpace(trust + " " + dscpWords(m))
}

// dcbDSCP are the lines that make one map of another. What differs goes first: mlx5 takes
// the new entry in the old one's place and then answers that there is no old one, and
// ice wants no second entry. mlx5 trusts DSCP while there is an entry.
func dcbDSCP(netdev string, from, to map[int]int) (lines []string) {
	var gone, come []string
	for _, dscp := range slices.Sorted(maps.Keys(from)) {
		if prio, ok := to[dscp]; !ok || prio != from[dscp] {
			gone = append(gone, fmt.Sprintf("%d:%d", dscp, from[dscp]))
		}
	}
	for _, dscp := range slices.Sorted(maps.Keys(to)) {
		if prio, ok := from[dscp]; !ok || prio != to[dscp] {
			come = append(come, fmt.Sprintf("%d:%d", dscp, to[dscp]))
		}
	}
	if len(gone) > 0 {
		lines = append(lines, "for e in "+strings.Join(gone, " ")+"; do "+sh("dcb app del dev %s dscp-prio", netdev)+` "$e" 2>/dev/null; done; true`)
	}
	if len(come) > 0 {
		lines = append(lines, sh("dcb app replace dev %s dscp-prio ", netdev)+strings.Join(come, " "))
	}
	return lines
}

// mlnxDSCP does the same with mlnx_qos, which takes trust and entries one command each.
// Where OFED has a file for trust no entry can go, only change; del is then no error.
func mlnxDSCP(p *fact.Port, to map[int]int, dscp int) (do, undo []string) {
	from := p.QoS.DSCP
	run := func(option string) string { return sh("mlnx_qos -i %s "+option+" >/dev/null", p.Netdev) }
	entries := func(from, to map[int]int) (lines []string) {
		for dscp := range 64 {
			was, had := from[dscp]
			is, has := to[dscp]
			switch {
			case has && (!had || was != is):
				lines = append(lines, run(fmt.Sprintf("--dscp2prio set,%d,%d", dscp, is)))
			case had && !has:
				lines = append(lines, run(fmt.Sprintf("--dscp2prio del,%d,%d", dscp, was))+" 2>&1 || true")
			}
		}
		return lines
	}
	if p.QoS.Trust == "dscp" {
		return entries(from, to), entries(to, from)
	}
	start := eightEach()
	delete(start, dscp) // RDMA's own entry is set, whatever trust begins with
	return append([]string{run("--trust dscp")}, entries(start, to)...), []string{run("--trust pcp")}
}

// eightEach is the map that mlnx_qos and the card's firmware begin with when they trust
// DSCP: eight values in a row for each priority.
func eightEach() map[int]int {
	m := map[int]int{}
	for dscp := range 64 {
		m[dscp] = dscp / 8
	}
	return m
}
