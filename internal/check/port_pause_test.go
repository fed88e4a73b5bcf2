package check

import (
	"testing"
	"time"

	"weft/internal/fact"
)

func TestPortPause(t *testing.T) {
	// A port of 200 Gb/s stands still at 5960.5 frames of full length a second.
	later := func(frames uint64) func(c *Case) {
		return func(c *Case) {
			c.Before, c.Since = &good().Cluster, 10*time.Second
			c.Nodes[1].Ports[0].QoS.PausePrio = map[int]uint64{3: 10 + frames}
		}
	}
	judge(t, portPause, []row{
		{name: "one look says nothing", want: "cluster skip: pause frames are judged by how fast they come, and no RoCE port that counts them was seen before in this boot"},
		{name: "none since", do: later(0), want: "n2 mlx5_0/1 pass: hardly any pause frames"},
		{name: "just under a tenth", do: later(5960), want: "n2 mlx5_0/1 pass: hardly any pause frames"},
		{name: "just over a tenth", do: later(5970), fix: "tx_prio3_pause",
			want: "n2 mlx5_0/1 warn: 597 pause frames/s on priority 3, want under 596: the switch may hold the port still 10 % of the time: a receiver or a link behind it is too slow"},
		{name: "just under a storm", do: later(59600), fix: "roce.ecn",
			want: "n2 mlx5_0/1 warn: 5960 pause frames/s on priority 3, want under 596: the switch may hold the port still 100 % of the time: a receiver or a link behind it is too slow"},
		{name: "a storm", do: later(59610),
			want: "n2 mlx5_0/1 fail: 5961 pause frames/s on priority 3, want under 596: a pause storm: the port can be held still all the time, and so can every port behind it"},
		{name: "counters began anew", do: func(c *Case) { later(0)(c); c.Nodes[1].Ports[0].QoS.PausePrio = map[int]uint64{3: 0} }, want: "n2 mlx5_0/1 pass: hardly any pause frames"},
		{name: "another boot", do: func(c *Case) { later(59610)(c); bootAnew(c) }, want: "n1 mlx5_0/1 pass: hardly any pause frames", not: "n2"},
		{name: "unread", do: func(c *Case) { later(0)(c); c.Nodes[1].Ports[0].QoS.PausePrio = nil }, fix: "ethtool -S eth2",
			want: "n2 mlx5_0/1 unknown: the pause counters of eth2 were not read"},
		{name: "a new node", do: func(c *Case) { later(0)(c); c.Before.Nodes = c.Before.Nodes[:1] }, want: "n1 mlx5_0/1 pass: hardly any pause frames", not: "n2"},
		{name: "InfiniBand has no pause", do: func(c *Case) { *c = *goodIB(); c.Before, c.Since = &fact.Cluster{}, time.Hour },
			want: "cluster skip: pause frames are judged by how fast they come, and no RoCE port that counts them was seen before in this boot"},
	})
}
