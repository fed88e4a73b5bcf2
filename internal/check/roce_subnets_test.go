package check

import (
	"fmt"
	"testing"

	"weft/internal/fact"
)

// second puts the spare port of every node into use, with an address.
func second(c *Case, format string) {
	for i, n := range c.Nodes {
		p := goodPort(i+1, 1, n.Ports[0].Rate)
		n.Ports[1] = p
		d := n.Netdev("eth3")
		d.Oper, d.Carrier, d.Addrs = "up", fact.Some(true), []string{fmt.Sprintf(format, i+1)}
	}
}

func TestRoCESubnets(t *testing.T) {
	const two = ", want a subnet of its own: the kernel has two ways into one subnet and takes the same one for both ports: the other carries nothing, or answers for its neighbour"
	judge(t, roceSubnets, []row{
		{name: "one port", want: "n1 mlx5_0/1 pass: 192.168.200.0/24"},
		{name: "two ports, two subnets", do: func(c *Case) { second(c, "192.168.201.%d/24") }, want: "n1 mlx5_1/1 pass: 192.168.201.0/24"},
		{name: "two ports, one subnet", do: func(c *Case) { second(c, "192.168.200.1%d/24") },
			want: "n1 mlx5_1/1 fail: 192.168.200.0/24 is also on eth2" + two, fix: "sudo ip addr add 192.168.201.11/24 dev eth3"},
		{name: "one inside the other", do: func(c *Case) { second(c, "192.168.200.24%d/29") }, want: "n2 mlx5_1/1 fail: 192.168.200.0/24 is also on eth2" + two},
		{name: "neighbouring /30s do not overlap", do: func(c *Case) {
			second(c, "10.9.0.%d/30")
			for i, n := range c.Nodes {
				n.Netdev("eth2").Addrs = []string{fmt.Sprintf("10.9.0.%d/30", 5+i)}
			}
		}, want: "n1 mlx5_0/1 pass: 10.9.0.4/30"},
		{name: "the management network", do: func(c *Case) { c.Nodes[0].Netdev("eth2").Addrs = []string{"10.0.0.101/24"} },
			want: "n1 mlx5_0/1 fail: 10.0.0.0/24 is also on eno1" + two},
		{name: "a macvlan for containers", do: func(c *Case) {
			c.Nodes[0].Netdevs = append(c.Nodes[0].Netdevs, &fact.Netdev{Name: "mv0", Kind: "macvlan", Addrs: []string{"192.168.200.77/24"}})
		}, want: "n1 mlx5_0/1 pass: 192.168.200.0/24"},
		{name: "one address twice", do: func(c *Case) { c.Nodes[1].Netdev("eth2").Addrs = []string{"192.168.200.1/24"} },
			want: "n2 mlx5_0/1 fail: 192.168.200.1 is also on n1 mlx5_0/1, want an address of its own: both answer for it, so connections reach now one and now the other",
			fix:  "sudo ip addr del 192.168.200.1/24 dev eth2"},
		{name: "said on both", do: func(c *Case) { c.Nodes[1].Netdev("eth2").Addrs = []string{"192.168.200.1/24"} },
			want: "n1 mlx5_0/1 fail: 192.168.200.1 is also on n2 mlx5_0/1, want an address of its own: both answer for it, so connections reach now one and now the other"},
		{name: "weft.yaml tells whose it is", do: func(c *Case) { addresses(c); c.Nodes[1].Netdev("eth2").Addrs = []string{"192.168.200.1/24"} },
			want: "n2 mlx5_0/1 fail: 192.168.200.1 is also on n1 mlx5_0/1, want an address of its own: both answer for it, so connections reach now one and now the other",
			fix:  "sudo ip addr add 192.168.200.2/24 dev eth2", not: "n1 mlx5_0/1 fail"},
		{name: "another address than in weft.yaml", do: func(c *Case) { addresses(c); c.Nodes[1].Netdev("eth2").Addrs = []string{"10.20.0.2/24"} },
			want: "n2 mlx5_0/1 fail: 10.20.0.2/24, want 192.168.200.2/24: weft.yaml gives this port another address, and its peers look for it there",
			fix:  "sudo ip addr del 10.20.0.2/24 dev eth2\nsudo ip addr add 192.168.200.2/24 dev eth2", not: "n1 mlx5_0/1 fail"},
		{name: "weft.yaml's address with another prefix length", do: func(c *Case) { addresses(c); c.Nodes[1].Netdev("eth2").Addrs = []string{"192.168.200.2/16"} },
			want: "n2 mlx5_0/1 fail: 192.168.200.2/16, want 192.168.200.2/24: weft.yaml gives this port another address, and its peers look for it there",
			fix:  "sudo ip addr del 192.168.200.2/16 dev eth2\nsudo ip addr add 192.168.200.2/24 dev eth2"},
		{name: "iWARP without its address", do: func(c *Case) {
			addresses(c)
			c.Nodes[1].Netdev("eth2").Addrs, c.Nodes[1].Ports[0].NodeType = nil, "4: RNIC"
		}, want: "n2 mlx5_0/1 fail: no address, want 192.168.200.2/24: weft.yaml gives this port an address, and its peers look for it there",
			fix: "sudo ip addr add 192.168.200.2/24 dev eth2"},
		{name: "iWARP whose addresses were not read", do: func(c *Case) {
			addresses(c)
			c.Nodes[1].Netdev("eth2").Addrs, c.Nodes[1].Netdev("eno1").Addrs, c.Nodes[1].Ports[0].NodeType = nil, nil, "4: RNIC"
		}, want: "n2 mlx5_0/1 unknown: the addresses of n2 were not read"},
		{name: "iWARP without an address, and none is wanted", do: func(c *Case) { c.Nodes[1].Netdev("eth2").Addrs, c.Nodes[1].Ports[0].NodeType = nil, "4: RNIC" },
			want: "n1 mlx5_0/1 pass: 192.168.200.0/24", not: "n2"},
		{name: "two addresses, one of them weft.yaml's", do: func(c *Case) {
			addresses(c)
			c.Nodes[1].Netdev("eth2").Addrs = []string{"10.20.0.2/24", "192.168.200.2/24"}
		}, want: "n2 mlx5_0/1 pass: 10.20.0.0/24"},
		{name: "weft.yaml's address is on a bond over it", do: func(c *Case) {
			addresses(c)
			n := c.Nodes[1]
			n.Netdevs = append(n.Netdevs, &fact.Netdev{Name: "bond0", Kind: "bond", Addrs: n.Netdev("eth2").Addrs})
			n.Netdev("eth2").Addrs, n.Netdev("eth2").Master = nil, "bond0"
		}, want: "n1 mlx5_0/1 pass: 192.168.200.0/24", not: "n2"},
		{name: "no address", do: func(c *Case) { c.Nodes[0].Netdev("eth2").Addrs, c.Nodes[1].Netdev("eth2").Addrs = nil, nil },
			want: "cluster skip: no RoCE port has an address"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port has an address"},
	})
}
