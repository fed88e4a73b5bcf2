package check

import (
	"testing"

	"weft/internal/fact"
)

func TestPortTemp(t *testing.T) {
	port := func(c *Case) *fact.Port { return c.Nodes[1].Ports[0] }
	card := func(v float64) func(c *Case) { return func(c *Case) { port(c).Temp = fact.Some(v) } }
	module := func(v float64) func(c *Case) { return func(c *Case) { port(c).Module.Temp = fact.Some(v) } }
	judge(t, portTemp, []row{
		{name: "cool", want: "n1 mlx5_0/1 pass: card 52 °C"},
		{name: "94 is fine", do: card(94), want: "n2 mlx5_0/1 pass: card 94 °C"},
		{name: "95 is close to 105", do: card(95), want: "n2 mlx5_0/1 warn: card 95 °C, want under 95 °C: the card is close to the limit where it slows down or drops the link", fix: "airflow"},
		{name: "105 is the limit", do: card(105), want: "n2 mlx5_0/1 fail: card 105 °C, want under 105 °C: the card is at its limit, where it slows down or drops the link", fix: "airflow"},
		{name: "a module at 64", do: module(64), want: "n2 mlx5_0/1 pass: card 52 °C"},
		{name: "a module at 65", do: module(65), want: "n2 mlx5_0/1 warn: module 65 °C, want under 65 °C: a warm module makes bit errors", fix: "sudo ethtool -m eth2"},
		{name: "a module at 75", do: module(75), want: "n2 mlx5_0/1 fail: module 75 °C, want under 75 °C: a module this hot makes bit errors and ages fast"},
		{name: "a module's alarm", do: func(c *Case) { port(c).Module.Alarms = []string{"Laser rx power low alarm (Chan 2)"} }, fix: "clean and reseat",
			want: "n2 mlx5_0/1 warn: Laser rx power low alarm (Chan 2), want no alarm: the cable module itself says that something is out of range"},
		{name: "no limit: the card says nothing", do: func(c *Case) { port(c).TempMax = fact.Val[float64]{} }, want: "n2 mlx5_0/1 pass: module 38 °C"},
		{name: "nobody tells", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports[0].Temp, n.Ports[0].Module = fact.Val[float64]{}, nil
			}
		}, want: "cluster skip: no card and no cable module tells its temperature"},
	})
}
