package check

import (
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
)

var gpuDirect = Check{
	ID:    "gpu.direct",
	Title: "The NIC reaches GPU memory directly where the hardware can",
	After: []string{"gpu.seen"},
	None:  "no node has both a GPU and an RDMA card in use",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		cards := c.cards(n)
		if len(cards) == 0 {
			return out
		}
		for _, g := range c.gpuModels(n) {
			out = append(out, judgeDirect(n, g, cards[0]))
		}
		return out
	},
}

func judgeDirect(n *fact.Node, g *fact.GPU, k card) Finding {
	f := Finding{Subject: gpuSubject(n, g)}
	known, ok := platform.GPUOf(g)
	if !ok {
		f.Status, f.Why = Unknown, "weft does not know whether "+gpuName(g)+" can do GPUDirect RDMA"
		return f
	}
	if known.Direct == "no" {
		// Expected, so NCCL's "GPU Direct RDMA Disabled" is no fault here.
		f.Got, f.Why = "none, as expected on "+strings.TrimSuffix(known.Match, "*"), known.Note
		return f
	}
	_, kernelKnown := platform.AtLeast(n.Host.Kernel, "0")
	var nic platform.NIC
	if k.dev != nil {
		nic, ok = platform.NICOf(k.dev)
	} else {
		ok = false
	}
	switch {
	case !ok:
		f.Status, f.Why = Unknown, "weft does not know whether the card behind "+k.port.Device+" can reach GPU memory"
	case !nic.GPUDirect:
		f.Status, f.Got, f.Want = Warn, nic.Name, "a card that can"
		f.Why = nic.Name + " cannot reach GPU memory, so every transfer is copied through host memory"
		f.Fix = []string{"fit a ConnectX-4 or newer; until then NCCL stages by itself"}
	case n.Settings.Loaded("nvidia_peermem") || n.Settings.Loaded("nv_peer_mem"):
		f.Got = "nvidia_peermem"
	case !kernelKnown:
		f.Status, f.Why = Unknown, "the kernel version was not read, so whether it speaks dma-buf is not known"
	case g.Vendor == "AMD":
		dmabufAMD(&f, n, nic)
	default:
		directNVIDIA(&f, n, g, nic)
	}
	return f
}
