package check

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func TestNodeGTT(t *testing.T) {
	set := func(c *Case, gtt unit.Size, want int) {
		strixHalo(c.Nodes[1])
		c.Nodes[1].GPUs[0].GTT, c.Want.Workload.MemoryGB = fact.Some(gtt), want
	}
	const reach = ", want most of 125.5 GiB: the rest of the memory is out of the GPU's reach, and large models fail to load"
	judge(t, nodeGTT, []row{
		{name: "raised", do: func(c *Case) { set(c, 120*unit.GiB, 0) }, want: "n2 gpu0 pass: 120.5 GiB"},
		{name: "the kernel's default", do: func(c *Case) { set(c, 62*unit.GiB, 0) }, fix: "ttm.pages_limit=31719424 ttm.page_pool_size=31719424",
			want: "n2 gpu0 warn: 62.5 GiB" + reach},
		{name: "just enough", do: func(c *Case) { set(c, 96256*unit.MiB, 0) }, want: "n2 gpu0 pass: 94.5 GiB"},
		{name: "just too little", do: func(c *Case) { set(c, 95*unit.GiB-1537*unit.MiB, 0) }, want: "n2 gpu0 warn: 94 GiB" + reach},
		{name: "the default is enough for this model", do: func(c *Case) { set(c, 62*unit.GiB, 60) }, want: "n2 gpu0 pass: 62.5 GiB"},
		{name: "the model needs more", do: func(c *Case) { set(c, 62*unit.GiB, 100) }, fix: "sudo grubby",
			want: "n2 gpu0 fail: 62.5 GiB, want 93.1 GiB: the model does not fit into what the GPU may map, although the machine has 125.5 GiB"},
		{name: "no setting helps", do: func(c *Case) { set(c, 120*unit.GiB, 140) },
			want: "n2 gpu0 fail: 120.5 GiB, want 130.4 GiB: the whole machine has 125.5 GiB, so the model cannot fit on this node", fix: "weft forecast"},
		{name: "a large carve-out counts", do: func(c *Case) {
			set(c, 14*unit.GiB, 0)
			c.Nodes[1].GPUs[0].Memory, c.Nodes[1].Host.Memory = fact.Some(96*unit.GiB), fact.Some(29*unit.GiB)
		}, want: "n2 gpu0 pass: 110 GiB"},
		{name: "the lower limit counts", do: func(c *Case) { set(c, 120*unit.GiB, 0); c.Nodes[1].Settings.TTMPages = fact.Some[int64](1 << 24) }, want: "n2 gpu0 warn: 64.5 GiB" + reach},
		{name: "a limit beyond all numbers is none", do: func(c *Case) { set(c, 120*unit.GiB, 0); c.Nodes[1].Settings.TTMPages = fact.Some[int64](1<<63 - 1) }, want: "n2 gpu0 pass: 120.5 GiB"},
		{name: "unread", do: func(c *Case) { set(c, 0, 0); c.Nodes[1].GPUs[0].GTT = fact.Val[unit.Size]{} }, want: "n2 gpu0 unknown: how much memory the GPU may map was not read"},
		{name: "other GPUs have memory of their own", want: "cluster skip: no AMD GPU with unified memory"},
	})
}
