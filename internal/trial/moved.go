package trial

import (
	"cmp"
	"slices"
	"strings"
)

// Counters is what ports ("mlx5_0/1") and interfaces ("eth0") have counted.
type Counters map[string]map[string]uint64

// Of returns the counters of one port, made when it is new.
func (c Counters) Of(port string) map[string]uint64 {
	if c[port] == nil {
		c[port] = map[string]uint64{}
	}
	return c[port]
}

// carriers are the counters that see RDMA leave and arrive, in the order they are believed.
// port_xmit_data counts four bytes a step (InfiniBand 1.3, 16.1.3.5); rxe counts packets
// (rxe_hw_counters.c), irdma IP bytes (irdma/hw.c), bnxt_re RoCE bytes (bnxt_re/hw_counters.c).
// siw counts nothing: there the interface's own counters see its TCP.
var carriers = []struct {
	sent, received string
	step           uint64
	packets        bool
}{
	{"port_xmit_data", "port_rcv_data", 4, false},
	{"ip4OutOctets", "ip4InOctets", 1, false},
	{"tx_roce_only_bytes", "rx_roce_only_bytes", 1, false},
	{"sent_pkts", "rcvd_pkts", 1, true},
	{"tx_bytes", "rx_bytes", 1, false},
}

// Moves returns how the counters of a node grew, of the ports and interfaces where they
// did: the busiest first.
func Moves(node string, before, after Counters) []Moved {
	var all []Moved
	for port, now := range after {
		was := before[port]
		m := Moved{End: End{node, port}, Before: map[string]uint64{}, After: map[string]uint64{}}
		for name, v := range now {
			if v != was[name] {
				m.Before[name], m.After[name] = was[name], v
			}
		}
		grew := func(name string) int64 {
			if now[name] < was[name] { // set back meanwhile
				return 0
			}
			return int64(now[name] - was[name])
		}
		for _, c := range carriers {
			_, a := now[c.sent]
			_, b := now[c.received]
			if a && b {
				m.Sent, m.Received, m.Packets = grew(c.sent)*int64(c.step), grew(c.received)*int64(c.step), c.packets
				break
			}
		}
		for name := range now {
			if g := grew(name); g > 0 && trouble(name) {
				if m.Grew == nil {
					m.Grew = map[string]uint64{}
				}
				m.Grew[name] = uint64(g)
			}
		}
		if m.Sent > 0 || m.Received > 0 || len(m.Grew) > 0 {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Moved) int {
		return cmp.Or(cmp.Compare(b.Sent+b.Received, a.Sent+a.Received), cmp.Compare(a.Port, b.Port))
	})
	return all
}

// Lean is the cell without the counters themselves: how much they grew stays.
func (c Cell) Lean() Cell {
	c.Moved = slices.Clone(c.Moved)
	for i := range c.Moved {
		c.Moved[i].Before, c.Moved[i].After = nil, nil
	}
	return c
}

// troubles are words in the names of counters that should not grow.
var troubles = []string{"err", "drop", "discard", "retr", "timeout", "out_of_", "seq_nak", "rnr", "pause", "wait", "link_downed", "congest", "cnp", "ecn", "nak", "missed", "crc", "fifo"}

func trouble(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(troubles, func(w string) bool { return strings.Contains(name, w) })
}
