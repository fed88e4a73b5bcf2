package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
)

var nodeIOMMU = Check{
	ID:    "node.iommu",
	Title: "The IOMMU lets RDMA pass through",
	None:  "no node has an RDMA card",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if slices.ContainsFunc(n.Ports, func(p *fact.Port) bool { return !p.Soft() }) {
			out = append(out, judgeIOMMU(n))
		}
		return out
	},
}

// strixIOMMU is the trade-off that nobody has settled: research/community.md item 21.
const strixIOMMU = "on Strix Halo amd_iommu=off computes 5 to 12 % faster than iommu=pt, but what it costs RDMA is not settled: measure both"

func judgeIOMMU(n *fact.Node) Finding {
	f := Finding{Subject: node(n)}
	if pl, _ := platform.Of(n); pl.ID == platform.StrixHalo.ID {
		f.Why = strixIOMMU
	}
	arg := "iommu=pt"
	if n.Host.Arch == "aarch64" {
		arg = "iommu.passthrough=1" // the name arm64 gives it, kernel-parameters.txt
	}
	groups, counted := n.Settings.IOMMUGroups.Get()
	said := strings.Fields(n.Host.CmdLine)
	has := func(args ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(said, a) })
	}
	switch kind := n.Settings.IOMMUType; {
	case counted && groups == 0:
		f.Got = "off"
	case kind == "identity":
		f.Got = "passes through"
	case kind != "":
		f.Status, f.Got, f.Want = Warn, "translates ("+kind+")", "pass through"
		f.Fix = []string{bootArg(n, arg)}
		if f.Why == "" {
			f.Why = "every address is translated, which costs bandwidth and can break transfers between GPU and NIC"
		} else {
			f.Fix = append(f.Fix, bootArg(n, "amd_iommu=off")+", instead, to measure the other")
		}
	case has("iommu=pt", "iommu.passthrough=1", "iommu=off", "amd_iommu=off", "intel_iommu=off"):
		f.Got = "passes through or off, as the kernel was told"
	default:
		f.Status, f.Why = Unknown, "neither the IOMMU's groups nor their type were read"
		f.Fix = []string{"cat /sys/kernel/iommu_groups/*/type | sort | uniq -c"}
	}
	return f
}
