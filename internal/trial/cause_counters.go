package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
)

// What a counter that grew tells. Names are those of sysfs, of mlx5 and InfiniBand (kernel,
// Documentation/ABI/stable/sysfs-class-infiniband; NVIDIA, understanding mlx5 counters), of
// irdma (irdma/verbs.c), bnxt_re (hw_counters.c) and rxe (rxe_hw_counters.c).
var (
	// What was on its way to this port got lost.
	lostIn = []string{"out_of_sequence", "out_of_seq_request", "seq_err_naks_sent"}
	// What this port sent got lost, and it sent it again.
	lostOut = []string{"packet_seq_err", "local_ack_timeout_err", "roce_adp_retrans", "roce_adp_retrans_to", "completer_retry_err", "rcvd_seq_err",
		"retry_exceeded_err", "to_retransmits", "seq_err_naks_rcvd", "RetransSegs", "tcpRetransSegs", "implied_nak_seq_err"}
	// The wire into this port damages what it carries.
	wire = []string{"symbol_error", "link_error_recovery", "link_downed", "local_link_integrity_errors", "port_rcv_errors", "excessive_buffer_overrun_errors",
		"rx_icrc_encapsulated", "rx_crc_errors_phy", "rx_symbol_err_phy", "rx_pcs_symbol_err_phy"}
	// This host does not take in time what arrives.
	slowHost = []string{"out_of_buffer", "rnr_nak_retry_err", "rcvd_rnr_err", "send_rnr_err", "rx_discards_phy", "rx_out_of_buffer"}
	// There was more to send than the way took. The last grows in every trial of bandwidth.
	congested = []string{"rp_cnp_handled", "np_cnp_sent", "np_ecn_marked_roce_packets", "port_xmit_discards", "roce_slow_restart", "port_xmit_wait"}
)

// grew is the most that one of the named counters of an end grew: one loss moves several.
func (c *Cell) grew(e End, names []string) (most uint64) {
	for i := range c.Moved {
		if c.Moved[i].End != e {
			continue
		}
		for _, name := range names {
			most = max(most, c.Moved[i].Grew[name])
		}
	}
	return most
}

// lost is how often something was lost from one end to the other, whichever of them saw
// more, and which part of the packets that is.
func (c *Cell) lost(from, to End) (n uint64, share float64) {
	n = max(c.grew(to, lostIn), c.grew(from, lostOut))
	packets := 0.0
	for _, m := range c.Moved {
		if m.End != from && m.End != to {
			continue
		}
		moved := float64(max(m.Sent, m.Received))
		if !m.Packets {
			moved /= 4096
		}
		packets = max(packets, moved)
	}
	return n, float64(n) / max(packets, 1)
}

// seenBy reports whether the counters of an end were read.
func (c *Cell) seenBy(e End) bool {
	return slices.ContainsFunc(c.Moved, func(m Moved) bool { return m.End == e })
}

// When losses that are counted at one port, and not at others, are worth a word. A busy host
// resends a few for no reason, software devices more than cards: 1 % lost showed as 30 of
// some 3000 packets (LAB.md).
const (
	fewLosses  = 6  // in one run
	muchLosses = 12 // in the middle of a port's runs
	moreLosses = 5  // times as many as elsewhere

	partLost     = 1e-4 // of the packets of a card
	partLostSoft = 2e-3
)

// losses blames ports whose paths alone lose packets. It is a warning: what it costs is in
// the bandwidth.
func (j *judge) losses(t Trial) (faults []fault) {
	if t.Over != Pairs || t.Unit != BitsPerSecond || !compared(t) {
		return nil
	}
	type way struct {
		end End
		in  bool
	}
	counts := map[way][]float64{}
	partners := map[way]map[string]bool{}
	cells := map[way][]int{}
	var all []float64
	for _, i := range j.of[t.ID] {
		c := &j.cells[i]
		if !c.Got.Known() || !c.seenBy(c.A) || !c.seenBy(c.B) || c.A.Node == c.B.Node {
			continue
		}
		from, to := c.A, c.B
		if isRead(t.ID) {
			from, to = to, from
		}
		count, share := c.lost(from, to)
		n := float64(count)
		if s := j.ss.at(from); s.soft != "" && share < partLostSoft || share < partLost {
			n = 0
		}
		all = append(all, n)
		for _, w := range []way{{from, false}, {to, true}} {
			counts[w] = append(counts[w], n)
			cells[w] = append(cells[w], i)
			if partners[w] == nil {
				partners[w] = map[string]bool{}
			}
			partners[w][c.A.Node], partners[w][c.B.Node] = true, true
		}
	}
	if len(all) == 0 || slices.Max(all) < muchLosses {
		return nil
	}
	slices.Sort(all)
	for w, own := range counts {
		slices.Sort(own)
		usual := all[(len(all)-1)/2] // of all paths: half of them are spared by any one port
		if len(own) < len(all) {
			usual = all[(len(all)-len(own)-1)*4/5] // of the others, if its own are the worst
		}
		middle := own[(len(own)-1)/2]
		if len(partners[w]) < 3 || own[len(own)/5] < fewLosses || middle < muchLosses || middle < moreLosses*usual {
			continue
		}
		f := fault{trial: t, status: check.Warn, kind: "port", way: sending, at: []End{w.end}, cells: cells[w], of: len(cells[w]), losses: middle}
		if w.in {
			f.way = receiving
		}
		f.gotText, f.wantText = fmt.Sprintf("%.0f losses a run", middle), "none, as on other paths"
		if usual > 0 {
			f.wantText = fmt.Sprintf("%.0f, as on other paths", usual)
		}
		faults = append(faults, f)
	}
	slices.SortFunc(faults, func(a, b fault) int {
		return cmp.Or(cmp.Compare(b.losses, a.losses), strings.Compare(a.at[0].String(), b.at[0].String()), strings.Compare(a.way, b.way))
	})
	return onePerPort(faults)
}

// onePerPort keeps the way that loses more where a port loses both ways: what is lost to it
// includes what acknowledges what it sends.
func onePerPort(faults []fault) (kept []fault) {
	for _, f := range faults {
		if !slices.ContainsFunc(kept, func(k fault) bool { return k.at[0] == f.at[0] }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// unmoved finds ports that were to carry a trial and moved nothing, and names what moved it.
func (j *judge) unmoved(t Trial) (faults []fault) {
	if t.Over != Pairs || t.Unit != BitsPerSecond || !strings.HasPrefix(t.ID, "rdma.") && t.ID != "gpu.direct" {
		return nil
	}
	at := map[End]int{}
	for _, i := range j.of[t.ID] {
		c := &j.cells[i]
		if !c.Got.Known() || c.A.Node == c.B.Node {
			continue
		}
		for _, e := range []End{c.A, c.B} {
			instead, silent := c.silent(j.ss.at(e))
			if !silent {
				continue
			}
			k, ok := at[e]
			if !ok {
				k = len(faults)
				at[e] = k
				faults = append(faults, fault{trial: t, status: check.Fail, kind: "port", at: []End{e},
					gotText: "moved no bytes", wantText: "what the trial sent",
					reason: "the trial's bytes did not go through it: " + instead + " moved them"})
			}
			faults[k].cells = append(faults[k].cells, i)
			faults[k].of++
			c.Status, c.Why = check.Fail, e.String()+" moved no bytes: "+instead+" moved them"
		}
	}
	return faults
}

// much is what a trial of bandwidth moves at least, and chatter does not.
const (
	muchBytes   = 32 << 20
	muchPackets = 5000
)

// silent reports whether an end's port moved nothing although another port or interface of
// its node did, and names that.
func (c *Cell) silent(s *side) (instead string, yes bool) {
	if s.port == nil || !counts(s) {
		return "", false
	}
	var most int64
	for _, m := range c.Moved {
		if m.Node != s.Node {
			continue
		}
		moved := max(m.Sent, m.Received)
		if m.Port == s.End.Port {
			if moved > 0 {
				return "", false
			}
			continue
		}
		if m.Port == s.port.Netdev { // the interface of the port itself
			continue
		}
		if (moved >= muchBytes || m.Packets && moved >= muchPackets) && moved > most {
			most, instead = moved, m.End.String()
		}
	}
	return instead, instead != ""
}

// counts reports whether a port counts what it moves.
func counts(s *side) bool {
	for _, c := range carriers {
		if _, ok := s.port.Counters[c.sent]; ok {
			return true
		}
	}
	return false
}
