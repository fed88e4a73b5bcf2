package check

import (
	"testing"

	"weft/internal/fact"
)

func TestIBMTU(t *testing.T) {
	set := func(active fact.Val[int]) func(c *Case) {
		return func(c *Case) { *c = *goodIB(); c.Nodes[1].Ports[0].ActiveMTU = active }
	}
	judge(t, ibMTU, []row{
		{name: "no InfiniBand", want: "cluster skip: no InfiniBand link is up"},
		{name: "4096", do: set(fact.Some(4096)), want: "n2 mlx5_0/1 pass: mtu 4096"},
		{name: "2048", do: set(fact.Some(2048)), fix: "newer firmware or another switch",
			want: "n2 mlx5_0/1 warn: mtu 2048, want 4096: the card could send 4096-byte packets, so there are 2 times as many: the other end of the cable can do no more"},
		{name: "1024", do: set(fact.Some(1024)), fix: "sudo smpquery -D portinfo 0,1",
			want: "n2 mlx5_0/1 fail: mtu 1024, want 4096: the card could send 4096-byte packets, so there are 4 times as many: the other end of the cable can do no more"},
		{name: "all the card can", do: func(c *Case) { set(fact.Some(2048))(c); c.Nodes[1].Ports[0].MaxMTU = fact.Some(2048) }, want: "n2 mlx5_0/1 pass: mtu 2048"},
		{name: "unread", do: set(fact.Val[int]{}), want: "n2 mlx5_0/1 unknown: active_mtu and max_mtu were not read", fix: "ibv_devinfo -d mlx5_0"},
	})
}
