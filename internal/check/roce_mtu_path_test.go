package check

import (
	"testing"

	"weft/internal/fact"
)

func TestRoCEMTUPath(t *testing.T) {
	lost := func(c *Case) { c.Nodes[0].Peers[0].Jumbo = fact.Some(false) }
	noPing := func(c *Case) {
		for _, n := range c.Nodes {
			n.Peers[0].Ping, n.Peers[0].Jumbo = fact.Some(false), fact.Some(false)
		}
	}
	judge(t, roceMTUPath, []row{
		{name: "they cross", want: "n1 → n2 pass: 9000 bytes cross"},
		{name: "lost in the switch", do: lost,
			want: "n1 → n2 fail: 9000 bytes are lost, want both ends send them: small packets pass and large ones vanish in the switch, so connections open and then hang",
			fix:  "ping -M do -c 3 -s 8972 -I eth2 192.168.200.2"},
		{name: "one way only", do: lost, want: "n2 → n1 pass: 9000 bytes cross"},
		{name: "this end is too small", do: func(c *Case) { lost(c); c.Nodes[0].Netdev("eth2").MTU = fact.Some(1500) },
			want: "n1 → n2 skip: eth2 of n1 has mtu 1500; see roce.mtu"},
		{name: "the other end is too small", do: func(c *Case) { lost(c); c.Nodes[1].Netdev("eth2").MTU = fact.Some(8999) },
			want: "n1 → n2 skip: eth2 of n2 has mtu 8999; see roce.mtu"},
		{name: "a smaller ping within a smaller mtu", do: func(c *Case) {
			lost(c)
			c.Nodes[0].Peers[0].JumboSize = 4172
			c.Nodes[0].Netdev("eth2").MTU, c.Nodes[1].Netdev("eth2").MTU = fact.Some(4200), fact.Some(4200)
		}, want: "n1 → n2 fail: 4200 bytes are lost, want both ends send them: small packets pass and large ones vanish in the switch, so connections open and then hang"},
		{name: "no ping at all", do: func(c *Case) { lost(c); c.Nodes[0].Peers[0].Ping = fact.Some(false) },
			want: "n1 → n2 unknown: not even a small ping to 192.168.200.2 came back"},
		{name: "the peer's cable is out", do: func(c *Case) { noPing(c); c.Nodes[1].Ports[0].State = "DOWN" },
			want: "n1 → n2 skip: mlx5_0/1 of n2 is DOWN; see port.up"},
		{name: "this node's cable is out", do: func(c *Case) { noPing(c); c.Nodes[1].Ports[0].State = "DOWN" },
			want: "n2 → n1 skip: mlx5_0/1 of n2 is DOWN; see port.up"},
		{name: "the peer does not answer", do: func(c *Case) { noPing(c); c.Nodes[1].Down = "refused" },
			want: "n1 → n2 skip: n2 did not answer; see node.read", not: "unknown"},
		{name: "the peer's port has no address", do: func(c *Case) { noPing(c); addresses(c); c.Nodes[1].Netdev("eth2").Addrs = nil },
			want: "n1 → n2 skip: n2 does not have 192.168.200.2; see roce.gid", not: "unknown"},
		{name: "the peer's port has another address", do: func(c *Case) {
			noPing(c)
			addresses(c)
			c.Nodes[1].Netdev("eth2").Addrs = []string{"10.20.0.2/24"}
		}, want: "n2 → n1 skip: n2 does not have 192.168.200.2; see roce.subnets", not: "unknown"},
		{name: "the peer's port is gone", do: func(c *Case) { noPing(c); addresses(c); c.Nodes[1].Ports = c.Nodes[1].Ports[1:] },
			want: "n1 → n2 skip: n2 has no mlx5_0/1; see port.present", not: "unknown"},
		{name: "down and without its address", do: func(c *Case) {
			noPing(c)
			addresses(c)
			c.Nodes[1].Ports[0].State, c.Nodes[1].Netdev("eth2").Addrs = "DOWN", nil
		}, want: "n1 → n2 skip: mlx5_0/1 of n2 is DOWN; see port.up", not: "unknown"},
		{name: "another port of the peer is down", do: func(c *Case) { noPing(c) }, // mlx5_1/1 is
			want: "n1 → n2 unknown: not even a small ping to 192.168.200.2 came back"},
		{name: "the state of the peer's port was not read", do: func(c *Case) { noPing(c); c.Nodes[1].Ports[0].State = "" },
			want: "n1 → n2 unknown: not even a small ping to 192.168.200.2 came back"},
		{name: "unread", do: func(c *Case) { c.Nodes[0].Peers[0].Jumbo = fact.Val[bool]{} },
			want: "n1 → n2 unknown: no full-size ping was sent to 192.168.200.2"},
		{name: "nobody was asked", do: func(c *Case) { c.Nodes[0].Peers, c.Nodes[1].Peers = nil, nil },
			want: "cluster unknown: no node was asked to ping another over the data plane"},
		{name: "one node", do: func(c *Case) { c.Nodes = c.Nodes[:1]; c.Nodes[0].Peers = nil }, want: "cluster skip: one node has no path to another"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}
