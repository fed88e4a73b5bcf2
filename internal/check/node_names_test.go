package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeNames(t *testing.T) {
	says := func(c *Case, i int, addrs ...string) { c.Nodes[i].Peers[0].Resolves = addrs }
	// three adds n3, which n1 and n2 know and which knows them.
	three := func(c *Case) {
		c.Nodes = append(c.Nodes, goodNode(3))
		for i, n := range c.Nodes {
			n.Peers = nil
			for j := range c.Nodes {
				if a := []string{"192.168.200.1", "192.168.200.2", "192.168.200.3"}[j]; i != j {
					n.Peers = append(n.Peers, fact.Peer{Node: c.Nodes[j].Name, Addr: a, Resolves: []string{a}, ResolvesRead: true})
				}
			}
		}
	}
	judge(t, nodeNames, []row{
		{name: "all well", want: "n1 pass"},
		{name: "three alike", do: three, want: "n3 pass", not: "warn"},
		{name: "nobody resolves", do: func(c *Case) { says(c, 0) }, fix: "echo '192.168.200.2 n2' | sudo tee -a /etc/hosts",
			want: "n1 warn: do not resolve: n2: jobs can be started by address only"},
		{name: "some do and some do not", do: func(c *Case) { three(c); c.Nodes[2].Peers[0].Resolves = nil },
			want: "n3 fail: resolve elsewhere but not here: n1: whatever is started by name works from some nodes only"},
		{name: "the loopback of Debian", do: func(c *Case) { says(c, 0, "127.0.1.1") },
			want: "n1 fail: resolve to addresses that are not theirs: n2: whatever is started by name talks to the wrong machine or to nobody"},
		{name: "the management address", do: func(c *Case) { says(c, 0, "10.0.0.2") },
			want: "n1 warn: resolve to the management network: n2: whatever is started by name keeps its traffic off the data plane"},
		{name: "both addresses", do: func(c *Case) { says(c, 0, "10.0.0.2", "192.168.200.2") }, want: "n1 pass"},
		{name: "different answers", do: func(c *Case) {
			three(c)
			c.Nodes = append(c.Nodes, goodNode(4))
			c.Nodes[3].Peers = []fact.Peer{{Node: "n1", Addr: "192.168.200.1", Resolves: []string{"10.0.0.1"}, ResolvesRead: true}}
		}, want: "n4 warn: resolve differently than on most nodes: n1: the nodes of one job meet on different networks"},
		{name: "several peers are folded", do: func(c *Case) { three(c); c.Nodes[2].Peers[0].Resolves, c.Nodes[2].Peers[1].Resolves = nil, nil },
			want: "n3 fail: resolve elsewhere but not here: n[1-2]: whatever is started by name works from some nodes only"},
		{name: "a peer that is down cannot deny an address", do: func(c *Case) { c.Nodes[1].Down = "gone"; says(c, 0, "10.7.7.7") },
			want: "n1 warn: resolve to the management network: n2: whatever is started by name keeps its traffic off the data plane"},
		{name: "no data address, any of its own will do", do: func(c *Case) { c.Nodes[0].Peers[0].Addr = ""; says(c, 0, "10.0.0.2") }, want: "n1 pass"},
		{name: "unread", do: func(c *Case) { c.Nodes[0].Peers[0].Resolves, c.Nodes[0].Peers[0].ResolvesRead = nil, false },
			want: "n1 unknown: not looked up: n2: name lookups were not read", fix: "getent hosts n2"},
		{name: "one node", do: func(c *Case) { c.Nodes = c.Nodes[:1]; c.Nodes[0].Peers = nil }, want: "cluster skip: no node was asked for another's name"},
	})
}
