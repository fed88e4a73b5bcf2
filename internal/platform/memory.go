package platform

import (
	"weft/internal/fact"
	"weft/internal/unit"
)

// memory is the bandwidth of a GPU's memory as its maker states it.
type memory struct {
	match  string // as GPU.Match
	size   int    // GiB, where a model comes with two kinds of memory; 0 any
	gbs    int64  // GB/s
	source string
}

var memories = []memory{
	{"K20*", 0, 208, "seed 002"},
	{"P4", 0, 192, "seed 002"},
	{"P100", 16, 732, "seed 002"},
	{"T4", 0, 300, "seed 002 (300 to 320 GB/s)"},
	{"A100", 40, 1555, "glennklockwood.com/garden/processors/A100"},
	{"A100-SXM4-80GB", 0, 2039, "glennklockwood.com/garden/processors/A100"},
	{"H100 80GB HBM3", 0, 3350, "modal.com/gpu-glossary/perf/memory-bandwidth"},
	{"H200", 0, 4800, "github.com/NVIDIA/TensorRT-LLM issue 1570"},
	{"B200", 0, 7670, "github.com/pytorch/ao pull 4002: the width and clock that the driver tells"},
	{"GB10", 0, 273, "data/throughput.csv"},
	{"gfx1151", 0, 256, "data/throughput.csv"},
}

// MemoryRate returns the bandwidth of a GPU's memory as stated, reading and writing
// together; ok is false where no source was found for this model.
func MemoryRate(g *fact.GPU) (rate unit.Rate, source string, ok bool) {
	best := ""
	for _, m := range memories {
		if len(m.match) <= len(best) || g.Arch != m.match && !hasWord(g.Name, m.match) || m.size != 0 && !nearGiB(g, m.size) {
			continue
		}
		best, rate, source, ok = m.match, unit.Rate(m.gbs*8)*unit.Gbps, m.source, true
	}
	return rate, source, ok
}

// nearGiB reports whether a GPU has about that much memory: drivers keep some.
func nearGiB(g *fact.GPU, gib int) bool {
	have, ok := g.Memory.Get()
	want := unit.Size(gib) * unit.GiB
	return ok && have > want*9/10 && have < want*11/10
}
