package check

import (
	"testing"

	"weft/internal/fact"
)

func TestStackQuant(t *testing.T) {
	want := func(c *Case, quant string, moe bool, g fact.GPU) {
		c.Want.Workload.Quant, c.Want.Workload.MoE = quant, moe
		*c.Nodes[1].GPUs[0] = g
	}
	strix := fact.GPU{Vendor: "AMD", Arch: "gfx1151"}
	h100 := fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA H100 80GB HBM3", Arch: "Hopper"}
	judge(t, stackQuant, []row{
		{name: "nothing is asked", want: "cluster skip: weft.yaml names no quantisation (workload.quant), or no node has a GPU"},
		{name: "MoE AWQ hangs on gfx1151", do: func(c *Case) { want(c, "awq", true, strix) },
			want: "n2 gpu0 fail: MoE awq on gfx1151, want w4a16: loading hangs silently, then the GPUs idle", fix: "checkpoint in w4a16"},
		{name: "W4A16 works there", do: func(c *Case) { want(c, "w4a16", true, strix) },
			want: "n2 gpu0 pass: MoE w4a16 on gfx1151: also for large mixtures of experts"},
		{name: "dense AWQ is not sure", do: func(c *Case) { want(c, "awq", false, strix) },
			want: "n2 gpu0 unknown: dense awq on gfx1151: a dense 405B ran under some kernels and hung under others", fix: "w4a16"},
		{name: "FP8 on Hopper", do: func(c *Case) { want(c, "fp8", true, h100) }, want: "n2 gpu0 pass: MoE fp8 on NVIDIA H100 80GB HBM3"},
		{name: "FP8 on Ampere is weight-only", do: func(c *Case) {
			want(c, "fp8", false, fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA A100-SXM4-80GB"})
		}, want: "n2 gpu0 pass: dense fp8 on NVIDIA A100-SXM4-80GB: as weight-only W8A16: it saves memory, not time"},
		{name: "FP8 on Pascal", do: func(c *Case) { want(c, "fp8", false, fact.GPU{Vendor: "NVIDIA", Name: "Tesla P4"}) },
			want: "n2 gpu0 fail: dense fp8 on Tesla P4, want GGUF (llama.cpp): vLLM starts at Turing"},
		{name: "never heard of it", do: func(c *Case) { want(c, "q3_k_m", false, h100) },
			want: "n2 gpu0 unknown: dense q3_k_m on NVIDIA H100 80GB HBM3: nobody told weft whether this runs"},
		{name: "no GPU", do: func(c *Case) {
			c.Want.Workload.Quant = "fp8"
			c.Nodes[0].GPUs, c.Nodes[1].GPUs = nil, nil
		}, want: "cluster skip: weft.yaml names no quantisation (workload.quant), or no node has a GPU"},
	})
}
