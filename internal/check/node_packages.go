package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
)

var nodePackages = Check{
	ID:    "node.packages",
	Title: "The RDMA libraries and tools are installed",
	None:  noRDMA,
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if hasRDMA(n) {
			out = append(out, judgePackages(n))
		}
		return out
	},
}

// packagesNeeded is what seeds 000 and 004 install, by the names of both families.
// Without the first two no program can speak RDMA; the rest are tools.
var packagesNeeded = []struct {
	deb, rpm, or string // or is another package that does as well
	must         bool
	mellanox     bool // only for cards of that vendor
}{
	{deb: "rdma-core", rpm: "rdma-core", must: true},
	{deb: "ibverbs-providers", rpm: "libibverbs", must: true},
	{deb: "ibverbs-utils", rpm: "libibverbs-utils"},
	{deb: "rdmacm-utils", rpm: "librdmacm-utils"},
	{deb: "perftest", rpm: "perftest"},
	{deb: "infiniband-diags", rpm: "infiniband-diags"},
	{deb: "ethtool", rpm: "ethtool"},
	{deb: "iproute2", rpm: "iproute"},
	{deb: "pciutils", rpm: "pciutils"},
	{deb: "mstflint", rpm: "mstflint", or: "mft", mellanox: true},
}

func judgePackages(n *fact.Node) Finding {
	f := Finding{Subject: node(n)}
	// A machine without a single one of them is one whose packages have other names.
	if !n.Settings.PackagesRead || len(n.Settings.Packages) == 0 {
		f.Status, f.Why = Unknown, "the list of packages was not read"
		return f
	}
	mellanox := slices.ContainsFunc(n.PCI, func(d *fact.PCI) bool { return d.Vendor == 0x15b3 })
	var deb, rpm []string
	for _, want := range packagesNeeded {
		has := func(name string) bool { _, ok := n.Settings.Packages[name]; return ok }
		if want.mellanox && !mellanox || has(want.deb) || has(want.rpm) || has(want.or) {
			continue
		}
		deb, rpm = append(deb, want.deb), append(rpm, want.rpm)
		f.Status = max(f.Status, Warn)
		f.Why = "weft and people lack a tool to look or measure with"
		if want.must {
			f.Status = Fail
		}
	}
	if f.Status == Fail {
		f.Why = "without the RDMA libraries every program falls back to TCP or refuses to start"
	}
	if len(deb) > 0 {
		missing := rpm
		if n.Host.Debian() {
			missing = deb
		}
		f.Got = "missing " + strings.Join(missing, ", ")
		f.Fix = []string{install(n, strings.Join(deb, " "), strings.Join(rpm, " "))}
	}
	return f
}
