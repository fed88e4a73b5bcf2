package check

import (
	"testing"

	"weft/internal/fact"
)

func TestRoCEV2(t *testing.T) {
	v1 := func(c *Case) {
		for i := range c.Nodes[1].Ports[0].GIDs {
			c.Nodes[1].Ports[0].GIDs[i].Type = "IB/RoCE v1"
		}
	}
	const why = "version 1 is not IP: no router forwards it, no DSCP marks it, and peers that speak version 2 do not answer"
	const cma = "programs that connect through rdma_cm, such as NFS over RDMA or perftest -R, start version 1"
	judge(t, roceV2, []row{
		{name: "version 2 is there", want: "n1 mlx5_0/1 pass: RoCE v2"},
		{name: "version 1 only", do: v1, want: "n2 mlx5_0/1 fail: RoCE v1 only, want RoCE v2: " + why, fix: "mstflint -d 0000:19:00.0 query"},
		{name: "ConnectX-3 cannot", do: func(c *Case) { v1(c); c.Nodes[1].Ports[0].Driver = "mlx4" },
			want: "n2 mlx5_0/1 fail: RoCE v1 only, want RoCE v2: " + why, fix: "ConnectX-3"},
		{name: "rdma_cm defaults to 1", do: func(c *Case) { c.Nodes[0].Ports[0].CMARoCE = "IB/RoCE v1" },
			want: "n1 mlx5_0/1 warn: rdma_cm defaults to IB/RoCE v1, want RoCE v2: " + cma, fix: "/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode"},
		{name: "rdma_cm under OFED", do: func(c *Case) {
			c.Nodes[0].Ports[0].CMARoCE = "IB/RoCE v1"
			c.Nodes[0].Settings.OFED = "MLNX_OFED_LINUX-24.10"
		}, want: "n1 mlx5_0/1 warn: rdma_cm defaults to IB/RoCE v1, want RoCE v2: " + cma, fix: "sudo cma_roce_mode -d mlx5_0 -p 1 -m 2"},
		{name: "the default was not read", do: func(c *Case) { c.Nodes[0].Ports[0].CMARoCE = "" }, want: "n1 mlx5_0/1 pass: RoCE v2"},
		{name: "unread", do: func(c *Case) { c.Nodes[0].Ports[0].GIDs, c.Nodes[0].Ports[0].GIDsRead = nil, false },
			want: "n1 mlx5_0/1 unknown: the GID table was not read"},
		{name: "types unread", do: func(c *Case) {
			for i := range c.Nodes[0].Ports[0].GIDs {
				c.Nodes[0].Ports[0].GIDs[i].Type = ""
			}
		}, want: "n1 mlx5_0/1 unknown: the types of the GIDs were not read"},
		{name: "no GID at all", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports[0].GIDs = nil
			}
		}, want: "cluster skip: no RoCE port that has a GID is in use"},
		{name: "software RoCE", do: func(c *Case) {
			c.Nodes[0].Ports[0] = &fact.Port{Name: "rxe_0/1", Device: "rxe_0", Num: 1, Driver: "rxe", Netdev: "eth2", Layer: "Ethernet", NodeType: "1: CA",
				State: "ACTIVE", GIDsRead: true, GIDs: []fact.GID{{Index: 1, GID: "0000:0000:0000:0000:0000:ffff:c0a8:c801", Type: "RoCE v2", Netdev: "eth2"}}}
		}, want: "n1 rxe_0/1 pass: RoCE v2"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port that has a GID is in use"},
	})
}
