package check

import "testing"

func TestPortLayer(t *testing.T) {
	third := func(c *Case) { c.Nodes = append(c.Nodes, goodNode(3)) }
	judge(t, portLayer, []row{
		{name: "Ethernet everywhere", want: "n1 mlx5_0/1 pass: Ethernet"},
		{name: "InfiniBand everywhere", do: func(c *Case) { *c = *goodIB() }, want: "n1 mlx5_0/1 pass: InfiniBand"},
		{name: "one of three is the odd one", do: func(c *Case) { third(c); c.Nodes[1].Ports[0].Layer = "InfiniBand" },
			want: "n2 mlx5_0/1 fail: InfiniBand, want Ethernet: the same port of the same card speaks Ethernet on most nodes, and the two layers cannot talk to each other",
			fix:  "sudo mstconfig -d 0000:19:00.0 set LINK_TYPE_P1=2", not: "n1 mlx5_0/1 fail"},
		{name: "two nodes that cannot talk", do: func(c *Case) { c.Nodes[1].Ports[0].Layer = "InfiniBand" },
			want: "n1 mlx5_0/1 fail: Ethernet, want InfiniBand: no other node speaks Ethernet, so no other node can be reached", fix: "LINK_TYPE_P1=1"},
		{name: "the second port of a card", do: func(c *Case) {
			third(c)
			for _, n := range c.Nodes {
				n.Ports[1].State = "ACTIVE"
			}
			c.Nodes[1].Ports[1].Layer = "InfiniBand"
		}, want: "n2 mlx5_1/1 fail: InfiniBand, want Ethernet: the same port of the same card speaks Ethernet on most nodes, and the two layers cannot talk to each other",
			fix: "sudo mstconfig -d 0000:19:00.1 set LINK_TYPE_P2=2"},
		{name: "InfiniBand for jobs and Ethernet for storage", do: func(c *Case) {
			*c = *goodIB()
			for _, n := range c.Nodes {
				n.Ports[1].State, n.Ports[1].Layer = "ACTIVE", "Ethernet"
			}
		}, want: "n1 mlx5_1/1 pass: Ethernet", not: "fail"},
		{name: "one machine", do: func(c *Case) {
			*c = *goodIB()
			c.Nodes = c.Nodes[:1]
			c.Nodes[0].Ports[1].State, c.Nodes[0].Ports[1].Layer = "ACTIVE", "Ethernet"
		}, want: "cluster skip: one node has nobody to agree with"},
		{name: "not what weft.yaml wants", do: func(c *Case) { c.Want.Data.Layer = "infiniband" },
			want: "n1 mlx5_0/1 fail: Ethernet, want InfiniBand: weft.yaml wants infiniband, and a port of the other layer reaches nobody there"},
		{name: "what weft.yaml wants", do: func(c *Case) { c.Want.Data.Layer = "roce" }, want: "n1 mlx5_0/1 pass: Ethernet"},
		{name: "a card that cannot change", do: func(c *Case) { c.Want.Data.Layer = "infiniband"; c.Nodes[0].Ports[0].Driver = "irdma" },
			want: "n1 mlx5_0/1 fail: Ethernet, want InfiniBand: weft.yaml wants infiniband, and a port of the other layer reaches nobody there", fix: "cannot change"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Ports[0].Layer = "" }, want: "n2 mlx5_0/1 unknown: the link layer of the port was not read", not: "n1 mlx5_0/1 fail"},
		{name: "nothing in use", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports = nil
			}
		}, want: "cluster skip: no RDMA port is in use"},
	})
}
