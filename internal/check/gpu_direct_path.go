package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/platform"
)

// directNVIDIA looks for the way into an NVIDIA GPU's memory once nvidia_peermem
// is known not to be loaded.
func directNVIDIA(f *Finding, n *fact.Node, g *fact.GPU, nic platform.NIC) {
	s := &n.Settings
	open, openKnown := s.GPUOpen.Get()
	without := noDMABuf(n, g, nic)
	switch {
	case without == "" && open:
		f.Got = "dma-buf"
	case without == "" && !openKnown:
		f.Status, f.Why = Unknown, "whether the NVIDIA kernel module is the open one, which speaks dma-buf, was not read"
		f.Fix = []string{"cat /proc/driver/nvidia/version   # on " + n.Name}
	case !s.ModulesRead:
		f.Status, f.Why = Unknown, "the loaded modules were not read, and there is no dma-buf path"
		f.Fix = []string{"lsmod | grep peermem   # on " + n.Name}
	default:
		if without == "" {
			without = "the NVIDIA kernel module is not the open one"
		}
		f.Status, f.Got, f.Want = Fail, "no nvidia_peermem, and no dma-buf: "+without, "one of them"
		f.Why = "NCCL copies every transfer through host memory, at a fraction of the bandwidth"
		f.Fix = []string{"sudo modprobe nvidia-peermem && echo nvidia-peermem | sudo tee /etc/modules-load.d/nvidia-peermem.conf",
			"if it does not load: install OFED first, then the NVIDIA driver; or change to the open module: " + install(n, "nvidia-open", "nvidia-open")}
	}
}

// NVIDIA's driver exports dma-buf from R515 on, from the open module alone:
// NVIDIA GPU Operator documentation, GPUDirect RDMA.
const dmabufDriver = "515"

// noDMABuf says what is missing for dma-buf, the open module left aside; "" when
// nothing is.
func noDMABuf(n *fact.Node, g *fact.GPU, nic platform.NIC) string {
	driver := n.Settings.GPUDriver
	if driver == "" {
		driver = g.Driver
	}
	if recent, ok := platform.AtLeast(driver, dmabufDriver); ok && !recent {
		return "driver " + driver + " is older than R" + dmabufDriver
	}
	return noDMABufNIC(n, nic)
}

func noDMABufNIC(n *fact.Node, nic platform.NIC) string {
	switch recent, _ := platform.AtLeast(n.Host.Kernel, nic.DMABuf); {
	case nic.DMABuf == "":
		return "no kernel is known to do it for " + nic.Name
	case !recent:
		return fmt.Sprintf("kernel %s is older than %s", n.Host.Kernel, nic.DMABuf)
	}
	return ""
}

// dmabufAMD: amdgpu exports dma-buf by itself; whether the kernel was built for
// peer-to-peer is not told, so a failure cannot be.
func dmabufAMD(f *Finding, n *fact.Node, nic platform.NIC) {
	switch without := noDMABufNIC(n, nic); {
	case n.Settings.Loaded("ib_peer_mem"):
		f.Got = "ib_peer_mem"
	case without == "":
		f.Got = "dma-buf"
	default:
		f.Status, f.Why = Unknown, "no dma-buf ("+without+"), and whether the driver brings its own way was not read"
		f.Fix = []string{"sudo dmesg | grep -i 'peer memory'   # on " + n.Name}
	}
}
