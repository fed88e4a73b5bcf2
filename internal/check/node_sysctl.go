package check

import (
	"maps"
	"slices"

	"weft/internal/fact"
	"weft/internal/spec"
)

var nodeSysctl = Check{
	ID:    "node.sysctl",
	Title: "Kernel settings are what weft.yaml wants",
	None:  "weft.yaml names no kernel setting",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if len(c.Want.Sysctl) == 0 {
			return out
		}
		for _, key := range slices.Sorted(maps.Keys(c.Want.Sysctl)) {
			out = append(out, judgeSysctl(n, key, spec.SysctlValue(c.Want.Sysctl[key])))
		}
		return out
	},
}

func judgeSysctl(n *fact.Node, key, want string) Finding {
	f := Finding{Subject: Subject{n.Name, key}, Want: want}
	got, ok := n.Settings.Sysctl[key]
	switch {
	case !n.Settings.SysctlRead:
		f.Status, f.Want, f.Why = Unknown, "", "the node was not asked for it: weft.yaml named it later"
		f.Fix = []string{"weft check   # with this weft.yaml, and not from an older dump"}
	case !ok:
		f.Status, f.Got = Fail, "not there"
		f.Why = "this kernel has no such setting: its module is not loaded, or weft.yaml spells it wrong"
		f.Fix = []string{"ls " + spec.SysctlFile(key)}
	case got != want:
		f.Status, f.Got = Fail, got
		f.Why = "weft.yaml wants it, and the kernel has another value"
		f.Fix = []string{"sudo sysctl -w '" + key + "=" + want + "'", "echo '" + key + " = " + want + "' | sudo tee -a /etc/sysctl.d/99-weft.conf   # for good"}
	default:
		f.Got, f.Want = got, ""
	}
	return f
}
