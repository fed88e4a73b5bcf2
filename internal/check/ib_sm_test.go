package check

import (
	"testing"

	"weft/internal/fact"
)

func TestIBSM(t *testing.T) {
	ib := func(do func(c *Case)) func(c *Case) {
		return func(c *Case) {
			*c = *goodIB()
			if do != nil {
				do(c)
			}
		}
	}
	state := func(c *Case, words ...string) {
		for i, w := range words {
			c.Nodes[i].Ports[0].State = w
		}
	}
	opensm := func(c *Case, i int, enabled string) {
		c.Nodes[i].Settings.Services["opensm.service"] = fact.Service{Load: "loaded", Active: "active", Enabled: enabled}
	}
	second := fact.SM{GUID: "0xn2", Name: "n2", LID: 4, State: "MASTER"}
	standby := fact.SM{GUID: "0xn2", Name: "n2", LID: 4, State: "STANDBY"}
	judge(t, ibSM, []row{
		{name: "no InfiniBand", want: "cluster skip: no InfiniBand port is in use"},
		{name: "one master", do: ib(nil), want: "cluster pass: MASTER on leaf1"},
		{name: "a standby is no rival", do: ib(func(c *Case) { c.Fabric.SMs = append(c.Fabric.SMs, standby); opensm(c, 1, "enabled") }), want: "cluster pass: MASTER on leaf1"},
		{name: "two masters", do: ib(func(c *Case) { c.Fabric.SMs = append(c.Fabric.SMs, second) }), fix: "sudo systemctl disable --now opensm",
			want: "cluster fail: 2 MASTER: leaf1, n2, want one MASTER: two masters give out LIDs against each other, so paths break at random"},
		{name: "two masters of two fabrics", do: ib(func(c *Case) {
			c.Fabric.SMs = append(c.Fabric.SMs, second)
			c.Fabric.Links = append(c.Fabric.Links, fact.FabricLink{A: fact.End{GUID: "0xa", Port: 1}, B: fact.End{GUID: "0xb", Port: 1}})
		}), want: "cluster pass: MASTER on leaf1, n2"},
		{name: "the manager died", do: ib(func(c *Case) { c.Fabric.SMs = nil }), fix: "sudo apt install opensm",
			want: "cluster fail: no MASTER, want one MASTER: ports that are up stay up, but the next one that restarts stays in INIT"},
		{name: "none ever ran", do: ib(func(c *Case) { c.Fabric = nil; state(c, "INIT", "INIT") }), fix: "systemctl enable --now opensm",
			want: "n2 mlx5_0/1 fail: no subnet manager, want one MASTER: the link is there, but no subnet manager has given the port a LID, so nothing routes", not: "cluster"},
		{name: "links down", do: ib(func(c *Case) { c.Fabric = nil; state(c, "DOWN", "DOWN") }), want: "cluster skip: no InfiniBand link is up"},
		{name: "no tool, but the ports know", do: ib(func(c *Case) { c.Fabric = nil }), want: "cluster pass: LIDs assigned by the manager at LID 1"},
		{name: "no tool, and two run", do: ib(func(c *Case) { c.Fabric = nil; opensm(c, 0, "enabled"); opensm(c, 1, "enabled") }), fix: "sudo saquery -s",
			want: "cluster warn: opensm runs on n1, n2, want one, or one MASTER and the others STANDBY: nothing tells whether one of them stands by or both give out LIDs"},
		{name: "two cables, two managers", do: ib(func(c *Case) {
			c.Fabric, c.Want.Data.Switch = nil, "none"
			for _, n := range c.Nodes {
				n.Ports[1].State = "ACTIVE"
			}
			opensm(c, 0, "enabled")
			opensm(c, 1, "enabled")
		}), want: "cluster pass: LIDs assigned by the manager at LID 1"},
		{name: "ports obey two", do: ib(func(c *Case) { c.Fabric = nil; c.Nodes[1].Ports[0].SMLID = fact.Some(9) }), fix: "sudo sminfo",
			want: "cluster warn: ports obey 2 subnet managers, at LIDs 1, 9, want one: ports of one subnet that obey different managers may not find each other"},
		{name: "not enabled at boot", do: ib(func(c *Case) {
			c.Fabric.SMs = []fact.SM{{Name: "n1", State: "MASTER"}}
			opensm(c, 0, "disabled")
		}), fix: "on n1: sudo systemctl enable opensm",
			want: "cluster warn: opensm runs on n1 but is not enabled, want enabled: after the next boot of that node every port that restarts stays in INIT"},
		{name: "unread", do: ib(func(c *Case) {
			c.Fabric = nil
			for _, n := range c.Nodes {
				n.Ports[0].SMLID = fact.Val[int]{}
			}
		}), want: "cluster unknown: neither the subnet managers nor the ports' sm_lid could be read", fix: "sudo sminfo"},
	})
}

func TestNoSubnetManagerIsSaidOnce(t *testing.T) {
	c := goodIB()
	c.Fabric = nil
	for _, n := range c.Nodes {
		n.Ports[0].State = "INIT"
	}
	var loud []string
	for _, f := range Run([]Check{portPresent, portUp, portRate, ibSM, ibWidth, ibMTU, ibIPoIB}, c) {
		if f.Status > Skip {
			loud = append(loud, f.Check+" "+f.Subject.String())
		}
	}
	if len(loud) != 2 || loud[0] != "port.up n1 mlx5_0/1" || loud[1] != "port.up n2 mlx5_0/1" {
		t.Errorf("loud findings are %q, want port.up of the two ports alone", loud)
	}
}

func TestFabricIslands(t *testing.T) {
	link := func(a, b string) fact.FabricLink {
		return fact.FabricLink{A: fact.End{GUID: a}, B: fact.End{GUID: b}}
	}
	for _, tc := range []struct {
		name  string
		links []fact.FabricLink
		want  int
	}{
		{"no link", nil, 0},
		{"one", []fact.FabricLink{link("a", "b")}, 1},
		{"a ring", []fact.FabricLink{link("a", "b"), link("b", "c"), link("c", "d"), link("d", "a")}, 1},
		{"two", []fact.FabricLink{link("a", "b"), link("c", "d"), link("d", "e")}, 2},
		{"joined late", []fact.FabricLink{link("a", "b"), link("c", "d"), link("e", "f"), link("b", "c"), link("f", "a")}, 1},
		{"a loop cable", []fact.FabricLink{link("a", "a")}, 1},
	} {
		if got := fabricIslands(tc.links); got != tc.want {
			t.Errorf("%s: %d islands, want %d", tc.name, got, tc.want)
		}
	}
}
