package check

import (
	"fmt"
	"slices"

	"weft/internal/fact"
	"weft/internal/platform"
)

// gpus returns the NVIDIA and AMD GPUs of a node. What only shows pictures is left
// out: a board's display chip, and the small GPU inside an AMD processor where the
// node has a GPU that weft knows.
func (c *Case) gpus(n *fact.Node) []*fact.GPU { return c.about(n).gpus }

func findGPUs(n *fact.Node) (out []*fact.GPU) {
	known := 0
	for _, g := range n.GPUs {
		if g.Vendor != "NVIDIA" && g.Vendor != "AMD" {
			continue
		}
		out = append(out, g)
		if _, ok := platform.GPUOf(g); ok {
			known++
		}
	}
	if known == 0 || known == len(out) {
		return out
	}
	return slices.DeleteFunc(out, func(g *fact.GPU) bool {
		_, ok := platform.GPUOf(g)
		return !ok && g.Vendor == "AMD"
	})
}

// gpuModels returns one GPU of each model on a node, so that eight alike GPUs are
// judged once.
func (c *Case) gpuModels(n *fact.Node) (out []*fact.GPU) {
	for _, g := range c.gpus(n) {
		if !slices.ContainsFunc(out, func(o *fact.GPU) bool { return gpuName(o) == gpuName(g) }) {
			out = append(out, g)
		}
	}
	return out
}

// gpuName is what people call a GPU: its name, else its architecture, else its
// PCI device id.
func gpuName(g *fact.GPU) string {
	switch {
	case g.Name != "" && g.Vendor == "NVIDIA":
		return g.Name
	case g.Arch != "":
		return g.Arch // AMD's marketing names do not tell models apart: "AMD Radeon Graphics"
	case g.Name != "":
		return g.Name
	}
	return fmt.Sprintf("%s GPU %04x", g.Vendor, g.Device)
}

// gpuSubject is the subject of a GPU.
func gpuSubject(n *fact.Node, g *fact.GPU) Subject {
	return Subject{n.Name, fmt.Sprintf("gpu%d", g.Index)}
}

const noGPU = "no node has an NVIDIA or AMD GPU"
