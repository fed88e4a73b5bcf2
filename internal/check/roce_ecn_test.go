package check

import "testing"

func TestRoCEECN(t *testing.T) {
	const want = ", want ECN on for priority 3, both ways: "
	np := func(c *Case) { c.Nodes[0].Ports[0].QoS.ECNNP[3] = false }
	rp := func(c *Case) { c.Nodes[0].Ports[0].QoS.ECNRP[3] = false }
	judge(t, roceECN, []row{
		{name: "on", want: "n1 mlx5_0/1 pass: ECN on"},
		{name: "another priority may be off", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.ECNNP[0] = false }, want: "n1 mlx5_0/1 pass: ECN on"},
		{name: "notification off", do: np, want: "n1 mlx5_0/1 fail: notification off" + want + "this port sees the marks and tells no sender, so queues fill until PFC stops everybody",
			fix: "echo 1 | sudo tee /sys/class/net/eth2/ecn/roce_np/enable/3"},
		{name: "reaction off", do: rp, want: "n1 mlx5_0/1 fail: reaction off" + want + "this port is told to slow down and does not, so queues fill until PFC stops everybody",
			fix: "ecn/roce_rp/enable/3"},
		{name: "off", do: func(c *Case) { np(c); rp(c) }, want: "n1 mlx5_0/1 fail: ECN off" + want + "nothing slows a sender before a queue is full, so PFC stops everybody instead"},
		{name: "off, switch unknown", do: func(c *Case) { np(c); rp(c); c.Want.Data.Switch = "" },
			want: "n1 mlx5_0/1 warn: ECN off" + want + "nothing slows a sender before a queue is full, so PFC stops everybody instead"},
		{name: "half unread", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.ECNRP = nil }, want: "n1 mlx5_0/1 unknown: the ECN state of eth2 was not read; run weft as root"},
		{name: "unread under OFED", do: func(c *Case) {
			s := &c.Nodes[0].Settings
			s.OFED, s.ModPaths = "x", map[string]string{"mlx5_core": "/lib/modules/5.14.0/extra/mlnx-ofa_kernel/mlx5_core.ko"}
			c.Nodes[0].Ports[0].QoS.ECNNP, c.Nodes[0].Ports[0].QoS.ECNRP = nil, nil
		}, want: "n1 mlx5_0/1 unknown: the ECN state of eth2 was not read; run weft as root"},
		{name: "absent from the in-tree module under OFED's user space", do: func(c *Case) {
			for _, n := range c.Nodes { // good() has the in-tree module
				n.Ports[0].QoS.ECNNP, n.Ports[0].QoS.ECNRP, n.Settings.OFED = nil, nil, "x"
			}
		}, want: "cluster skip: no port tells its ECN state, which only mlx5 under OFED does; ConnectX firmware has it on by default"},
		{name: "absent without OFED", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports[0].QoS.ECNNP, n.Ports[0].QoS.ECNRP = nil, nil
			}
		}, want: "cluster skip: no port tells its ECN state, which only mlx5 under OFED does; ConnectX firmware has it on by default"},
		{name: "direct", do: func(c *Case) { np(c); c.Want.Data.Switch = "none" }, want: "cluster skip: cables are direct: there is no switch whose queue could overflow"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}
