package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
)

var gpuMatrix = Check{
	ID:    "gpu.matrix",
	Title: "The GPUs have every feature that the workload asks for",
	Judge: func(c *Case) (out []Finding) {
		asked := c.Want.Workload.Features
		if len(asked) == 0 {
			return skip("weft.yaml asks for no GPU feature (workload.features)")
		}
		for _, f := range asked {
			if !slices.Contains(platform.Features, strings.ToLower(f)) {
				out = append(out, Finding{Status: Unknown, Got: f, Why: "weft knows no such GPU feature; it knows " + strings.Join(platform.Features, ", ")})
			}
		}
		some := false
		for _, n := range c.Up() {
			for _, g := range c.gpuModels(n) {
				some = true
				for _, f := range asked {
					if f = strings.ToLower(f); slices.Contains(platform.Features, f) {
						out = append(out, judgeFeature(n, g, f))
					}
				}
			}
		}
		if !some {
			return append(out, skip(noGPU)...)
		}
		return out
	},
}

// judgeFeature answers one feature of one GPU model: "n1 gpu0 fp8".
func judgeFeature(n *fact.Node, g *fact.GPU, feature string) Finding {
	f := Finding{Subject: gpuSubject(n, g)}
	f.Subject.Part += " " + feature
	name := gpuName(g)
	known, ok := platform.GPUOf(g)
	switch has := known.Features[feature]; {
	case !ok:
		f.Status, f.Why = Unknown, "weft does not know "+name
	case has == "yes":
		f.Got = name
	case has == "no":
		f.Status, f.Got, f.Want = Fail, name+" has no "+feature, feature
		f.Why = "the workload asks for something this GPU cannot do, so it will not start or will run another way"
		f.Fix = []string{platform.Instead[feature]}
	default:
		f.Status, f.Got, f.Why = Unknown, name, strings.TrimPrefix(has, "unclear: ")
	}
	return f
}
