package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeClock(t *testing.T) {
	set := func(c *Case, i int, skew, err float64) {
		c.Nodes[i].Host.ClockSkew, c.Nodes[i].Host.SkewError = fact.Some(skew), fact.Some(err)
	}
	const astray = ": logs of one event carry different times, and certificates and rendezvous time-outs go astray"
	judge(t, nodeClock, []row{
		{name: "agree", want: "n1 pass: within 100 ms"},
		{name: "ahead", do: func(c *Case) { set(c, 1, 2.5, 0.01) }, fix: "sudo systemctl enable --now chrony",
			want: "n2 fail: 2.5 s ahead of the machine that runs weft, want within 100 ms" + astray},
		{name: "behind, on Fedora", do: func(c *Case) { set(c, 1, -3, 0); c.Nodes[1].Host.Distro, c.Nodes[1].Host.Like = "fedora", "" }, fix: "enable --now chronyd",
			want: "n2 fail: 3.0 s behind the machine that runs weft, want within 100 ms" + astray},
		{name: "just enough", do: func(c *Case) { set(c, 1, 0.1, 0) }, want: "n2 pass: within 100 ms"},
		{name: "just too much", do: func(c *Case) { set(c, 1, 0.101, 0) }, want: "n2 fail: 0.1 s ahead of the machine that runs weft, want within 100 ms" + astray},
		{name: "within the error of the measurement, and NTP says yes", do: func(c *Case) { set(c, 1, 0.3, 0.25) }, want: "n2 pass: within 100 ms"},
		{name: "within the error of the measurement, and NTP says nothing",
			do:   func(c *Case) { set(c, 1, 0.3, 0.25); c.Nodes[1].Host.ClockSync = fact.Val[bool]{} },
			want: "n2 unknown: the node answered too slowly to measure its clock (give or take 0.2 s), and its NTP state was not read"},
		{name: "weft's own machine is wrong", do: func(c *Case) { set(c, 0, 7, 0); set(c, 1, 7.05, 0) }, want: "n1 pass: within 100 ms", not: "fail"},
		{name: "one of three is wrong, and so is weft's machine",
			do: func(c *Case) {
				c.Nodes = append(c.Nodes, goodNode(3))
				set(c, 0, 7, 0)
				set(c, 1, 7, 0)
				set(c, 2, 1, 0)
			},
			want: "n3 fail: 6.0 s behind the other nodes, want within 100 ms" + astray},
		{name: "not synchronised", do: func(c *Case) { c.Nodes[1].Host.ClockSync = fact.Some(false) },
			want: "n2 warn: not synchronised, want NTP: the clock will drift away from the others"},
		{name: "only NTP's word", do: func(c *Case) { c.Nodes[1].Host.ClockSkew = fact.Val[float64]{} }, want: "n2 pass: synchronised by NTP"},
		{name: "unread", do: func(c *Case) {
			c.Nodes[1].Host.ClockSkew, c.Nodes[1].Host.ClockSync = fact.Val[float64]{}, fact.Val[bool]{}
		},
			want: "n2 unknown: neither the clock nor its NTP state was read"},
		{name: "down nodes are left out", do: func(c *Case) { c.Nodes[0].Down, c.Nodes[1].Down = "no", "no" }, want: "cluster skip: no node answered"},
	})
}
