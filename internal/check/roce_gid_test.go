package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/spec"
)

func TestRoCEGID(t *testing.T) {
	set := func(c *Case, gids ...fact.GID) { c.Nodes[1].Ports[0].GIDs = gids }
	v2 := func(i int, gid string) fact.GID {
		return fact.GID{Index: i, GID: gid, Type: "RoCE v2", Netdev: "eth2"}
	}
	const (
		fe80  = "fe80:0000:0000:0000:0000:00ff:fe00:0102"
		ll4   = "0000:0000:0000:0000:0000:ffff:a9fe:233e" // 169.254.35.62
		ip4   = "0000:0000:0000:0000:0000:ffff:c0a8:c802"
		zero  = "0000:0000:0000:0000:0000:0000:0000:0000"
		none  = "NCCL finds no address to send from: it stops in ibv_modify_qp, or runs over sockets"
		want  = ", want an IPv4-mapped RoCE v2 GID: "
		local = "a link-local address changes and belongs to no subnet, so peers and routes cannot rely on it"
	)
	judge(t, roceGID, []row{
		{name: "addressed", want: "n1 mlx5_0/1 pass: GID 3 is 192.168.200.1"},
		{name: "any index will do", do: func(c *Case) { set(c, v2(0, fe80), v2(11, ip4)) }, want: "n2 mlx5_0/1 pass: GID 11 is 192.168.200.2"},
		{name: "empty table", do: func(c *Case) { set(c) },
			want: "n2 mlx5_0/1 fail: the GID table is empty" + want + none, fix: "dev eth2   # a free address in 192.168.200.0/24"},
		{name: "all zero", do: func(c *Case) { set(c, v2(0, zero), v2(3, zero)) }, want: "n2 mlx5_0/1 fail: the GID table is empty" + want + none},
		{name: "fe80 only", do: func(c *Case) { set(c, v2(1, fe80)) }, want: "n2 mlx5_0/1 fail: link-local GIDs only" + want + none},
		{name: "169.254 only", do: func(c *Case) { set(c, v2(1, fe80), v2(3, ll4)) },
			want: "n2 mlx5_0/1 fail: link-local GIDs only (169.254.35.62)" + want + local},
		{name: "169.254 beside a real one", do: func(c *Case) { set(c, v2(3, ll4), v2(5, ip4)) }, want: "n2 mlx5_0/1 pass: GID 5 is 192.168.200.2"},
		{name: "version 1 only", do: func(c *Case) { set(c, fact.GID{Index: 2, GID: ip4, Type: "IB/RoCE v1"}) },
			want: "n2 mlx5_0/1 fail: an IPv4 GID for RoCE v1 only" + want + none},
		{name: "IPv6 only", do: func(c *Case) { set(c, v2(1, fe80), v2(3, "fd00:0000:0000:0000:0000:0000:0000:0002")) },
			want: "n2 mlx5_0/1 warn: IPv6 GIDs only, want an IPv4-mapped RoCE v2 GID: NCCL looks for an IPv4 address unless NCCL_IB_ADDR_FAMILY is AF_INET6 on every node"},
		{name: "the owner says which address", do: func(c *Case) {
			set(c)
			c.Want.Nodes = []spec.Node{{Name: "n2", Data: []spec.DataPort{{Port: "mlx5_0/1", Address: "10.9.0.2/30"}}}}
		}, want: "n2 mlx5_0/1 fail: the GID table is empty" + want + none, fix: "sudo ip addr add 10.9.0.2/30 dev eth2"},
		{name: "in a bridge", do: func(c *Case) {
			set(c, v2(1, fe80))
			c.Nodes[1].Netdev("eth2").Master = "br0"
			c.Nodes[1].Netdevs = append(c.Nodes[1].Netdevs, &fact.Netdev{Name: "br0", Kind: "bridge"})
		}, want: "n2 mlx5_0/1 fail: link-local GIDs only" + want + none, fix: "sudo ip link set dev eth2 nomaster"},
		{name: "nonsense in the table", do: func(c *Case) { set(c, v2(0, "not a gid")) }, want: "n2 mlx5_0/1 fail: the GID table is empty" + want + none},
		{name: "unread", do: func(c *Case) { set(c); c.Nodes[1].Ports[0].GIDsRead = false }, want: "n2 mlx5_0/1 unknown: the GID table was not read"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}
