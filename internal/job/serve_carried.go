package job

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/trial"
)

// Carried is what the counters of the ports say of a few tokens.
type Carried struct {
	Tokens int           `json:"tokens"`
	Least  int64         `json:"least"` // bytes that each node must at least have moved for them
	Nodes  []CarriedNode `json:"nodes"`
	RDMA   bool          `json:"rdma"` // RDMA ports of every node moved that much
	Why    string        `json:"why"`
}

// CarriedNode is one node of it.
type CarriedNode struct {
	Node    string        `json:"node"`
	RDMA    []trial.Moved `json:"rdma,omitempty"`   // data ports
	Beside  []trial.Moved `json:"beside,omitempty"` // other ports and interfaces
	Bytes   int64         `json:"bytes"`            // of data ports, both ways
	Packets int64         `json:"packets,omitempty"`
	Other   int64         `json:"other"` // bytes of the others, both ways
	Missing string        `json:"missing,omitempty"`
}

// packet is the payload that a packet has at most: the largest RDMA MTU. Ports that count
// packets are held to the least that the bytes would take.
const packet = 4096

// Carry judges the counters of every node from before and after so many tokens. A token is at
// least one row of numbers between nodes, 2 bytes each, whatever the layout.
func (l *Launch) Carry(c *check.Case, before, after map[string]trial.Counters, tokens int) Carried {
	hidden := l.Fit.Hidden
	if hidden == 0 {
		hidden = 1024 // the smallest of models that anybody spreads over nodes
	}
	out := Carried{Tokens: tokens, Least: int64(tokens) * int64(hidden) * 2, RDMA: true}
	var not []string
	for _, n := range l.Nodes {
		cn := CarriedNode{Node: n.Node}
		if before[n.Node] == nil || after[n.Node] == nil {
			cn.Missing = "its counters could not be read"
			out.Nodes = append(out.Nodes, cn)
			out.RDMA = false
			not = append(not, n.Node+": "+cn.Missing)
			continue
		}
		var data []string
		for _, p := range c.Usable(c.Node(n.Node)) {
			data = append(data, p.Name)
		}
		for _, m := range trial.Moves(n.Node, before[n.Node], after[n.Node]) {
			m.Before, m.After = nil, nil
			if !slices.Contains(data, m.Port) {
				cn.Beside = append(cn.Beside, m)
				if !m.Packets {
					cn.Other += m.Sent + m.Received
				}
				continue
			}
			cn.RDMA = append(cn.RDMA, m)
			if m.Packets {
				cn.Packets += m.Sent + m.Received
			} else {
				cn.Bytes += m.Sent + m.Received
			}
		}
		if cn.Bytes < out.Least && cn.Packets < max(1, out.Least/packet) {
			out.RDMA = false
			not = append(not, fmt.Sprintf("%s: its data ports moved %s, and %d tokens are %d bytes at least", n.Node, moved(cn), tokens, out.Least))
		}
		out.Nodes = append(out.Nodes, cn)
	}
	if out.RDMA {
		out.Why = fmt.Sprintf("the data ports of every node moved more than the %d bytes that %d tokens are at least", out.Least, tokens)
	} else {
		out.Why = strings.Join(not, "; ")
	}
	return out
}

func moved(n CarriedNode) string {
	if n.Packets > 0 {
		return fmt.Sprintf("%d packets", n.Packets)
	}
	return fmt.Sprintf("%d bytes", n.Bytes)
}
