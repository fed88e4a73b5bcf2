package check

import (
	"testing"
	"time"

	"weft/internal/fact"
)

func TestFabricSwitch(t *testing.T) {
	// ib adds a second switch to the good fabric, joined to the first by two links,
	// and breaks one thing.
	ib := func(do func(c *Case, trunk *fact.FabricLink)) func(c *Case) {
		return func(c *Case) {
			*c = *goodIB()
			for i := 0; i < 2; i++ {
				c.Fabric.Links = append(c.Fabric.Links, fact.FabricLink{A: fact.End{GUID: "0xsw1", Name: "leaf1", Port: 35 + i, Switch: true},
					B: fact.End{GUID: "0xsw2", Name: "spine1", Port: 1 + i, Switch: true}, Width: "4x", Speed: "HDR"})
			}
			do(c, &c.Fabric.Links[3])
		}
	}
	later := func(name string, then, now uint64) func(c *Case) {
		return ib(func(c *Case, trunk *fact.FabricLink) {
			before := *c.Fabric
			before.Links = append([]fact.FabricLink(nil), before.Links...)
			before.Links[3].Errors = map[string]uint64{name: then}
			trunk.Errors = map[string]uint64{name: now}
			c.Before, c.Since = &fact.Cluster{Fabric: &before}, time.Hour
		})
	}
	judge(t, fabricSwitch, []row{
		{name: "no InfiniBand", want: "cluster skip: no InfiniBand link is up"},
		{name: "all at full speed", do: ib(func(c *Case, trunk *fact.FabricLink) {}), want: "cluster pass: 4 links at full speed without errors"},
		{name: "no switch", do: ib(func(c *Case, trunk *fact.FabricLink) { c.Fabric.Switches = nil }), want: "cluster skip: the fabric has no switch"},
		{name: "no tool answered", do: ib(func(c *Case, trunk *fact.FabricLink) { c.Fabric = nil }), want: "cluster unknown: no node could ask the fabric about its switches", fix: "sudo apt install infiniband-diags"},
		{name: "one lane", do: ib(func(c *Case, trunk *fact.FabricLink) { trunk.Width = "1x" }), fix: "between leaf1 port 36 and spine1 port 2",
			want: "leaf1 port 36 fail: 1x HDR, want 4x: lanes are dead, so the link carries a part of what it could, and so does every path over it"},
		{name: "a split port", do: ib(func(c *Case, trunk *fact.FabricLink) { trunk.Width = "2x" }), want: "cluster pass: 4 links at full speed without errors"},
		{name: "two lanes where four could be", do: ib(func(c *Case, trunk *fact.FabricLink) { trunk.Width, trunk.MaxWidth = "2x", "4x" }),
			want: "leaf1 port 36 fail: 2x HDR, want 4x: lanes are dead, so the link carries a part of what it could, and so does every path over it"},
		{name: "slower than both ends can", do: ib(func(c *Case, trunk *fact.FabricLink) { trunk.Speed, trunk.MaxSpeed = "EDR", "HDR" }),
			want: "leaf1 port 36 fail: 4x EDR, want HDR: both ends could run faster, so the cable is bad or a port is forced low"},
		{name: "slower than its like", do: ib(func(c *Case, trunk *fact.FabricLink) { trunk.Speed = "EDR" }),
			want: "leaf1 port 36 warn: 4x EDR, want HDR: links like this one run faster: an older card, or a bad cable"},
		{name: "hosts and trunks are not alike", do: ib(func(c *Case, trunk *fact.FabricLink) { c.Fabric.Links[0].Speed, c.Fabric.Links[1].Speed = "EDR", "EDR" }),
			want: "cluster pass: 4 links at full speed without errors"},
		{name: "a node's port by its node GUID", do: ib(func(c *Case, trunk *fact.FabricLink) {
			c.Fabric.Links[1].B.GUID, c.Fabric.Links[1].Width = "0x020000fffe000102", "1x"
		}), want: "n2 mlx5_0/1 fail: 1x HDR, want 4x: lanes are dead, so the link carries a part of what it could, and so does every path over it"},
		{name: "errors, once", do: ib(func(c *Case, trunk *fact.FabricLink) { trunk.Errors = map[string]uint64{"LinkDownedCounter": 11} }), fix: "sudo ibclearerrors",
			want: "leaf1 port 36 warn: LinkDownedCounter 11, want no growth: errors were counted since the counters were cleared; only growth tells whether they still happen"},
		{name: "few errors", do: ib(func(c *Case, trunk *fact.FabricLink) {
			trunk.Errors = map[string]uint64{"LinkDownedCounter": 10, "PortXmitWait": 1 << 40}
		}), want: "cluster pass: 4 links at full speed without errors"},
		{name: "errors that stay", do: later("LinkDownedCounter", 11, 11), want: "cluster pass: 4 links at full speed without errors"},
		{name: "errors that grow", do: later("LinkDownedCounter", 11, 12),
			want: "leaf1 port 36 fail: LinkDownedCounter +1, want no growth: the link loses packets, and each stalls the jobs that cross it"},
		{name: "errors that grow slowly enough", do: later("SymbolErrorCounter", 0, 120), want: "cluster pass: 4 links at full speed without errors"},
		{name: "over both of its limits is said once", do: later("SymbolErrorCounter", 0, 40000),
			want: "leaf1 port 36 fail: SymbolErrorCounter +40000, want no growth: the link loses packets, and each stalls the jobs that cross it"},
		{name: "packets thrown away", do: later("PortXmitDiscards", 0, 360001),
			want: "leaf1 port 36 fail: PortXmitDiscards +360001, want no growth: packets wait in the switch until it throws them away: a receiver behind it is too slow"},
	})
}
