package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/spec"
)

func TestFabricCables(t *testing.T) {
	wired := func(a, b string, do func(c *Case)) func(c *Case) {
		return func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(3))
			c.Nodes[2].Settings.Neighbours = nil
			c.Want.Cables = []spec.Cable{{A: a, B: b}}
			if do != nil {
				do(c)
			}
		}
	}
	const a, b = "n1:mlx5_0/1", "n2:mlx5_0/1"
	silent := func(c *Case) {
		for _, n := range c.Nodes {
			n.Settings.Neighbours = nil
		}
	}
	lldp := func(chassis, port string) func(c *Case) {
		return func(c *Case) {
			silent(c)
			c.Nodes[0].Settings.LLDP = []fact.LLDP{{Netdev: "eth2", Chassis: chassis, Port: port}}
		}
	}
	third := func(c *Case, state string) {
		silent(c)
		c.Nodes[0].Settings.Neighbours = []fact.Neighbour{{Addr: "192.168.200.3", Dev: "eth2", MAC: "02:00:00:00:01:03", State: state}}
	}
	const why = ": jobs that trust the plan in weft.yaml use the wrong ports, and a ring in another order does not close"
	judge(t, fabricCables, []row{
		{name: "nothing said", want: "cluster skip: weft.yaml does not say which port is wired to which"},
		{name: "the peer answers there", do: wired(a, b, nil), want: "n1 mlx5_0/1 pass: wired to n2:mlx5_0/1"},
		{name: "named by the netdev", do: wired("n1:eth2", "n2:eth2", nil), want: "n1 mlx5_0/1 pass: wired to n2:mlx5_0/1"},
		{name: "another answers there", do: wired(a, b, func(c *Case) { third(c, "REACHABLE") }), fix: "move the cable from n1:mlx5_0/1 to n2:mlx5_0/1",
			want: "n1 mlx5_0/1 fail: n1:mlx5_0/1 is wired to n3:mlx5_0/1, want n2:mlx5_0/1" + why},
		{name: "another answered there once", do: wired(a, b, func(c *Case) { third(c, "STALE") }), fix: "ping the peer",
			want: "n1 mlx5_0/1 unknown: n3:mlx5_0/1 was there some time ago, and nothing newer is known"},
		{name: "nobody answered", do: wired(a, b, func(c *Case) { third(c, "FAILED") }), fix: "sudo apt install lldpd",
			want: "n1 mlx5_0/1 unknown: nothing tells what is at the other end: no LLDP, no neighbour seen, no fabric tool"},
		{name: "only the far end sees", do: wired(a, b, func(c *Case) { c.Nodes[0].Settings.Neighbours = nil }), want: "n1 mlx5_0/1 pass: wired to n2:mlx5_0/1"},
		{name: "LLDP by name", do: wired(a, b, lldp("N2.example.com", "eth2")), want: "n1 mlx5_0/1 pass: wired to n2:mlx5_0/1"},
		{name: "LLDP by MAC", do: wired(a, b, lldp("02:00:00:00:00:02", "02:00:00:00:01:02")), want: "n1 mlx5_0/1 pass: wired to n2:mlx5_0/1"},
		{name: "LLDP says another port", do: wired(a, b, lldp("02:00:00:00:00:02", "eth3")),
			want: "n1 mlx5_0/1 fail: n1:mlx5_0/1 is wired to n2:mlx5_1/1, want n2:mlx5_0/1" + why},
		{name: "LLDP says a switch", do: wired(a, b, lldp("leaf1", "Ethernet1/7")), want: "n1 mlx5_0/1 fail: n1:mlx5_0/1 is wired to leaf1:Ethernet1/7, want n2:mlx5_0/1" + why},
		{name: "the owner says that switch", do: wired("leaf1:Ethernet1/7", a, lldp("leaf1", "Ethernet1/7")), want: "n1 mlx5_0/1 pass: wired to leaf1:Ethernet1/7"},
		{name: "ports that are not there", do: wired("x:mlx5_0/1", "y:mlx5_0/1", nil), want: "cluster unknown: neither x:mlx5_0/1 nor y:mlx5_0/1 is a port that was read", fix: "weft.yaml"},
		{name: "InfiniBand, by the fabric's links", do: func(c *Case) {
			*c = *goodIB()
			c.Want.Cables = []spec.Cable{{A: a, B: b}}
			// One end by its node GUID, the other by the port GUID in its GID.
			c.Nodes[1].Ports[0].GIDs[0].GID = "fe80:0000:0000:0000:0200:00ff:fe00:0999"
			c.Fabric.Links = []fact.FabricLink{{A: fact.End{GUID: "0x020000fffe000101", Port: 1}, B: fact.End{GUID: "0x20000fffe000999", Port: 1}}}
		}, want: "n1 mlx5_0/1 pass: wired to n2:mlx5_0/1"},
		{name: "InfiniBand, on a switch", do: func(c *Case) {
			*c = *goodIB()
			c.Want.Cables = []spec.Cable{{A: a, B: b}}
			c.Fabric.Links[0].B.GUID = "0x020000fffe000101"
		}, want: "n1 mlx5_0/1 fail: n1:mlx5_0/1 is wired to leaf1:1, want n2:mlx5_0/1" + why},
		{name: "the twin of a Spark port is the same socket", do: func(c *Case) {
			sparks(c)
			silent(c)
			c.Want.Cables = []spec.Cable{{A: "n1:rocep1s0f0/1", B: "n2:rocep1s0f0/1"}}
			c.Nodes[0].Settings.LLDP = []fact.LLDP{{Netdev: "enp1s0f0np0", Chassis: "n2", Port: "enP2p1s0f0np0"}}
		}, want: "n1 rocep1s0f0/1 pass: wired to n2:rocep1s0f0/1"},
	})
}
