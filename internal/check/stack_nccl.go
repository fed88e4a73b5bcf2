package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
)

var stackNCCL = Check{
	ID:    "stack.nccl",
	Title: "Every node has the same NCCL, a release build, and the same net plugin",
	Judge: func(c *Case) (out []Finding) {
		var nodes []*fact.Node // those that have the libraries or should have
		found := false
		for _, n := range ncclNodes(c) {
			if !n.Settings.LibrariesRead {
				out = append(out, Finding{Subject: node(n), Status: Unknown, Why: "the installed libraries were not read", Fix: []string{"ldconfig -p | grep -E 'nccl|rccl'   # on " + n.Name}})
				continue
			}
			nodes = append(nodes, n)
			found = found || len(n.Settings.NCCL) > 0
		}
		if !found {
			return append(out, skip("no node has NCCL or RCCL outside of its images")...)
		}
		for _, family := range [][]*fact.Node{ncclOf(nodes, "NVIDIA"), ncclOf(nodes, "AMD")} {
			out = append(out, judgeNCCL(family)...)
		}
		return out
	},
}

// ncclNodes are the nodes that will run ranks: those with GPUs, or all where none has.
func ncclNodes(c *Case) []*fact.Node {
	nodes := c.Up()
	if slices.ContainsFunc(nodes, func(n *fact.Node) bool { return len(n.GPUs) > 0 }) {
		nodes = slices.DeleteFunc(nodes, func(n *fact.Node) bool { return len(n.GPUs) == 0 })
	}
	return nodes
}

// ncclOf are the nodes of one GPU vendor: NCCL and RCCL do not meet in one job. A
// node without GPUs counts as NVIDIA's.
func ncclOf(nodes []*fact.Node, vendor string) (out []*fact.Node) {
	for _, n := range nodes {
		if amd := len(n.GPUs) > 0 && n.GPUs[0].Vendor == "AMD"; amd == (vendor == "AMD") {
			out = append(out, n)
		}
	}
	return out
}

func judgeNCCL(nodes []*fact.Node) (out []Finding) {
	lib := func(n *fact.Node) string { return ncclVersions(n, false) }
	plugin := func(n *fact.Node) string { return ncclVersions(n, true) }
	usual, _ := Usual(slices.DeleteFunc(slices.Clone(nodes), func(n *fact.Node) bool { return lib(n) == "" }), lib)
	usualPlugin, _ := Usual(nodes, plugin)
	for _, n := range nodes {
		f := Finding{Subject: node(n), Got: lib(n)}
		dev := slices.IndexFunc(n.Settings.NCCL, func(l fact.Library) bool { return !ncclPlugin(l) && !ncclRelease(l.Version) })
		switch {
		case plugin(n) != usualPlugin && len(nodes) > 1:
			f.Status, f.Got, f.Want = Fail, "net plugin "+ncclOrNone(plugin(n)), ncclOrNone(usualPlugin)
			f.Why = "a rank with another net plugin speaks another protocol, so the job hangs while it connects"
			f.Fix = []string{"install the same plugin on every node, or take it away everywhere: NCCL_NET_PLUGIN=none"}
		case f.Got != usual && len(nodes) > 1:
			f.Status, f.Got, f.Want = Fail, ncclOrNone(f.Got), ncclOrNone(usual)
			f.Why = "ranks with different versions fail to connect or hang"
			f.Fix = ncclFix(n)
		case dev >= 0:
			f.Status, f.Want = Warn, "a release"
			f.Why = "a development build may be far slower: one gave 3 GB/s where the release gave 23.7"
			f.Fix = append([]string{"# " + n.Settings.NCCL[dev].Path}, ncclFix(n)...)
		case strings.Contains(f.Got, ","):
			f.Status, f.Want = Warn, "one version"
			f.Why = "which of them a job loads depends on its library path, so two jobs on this node may differ"
			f.Fix = []string{"ldconfig -p | grep -E 'nccl|rccl'   # then take away the one that is not wanted"}
		case f.Got == "":
			f.Got = "none"
		}
		out = append(out, f)
	}
	return out
}

func ncclFix(n *fact.Node) []string {
	if len(n.GPUs) > 0 && n.GPUs[0].Vendor == "AMD" {
		return []string{install(n, "rccl", "rccl") + "   # the version of the others"}
	}
	return []string{install(n, "libnccl2=VERSION libnccl-dev=VERSION", "libnccl-VERSION libnccl-devel-VERSION") + "   # one VERSION for all nodes"}
}
