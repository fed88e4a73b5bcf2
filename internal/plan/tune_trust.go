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
	p, with, first, err := d.queues(n, f)
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
	var boot []string // from whatever the driver begins with
	if with == "mlnx_qos" {
		boot = mlnxTrust(p.Netdev, want, d.TrafficClass()>>2)
		s.Do, s.Undo = boot, []string{sh("mlnx_qos -i %s --trust pcp >/dev/null", p.Netdev)}
		if p.QoS.Trust == "dscp" {
			s.Do, s.Undo = mlnxDSCP(p.Netdev, p.QoS.DSCP, want), mlnxDSCP(p.Netdev, want, p.QoS.DSCP)
		}
		s.Shows = sh("mlnx_qos -i %s | grep -E 'trust state|prio:'", p.Netdev)
	} else {
		boot = append([]string{sh("dcb app flush dev %s dscp-prio", p.Netdev)}, dcbDSCP(p.Netdev, nil, want)...)
		s.Do, s.Undo = dcbDSCP(p.Netdev, p.QoS.DSCP, want), dcbDSCP(p.Netdev, want, p.QoS.DSCP)
		s.Shows = sh("dcb app show dev %s dscp-prio", p.Netdev)
	}
	s.Do = slices.Concat(first, s.Do)
	return d.tune(n, s, []string{"trust", p.Netdev}, "Sorting by DSCP on "+p.Netdev, []string{unit.Device(p.Netdev)}, slices.Concat(first, boot)...)
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

// dscpWords writes a map, values in a row as one: "0-7:0,26:3".
func dscpWords(m map[int]int) string {
	var words []string
	keys := slices.Sorted(maps.Keys(m))
	for i := 0; i < len(keys); {
		j := i + 1
		for j < len(keys) && keys[j] == keys[j-1]+1 && m[keys[j]] == m[keys[i]] {
			j++
		}
		word := fmt.Sprint(keys[i])
		if j > i+1 {
			word += fmt.Sprintf("-%d", keys[j-1])
		}
		words = append(words, fmt.Sprintf("%s:%d", word, m[keys[i]]))
		i = j
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

// mlnxDSCP does the same with mlnx_qos. Where OFED has a file for the map no entry can
// go, only change; del is then no error.
func mlnxDSCP(netdev string, from, to map[int]int) (lines []string) {
	run := func(option string) string { return sh("mlnx_qos -i %s --dscp2prio "+option+" >/dev/null", netdev) }
	for dscp := range 64 {
		was, had := from[dscp]
		is, has := to[dscp]
		switch {
		case has && (!had || was != is):
			lines = append(lines, run(fmt.Sprintf("set,%d,%d", dscp, is)))
		case had && !has:
			lines = append(lines, run(fmt.Sprintf("del,%d,%d", dscp, was))+" 2>&1 || true")
		}
	}
	return lines
}

// mlnxTrust has a port trust DSCP, by a map. mlnx_qos takes trust and entries one command
// each. RDMA's own entry is set, whatever trust begins with.
func mlnxTrust(netdev string, to map[int]int, dscp int) []string {
	start := eightEach()
	delete(start, dscp)
	return append([]string{sh("mlnx_qos -i %s --trust dscp >/dev/null", netdev)}, mlnxDSCP(netdev, start, to)...)
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
