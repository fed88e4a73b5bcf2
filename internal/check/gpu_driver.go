package check

import (
	"strings"

	"weft/internal/fact"
)

var gpuDriver = Check{
	ID:    "gpu.driver",
	Title: "Nodes with the same GPU run the same driver and runtime",
	Judge: func(c *Case) (out []Finding) {
		groups := map[string][]*fact.Node{} // GPU model → nodes that have it
		var models []string
		for _, n := range c.Up() {
			for _, g := range c.gpuModels(n) {
				if !g.Bound {
					continue // gpu.seen says that nothing drives it
				}
				name := gpuName(g)
				if groups[name] == nil {
					models = append(models, name)
				}
				groups[name] = append(groups[name], n)
			}
		}
		for _, model := range models {
			if group := groups[model]; len(group) > 1 {
				out = append(out, judgeDriver(group)...)
			}
		}
		if len(out) == 0 {
			return skip("no two nodes have the same GPU")
		}
		return out
	},
}

func judgeDriver(group []*fact.Node) (out []Finding) {
	usual, have := Usual(group, stackOf)
	for _, n := range group {
		f := Finding{Subject: node(n), Got: stackOf(n)}
		switch {
		case f.Got == "":
			f.Status, f.Why = Unknown, "no GPU driver version was read"
			f.Fix = []string{"nvidia-smi, or amd-smi version   # on " + n.Name}
		case f.Got != usual && usual != "":
			f.Status, f.Want = Warn, usual
			f.Why = "ranks on different drivers may find no common kernels or protocol, and fail or slow down on one node alone"
			f.Fix = []string{"bring " + n.Name + " to the version of the others, then reboot it"}
			if have*2 == len(group) {
				f.Fix[0] = "choose one version for all, then reboot the node that changes"
			}
		}
		out = append(out, f)
	}
	return out
}

// stackOf is the driver and the runtime beside it: "570.86.15, CUDA 12.8". amdgpu
// from the kernel has no version of its own, so the kernel stands for it.
func stackOf(n *fact.Node) string {
	s := &n.Settings
	driver := s.GPUDriver
	for _, g := range n.GPUs {
		if driver == "" {
			driver = g.Driver
		}
		if g.Vendor == "AMD" && driver == "" && g.Bound {
			driver = "amdgpu of kernel " + n.Host.Kernel
		}
	}
	if driver == "" {
		return ""
	}
	parts := []string{driver}
	if s.CUDA != "" {
		parts = append(parts, "CUDA "+s.CUDA)
	}
	if s.ROCm != "" {
		parts = append(parts, "ROCm "+s.ROCm)
	}
	return strings.Join(parts, ", ")
}
