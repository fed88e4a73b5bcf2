package check

import (
	"fmt"
	"testing"

	"weft/internal/fact"
	"weft/internal/spec"
)

// addresses writes the addresses of the good cluster into weft.yaml.
func addresses(c *Case) {
	for i, n := range c.Nodes {
		address := fmt.Sprintf("192.168.200.%d/24", i+1)
		c.Want.Nodes = append(c.Want.Nodes, spec.Node{Name: n.Name, Data: []spec.DataPort{{Port: "mlx5_0/1", Address: address}}})
	}
}

func TestPlaneRoute(t *testing.T) {
	leave := func(c *Case, dev string) { c.Nodes[0].Peers[0].RouteDev = dev }
	judge(t, planeRoute, []row{
		{name: "by the data port", want: "n1 → n2 pass: eth2"},
		{name: "by management", do: func(c *Case) { leave(c, "eno1") },
			want: "n1 → n2 fail: 192.168.200.2 leaves by eno1, want eth2: sockets and RDMA connections to n2 take that network instead of the data plane, or find no device at all",
			fix:  "sudo ip route replace 192.168.200.2 dev eth2"},
		{name: "by the other port", do: func(c *Case) { leave(c, "eth3") },
			want: "n1 → n2 fail: 192.168.200.2 leaves by eth3, want eth2: sockets and RDMA connections to n2 take that network instead of the data plane, or find no device at all"},
		{name: "it is our own address", do: func(c *Case) { leave(c, "lo") },
			want: "n1 → n2 fail: 192.168.200.2 is this node's own, want eth2: packets for n2 never leave the node, and tests against it measure memory", fix: "roce.subnets"},
		{name: "by a bond over it", do: func(c *Case) { leave(c, "bond0"); c.Nodes[0].Netdev("eth2").Master = "bond0" }, want: "n1 → n2 pass: bond0"},
		{name: "by a VLAN on it", do: func(c *Case) {
			leave(c, "eth2.100")
			c.Nodes[0].Ports[0].GIDs = append(c.Nodes[0].Ports[0].GIDs, fact.GID{Index: 5, Netdev: "eth2.100"})
		}, want: "n1 → n2 pass: eth2.100"},
		{name: "the port is down", do: func(c *Case) { leave(c, "eno1"); c.Nodes[0].Ports[0].State = "DOWN" }, want: "n1 → n2 skip: mlx5_0/1 is down; see port.up"},
		{name: "no route at all", do: func(c *Case) {
			leave(c, "")
			c.Nodes[0].Gaps = append(c.Nodes[0].Gaps, fact.Gap{Path: "$ ip -j route get 192.168.200.2", Why: "RTNETLINK answers: Network is unreachable"})
		}, want: "n1 → n2 fail: no route to 192.168.200.2, want eth2: no connection to n2 can be made over the data plane", fix: "sudo ip route replace 192.168.200.2 dev eth2"},
		{name: "this port has no address", do: func(c *Case) { leave(c, "eno1"); addresses(c); c.Nodes[0].Netdev("eth2").Addrs = nil },
			want: "n1 → n2 skip: n1 does not have 192.168.200.1; see roce.gid"},
		{name: "this port has another node's address", do: func(c *Case) {
			leave(c, "lo")
			addresses(c)
			c.Nodes[0].Netdev("eth2").Addrs = []string{"192.168.200.2/24"}
		},
			want: "n1 → n2 skip: n1 does not have 192.168.200.1; see roce.subnets"},
		{name: "IPoIB without its address", do: func(c *Case) { *c = *goodIB(); addresses(c); leave(c, "eno1"); c.Nodes[0].Netdev("ib0").Addrs = nil },
			want: "n1 → n2 skip: n1 does not have 192.168.200.1; see ib.ipoib"},
		{name: "iWARP without its address", do: func(c *Case) {
			leave(c, "eno1")
			addresses(c)
			c.Nodes[0].Netdev("eth2").Addrs, c.Nodes[0].Ports[0].NodeType = nil, "4: RNIC"
		}, want: "n1 → n2 skip: n1 does not have 192.168.200.1; see roce.subnets"},
		{name: "a port that should be InfiniBand", do: func(c *Case) {
			leave(c, "eno1")
			addresses(c)
			c.Nodes[0].Netdev("eth2").Addrs, c.Want.Data.Layer = nil, "infiniband"
		}, want: "n1 → n2 skip: mlx5_0/1 of n1 speaks Ethernet; see port.layer"},
		{name: "unread", do: func(c *Case) { leave(c, "") }, want: "n1 → n2 unknown: no route to 192.168.200.2 was read"},
		{name: "IPoIB", do: func(c *Case) { *c = *goodIB() }, want: "n1 → n2 pass: ib0"},
		{name: "nobody was asked", do: func(c *Case) { c.Nodes[0].Peers, c.Nodes[1].Peers = nil, nil },
			want: "cluster unknown: no node was asked for its route to another's data address"},
		{name: "one node", do: func(c *Case) { c.Nodes = c.Nodes[:1]; c.Nodes[0].Peers = nil }, want: "cluster skip: one node has no peers"},
		{name: "no RDMA", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports, n.Peers = nil, nil
			}
		}, want: "cluster skip: no RDMA port has an address"},
	})
}
