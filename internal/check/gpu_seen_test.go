package check

import (
	"testing"

	"weft/internal/fact"
)

func TestGPUSeen(t *testing.T) {
	lone := func(c *Case, do func(n *fact.Node, g *fact.GPU)) { do(c.Nodes[1], c.Nodes[1].GPUs[0]) }
	judge(t, gpuSeen, []row{
		{name: "seen", want: "n1 gpu0 pass"},
		{name: "bound but given up", do: func(c *Case) { lone(c, func(_ *fact.Node, g *fact.GPU) { g.Seen = fact.Some(false) }) },
			want: "n2 gpu0 fail: not listed by nvidia-smi, want listed: the driver is bound but gave the GPU up, most often after an Xid error, a failed reset or a lost power cable", fix: "Xid"},
		{name: "no driver", do: func(c *Case) {
			lone(c, func(n *fact.Node, g *fact.GPU) {
				g.Seen, g.Bound = fact.Val[bool]{}, false
				n.At(g.BDF).Driver = ""
			})
		}, want: "n2 gpu0 fail: no driver, want a GPU driver: the GPU is on the bus and nothing drives it, so every job finds one GPU less", fix: "ubuntu-drivers"},
		{name: "no driver on Fedora", do: func(c *Case) {
			lone(c, func(n *fact.Node, g *fact.GPU) {
				g.Seen, g.Bound, n.Host = fact.Val[bool]{}, false, fact.Host{Distro: "fedora"}
				n.At(g.BDF).Driver = ""
			})
		}, want: "n2 gpu0 fail: no driver, want a GPU driver: the GPU is on the bus and nothing drives it, so every job finds one GPU less", fix: "sudo dnf install nvidia-open"},
		{name: "nouveau", do: func(c *Case) {
			lone(c, func(n *fact.Node, g *fact.GPU) { n.At(g.BDF).Driver = "nouveau" })
		}, want: "n2 gpu0 fail: nouveau, want a GPU driver: nouveau shows pictures and runs no CUDA, so every job finds zero GPUs", fix: "blacklist nouveau"},
		{name: "passed through", do: func(c *Case) {
			lone(c, func(n *fact.Node, g *fact.GPU) { n.At(g.BDF).Driver, g.Bound = "vfio-pci", false })
		}, want: "n2 gpu0 warn: vfio-pci, want a GPU driver: the GPU is set aside for a virtual machine, so nothing on this host can use it"},
		{name: "unread", do: func(c *Case) { lone(c, func(_ *fact.Node, g *fact.GPU) { g.Seen = fact.Val[bool]{} }) },
			want: "n2 gpu0 unknown: neither nvidia-smi nor sysfs told whether the driver lists it"},
		{name: "AMD without driver", do: func(c *Case) {
			lone(c, func(n *fact.Node, g *fact.GPU) {
				*g = fact.GPU{Vendor: "AMD", BDF: g.BDF}
				n.At(g.BDF).Driver = ""
			})
		}, want: "n2 gpu0 fail: no driver, want a GPU driver: the GPU is on the bus and nothing drives it, so every job finds one GPU less", fix: "modprobe amdgpu"},
		{name: "one of three fell off the bus", do: func(c *Case) {
			c.Nodes = append(c.Nodes, goodNode(1))
			c.Nodes[2].Name, c.Nodes[2].GPUs = "n3", nil
		}, want: "n3 fail: 0 GPUs, want 1: the other nodes of this product have more, so here one is off the bus or was never fitted", fix: "reseat"},
		{name: "one of two may be meant so", do: func(c *Case) { c.Nodes[1].GPUs = nil }, want: "n1 gpu0 pass", not: "fail"},
		{name: "the small GPU of an AMD processor", do: func(c *Case) {
			lone(c, func(n *fact.Node, _ *fact.GPU) {
				n.GPUs = append([]*fact.GPU{{Index: 1, Vendor: "AMD", Device: 0x164e, Arch: "gfx1036"}}, n.GPUs...)
			})
		}, want: "n2 gpu0 pass", not: "gpu1"},
		{name: "a display chip is no GPU", do: func(c *Case) {
			c.Nodes[1].GPUs = []*fact.GPU{{Vendor: "Intel"}}
			c.Nodes[0].GPUs = nil
		}, want: "cluster skip: no node has an NVIDIA or AMD GPU"},
	})
}
