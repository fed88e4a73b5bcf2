package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodePackages(t *testing.T) {
	drop := func(c *Case, names ...string) {
		for _, name := range names {
			delete(c.Nodes[1].Settings.Packages, name)
		}
	}
	fedora := func(c *Case) {
		h := &c.Nodes[1].Host
		h.Distro, h.Like = "fedora", ""
		c.Nodes[1].Settings.Packages = map[string]string{"rdma-core": "57", "libibverbs": "57", "libibverbs-utils": "57", "librdmacm-utils": "57",
			"infiniband-diags": "57", "ethtool": "6.11", "iproute": "6.12", "pciutils": "3.13", "mstflint": "4.30"}
	}
	const noTool, noLib = ": weft and people lack a tool to look or measure with", ": without the RDMA libraries every program falls back to TCP or refuses to start"
	judge(t, nodePackages, []row{
		{name: "all there", want: "n1 pass"},
		{name: "a tool is missing", do: func(c *Case) { drop(c, "perftest", "mstflint") }, fix: "sudo apt install perftest mstflint",
			want: "n2 warn: missing perftest, mstflint" + noTool},
		{name: "mft does what mstflint does", do: func(c *Case) { drop(c, "mstflint"); c.Nodes[1].Settings.Packages["mft"] = "4.30" }, want: "n2 pass"},
		{name: "mstflint is for Mellanox cards", do: func(c *Case) {
			drop(c, "mstflint")
			for _, d := range c.Nodes[1].PCI {
				d.Vendor = 0x8086
			}
		}, want: "n2 pass"},
		{name: "a library is missing", do: func(c *Case) { drop(c, "ibverbs-providers", "ethtool") }, fix: "sudo apt install ibverbs-providers ethtool",
			want: "n2 fail: missing ibverbs-providers, ethtool" + noLib},
		{name: "Fedora has its own names", do: fedora, fix: "sudo dnf install perftest", want: "n2 warn: missing perftest" + noTool},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Settings.PackagesRead = false }, want: "n2 unknown: the list of packages was not read"},
		{name: "neither apt nor dnf", do: func(c *Case) { c.Nodes[1].Settings.Packages = map[string]string{} }, want: "n2 unknown: the list of packages was not read"},
		{name: "no RDMA", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports, n.PCI = nil, []*fact.PCI{{BDF: "0000:00:1f.6", Vendor: 0x8086, Device: 0x15fb}}
			}
		}, want: "cluster skip: no node has an RDMA port or card"},
	})
}
