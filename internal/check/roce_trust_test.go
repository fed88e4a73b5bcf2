package check

import "testing"

func TestRoCETrust(t *testing.T) {
	const (
		want = ", want DSCP 26 to priority 3: "
		pcp  = "untagged RoCE packets carry no pcp, so they land in priority 0, which nothing protects"
	)
	judge(t, roceTrust, []row{
		{name: "26 to 3", want: "n1 mlx5_0/1 pass: DSCP 26 to priority 3"},
		{name: "trusts pcp", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.Trust = "pcp" },
			want: "n1 mlx5_0/1 fail: trusts pcp" + want + pcp, fix: "sudo dcb app replace dev eth2 dscp-prio 26:3"},
		{name: "trusts pcp, switch unknown", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.Trust = "pcp"; c.Want.Data.Switch = "" },
			want: "n1 mlx5_0/1 warn: trusts pcp" + want + pcp},
		{name: "under OFED", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.Trust = "pcp"; c.Nodes[0].Settings.OFED = "x" },
			want: "n1 mlx5_0/1 fail: trusts pcp" + want + pcp, fix: "mlnx_qos -i eth2 --trust dscp"},
		{name: "E810 beside OFED", do: func(c *Case) {
			c.Nodes[0].Ports[0].QoS.Trust, c.Nodes[0].Ports[0].Driver, c.Nodes[0].Settings.OFED = "pcp", "irdma", "x"
		}, want: "n1 mlx5_0/1 fail: trusts pcp" + want + pcp, fix: "sudo dcb app replace dev eth2 dscp-prio 26:3"},
		{name: "26 elsewhere", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.DSCP[26] = 0 },
			want: "n1 mlx5_0/1 fail: DSCP 26 to priority 0" + want + "RDMA packets land in a priority that PFC does not protect"},
		{name: "26 not mapped", do: func(c *Case) { delete(c.Nodes[0].Ports[0].QoS.DSCP, 26) },
			want: "n1 mlx5_0/1 fail: DSCP 26 is not mapped" + want + "RDMA packets land in priority 0, which nothing protects"},
		{name: "the owner uses 48", do: func(c *Case) { c.Want.Data.DSCP, c.Want.Data.Priority = 48, 6 }, want: "n1 mlx5_0/1 pass: DSCP 48 to priority 6"},
		{name: "one map differs elsewhere", do: func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(3))
			c.Nodes[2].Ports[0].QoS.DSCP[48] = 0
		}, want: "n3 mlx5_0/1 warn: another DSCP map than most ports, want one map: what is urgent at one end is ordinary at the other; CNPs and storage suffer first"},
		{name: "nobody wants it lossless", do: func(c *Case) { pfcOff(c); c.Want.Data.Switch = ""; c.Nodes[0].Ports[0].QoS.Trust = "pcp" },
			want: "cluster skip: no port has PFC on, and weft.yaml does not say that the switch is lossless; see roce.pfc"},
		{name: "trust unread", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.Trust = "" }, want: "n1 mlx5_0/1 unknown: what eth2 trusts was not read"},
		{name: "map unread", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.DSCP = nil }, want: "n1 mlx5_0/1 unknown: the DSCP map of eth2 was not read"},
		{name: "direct", do: func(c *Case) { c.Want.Data.Switch = "none" }, want: "cluster skip: cables are direct: there is no switch whose queue could overflow"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}
