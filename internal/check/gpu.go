package check

import (
	"fmt"
	"slices"

	"weft/internal/fact"
	"weft/internal/platform"
)

// gpuAt is a GPU and the node it is on.
type gpuAt struct {
	node *fact.Node
	gpu  *fact.GPU
}

// gpus returns the NVIDIA and AMD GPUs of the nodes that answered. What only
// shows pictures is left out: a board's display chip, and the small GPU inside an
// AMD processor where the node has a GPU that weft knows.
func (c *Case) gpus() []gpuAt {
	if c.data == nil {
		c.prepare()
	}
	return slices.Clip(c.gpuList)
}

func (c *Case) findGPUs() []gpuAt {
	var out []gpuAt
	for _, n := range c.Up() {
		first, known := len(out), 0
		for _, g := range n.GPUs {
			if g.Vendor != "NVIDIA" && g.Vendor != "AMD" {
				continue
			}
			out = append(out, gpuAt{n, g})
			if _, ok := platform.GPUOf(g); ok {
				known++
			}
		}
		if known > 0 && known < len(out)-first {
			out = append(out[:first], slices.DeleteFunc(out[first:], func(at gpuAt) bool {
				_, ok := platform.GPUOf(at.gpu)
				return !ok && at.gpu.Vendor == "AMD"
			})...)
		}
	}
	return out
}

// gpuModels returns one GPU of each model and node, so that eight alike GPUs of a
// node are judged once.
func (c *Case) gpuModels() []gpuAt {
	type model struct {
		node *fact.Node
		name string
	}
	seen := map[model]bool{}
	var out []gpuAt
	for _, at := range c.gpus() {
		if m := (model{at.node, gpuName(at.gpu)}); !seen[m] {
			seen[m] = true
			out = append(out, at)
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
