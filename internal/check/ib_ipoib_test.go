package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/spec"
)

func TestIBIPoIB(t *testing.T) {
	set := func(mode string, mtu int, nodes ...int) func(c *Case) {
		return func(c *Case) {
			*c = *goodIB()
			for _, n := range c.Nodes {
				n.Ports[0].Driver = "mlx4"
			}
			for _, i := range nodes {
				d := c.Nodes[i].Netdev("ib0")
				d.Mode, d.MTU = mode, fact.Some(mtu)
			}
		}
	}
	const sought = ": weft.yaml gives this interface an address, and its peers look for it there"
	// wants gives n2's port an address in weft.yaml; its interface has addrs.
	wants := func(address string, addrs ...string) func(c *Case) {
		return func(c *Case) {
			*c = *goodIB()
			c.Want.Nodes = []spec.Node{{Name: "n2", Data: []spec.DataPort{{Port: "mlx5_0/1", Address: address}}}}
			c.Nodes[1].Netdev("ib0").Addrs = addrs
		}
	}
	judge(t, ibIPoIB, []row{
		{name: "no address yet", do: wants("192.168.200.2/24"), fix: "sudo ip addr add 192.168.200.2/24 dev ib0",
			want: "n2 mlx5_0/1 fail: no address, want 192.168.200.2/24" + sought},
		{name: "link-local alone is none", do: wants("192.168.200.2/24", "fe80::1/64"), want: "n2 mlx5_0/1 fail: no address, want 192.168.200.2/24" + sought},
		{name: "its mode is judged beside", do: wants("192.168.200.2/24"), want: "n2 mlx5_0/1 pass: datagram, mtu 4092"},
		{name: "the wanted address", do: wants("192.168.200.2/24", "192.168.200.2/24"), want: "n2 mlx5_0/1 pass: datagram, mtu 4092", not: "fail"},
		{name: "another address", do: wants("10.9.0.2/24", "192.168.200.2/24"), fix: "sudo ip addr del 192.168.200.2/24 dev ib0\nsudo ip addr add 10.9.0.2/24 dev ib0",
			want: "n2 mlx5_0/1 fail: 192.168.200.2/24, want 10.9.0.2/24" + sought},
		{name: "another prefix length", do: wants("192.168.200.2/24", "192.168.200.2/16"),
			want: "n2 mlx5_0/1 fail: 192.168.200.2/16, want 192.168.200.2/24" + sought},
		{name: "on a partition's interface", do: func(c *Case) {
			wants("192.168.200.2/24")(c)
			c.Nodes[1].Netdevs = append(c.Nodes[1].Netdevs, &fact.Netdev{Name: "ib0.8001", Type: "infiniband", Addrs: []string{"192.168.200.2/24"}})
		}, want: "n2 mlx5_0/1 pass: datagram, mtu 4092", not: "fail"},
		{name: "no interface", do: func(c *Case) {
			wants("192.168.200.2/24")(c)
			c.Nodes[1].Ports[0].Netdev, c.Nodes[1].Netdevs = "", c.Nodes[1].Netdevs[:1]
		}, fix: "sudo modprobe ib_ipoib",
			want: "n2 mlx5_0/1 fail: no IPoIB interface, want 192.168.200.2/24: weft.yaml gives this port an address, and there is no interface that could have it"},
		{name: "no address while no subnet manager runs", do: func(c *Case) { wants("192.168.200.2/24")(c); c.Nodes[1].Ports[0].State = "INIT" },
			want: "n2 mlx5_0/1 fail: no address, want 192.168.200.2/24" + sought},
		{name: "wrong mode while no subnet manager runs", do: func(c *Case) {
			wants("192.168.200.2/24", "192.168.200.2/24")(c)
			c.Nodes[1].Ports[0].State, c.Want.Data.IPoIB = "INIT", "datagram"
			c.Nodes[1].Netdev("ib0").Mode = "connected"
		}, want: "n2 mlx5_0/1 warn: connected, mtu 4092, want datagram: weft.yaml wants another mode"},
		{name: "addresses not read", do: func(c *Case) { wants("192.168.200.2/24")(c); c.Nodes[1].Netdev("eno1").Addrs = nil },
			want: "n2 mlx5_0/1 unknown: the addresses of n2 were not read"},
		{name: "down", do: func(c *Case) { wants("192.168.200.2/24")(c); c.Nodes[1].Ports[0].State = "DOWN" }, want: "n1 mlx5_0/1 pass: datagram, mtu 4092", not: "fail"},
		{name: "no InfiniBand", want: "cluster skip: no IPoIB interface is in use"},
		{name: "datagram, full size", do: set("datagram", 4092, 0, 1), want: "n1 mlx5_0/1 pass: datagram, mtu 4092"},
		{name: "datagram on a 2048 group", do: set("datagram", 2044, 0, 1), want: "n1 mlx5_0/1 pass: datagram, mtu 2044"},
		{name: "connected, full size", do: set("connected", 65520, 0, 1), want: "n1 mlx5_0/1 pass: connected, mtu 65520"},
		{name: "connected, small", do: set("connected", 2044, 0, 1), fix: "infiniband.mtu 65520",
			want: "n1 mlx5_0/1 warn: connected, mtu 2044, want 65520: connected mode is worth its cost only with large packets"},
		{name: "mixed modes", do: set("connected", 65520, 0), fix: "echo connected | sudo tee /sys/class/net/ib0/mode",
			want: "n2 mlx5_0/1 warn: datagram, mtu 4092, want connected: the modes are mixed, so large packets from connected nodes to this one are fragmented or lost"},
		{name: "mixed sizes", do: set("datagram", 2044, 0), fix: "sudo ip link set dev ib0 mtu 2044",
			want: "n2 mlx5_0/1 warn: datagram, mtu 4092, want 2044: nodes of one subnet must agree in the MTU, or large packets vanish"},
		{name: "datagram, too large", do: set("datagram", 65520, 1), fix: "mtu 4092",
			want: "n2 mlx5_0/1 warn: datagram, mtu 65520, want 4092: datagram packets cannot be larger than the InfiniBand MTU, so these are lost"},
		{name: "datagram, too small", do: set("datagram", 1500, 1), want: "n2 mlx5_0/1 warn: datagram, mtu 1500, want 4092: small packets make IP over this link slow"},
		{name: "the owner wants connected", do: func(c *Case) { set("datagram", 4092)(c); c.Want.Data.IPoIB = "connected" }, fix: "transport-mode connected",
			want: "n2 mlx5_0/1 warn: datagram, mtu 4092, want connected: weft.yaml wants another mode"},
		{name: "the owner wants what mlx5 has not", do: func(c *Case) { *c = *goodIB(); c.Want.Data.IPoIB = "connected" }, fix: "ipoib: datagram",
			want: "n2 mlx5_0/1 warn: datagram, mtu 4092, want connected: mlx5 drives IPoIB itself (enhanced IPoIB), which has no connected mode"},
		{name: "the owner wants another size", do: func(c *Case) {
			set("datagram", 4092)(c)
			c.Want.Data.Layer, c.Want.Data.MTU = "infiniband", 2044
		}, want: "n1 mlx5_0/1 warn: datagram, mtu 4092, want 2044: nodes of one subnet must agree in the MTU, or large packets vanish"},
		{name: "unread", do: set("", 4092, 1), want: "n2 mlx5_0/1 unknown: the mode or the MTU of ib0 was not read"},
		{name: "not used", do: func(c *Case) {
			*c = *goodIB()
			for _, n := range c.Nodes {
				n.Netdev("ib0").Addrs, n.Netdev("ib0").Oper = nil, "down"
			}
		}, want: "cluster skip: no IPoIB interface is in use"},
	})
}
