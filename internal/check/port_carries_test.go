package check

import (
	"testing"
	"time"

	"weft/internal/fact"
)

func TestPortCarries(t *testing.T) {
	const gib = 1 << 28 // words of four bytes in a GiB
	// both brings the second port of a card up, and sets what each port has sent.
	both := func(c *fact.Cluster, first, second uint64) {
		for _, n := range c.Nodes {
			p := n.Ports[1]
			p.State, p.Counters = "ACTIVE", map[string]uint64{"port_xmit_data": gib}
		}
		n := c.Nodes[1]
		n.Ports[0].Counters["port_xmit_data"], n.Ports[1].Counters["port_xmit_data"] = first, second
	}
	now := func(first, second uint64) func(c *Case) { return func(c *Case) { both(&c.Cluster, first, second) } }
	later := func(a1, b1, a2, b2 uint64) func(c *Case) {
		return func(c *Case) {
			c.Before, c.Since = &good().Cluster, time.Hour
			both(c.Before, a1, b1)
			both(&c.Cluster, a2, b2)
		}
	}
	judge(t, portCarries, []row{
		{name: "one port has none to compare with", want: "cluster skip: no node has two equal data ports whose traffic could be compared"},
		{name: "both sent", do: now(gib, 1), want: "n2 mlx5_1/1 pass: as busy as the others"},
		{name: "one never sent", do: now(gib, 0), fix: "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1",
			want: "n2 mlx5_1/1 warn: sent nothing since the driver was loaded, want traffic on every data port: an equal port of this node sent 1 GiB, so jobs may use only a part of the ports"},
		{name: "too little to tell", do: now(gib-1, 0), want: "n2 mlx5_1/1 pass: idle like the others"},
		{name: "one stood still while the other worked", do: later(5, 7, 5+gib, 7), fix: "ip route get",
			want: "n2 mlx5_1/1 fail: sent nothing, want traffic on every data port: mlx5_0/1 sent 1 GiB in the same time, so jobs use only a part of the ports"},
		{name: "it sent a little", do: later(5, 7, 5+gib, 8), want: "n2 mlx5_1/1 pass: as busy as the others"},
		{name: "both stood still", do: later(5, 7, 5, 7), want: "n2 mlx5_1/1 pass: idle like the others"},
		{name: "counters began anew", do: later(5, gib, 5+gib, 3), want: "n2 mlx5_1/1 pass: as busy as the others"},
		{name: "another boot", do: func(c *Case) { later(0, 7, gib, 7)(c); bootAnew(c) }, want: "n2 mlx5_1/1 pass: as busy as the others"},
		{name: "silent since another boot", do: func(c *Case) { later(0, 0, gib, 0)(c); bootAnew(c) },
			want: "n2 mlx5_1/1 warn: sent nothing since the driver was loaded, want traffic on every data port: an equal port of this node sent 1 GiB, so jobs may use only a part of the ports"},
		{name: "another card is for something else", do: func(c *Case) {
			both(&c.Cluster, gib, 0)
			for _, n := range c.Nodes {
				n.Ports[1].Board = "DEL0000000004"
			}
		}, want: "cluster skip: no node has two equal data ports whose traffic could be compared"},
		{name: "unread", do: func(c *Case) { both(&c.Cluster, gib, 0); c.Nodes[1].Ports[1].Counters = nil }, want: "n2 mlx5_1/1 unknown: port_xmit_data was not read"},
		{name: "a driver without the counter", do: func(c *Case) {
			both(&c.Cluster, gib, 0)
			c.Nodes[1].Ports[1].Counters = map[string]uint64{"ip4OutOctets": 1}
		}, want: "n2 mlx5_0/1 pass: as busy as the others", not: "n2 mlx5_1/1"},
	})
}
