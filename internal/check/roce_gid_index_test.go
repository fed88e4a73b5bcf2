package check

import (
	"testing"

	"weft/internal/fact"
)

func TestRoCEGIDIndex(t *testing.T) {
	shift := func(c *Case) { c.Nodes[1].Ports[0].GIDs[3].Index = 5 }
	const tables = "n1 mlx5_0/1 has 3 (192.168.200.1); n2 mlx5_0/1 has 5 (192.168.200.2), want a common index: "
	judge(t, roceGIDIndex, []row{
		{name: "index 3 everywhere", want: "cluster pass: index 3"},
		{name: "3 here, 5 there", do: shift,
			want: "cluster warn: " + tables + "no NCCL_IB_GID_INDEX is right on both; NCCL 2.21 and newer choose well by themselves, older ones do not",
			fix:  "weft env --node n2"},
		{name: "and somebody set it", do: func(c *Case) {
			shift(c)
			c.Nodes[0].Settings.Env = append(c.Nodes[0].Settings.Env, fact.EnvVar{Name: "NCCL_IB_GID_INDEX", Value: "3", Where: "/etc/environment"})
		}, want: "cluster fail: " + tables + "/etc/environment on n1 sets NCCL_IB_GID_INDEX=3, which is empty or another address elsewhere: NCCL stops in ibv_modify_qp"},
		{name: "another common one", do: func(c *Case) {
			shift(c)
			c.Nodes[0].Ports[0].GIDs = append(c.Nodes[0].Ports[0].GIDs, fact.GID{Index: 5, GID: "0000:0000:0000:0000:0000:ffff:c0a8:c909", Type: "RoCE v2"})
		}, want: "cluster pass: index 5"},
		{name: "two ports of one node differ", do: func(c *Case) {
			p := goodPort(1, 1, c.Nodes[0].Ports[0].Rate)
			p.GIDs[3].Index = 7
			c.Nodes[0].Ports[1] = p
		}, want: "cluster warn: n1 mlx5_0/1 has 3 (192.168.200.1); n1 mlx5_1/1 has 7 (192.168.200.1), want a common index: " +
			"no NCCL_IB_GID_INDEX is right on both; NCCL 2.21 and newer choose well by themselves, older ones do not"},
		{name: "a port without an address is another check's", do: func(c *Case) { c.Nodes[1].Ports[0].GIDs = nil }, want: "cluster pass: index 3"},
		{name: "none has an address", do: func(c *Case) { c.Nodes[0].Ports[0].GIDs, c.Nodes[1].Ports[0].GIDs = nil, nil },
			want: "cluster skip: no RoCE port has an IPv4-mapped GID; see roce.gid"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Ports[0].GIDsRead = false },
			want: "cluster unknown: the GID table of n2 mlx5_0/1 was not read"},
		{name: "no RoCE", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE port is in use"},
	})
}
