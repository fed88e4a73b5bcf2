package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/unit"
)

var nodeGTT = Check{
	ID:    "node.gtt",
	Title: "The GPU may map the memory that the model needs",
	None:  "no AMD GPU with unified memory",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, g := range n.GPUs {
			if kind, _ := platform.GPUOf(g); g.Vendor == "AMD" && kind.Class == "integrated" {
				out = append(out, judgeGTT(n, g, unit.Size(c.Want.Workload.MemoryGB)*1e9))
			}
		}
		return out
	},
}

const (
	// The kernel lets the GPU map half of the memory unless told otherwise
	// (ttm_pages_limit in drivers/gpu/drm/ttm); guides for gfx1151 raise it to all
	// but 4 GiB. Three quarters lies between: below it nobody has raised it.
	gttShare = 0.75
	gttForOS = 4 * unit.GiB
)

func judgeGTT(n *fact.Node, g *fact.GPU, want unit.Size) Finding {
	f := Finding{Subject: Subject{n.Name, fmt.Sprintf("gpu%d", g.Index)}}
	limit, ok := gttLimit(n, g)
	ram, known := n.Host.Memory.Get()
	carved := g.Memory.Or(0) // what the BIOS set aside, which is not part of ram
	all := ram + carved
	pages := max(ram-gttForOS, 0) / (4 * unit.KiB)
	fix := []string{bootArg(n, fmt.Sprintf("ttm.pages_limit=%d ttm.page_pool_size=%d", pages, pages))}
	f.Got = (limit + carved).String()
	switch {
	case !ok || !known:
		f.Status, f.Got, f.Why = Unknown, "", "how much memory the GPU may map was not read"
	case want > 0 && limit+carved < want && all-gttForOS < want:
		f.Status, f.Want = Fail, want.String()
		f.Why = "the whole machine has " + all.String() + ", so the model cannot fit on this node"
		f.Fix = []string{"weft forecast   # a smaller checkpoint, or more nodes"}
	case want > 0 && limit+carved < want:
		f.Status, f.Want, f.Fix = Fail, want.String(), fix
		f.Why = "the model does not fit into what the GPU may map, although the machine has " + all.String()
	case want == 0 && float64(limit+carved) < gttShare*float64(all):
		f.Status, f.Want, f.Fix = Warn, "most of "+all.String(), fix
		f.Why = "the rest of the memory is out of the GPU's reach, and large models fail to load"
	}
	return f
}

// gttLimit is the least of the limits in force.
func gttLimit(n *fact.Node, g *fact.GPU) (limit unit.Size, ok bool) {
	limit, ok = g.GTT.Get()
	const page, most = 4 * unit.KiB, 1 << 40 // no machine has more pages; beyond, the product overflows
	if pages, known := n.Settings.TTMPages.Get(); known && pages >= 0 && pages < most && (!ok || unit.Size(pages)*page < limit) {
		limit, ok = unit.Size(pages)*page, true
	}
	return limit, ok
}
