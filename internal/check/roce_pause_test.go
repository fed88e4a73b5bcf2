package check

import (
	"testing"

	"weft/internal/fact"
)

func TestRoCEPause(t *testing.T) {
	set := func(c *Case, rx, tx bool) {
		c.Nodes[0].Ports[0].QoS.PauseRx, c.Nodes[0].Ports[0].QoS.PauseTx = fact.Some(rx), fact.Some(tx)
	}
	const both = "n1 mlx5_0/1 fail: global pause and PFC, want PFC alone: a link obeys one of them: global pause stops every priority, so the protected one protects nothing"
	judge(t, rocePause, []row{
		{name: "off", want: "n1 mlx5_0/1 pass: global pause off"},
		{name: "both", do: func(c *Case) { set(c, true, true) }, want: both, fix: "sudo ethtool -A eth2 rx off tx off"},
		{name: "one way is enough", do: func(c *Case) { set(c, false, true) }, want: both},
		{name: "alone it is a choice", do: func(c *Case) { pfcOff(c); set(c, true, true) }, want: "cluster skip: no port has PFC on"},
		{name: "PFC unread, pause on", do: func(c *Case) { set(c, true, true); c.Nodes[0].Ports[0].QoS.PFC = nil },
			want: "n1 mlx5_0/1 unknown: global pause is on, and dcb did not tell whether PFC is too"},
		{name: "PFC unread, pause off", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.PFC = nil }, want: "n1 mlx5_0/1 pass: global pause off"},
		{name: "no netdev known", do: func(c *Case) { c.Nodes[1].Ports[0].Netdev = "" },
			want: "n2 mlx5_0/1 unknown: no netdev is known for mlx5_0, so nothing tells its pause state"},
		{name: "unread", do: func(c *Case) { c.Nodes[0].Ports[0].QoS.PauseTx = fact.Val[bool]{} },
			want: "n1 mlx5_0/1 unknown: the pause state of eth2 was not read", fix: "ethtool -a eth2"},
		{name: "software RoCE", do: func(c *Case) { c.Nodes[0].Ports[0].Driver, c.Nodes[1].Ports[0].Driver = "rxe", "rxe" },
			want: "cluster skip: no port has PFC on"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no port has PFC on"},
	})
}
