package check

import (
	"testing"

	"weft/internal/fact"
)

func TestPortUp(t *testing.T) {
	set := func(c *Case, state, phys string) { c.Nodes[1].Ports[0].State, c.Nodes[1].Ports[0].Phys = state, phys }
	judge(t, portUp, []row{
		{name: "both up; the spare port is nobody's business", want: "n1 mlx5_0/1 pass: ACTIVE", not: "mlx5_1/1"},
		{name: "down while its peer is up", do: func(c *Case) { set(c, "DOWN", "Polling") }, fix: "sudo ip link set dev eth2 up",
			want: "n2 mlx5_0/1 fail: DOWN, Polling, want ACTIVE: nothing is at the other end of the cable, or the port is switched off"},
		{name: "up and recovering", do: func(c *Case) { set(c, "ACTIVE", "LinkErrorRecovery") }, fix: "reseat",
			want: "n2 mlx5_0/1 warn: ACTIVE, LinkErrorRecovery, want LinkUp: the port is up, but its link is not settled: it is about to recover or to drop"},
		{name: "unread", do: func(c *Case) { set(c, "", "") }, want: "n2 mlx5_0/1 unknown: the state of the port was not read"},
		{name: "a disabled InfiniBand port", do: func(c *Case) {
			*c = *goodIB()
			set(c, "DOWN", "Disabled")
		}, want: "n2 mlx5_0/1 fail: DOWN, Disabled, want ACTIVE: nothing is at the other end of the cable, or the port is switched off",
			fix: "sudo ibportstate -C mlx5_0 -P 1 -D 0 1 enable"},
		{name: "no subnet manager", do: func(c *Case) {
			*c = *goodIB()
			c.Fabric = nil
			for _, n := range c.Nodes {
				n.Ports[0].State = "INIT"
			}
		}, want: "n1 mlx5_0/1 fail: INIT, want ACTIVE: the link is there, but no subnet manager has given the port a LID, so nothing routes",
			fix: "on one node only: sudo apt install opensm && sudo systemctl enable --now opensm"},
		{name: "a subnet manager that forgot one", do: func(c *Case) { *c = *goodIB(); set(c, "INIT", "LinkUp") }, fix: "restart opensm",
			want: "n2 mlx5_0/1 fail: INIT, want ACTIVE: the link is there and a subnet manager runs, but it has not set this port up"},
		{name: "Omni-Path has a manager of its own", do: func(c *Case) {
			*c = *goodIB()
			c.Nodes[1].Ports[0].Driver, c.Nodes[1].Host.Distro, c.Nodes[1].Host.Like = "hfi1", "rocky", "rhel"
			set(c, "INIT", "LinkUp")
		}, want: "n2 mlx5_0/1 fail: INIT, want ACTIVE: the link is there, but no fabric manager has set it up, so nothing routes", fix: "sudo dnf install opa-fm"},
		{name: "software RDMA on a downed netdev", do: func(c *Case) {
			c.Nodes[1].Ports[0] = &fact.Port{Name: "mlx5_0/1", Num: 1, Driver: "rxe", Netdev: "eth2", State: "DOWN", Phys: "Disabled"}
		}, want: "n2 mlx5_0/1 fail: DOWN, Disabled, want ACTIVE: eth2 is switched off", fix: "sudo ip link set dev eth2 up"},
		{name: "software RDMA on a netdev without a link", do: func(c *Case) {
			c.Nodes[1].Ports[0] = &fact.Port{Name: "mlx5_0/1", Num: 1, Driver: "rxe", Netdev: "eth2", State: "DOWN", Phys: "Polling"}
		}, want: "n2 mlx5_0/1 fail: DOWN, Polling, want ACTIVE: eth2 is switched on, but has no link", fix: "ethtool eth2 | grep 'Link detected'"},
		{name: "nothing in use", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports = nil
			}
		}, want: "cluster skip: no RDMA port is in use"},
	})
}
