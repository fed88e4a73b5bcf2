package check

import (
	"testing"

	"weft/internal/fact"
)

func TestGPUMatrix(t *testing.T) {
	ask := func(c *Case, features ...string) { c.Want.Workload.Features = features }
	const cannot = ": the workload asks for something this GPU cannot do, so it will not start or will run another way"
	judge(t, gpuMatrix, []row{
		{name: "nothing is asked", want: "cluster skip: weft.yaml asks for no GPU feature (workload.features)"},
		{name: "an H100 has FP8", do: func(c *Case) { ask(c, "fp8") }, want: "n1 gpu0 fp8 pass: NVIDIA H100 80GB HBM3"},
		{name: "an H100 has no NVFP4", do: func(c *Case) { ask(c, "NVFP4") },
			want: "n1 gpu0 nvfp4 fail: NVIDIA H100 80GB HBM3 has no nvfp4, want nvfp4" + cannot, fix: "FP8 checkpoint"},
		{name: "a T4 has no MIG", do: func(c *Case) { ask(c, "mig"); c.Nodes[1].GPUs[0].Name = "Tesla T4" },
			want: "n2 gpu0 mig fail: Tesla T4 has no mig, want mig" + cannot, fix: "time-slicing"},
		{name: "a P4 has no tensor cores", do: func(c *Case) { ask(c, "tensor-cores"); c.Nodes[1].GPUs[0].Name = "Tesla P4" },
			want: "n2 gpu0 tensor-cores fail: Tesla P4 has no tensor-cores, want tensor-cores" + cannot},
		{name: "NVLink depends on the P100", do: func(c *Case) { ask(c, "nvlink"); c.Nodes[1].GPUs[0].Name = "Tesla P100-SXM2-16GB" },
			want: "n2 gpu0 nvlink pass: Tesla P100-SXM2-16GB"},
		{name: "nobody knows", do: func(c *Case) { ask(c, "nim"); c.Nodes[1].GPUs[0].Name = "Tesla T4" },
			want: "n2 gpu0 nim unknown: Tesla T4: modern profiles assume newer GPUs and more memory; see the model's own list"},
		{name: "GB10 has no GPUDirect", do: func(c *Case) { ask(c, "gpudirect"); c.Nodes[1].GPUs[0].Name = "NVIDIA GB10" },
			want: "n2 gpu0 gpudirect fail: NVIDIA GB10 has no gpudirect, want gpudirect" + cannot},
		{name: "an unknown GPU", do: func(c *Case) { ask(c, "fp8"); *c.Nodes[1].GPUs[0] = fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA X1"} },
			want: "n2 gpu0 fp8 unknown: weft does not know NVIDIA X1"},
		{name: "an unknown feature", do: func(c *Case) { ask(c, "warp-drive") },
			want: "cluster unknown: warp-drive: weft knows no such GPU feature; it knows mig, nvlink, vgpu, fp8, nvfp4, tensor-cores, gpudirect, fabric-manager, time-slicing, dcgm, nim"},
		{name: "no GPU", do: func(c *Case) { ask(c, "fp8"); c.Nodes[0].GPUs, c.Nodes[1].GPUs = nil, nil },
			want: "cluster skip: no node has an NVIDIA or AMD GPU"},
	})
}
