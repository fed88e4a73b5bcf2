package check

import (
	"testing"

	"weft/internal/fact"
)

func TestRoCETC(t *testing.T) {
	set := func(c *Case, tc int) { c.Nodes[0].Ports[0].TrafficClass = fact.Some(tc) }
	const zero = "packets say DSCP 0 while the switch protects DSCP 26, so they share a queue with everything else"
	judge(t, roceTC, []row{
		{name: "106", want: "n1 mlx5_0/1 pass: traffic class 106"},
		{name: "105 is as good", do: func(c *Case) { set(c, 105) }, want: "n1 mlx5_0/1 pass: traffic class 105"},
		{name: "0", do: func(c *Case) { set(c, 0) }, want: "n1 mlx5_0/1 fail: traffic class 0, want 106: " + zero,
			fix: "echo 106 | sudo tee /sys/class/infiniband/mlx5_0/tc/1/traffic_class"},
		{name: "not set", do: func(c *Case) { set(c, -1) }, want: "n1 mlx5_0/1 fail: no traffic class, want 106: programs choose one, and those that do not say DSCP 0, so their packets share a queue with everything else",
			fix: "echo 106 | sudo tee /sys/class/infiniband/mlx5_0/tc/1/traffic_class"},
		{name: "0, switch unknown", do: func(c *Case) { set(c, 0); c.Want.Data.Switch = "" }, want: "n1 mlx5_0/1 warn: traffic class 0, want 106: " + zero},
		{name: "no ECN", do: func(c *Case) { set(c, 104) },
			want: "n1 mlx5_0/1 warn: traffic class 104, want 106: the packets say that they must not be marked, so the switch drops where it could have warned"},
		{name: "just another DSCP", do: func(c *Case) { set(c, 102) },
			want: "n1 mlx5_0/1 fail: traffic class 102, want 106: packets say DSCP 25 while the switch protects DSCP 26, so they share a queue with everything else"},
		{name: "the owner uses 24", do: func(c *Case) { c.Want.Data.DSCP = 24; set(c, 98) }, want: "n1 mlx5_0/1 pass: traffic class 98"},
		{name: "unread under OFED", do: func(c *Case) {
			s := &c.Nodes[0].Settings
			s.OFED, s.ModPaths = "MLNX_OFED_LINUX-24.10", map[string]string{"mlx5_core": "/lib/modules/6.8.0-60-generic/updates/dkms/mlx5_core.ko"}
			c.Nodes[0].Ports[0].TrafficClass = fact.Val[int]{}
		}, want: "n1 mlx5_0/1 unknown: tc/1/traffic_class of mlx5_0 was not read; run weft as root"},
		{name: "absent from the in-tree module under OFED's user space", do: func(c *Case) {
			for _, n := range c.Nodes { // good() has the in-tree module
				n.Ports[0].TrafficClass, n.Settings.OFED = fact.Val[int]{}, "MLNX_OFED_LINUX-24.10"
			}
		}, want: "cluster skip: no port has a traffic class of its own, which only mlx5 under OFED has; weft env sets NCCL_IB_TC instead"},
		{name: "absent without OFED", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports[0].TrafficClass = fact.Val[int]{}
			}
		}, want: "cluster skip: no port has a traffic class of its own, which only mlx5 under OFED has; weft env sets NCCL_IB_TC instead"},
		{name: "direct", do: func(c *Case) { c.Want.Data.Switch = "none"; set(c, 0) },
			want: "cluster skip: cables are direct: there is no switch whose queue could overflow"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}
