package check

import "testing"

// intel makes both ports E810 ports in RoCE v2 mode.
func intel(c *Case) {
	for _, n := range c.Nodes {
		n.Ports[0].Driver = "irdma"
		n.At("0000:19:00.0").Driver = "ice"
	}
}

// iwarp puts the port of a node into iWARP mode.
func iwarp(c *Case, node int) {
	p := c.Nodes[node].Ports[0]
	p.Driver, p.NodeType, p.GIDs = "irdma", "4: RNIC", p.GIDs[:1]
}

func TestRoCEIRDMA(t *testing.T) {
	const why = ", want RoCE v2: iWARP has no IP-mapped GIDs: NCCL and llama.cpp find no device they can use and run over TCP"
	judge(t, roceIRDMA, []row{
		{name: "RoCE v2", do: intel, want: "n1 mlx5_0/1 pass: RoCE v2"},
		{name: "iWARP", do: func(c *Case) { intel(c); iwarp(c, 1) }, want: "n2 mlx5_0/1 fail: iWARP" + why,
			fix: "sudo devlink dev param set pci/0000:19:00.0 name enable_roce value true cmode runtime"},
		{name: "and the other end passes", do: func(c *Case) { intel(c); iwarp(c, 1) }, want: "n1 mlx5_0/1 pass: RoCE v2"},
		{name: "X722 can do nothing else", do: func(c *Case) { intel(c); iwarp(c, 1); c.Nodes[1].At("0000:19:00.0").Driver = "i40e" },
			want: "n2 mlx5_0/1 fail: iWARP" + why, fix: "X722"},
		{name: "GIDs of another kind", do: func(c *Case) { intel(c); c.Nodes[0].Ports[0].GIDs = c.Nodes[0].Ports[0].GIDs[:1] },
			want: "n1 mlx5_0/1 fail: no RoCE v2 GID" + why},
		{name: "no GID yet", do: func(c *Case) { intel(c); c.Nodes[0].Ports[0].GIDs = nil }, want: "n1 mlx5_0/1 pass: RoCE"},
		{name: "unread", do: func(c *Case) {
			intel(c)
			p := c.Nodes[0].Ports[0]
			p.NodeType, p.GIDs, p.GIDsRead = "", nil, false
		}, want: "n1 mlx5_0/1 unknown: neither the node type nor the GIDs of mlx5_0 were read"},
		{name: "the owner wants iWARP", do: func(c *Case) { iwarp(c, 0); iwarp(c, 1); c.Want.Data.Layer = "iwarp" }, want: "cluster skip: no port of the irdma driver is in use, or weft.yaml asks for iWARP"},
		{name: "no Intel card", want: "cluster skip: no port of the irdma driver is in use, or weft.yaml asks for iWARP"},
	})
}
