package check

import (
	"slices"
	"testing"
)

func TestRoCEETS(t *testing.T) {
	classes := func(c *Case, tcs ...int) {
		for _, n := range c.Nodes {
			n.Ports[0].QoS.PrioTC = tcs
		}
	}
	const why = ", want a class of its own: a class is one queue: small RDMA messages wait behind bulk traffic, and what PFC stops, it stops for both"
	all := "n1 mlx5_0/1 warn: class 0 together with priority 0 1 2 4 5 6 7" + why
	judge(t, roceETS, []row{
		{name: "one each", do: func(c *Case) { classes(c, 1, 0, 2, 3, 4, 5, 6, 7) }, want: "n1 mlx5_0/1 pass: class 3"},
		{name: "all in one", do: func(c *Case) { classes(c, make([]int, 8)...) }, want: all, fix: "sudo dcb ets set dev eth2 prio-tc 3:3"},
		{name: "all in one under OFED", do: func(c *Case) { classes(c, make([]int, 8)...); c.Nodes[0].Settings.OFED = "x" }, want: all,
			fix: "sudo mlnx_qos -i eth2 --prio_tc 0,0,0,3,0,0,0,0"},
		{name: "its number is taken", do: func(c *Case) { classes(c, 3, 3, 3, 3, 0, 0, 0, 0) },
			want: "n1 mlx5_0/1 warn: class 3 together with priority 0 1 2" + why, fix: "sudo dcb ets set dev eth2 prio-tc 3:1"},
		{name: "the owner uses 5", do: func(c *Case) { classes(c, 0, 0, 0, 0, 0, 5, 0, 0); c.Want.Data.Priority = 5; pfcOnly(c, 5) }, want: "n1 mlx5_0/1 pass: class 5"},
		{name: "nothing tells", want: "cluster skip: no port tells its traffic classes: dcb and mlnx_qos do, where the driver has them"},
		{name: "nobody wants it lossless", do: func(c *Case) { classes(c, make([]int, 8)...); pfcOff(c); c.Want.Data.Switch = "" },
			want: "cluster skip: no port has PFC on, and weft.yaml does not say that the switch is lossless; see roce.pfc"},
		{name: "direct", do: func(c *Case) { c.Want.Data.Switch = "none" }, want: "cluster skip: cables are direct: there is no switch whose queue could overflow"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}

// pfcOnly turns PFC on for one priority alone.
func pfcOnly(c *Case, prio int) {
	pfcOff(c)
	for _, n := range c.Nodes {
		n.Ports[0].QoS.PFC[prio] = true
	}
}

func TestFreeClass(t *testing.T) {
	for _, tcs := range [][]int{{0, 0, 0, 0, 0, 0, 0, 0}, {3, 3, 3, 3, 3, 3, 3, 3}, {0, 1, 2, 4, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1, 1}} {
		if tc, ok := FreeClass(tcs, 3); !ok || slices.Contains(tcs, tc) {
			t.Errorf("FreeClass(%v) = %d, %v", tcs, tc, ok)
		}
	}
	if tc, ok := FreeClass([]int{1, 0, 2, 3, 4, 5, 6, 7}, 3); ok {
		t.Errorf("no class is free, got %d", tc)
	}
}
