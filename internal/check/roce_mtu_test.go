package check

import (
	"testing"

	"weft/internal/fact"
)

func TestRoCEMTU(t *testing.T) {
	set := func(c *Case, mtu int) { c.Nodes[1].Netdev("eth2").MTU = fact.Some(mtu) }
	judge(t, roceMTU, []row{
		{name: "9000 is right", want: "n1 mlx5_0/1 pass: mtu 9000"},
		{name: "1500 shrinks packets", do: func(c *Case) { set(c, 1500) },
			want: "n2 mlx5_0/1 fail: mtu 1500, want 9000: RDMA packets shrink to 1024 bytes, so there are 4 times as many"},
		{name: "4192 is just enough", do: func(c *Case) { set(c, 4192) }, want: "n2 mlx5_0/1 pass: mtu 4192"},
		{name: "4191 is just too small", do: func(c *Case) { set(c, 4191) },
			want: "n2 mlx5_0/1 fail: mtu 4191, want 9000: RDMA packets shrink to 2048 bytes, so there are 2 times as many"},
		{name: "the owner wants another", do: func(c *Case) { c.Want.Data.MTU = 4200; set(c, 4200) },
			want: "n1 mlx5_0/1 warn: mtu 9000, want 4200: packets are full size, but this is not what weft.yaml says, and the two ends of a link must agree"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Netdev("eth2").MTU = fact.Val[int]{} },
			want: "n2 mlx5_0/1 unknown: no MTU was read for the netdev of mlx5_0"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}
