package check

import "testing"

func TestRoCEMixed(t *testing.T) {
	const vendors = ", want one vendor: vendors are rarely tested against each other; mixed pairs were seen slower than one node alone"
	judge(t, roceMixed, []row{
		{name: "alike", want: "cluster pass: 192.168.200.0/24: RoCE, NVIDIA"},
		{name: "iWARP meets RoCE", do: func(c *Case) { iwarp(c, 0) },
			want: "cluster fail: 192.168.200.0/24: iWARP on n1, RoCE on n2, want one protocol: iWARP and RoCE cannot talk to each other at all, so these nodes share TCP only",
			fix:  "weft explain roce.irdma"},
		{name: "siw meets rxe", do: func(c *Case) {
			iwarp(c, 0)
			c.Nodes[0].Ports[0].Driver, c.Nodes[1].Ports[0].Driver = "siw", "rxe"
		}, want: "cluster fail: 192.168.200.0/24: iWARP on n1, RoCE on n2, want one protocol: iWARP and RoCE cannot talk to each other at all, so these nodes share TCP only",
			fix: "rdma link add DEVICE type rxe"},
		{name: "both in RoCE v2", do: func(c *Case) { c.Nodes[0].Ports[0].Driver = "irdma" },
			want: "cluster warn: 192.168.200.0/24: Intel on n1, NVIDIA on n2" + vendors, fix: "weft prove"},
		{name: "several of one kind", do: func(c *Case) { c.Nodes = append(c.Nodes, goodNode(3)); c.Nodes[0].Ports[0].Driver = "irdma" },
			want: "cluster warn: 192.168.200.0/24: Intel on n1, NVIDIA on n2 and 1 more" + vendors},
		{name: "ConnectX-5 beside ConnectX-7", do: func(c *Case) { c.Nodes[0].At("0000:19:00.0").Device = 0x1017; c.Nodes[0].Ports[0].HCAType = "MT4119" },
			want: "cluster pass: 192.168.200.0/24: RoCE, NVIDIA"},
		{name: "all iWARP", do: func(c *Case) { iwarp(c, 0); iwarp(c, 1) }, want: "cluster pass: 192.168.200.0/24: iWARP, Intel"},
		{name: "driver unread", do: func(c *Case) { c.Nodes[0].Ports[0].Driver = "" },
			want: "cluster unknown: 192.168.200.0/24: RoCE, unknown on n1, NVIDIA on n2: the driver of a port on 192.168.200.0/24 was not read"},
		{name: "different subnets never meet", do: func(c *Case) { iwarp(c, 0); c.Nodes[0].Netdev("eth2").Addrs = []string{"10.9.0.1/30"} },
			want: "cluster skip: no two RoCE or iWARP ports share a subnet"},
		{name: "InfiniBand", do: func(c *Case) { *c = *goodIB() }, want: "cluster skip: no RoCE or iWARP port is in use"},
	})
}
