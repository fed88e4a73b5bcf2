package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
)

// ncclPlugin reports whether a library is a net plugin: libnccl-net, librccl-net.
func ncclPlugin(l fact.Library) bool { return strings.Contains(l.Name, "ccl-net") }

// ncclVersions names the versions of a node's NCCL, or of its net plugins:
// "libnccl 2.28.3". Copies of one version are one.
func ncclVersions(n *fact.Node, plugin bool) string {
	var names []string
	for _, l := range n.Settings.NCCL {
		if ncclPlugin(l) != plugin {
			continue
		}
		name := l.Name
		if v := ncclBare(l.Version); v != "" {
			name += " " + v
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// ncclBare leaves the CUDA and package revision away: "2.28.3-1+cuda12.8" and
// "2.28.3" are one NCCL.
func ncclBare(version string) string {
	v, _, _ := strings.Cut(version, "+cuda")
	if base, rev, ok := strings.Cut(v, "-"); ok && ncclNumeric(rev) {
		v = base
	}
	return v
}

// ncclRelease reports whether a version is a release: numbers and dots once CUDA
// and revision are away. "2.30.4-HEAD:2b22ab0" and "2.29.0-dev" are not. An
// unknown version is not called a development build.
func ncclRelease(version string) bool { return ncclNumeric(ncclBare(version)) }

func ncclNumeric(s string) bool {
	return strings.Trim(s, "0123456789.") == ""
}

func ncclOrNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
