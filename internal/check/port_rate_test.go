package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func TestPortRate(t *testing.T) {
	rate := func(c *Case, i int, r unit.Rate) { c.Nodes[i].Ports[0].Rate = fact.Some(r * unit.Gbps) }
	can := func(c *Case, i int, r unit.Rate) { c.Nodes[i].Netdev("eth2").MaxSpeed = fact.Some(r * unit.Gbps) }
	judge(t, portRate, []row{
		{name: "200 on both", want: "n1 mlx5_0/1 pass: 200 Gb/s"},
		{name: "a 200 that came up at 100", do: func(c *Case) { rate(c, 1, 100) }, fix: "swap the cable",
			want: "n2 mlx5_0/1 fail: 100 Gb/s, want 200 Gb/s: ports like this one run faster: a bad cable, too long a DAC, or a switch port forced low"},
		{name: "another kind of card is no peer", do: func(c *Case) {
			rate(c, 1, 100)
			can(c, 1, 100)
			c.Nodes[1].Ports[0].Board = "MT_0000000011"
		}, want: "n2 mlx5_0/1 pass: 100 Gb/s", not: "fail"},
		{name: "most are slow: the odd one is the fast one", do: func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(3))
			rate(c, 1, 100)
			rate(c, 2, 100)
		}, want: "n3 mlx5_0/1 warn: 100 Gb/s, want 200 Gb/s: the card can do more: the cable, the switch port or the other end is made for less", not: "fail"},
		{name: "a direct cable that holds both back", do: func(c *Case) {
			c.Want.Data.Switch = "none"
			rate(c, 0, 100)
			rate(c, 1, 100)
		}, want: "n1 mlx5_0/1 fail: 100 Gb/s, want 200 Gb/s: both cards can do more, so the cable holds them back", fix: "made for 200 Gb/s"},
		{name: "a direct cable to a card that does not tell", do: func(c *Case) {
			c.Want.Data.Switch = "none"
			rate(c, 0, 100)
			rate(c, 1, 100)
			can(c, 1, 0)
		}, want: "n1 mlx5_0/1 warn: 100 Gb/s, want 200 Gb/s: the card can do more: the cable, the switch port or the other end is made for less", not: "fail"},
		{name: "a Spark beside a slower workstation", do: func(c *Case) {
			c.Want.Data.Switch = "none"
			c.Nodes[1].Ports[0].Board = "MT_0000000011"
			rate(c, 0, 100)
			rate(c, 1, 100)
			can(c, 1, 100)
		}, want: "n1 mlx5_0/1 pass: 100 Gb/s, all that the other end can do", not: "fail"},
		{name: "a capability that is not known", do: func(c *Case) {
			for i := range c.Nodes {
				rate(c, i, 100)
				c.Nodes[i].Netdev("eth2").MaxSpeed = fact.Val[unit.Rate]{}
			}
		}, want: "n1 mlx5_0/1 pass: 100 Gb/s"},
		{name: "nothing to compare with", do: func(c *Case) { *c = *goodIB(); c.Nodes = c.Nodes[:1] },
			want: "n1 mlx5_0/1 skip: 200 Gb/s (4X HDR): no equal port to compare with, and the card does not tell what it can do"},
		{name: "one InfiniBand lane", do: func(c *Case) {
			*c = *goodIB()
			rate(c, 1, 50)
			c.Nodes[1].Ports[0].Width = "1X"
		}, want: "n2 mlx5_0/1 fail: 50 Gb/s (1X HDR), want 200 Gb/s: ports like this one run faster: a bad cable, too long a DAC, or a switch port forced low"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Ports[0].Rate = fact.Val[unit.Rate]{} }, want: "n2 mlx5_0/1 unknown: the rate of the port was not read"},
		{name: "a down port has no rate", do: func(c *Case) { c.Nodes[1].Ports[0].State = "DOWN" }, want: "n1 mlx5_0/1 pass: 200 Gb/s", not: "n2"},
		{name: "software", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports[0].Driver = "rxe"
			}
		}, want: "cluster skip: no hardware port is up, so none has a rate"},
	})
}
