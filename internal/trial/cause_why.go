package trial

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
)

// explainWhy fills in why a problem is there, what is ruled out, and what to look at.
func (j *judge) explainWhy(p *Problem, f fault, cells []int) {
	switch p.Kind {
	case "port", "pair":
		if p.Kind == "pair" && j.lone(p.At, cells) {
			j.narrow(p, cells)
		}
		j.whyEnds(p, cells)
	case "node":
		whole := p.At
		p.At = j.portsOf(p.At[0].Node, cells)
		j.whyEnds(p, cells)
		p.At = whole
	case "switch", "rail", "cluster":
		j.whyMany(p, cells)
	}
	if f.reason != "" {
		p.Why = f.reason
	}
	p.Look = append(p.Look, special(p.Trial)...)
	p.Look = slices.Compact(p.Look)
}

// special is what to look at in trials that are not of the network alone.
func special(id string) []string {
	switch {
	case id == "gpu.direct":
		return []string{"weft check gpu.direct node.acs pcie.numa"}
	case id == "gpu.membw":
		return []string{"nvidia-smi -q -d CLOCK,PERFORMANCE,ECC   # or amd-smi metric", "weft check gpu.clamp"}
	case strings.HasPrefix(id, "nccl."):
		return []string{"weft prove rdma.write.bw   # is the fabric as quick as it should be?", "NCCL_DEBUG=INFO, and weft nccl LOGFILE"}
	}
	return nil
}

// lone reports whether two ends were measured with nobody else: then it cannot be told which
// of them is bad.
func (j *judge) lone(at []End, cells []int) bool {
	if len(at) != 2 || len(cells) == 0 {
		return false
	}
	for _, i := range j.of[j.cells[cells[0]].Trial] {
		c := &j.cells[i]
		a, b := slices.Contains(at, c.A), slices.Contains(at, c.B)
		if a != b && c.Got.Known() {
			return false
		}
	}
	return true
}

// narrow blames one end of a lone pair where facts or counters point at it alone.
func (j *judge) narrow(p *Problem, cells []int) {
	a, b := j.clues(p.At[0], cells), j.clues(p.At[1], cells)
	for i := range a {
		if i == 2 && p.Kind == "pair" {
			continue // what a wire damages is counted at one end and may be done by the other
		}
		switch one, other := a[i].why != "", b[i].why != ""; {
		case one && !other:
			p.Kind, p.At = "port", p.At[:1:1]
			return
		case other && !one:
			p.Kind, p.At = "port", p.At[1:2:2]
			if p.Way == sending {
				p.Way = receiving
			}
			return
		}
	}
}

// portsOf lists the ends of a node among cells.
func (j *judge) portsOf(node string, cells []int) (ends []End) {
	for _, i := range cells {
		for _, e := range []End{j.cells[i].A, j.cells[i].B} {
			if e.Node == node && !slices.Contains(ends, e) {
				ends = append(ends, e)
			}
		}
	}
	return ends
}

// whyEnds explains a problem of a few ends by what is known of each of them.
func (j *judge) whyEnds(p *Problem, cells []int) {
	peer := j.peerOf(p.At, cells)
	var later []string
	for topic := range topics {
		var ruled []string
		for _, e := range p.At {
			c := j.clues(e, cells)[topic]
			if c.why != "" && p.Why == "" && (p.Kind != "pair" || topic == 0 || topic == 2 || j.lone(p.At, cells)) {
				p.Why, p.Look = c.why, c.look
			}
			switch {
			case c.ruled != "":
				ruled = append(ruled, c.ruled)
			case c.why == "":
				later = append(later, j.looks(topic, e, peer)...)
			}
		}
		if len(ruled) == len(p.At) && len(p.At) > 0 {
			p.Ruled = append(p.Ruled, atEnds(ruled)...)
		}
	}
	p.Look = append(slices.Clone(p.Look), later...)
	if p.Why == "" {
		p.Why = j.generic(p, cells)
	}
}

// atEnds writes what is right at one or two ends: the same at both is said once.
func atEnds(ruled []string) []string {
	if len(ruled) == 2 && ruled[0] == ruled[1] {
		first, rest, more := strings.Cut(ruled[0], " and ")
		if more {
			return []string{first + " at both ends and " + rest}
		}
		return []string{ruled[0] + " at both ends"}
	}
	return slices.Compact(slices.Clone(ruled))
}

// peerOf is an end on the other side of a cell of these ends.
func (j *judge) peerOf(at []End, cells []int) End {
	if len(at) == 2 {
		return at[1]
	}
	for _, i := range cells {
		for _, e := range []End{j.cells[i].A, j.cells[i].B} {
			if !slices.Contains(at, e) {
				return e
			}
		}
	}
	return End{}
}

// generic is what the pattern itself tells.
func (j *judge) generic(p *Problem, cells []int) string {
	one := ""
	if len(p.At) > 0 {
		one = p.At[0].String()
	}
	soft := len(p.At) > 0 && j.ss.at(p.At[0]).soft != ""
	switch {
	case p.Kind == "pair" && j.lone(p.At, cells):
		return "either end, or what joins them: with nobody else to meet it cannot be told which; facts and counters point at neither"
	case p.Kind == "pair" && j.direct():
		return "each end is good with others, so the cable between them"
	case p.Kind == "pair":
		return "each end is good with others, so the way between them: one route through the switches, or one setting that only they have"
	case p.Kind == "node":
		return "all its ports are bad, so the host itself: its power, its processors, or what its slots share"
	case strings.HasPrefix(p.Trial, "gpu.") || p.Trial == "rdma.loop.bw":
		return "nothing else of the network has a part in it: the host, its slots and its settings"
	case p.Way == sending && soft:
		return "with every partner what " + one + " sends is bad and what it receives is not: what its packets wait in, or its processor"
	case p.Way == sending:
		return "with every partner what " + one + " sends is bad and what it receives is not: its transmitter, its cable, or how it reads from memory"
	case p.Way == receiving:
		return "with every partner what " + one + " receives is bad and what it sends is not: the port of the switch towards it, its cable, or how it writes to memory"
	case p.Kind == "port":
		return "it is bad with every partner, in both directions, and they are good with each other"
	}
	return "facts and counters point at nothing"
}

// whyMany explains a problem of many ends by what is wrong at most of them.
func (j *judge) whyMany(p *Problem, cells []int) {
	var ends []End
	seen := map[End]bool{}
	for _, i := range cells {
		for _, e := range []End{j.cells[i].A, j.cells[i].B} {
			if !seen[e] && e.Node != "" && (p.Kind != "switch" || j.covers(fault{kind: "switch", at: p.At}, e)) {
				seen[e] = true
				ends = append(ends, e)
			}
		}
	}
	k := j.findings()
	for _, t := range topics {
		for _, id := range t.ids {
			bad, good := 0, 0
			var first check.Finding
			for _, e := range ends {
				for _, f := range k.at[check.Subject{Node: e.Node, Part: e.Port}] {
					switch {
					case f.Check != id:
					case f.Status == check.Warn || f.Status == check.Fail:
						if bad++; bad == 1 {
							first = f
						}
					case f.Status == check.Pass:
						good++
						first = f
					}
				}
			}
			switch {
			case 2*bad > len(ends) && p.Why == "":
				p.Why = fmt.Sprintf("%s on %d of %d ports: %s", first.Got, bad, len(ends), first.Why)
				p.Look = append(p.Look, first.Fix...)
			case good == len(ends) && len(ends) > 0:
				if words := ruledWords(id, first); words != "" {
					p.Ruled = append(p.Ruled, words+" everywhere")
				}
			}
		}
	}
	if p.Why != "" {
		return
	}
	switch p.Kind {
	case "switch":
		names := make([]string, len(p.At))
		for i, e := range p.At {
			names[i] = e.Node
		}
		p.Why = "all that crosses " + strings.Join(names, " and ") + " is bad, and what does not is good"
		p.Look = append(p.Look, "the links of "+strings.Join(names, " and ")+" to other switches: how many are up, at which rate, with which errors",
			"PFC, ECN and MTU on those links", "the spread of flows over them (ECMP)")
	case "rail":
		p.Why = "every pair of the rail is bad: what all of them share"
		p.Look = append(p.Look, "the switch of the rail: MTU, PFC, rates of its ports", "weft check")
	default:
		p.Why = "every pair of the cluster is bad: what all nodes share"
		p.Look = append(p.Look, "weft check", "settings that all nodes have: IOMMU, power saving, MTU, PFC")
	}
}
