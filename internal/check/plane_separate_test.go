package check

import (
	"testing"

	"weft/internal/fact"
)

func TestPlaneSeparate(t *testing.T) {
	const why = ", want an interface that is no data port: when the data fabric breaks, so does the way in to mend it; and downloads compete with the job"
	ssh := func(c *Case) { c.Nodes[0].Host.SSHTo = "192.168.200.1" }
	route := func(c *Case) { c.Nodes[0].Settings.Routes[0].Dev = "eth2" }
	judge(t, planeSeparate, []row{
		{name: "separate", want: "n1 pass: separate"},
		{name: "ssh", do: ssh, want: "n1 warn: ssh arrives on eth2" + why, fix: "- {name: n1, ssh: 10.0.0.1}"},
		{name: "default route", do: route, want: "n1 warn: the default route leaves by eth2" + why, fix: "leave by eno1"},
		{name: "both, and no other interface", do: func(c *Case) { ssh(c); route(c); c.Nodes[0].Netdevs = c.Nodes[0].Netdevs[1:] },
			want: "n1 warn: ssh and the default route use eth2" + why, fix: "connect another interface"},
		{name: "a second default route is not used", do: func(c *Case) {
			c.Nodes[0].Settings.Routes = append(c.Nodes[0].Settings.Routes, fact.Route{Dst: "default", Via: "192.168.200.254", Dev: "eth2", Metric: 200})
		}, want: "n1 pass: separate"},
		{name: "a better one is", do: func(c *Case) {
			c.Nodes[0].Settings.Routes[0].Metric = 300
			c.Nodes[0].Settings.Routes = append(c.Nodes[0].Settings.Routes, fact.Route{Dst: "default", Via: "192.168.200.254", Dev: "eth2", Metric: 200})
		}, want: "n1 warn: the default route leaves by eth2" + why},
		{name: "a bond over the data port", do: func(c *Case) {
			c.Nodes[0].Netdev("eth2").Master = "bond0"
			c.Nodes[0].Settings.Routes[0].Dev = "bond0"
		}, want: "n1 warn: the default route leaves by bond0" + why},
		{name: "no default route", do: func(c *Case) { c.Nodes[0].Settings.Routes = c.Nodes[0].Settings.Routes[1:] }, want: "n1 pass: separate"},
		{name: "local node", do: func(c *Case) { c.Nodes[0].Host.SSHTo = "" }, want: "n1 pass: separate"},
		{name: "unread", do: func(c *Case) {
			c.Nodes[0].Host.SSHTo, c.Nodes[0].Settings.Routes, c.Nodes[0].Settings.RoutesRead = "", nil, false
		}, want: "n1 unknown: neither the routes nor the address that ssh arrived on were read"},
		{name: "IPoIB", do: func(c *Case) { *c = *goodIB(); c.Nodes[0].Host.SSHTo = "192.168.200.1" }, want: "n1 warn: ssh arrives on ib0" + why},
		{name: "no RDMA", do: func(c *Case) { c.Nodes[0].Ports, c.Nodes[1].Ports = nil, nil }, want: "cluster skip: no RDMA port with a netdev is in use"},
	})
}
