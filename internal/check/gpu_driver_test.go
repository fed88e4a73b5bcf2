package check

import (
	"testing"

	"weft/internal/fact"
)

func TestGPUDriver(t *testing.T) {
	const why = ": ranks on different drivers may find no common kernels or protocol, and fail or slow down on one node alone"
	judge(t, gpuDriver, []row{
		{name: "same", want: "n1 pass: 570.86.15, CUDA 12.8"},
		{name: "another driver", do: func(c *Case) { c.Nodes[1].Settings.GPUDriver = "580.126.09" },
			want: "n2 warn: 580.126.09, CUDA 12.8, want 570.86.15, CUDA 12.8" + why, fix: "choose one version"},
		{name: "the odd one of three", do: func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(1))
			c.Nodes[2].Name, c.Nodes[2].Settings.CUDA = "n3", "13.0"
		}, want: "n3 warn: 570.86.15, CUDA 13.0, want 570.86.15, CUDA 12.8" + why, fix: "bring n3"},
		{name: "the GPU's own word serves", do: func(c *Case) { c.Nodes[1].Settings.GPUDriver = "" }, want: "n2 pass: 570.86.15, CUDA 12.8"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Settings.GPUDriver, c.Nodes[1].GPUs[0].Driver = "", "" },
			want: "n2 unknown: no GPU driver version was read"},
		{name: "no driver at all is gpu.seen's", do: func(c *Case) { c.Nodes[1].GPUs[0].Bound = false },
			want: "cluster skip: no two nodes have the same GPU"},
		{name: "different GPUs may differ", do: func(c *Case) {
			c.Nodes[1].GPUs[0].Name, c.Nodes[1].Settings.GPUDriver = "NVIDIA GB10", "580.126.09"
		}, want: "cluster skip: no two nodes have the same GPU"},
		{name: "AMD in the kernel", do: func(c *Case) {
			for i, n := range c.Nodes {
				n.GPUs = []*fact.GPU{{Vendor: "AMD", Arch: "gfx1151", Bound: true}}
				n.Settings.GPUDriver, n.Settings.CUDA, n.Settings.ROCm = "", "", []string{"7.2.0", "7.1.1"}[i]
			}
		}, want: "n2 pass: amdgpu of kernel 6.8.0-60-generic, ROCm 7.1.1"},
		{name: "AMD with another ROCm", do: func(c *Case) {
			for i, n := range c.Nodes {
				n.GPUs = []*fact.GPU{{Vendor: "AMD", Arch: "gfx1151", Bound: true}}
				n.Settings.GPUDriver, n.Settings.CUDA, n.Settings.ROCm = "", "", []string{"7.2.0", "7.1.1"}[i]
			}
		}, want: "n1 warn: amdgpu of kernel 6.8.0-60-generic, ROCm 7.2.0, want amdgpu of kernel 6.8.0-60-generic, ROCm 7.1.1" + why},
	})
}
