package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func TestNCCLSymmetry(t *testing.T) {
	hca := func(n *fact.Node, values ...string) {
		n.Settings.Env = nil
		for _, v := range values {
			n.Settings.Env = append(n.Settings.Env, fact.EnvVar{Name: "NCCL_IB_HCA", Value: v, Where: "/etc/environment"})
		}
	}
	second := func(n *fact.Node) *fact.Port {
		p := n.Ports[1]
		p.State, p.Phys, p.Rate = "ACTIVE", "LinkUp", fact.Some(200*unit.Gbps)
		return p
	}
	bothTwo := func(do func(c *Case)) func(c *Case) {
		return func(c *Case) {
			for _, n := range c.Nodes {
				hca(n)
				second(n)
			}
			do(c)
		}
	}
	const hang = ": ranks open different numbers of devices and wait for each other: the job hangs with busy GPUs and no word"
	judge(t, ncclSymmetry, []row{
		{name: "one each", want: "n1 pass: 1: mlx5_0/1 at 200 Gb/s"},
		{name: "two here, one there", do: func(c *Case) { second(c.Nodes[1]); hca(c.Nodes[1]) },
			want: "n2 fail: 2: mlx5_0/1 at 200 Gb/s, mlx5_1/1 at 200 Gb/s, want 1, as on n1" + hang, fix: "NCCL_IB_HCA==mlx5_0:1"},
		{name: "two here, but one is listed", do: func(c *Case) { second(c.Nodes[1]) }, want: "n2 pass: 1: mlx5_0/1 at 200 Gb/s"},
		{name: "the later list wins", do: func(c *Case) { second(c.Nodes[1]); hca(c.Nodes[1], "=mlx5_0:1", "mlx5") },
			want: "n2 fail: 2: mlx5_0/1 at 200 Gb/s, mlx5_1/1 at 200 Gb/s, want 1, as on n1" + hang},
		{name: "one of three has fewer", do: func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(1))
			c.Nodes[2].Name = "n3"
			for _, n := range c.Nodes {
				hca(n)
				second(n)
			}
			c.Nodes[2].Ports[1].State = "DOWN"
		}, want: "n3 mlx5_1/1 fail: 1: mlx5_0/1 at 200 Gb/s, want 2, as on n1" + hang, fix: "bring the missing port up, or list as few on the other nodes: NCCL_IB_HCA==mlx5_0:1 on n1"},
		{name: "of two, the one with a port down is the odd one", do: bothTwo(func(c *Case) {
			c.Nodes[1].Ports[1].State = "DOWN"
			c.Nodes[1].Netdev("eth3").Addrs = []string{"10.9.0.2/24"}
		}),
			want: "n2 mlx5_1/1 fail: 1: mlx5_0/1 at 200 Gb/s, want 2, as on n1" + hang, not: "n1 fail"},
		{name: "of two, the one whose list names nothing is the odd one", do: func(c *Case) { hca(c.Nodes[1], "mlx5_7") },
			want: "n2 NCCL_IB_HCA fail: 0, want 1, as on n1" + hang, not: "n1 fail", fix: "weft explain nccl.env"},
		{name: "of two, the one whose list names too much is the odd one", do: bothTwo(func(c *Case) { hca(c.Nodes[1], "=mlx5_0,mlx5_7") }),
			want: "n2 NCCL_IB_HCA fail: 1: mlx5_0/1 at 200 Gb/s, want 2, as on n1" + hang, not: "n1 fail"},
		{name: "of two, the one that lost a card is the odd one", do: bothTwo(func(c *Case) { c.Nodes[1].Ports = c.Nodes[1].Ports[:1] }),
			want: "n2 0000:19:00.1 fail: 1: mlx5_0/1 at 200 Gb/s, want 2, as on n1" + hang, not: "n1 fail"},
		{name: "one down on both is symmetric", do: func(c *Case) {
			for _, n := range c.Nodes {
				hca(n)
				n.Netdev("eth3").Addrs = []string{"10.9.0." + n.Name[1:] + "/24"}
			}
		}, want: "n1 pass: 1: mlx5_0/1 at 200 Gb/s"},
		{name: "a slower port", do: func(c *Case) { c.Nodes[1].Ports[0].Rate = fact.Some(100 * unit.Gbps) },
			want: "n2 mlx5_0/1 warn: 1: mlx5_0/1 at 100 Gb/s, want 1: mlx5_0/1 at 200 Gb/s: a collective runs at the rate of its slowest port, so the faster ones wait"},
		{name: "most are slower", do: func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(3))
			c.Nodes[0].Ports[0].Rate, c.Nodes[1].Ports[0].Rate = fact.Some(100*unit.Gbps), fact.Some(100*unit.Gbps)
		}, want: "n3 warn: 1: mlx5_0/1 at 200 Gb/s, want 1: mlx5_0/1 at 100 Gb/s: a collective runs at the rate of its slowest port, so the faster ones wait"},
		{name: "Spark beside a workstation", do: func(c *Case) {
			spark := c.Nodes[1]
			spark.GPUs[0].Name = "NVIDIA GB10"
			spark.Ports[0].Device, spark.Ports[0].Name = "rocep1s0f0", "rocep1s0f0/1"
			twin := second(spark)
			twin.Device, twin.Name = "roceP2p1s0f0", "roceP2p1s0f0/1"
			hca(spark, "=rocep1s0f0:1")
		}, want: "n2 pass: 1: rocep1s0f0/1 at 200 Gb/s"},
		{name: "a head node without GPU does not count", do: func(c *Case) {
			c.Nodes = append(c.Nodes, &fact.Node{Name: "head"})
		}, want: "n1 pass: 1: mlx5_0/1 at 200 Gb/s", not: "head"},
		{name: "environment unread", do: func(c *Case) { c.Nodes[1].Settings.EnvRead = false }, want: "n2 unknown: where NCCL_IB_HCA may be set was not read"},
		{name: "state unread", do: func(c *Case) { c.Nodes[1].Ports[1].State = "" }, want: "n2 unknown: the state of mlx5_1/1 was not read"},
		{name: "one node", do: func(c *Case) { c.Nodes = c.Nodes[:1] }, want: "cluster skip: one node alone has nothing to be equal to"},
		{name: "no RDMA", do: func(c *Case) { c.Nodes[0].Ports, c.Nodes[1].Ports = nil, nil }, want: "cluster skip: no node offers an ACTIVE RDMA port"},
	})
}

// One cause is told once, by the check that knows it.
func TestNCCLSymmetryDoesNotEcho(t *testing.T) {
	tests := []struct {
		name string
		do   func(n *fact.Node)
		want string
	}{
		{"a list that names nothing", func(n *fact.Node) { n.Settings.Env[0].Value = "mlx5_7" }, "nccl.env n2 NCCL_IB_HCA"},
		{"a port at half rate", func(n *fact.Node) { n.Ports[0].Rate = fact.Some(100 * unit.Gbps) }, "port.rate n2 mlx5_0/1"},
		{"a cable that is out", func(n *fact.Node) { n.Settings.Env, n.Ports[0].State, n.Ports[0].Phys = nil, "DOWN", "Disabled" }, "port.up n2 mlx5_0/1"},
		{"a card that the RDMA stack lost", func(n *fact.Node) { n.Settings.Env, n.Ports = nil, n.Ports[1:] }, "port.present n2 0000:19:00.0"},
	}
	for _, tt := range tests {
		c := good()
		tt.do(c.Nodes[1])
		var loud []string
		for _, f := range Run([]Check{portPresent, portUp, portRate, ncclEnv, ncclSymmetry}, c) {
			if f.Status > Skip {
				loud = append(loud, f.Check+" "+f.Subject.String())
			}
		}
		if len(loud) != 1 || loud[0] != tt.want {
			t.Errorf("%s: loud findings are %q, want %q alone", tt.name, loud, tt.want)
		}
	}
}
