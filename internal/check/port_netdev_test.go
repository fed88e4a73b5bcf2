package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/spec"
)

func TestPortNetdev(t *testing.T) {
	port := func(c *Case) *fact.Port { return c.Nodes[1].Ports[0] }
	before := func(c *Case) *fact.Port {
		c.Before = &good().Cluster
		return c.Before.Nodes[1].Ports[0]
	}
	judge(t, portNetdev, []row{
		{name: "bound", want: "n1 mlx5_0/1 pass: eth2"},
		{name: "unbound", do: func(c *Case) { port(c).Netdev = "" }, fix: "sudo modprobe mlx5_ib",
			want: "n2 mlx5_0/1 fail: no netdev, want a netdev: an Ethernet RDMA port without an interface has no address and no usable GID"},
		{name: "a virtual function in a container", do: func(c *Case) { port(c).Netdev = ""; c.Nodes[1].At("0000:19:00.0").PhysFn = "0000:19:00.1" }, fix: "lsns",
			want: "n2 mlx5_0/1 warn: no netdev, want a netdev: this virtual function's interface is in a container or a guest, so the host cannot use the port"},
		{name: "unread", do: func(c *Case) { port(c).Netdev = "eth9" }, want: "n2 mlx5_0/1 unknown: the port names eth9, and nothing was read of that interface"},
		{name: "weft.yaml names another", do: func(c *Case) {
			c.Want.Nodes = []spec.Node{{Name: "n2", Data: []spec.DataPort{{Port: "mlx5_0/1", Netdev: "eth7"}}}}
		}, want: "n2 mlx5_0/1 warn: eth2, want eth7: weft.yaml names another interface for this port, so addresses and routes may go elsewhere", fix: "netdev: eth2"},
		{name: "as last time", do: func(c *Case) { before(c) }, want: "n2 mlx5_0/1 pass: eth2"},
		{name: "the interface was renamed", do: func(c *Case) { before(c).Netdev = "enp25s0f0np0" }, fix: "Name=enp25s0f0np0",
			want: "n2 mlx5_0/1 warn: eth2, want enp25s0f0np0: the interface had another name last time, so netplan, firewall zones and NCCL_SOCKET_IFNAME may name one that is gone"},
		{name: "by a boot", do: func(c *Case) { before(c).Netdev = "enp25s0f0np0"; bootAnew(c) }, fix: "Name=enp25s0f0np0",
			want: "n2 mlx5_0/1 warn: eth2, want enp25s0f0np0: the interface had another name last time, so netplan, firewall zones and NCCL_SOCKET_IFNAME may name one that is gone"},
		{name: "the device was renamed", do: func(c *Case) { b := before(c); b.Name, b.Device = "rocep25s0f0/1", "rocep25s0f0" }, fix: "sudo rdma dev set mlx5_0 name rocep25s0f0",
			want: "n2 mlx5_0/1 warn: mlx5_0/1, want rocep25s0f0/1: the RDMA device had another name last time, so NCCL_IB_HCA and scripts may name one that is gone"},
		{name: "a new node", do: func(c *Case) { before(c); c.Before.Nodes = c.Before.Nodes[:1] }, want: "n2 mlx5_0/1 pass: eth2"},
		{name: "InfiniBand without IPoIB", do: func(c *Case) {
			*c = *goodIB()
			for _, n := range c.Nodes {
				n.Ports[0].Netdev = ""
			}
		}, want: "cluster skip: no data port needs a network interface"},
	})
}
