package check

import (
	"slices"
	"testing"

	"weft/internal/fact"
)

func TestGPUDirect(t *testing.T) {
	const slow = ": NCCL copies every transfer through host memory, at a fraction of the bandwidth"
	noPeermem := func(c *Case) *fact.Node {
		n := c.Nodes[1]
		n.Settings.Modules = slices.DeleteFunc(n.Settings.Modules, func(m string) bool { return m == "nvidia_peermem" })
		return n
	}
	amd := func(c *Case, arch string) *fact.Node {
		n := noPeermem(c)
		n.GPUs = []*fact.GPU{{Vendor: "AMD", Arch: arch, Bound: true}}
		return n
	}
	judge(t, gpuDirect, []row{
		{name: "peermem", want: "n1 gpu0 pass: nvidia_peermem"},
		{name: "dma-buf", do: func(c *Case) { noPeermem(c).Settings.GPUOpen = fact.Some(true) }, want: "n2 gpu0 pass: dma-buf"},
		{name: "the closed module", do: func(c *Case) { noPeermem(c).Settings.GPUOpen = fact.Some(false) },
			want: "n2 gpu0 fail: no nvidia_peermem, and no dma-buf: the NVIDIA kernel module is not the open one, want one of them" + slow, fix: "modprobe nvidia-peermem"},
		{name: "kernel 5.11 is just too old", do: func(c *Case) {
			n := noPeermem(c)
			n.Settings.GPUOpen, n.Host.Kernel = fact.Some(true), "5.11.22"
		}, want: "n2 gpu0 fail: no nvidia_peermem, and no dma-buf: kernel 5.11.22 is older than 5.12, want one of them" + slow},
		{name: "kernel 5.12 is just new enough", do: func(c *Case) {
			n := noPeermem(c)
			n.Settings.GPUOpen, n.Host.Kernel = fact.Some(true), "5.12.0"
		}, want: "n2 gpu0 pass: dma-buf"},
		{name: "driver 470 is too old", do: func(c *Case) {
			n := noPeermem(c)
			n.Settings.GPUOpen, n.Settings.GPUDriver = fact.Some(false), "470.256.02"
		}, want: "n2 gpu0 fail: no nvidia_peermem, and no dma-buf: driver 470.256.02 is older than R515, want one of them" + slow},
		{name: "open or not was not read", do: func(c *Case) { noPeermem(c) },
			want: "n2 gpu0 unknown: whether the NVIDIA kernel module is the open one, which speaks dma-buf, was not read", fix: "/proc/driver/nvidia/version"},
		{name: "modules unread", do: func(c *Case) {
			s := &noPeermem(c).Settings
			s.Modules, s.ModulesRead, s.GPUOpen = nil, false, fact.Some(false)
			c.Nodes[1].Host.Kernel = "5.4.0"
		}, want: "n2 gpu0 unknown: the loaded modules were not read, and there is no dma-buf path"},
		{name: "kernel unread", do: func(c *Case) { noPeermem(c).Host.Kernel = "" },
			want: "n2 gpu0 unknown: the kernel version was not read, so whether it speaks dma-buf is not known"},
		{name: "GB10 has none by design", do: func(c *Case) { noPeermem(c).GPUs[0].Name = "NVIDIA GB10" },
			want: "n2 gpu0 pass: none, as expected on GB10: unified memory; GPUDirect RDMA is absent by design"},
		{name: "gfx1151 has none by design", do: func(c *Case) { amd(c, "gfx1151") },
			want: "n2 gpu0 pass: none, as expected on gfx1151: unified memory; mlx5 refuses hipMalloc memory"},
		{name: "GeForce has none", do: func(c *Case) { noPeermem(c).GPUs[0].Name = "NVIDIA GeForce RTX 5090" },
			want: "n2 gpu0 pass: none, as expected on GeForce RTX 50: NVIDIA's driver keeps GPUDirect RDMA from GeForce"},
		{name: "MI300X by dma-buf", do: func(c *Case) { amd(c, "gfx942") }, want: "n2 gpu0 pass: dma-buf"},
		{name: "MI300X on an old kernel", do: func(c *Case) { amd(c, "gfx942").Host.Kernel = "5.4.0" },
			want: "n2 gpu0 unknown: no dma-buf (kernel 5.4.0 is older than 5.12), and whether the driver brings its own way was not read"},
		{name: "ConnectX-3 cannot", do: func(c *Case) { c.Nodes[1].At("0000:19:00.0").Device = 0x1003 },
			want: "n2 gpu0 warn: ConnectX-3, want a card that can: ConnectX-3 cannot reach GPU memory, so every transfer is copied through host memory"},
		{name: "an unknown GPU", do: func(c *Case) { c.Nodes[1].GPUs[0].Name, c.Nodes[1].GPUs[0].Device = "NVIDIA X1", 0 },
			want: "n2 gpu0 unknown: weft does not know whether NVIDIA X1 can do GPUDirect RDMA"},
		{name: "an unknown card", do: func(c *Case) { c.Nodes[1].At("0000:19:00.0").Device = 0xffff },
			want: "n2 gpu0 unknown: weft does not know whether the card behind mlx5_0 can reach GPU memory"},
		{name: "software RDMA", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Ports = []*fact.Port{{Name: "rxe0/1", Device: "rxe0", Num: 1, Driver: "rxe", Layer: "Ethernet", State: "ACTIVE"}}
			}
		}, want: "cluster skip: no node has both a GPU and an RDMA card in use"},
	})
}
