package trial

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

// topic is one thing that makes links slow. They are looked at in the order of CHECKS.md.
type topic struct {
	word string
	ids  []string // the checks that know of it, the most telling first
}

var topics = []topic{
	{"MTU", []string{"roce.mtu", "ib.mtu", "roce.mtu.path"}},
	{"PFC", []string{"port.shaping", "roce.pfc", "roce.trust", "roce.tc", "roce.ecn", "roce.pause", "port.pause"}},
	{"cable", []string{"port.rate", "ib.width", "port.errors", "fabric.switch", "port.temp"}},
	{"PCIe", []string{"pcie.design", "pcie.path", "pcie.errors", "pcie.mrrs", "node.aspm"}},
	{"NUMA", []string{"pcie.numa", "node.iommu"}},
}

// clue is what is known of one topic at one place.
type clue struct {
	why   string   // what is wrong there, and not elsewhere; "" when nothing is known to be
	look  []string // what to do about it
	ruled string   // what is known to be right; "" when that is not known
}

// known are the answers of the checks of all topics, by subject.
type known struct {
	at  map[check.Subject][]check.Finding
	bad map[string]int // check → on how many data ports it is not right
	of  int            // data ports
}

// findings asks the checks once, when there is something to explain.
func (j *judge) findings() *known {
	if j.known != nil {
		return j.known
	}
	var checks []check.Check
	for _, ck := range check.All { // in their order: one silences another
		if slices.ContainsFunc(topics, func(t topic) bool { return slices.Contains(t.ids, ck.ID) }) {
			checks = append(checks, ck)
		}
	}
	k := &known{at: map[check.Subject][]check.Finding{}, bad: map[string]int{}, of: len(j.c.DataPorts())}
	for _, f := range check.Run(checks, j.c) {
		k.at[f.Subject] = append(k.at[f.Subject], f)
		if f.Status == check.Warn || f.Status == check.Fail {
			k.bad[f.Check]++
		}
	}
	j.known = k
	return k
}

// clue says what the checks know of a topic at an end.
func (j *judge) clue(t topic, e End) (c clue) {
	k := j.findings()
	for _, id := range t.ids {
		for _, subject := range []check.Subject{{Node: e.Node, Part: e.Port}, {Node: e.Node}} {
			for _, f := range k.at[subject] {
				if f.Check != id {
					continue
				}
				switch f.Status {
				case check.Warn, check.Fail:
					// What is wrong everywhere does not make one port slower than others.
					if c.why == "" && (3*k.bad[id] <= k.of || k.bad[id] == 1) {
						c.why = fmt.Sprintf("%s: %s where %s is right: %s", e, f.Got, f.Want, f.Why)
						c.look = f.Fix
					}
				case check.Pass:
					if c.ruled == "" {
						c.ruled = ruledWords(id, f)
					}
				}
			}
		}
	}
	return c
}

// ruledWords says what a check found right, for checks that rule a topic out.
func ruledWords(id string, f check.Finding) string {
	switch id {
	case "roce.mtu", "ib.mtu":
		return strings.Replace(f.Got, "mtu", "MTU", 1)
	case "roce.pfc":
		return f.Got + " alike"
	case "pcie.path":
		return "PCIe " + f.Got
	case "pcie.numa":
		return "NUMA: " + strings.TrimPrefix(f.Got, "NUMA ")
	}
	return ""
}

// mtuClue is about the MTU of one end, held against the other ends of its rail and against
// what crossed.
func (j *judge) mtuClue(e End, cells []int) (c clue) {
	c = j.clue(topics[0], e)
	s := j.ss.at(e)
	usual := j.railMTU(s)
	switch lost := j.pathMTU(e); {
	case s.netMTU > 0 && s.netMTU < usual:
		c.why = fmt.Sprintf("MTU %d at %s where %d is usual on its rail", s.netMTU, e, usual)
		if now, full := packetOf(s.netMTU), packetOf(usual); now < full {
			c.why += fmt.Sprintf(", so RDMA packets carry %d bytes instead of %d", now, full)
		}
		c.look, c.ruled = []string{fmt.Sprintf("sudo ip link set dev %s mtu %d   # on %s", s.port.Netdev, usual, s.Node)}, ""
	case lost > 0 && c.why == "":
		c.why = fmt.Sprintf("packets larger than %d bytes are lost between %s and others although both ends take more", lost, e)
		c.look, c.ruled = []string{"set the MTU of " + j.switchPort(e) + " to 9216 (or the most it takes)"}, ""
	case lost == 0 && c.ruled != "":
		c.ruled += " and full-size packets cross"
	}
	return c
}

// railMTU is the MTU that most ends of a side's rail have; 0 when that is not known.
func (j *judge) railMTU(s *side) int {
	if s.port == nil || s.port.IB() {
		return 0
	}
	if j.mtus == nil {
		rails := map[string][]int{}
		for _, pa := range j.c.DataPorts() {
			o := j.ss.at(End{pa.Node.Name, pa.Port.Name})
			rails[o.rail] = append(rails[o.rail], o.netMTU)
		}
		j.mtus = map[string]int{}
		for rail, all := range rails {
			usual, count := check.Usual(all, func(mtu int) int { return mtu })
			if 2*count == len(all) { // of two the larger is meant
				usual = slices.Max(all)
			}
			j.mtus[rail] = usual
		}
	}
	return j.mtus[s.rail]
}

// pathMTU is the largest packet that crosses from or to an end where larger ones are lost;
// 0 when none are, -1 when that was not measured.
func (j *judge) pathMTU(e End) int {
	got, measured := 0, false
	for _, i := range j.of["path.mtu"] {
		c := &j.cells[i]
		if c.A != e && c.B != e || !c.Got.Known() {
			continue
		}
		measured = true
		if want, ok := c.Want.Get(); ok && c.Got.Or(0) < want {
			got = int(c.Got.Or(0))
		}
	}
	if !measured {
		return -1
	}
	return got
}

// switchPort names where an end is plugged in.
func (j *judge) switchPort(e End) string {
	if p, ok := j.ss.plugs[e]; ok {
		return p.leaf + " " + p.port
	}
	return "the switch port of " + e.String()
}

// wireClue is about the cable of an end: what the checks know, and the counters that grew
// while it was measured.
func (j *judge) wireClue(e End, cells []int) (c clue) {
	c = j.clue(topics[2], e)
	seen := slices.ContainsFunc(cells, func(i int) bool { return j.cells[i].seenBy(e) })
	grown, grownWords := j.grown(e, cells, wire)
	lost, lostWords := j.grown(e, cells, lostIn)
	slow, slowWords := j.grown(e, cells, slowHost)
	cable := []string{"change the cable or transceiver of " + e.String() + ", then plug it elsewhere than " + j.switchPort(e)}
	switch {
	case grown > 0:
		c.why = fmt.Sprintf("the wire into %s damages packets: %s", e, grownWords)
		c.look, c.ruled = cable, ""
	case lost > 0 && c.why == "" && j.losing(e, cells):
		c.why = fmt.Sprintf("packets on their way to %s are lost: %s", e, lostWords)
		c.look, c.ruled = append(cable, "and the drops that "+j.switchPort(e)+" counts"), ""
	case slow > muchLosses*uint64(max(1, len(cells))) && c.why == "":
		c.why = fmt.Sprintf("%s does not take in time what arrives: %s", e.Node, slowWords)
		c.look = []string{"what else runs on " + e.Node + ", and its power saving: cpupower frequency-info"}
	case seen && c.why == "":
		c.ruled = "no errors counted at " + e.String()
	}
	return c
}

// grown adds up the named counters of an end over cells, and writes them.
func (j *judge) grown(e End, cells []int, list []string) (sum uint64, words string) {
	names := map[string]uint64{}
	for _, i := range cells {
		for _, m := range j.cells[i].Moved {
			if m.End != e {
				continue
			}
			for _, name := range list {
				if n := m.Grew[name]; n > 0 {
					names[name] += n
					sum += n
				}
			}
		}
	}
	return sum, countWords(names)
}

// losing reports whether most of the cells lose more on their way to an end than a busy host
// resends for no reason.
func (j *judge) losing(e End, cells []int) bool {
	some, much := 0, 0
	for _, i := range cells {
		c := &j.cells[i]
		from := c.A
		if from == e {
			from = c.B
		}
		n, share := c.lost(from, e)
		if j.ss.at(e).soft != "" && share < partLostSoft || share < partLost {
			n = 0
		}
		if c.seenBy(e) {
			some++
			much += boolInt(n >= muchLosses)
		}
	}
	return much > 0 && 2*much >= some
}

// countWords writes counters that grew: "symbol_error +12".
func countWords(names map[string]uint64) string {
	var words []string
	for name, n := range names {
		words = append(words, fmt.Sprintf("%s +%d", name, n))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// muchCongestion is from how many notices a run on a port is held back: fewer come with any
// traffic through a switch.
const muchCongestion = 100

// queueClue is about what holds packets back before they are sent.
func (j *judge) queueClue(e End, cells []int) (c clue) {
	c = j.clue(topics[1], e)
	s := j.ss.at(e)
	if n, words := j.grown(e, cells, congested[:len(congested)-1]); c.why == "" && n > muchCongestion*uint64(max(1, len(cells))) {
		c.why, c.ruled = fmt.Sprintf("the way is congested at %s: %s", e, words), ""
		c.look = []string{"what else uses the links between: rounds of weft prove do not share ports", "ECN and PFC of " + j.switchPort(e)}
	}
	if s.shaped != "" {
		c.why = s.shaped + " holds its packets back"
		c.look, c.ruled = []string{"sudo tc qdisc del dev " + s.port.Netdev + " root   # on " + s.Node}, ""
	}
	return c
}

// clues says what is known of an end, topic by topic.
func (j *judge) clues(e End, cells []int) []clue {
	all := []clue{j.mtuClue(e, cells), j.queueClue(e, cells), j.wireClue(e, cells), j.clue(topics[3], e), j.clue(topics[4], e)}
	if h := j.loopClue(e); all[3].why == "" && h != "" {
		all[3].why, all[3].ruled = h, ""
	}
	return all
}

// loopClue tells of a port that is slow even with itself.
func (j *judge) loopClue(e End) string {
	for _, i := range j.of["rdma.loop.bw"] {
		c := &j.cells[i]
		if c.A == e && (c.Status == check.Warn || c.Status == check.Fail) {
			return fmt.Sprintf("%s is slow even with itself, %s: the host and its PCIe, not the wire", e, BitsPerSecond.Text(c.Got.Or(0)))
		}
	}
	return ""
}

// looks are the commands of a topic at an end where nothing is known of it.
func (j *judge) looks(topic int, e End, peer End) []string {
	s := j.ss.at(e)
	if s.port == nil {
		return nil
	}
	netdev, on := s.port.Netdev, "   # on "+e.Node
	switch {
	case topic == 0 && !s.port.IB() && netdev != "":
		return []string{fmt.Sprintf("ping -M do -c 3 -s %d -I %s %s", max(s.netMTU, 1500)-28, netdev, j.addrOf(peer)) + on}
	case topic == 0 && s.port.IB():
		return []string{"ibv_devinfo -d " + s.port.Device + " | grep mtu" + on}
	case topic == 1 && s.soft != "" && netdev != "":
		return []string{"tc -s qdisc show dev " + netdev + on}
	case topic == 1 && s.link == roce && netdev != "" && !j.direct():
		return []string{"sudo dcb pfc show dev " + netdev + on + ", and the same on " + j.switchPort(e)}
	case topic == 2 && s.soft != "":
		return []string{"what carries " + netdev + " below: the virtual switch, or the cable of the card under it"}
	case topic == 2:
		return []string{"change the cable or transceiver of " + e.String() + ", then plug it elsewhere than " + j.switchPort(e)}
	case topic == 3 && s.port.BDF != "":
		return []string{"sudo lspci -vv -s " + s.port.BDF + " | grep -E 'LnkCap:|LnkSta:'" + on}
	case topic == 4 && s.port.BDF != "" && s.node.Host.NUMANodes > 1:
		return []string{"cat /sys/bus/pci/devices/" + s.port.BDF + "/numa_node" + on}
	}
	return nil
}

// direct reports whether cables join the nodes without a switch.
func (j *judge) direct() bool {
	if !j.cabled.Known() {
		j.cabled = fact.Some(j.c.Direct())
	}
	return j.cabled.Or(false)
}

// addrOf is the address of an end, for a command.
func (j *judge) addrOf(e End) string {
	s := j.ss.at(e)
	if s.port != nil {
		if d := s.node.Netdev(s.port.Netdev); d != nil && len(d.Prefixes()) > 0 {
			return d.Prefixes()[0].Addr().String()
		}
	}
	return "PEER"
}
