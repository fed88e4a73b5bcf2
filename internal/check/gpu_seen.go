package check

import (
	"fmt"

	"weft/internal/fact"
)

var gpuSeen = Check{
	ID:    "gpu.seen",
	Title: "Every GPU on the PCI bus is seen by its driver",
	None:  noGPU,
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, g := range c.gpus(n) {
			out = append(out, judgeSeen(n, g))
		}
		if usual := c.gpuCounts[machineOf(n)]; len(n.GPUs) < usual {
			out = append(out, fewerGPUs(n, usual))
		}
		return out
	},
}

func judgeSeen(n *fact.Node, g *fact.GPU) Finding {
	f := Finding{Subject: gpuSubject(n, g), Want: "a GPU driver"}
	driver, tool := "", "nvidia-smi"
	if d := n.At(g.BDF); d != nil {
		driver = d.Driver
	}
	if g.Vendor == "AMD" {
		tool = "amd-smi list"
	}
	seen, known := g.Seen.Get()
	switch {
	case driver == "vfio-pci":
		f.Status, f.Got = Warn, "vfio-pci"
		f.Why = "the GPU is set aside for a virtual machine, so nothing on this host can use it"
		f.Fix = []string{"driverctl --nosave unset-override " + g.BDF + "   # unless a virtual machine is meant to have it"}
	case driver == "nouveau":
		f.Status, f.Got = Fail, "nouveau"
		f.Why = "nouveau shows pictures and runs no CUDA, so every job finds zero GPUs"
		f.Fix = append([]string{"echo blacklist nouveau | sudo tee /etc/modprobe.d/blacklist-nouveau.conf"}, gpuDriverFix(n, g)...)
	case !g.Bound && !(known && seen):
		f.Status, f.Got = Fail, "no driver"
		f.Why = "the GPU is on the bus and nothing drives it, so every job finds one GPU less"
		f.Fix = gpuDriverFix(n, g)
	case !known:
		f.Status, f.Want, f.Why = Unknown, "", "neither "+tool+" nor sysfs told whether the driver lists it"
		f.Fix = []string{tool + "   # on " + n.Name}
	case !seen:
		f.Status, f.Got, f.Want = Fail, "not listed by "+tool, "listed"
		f.Why = "the driver is bound but gave the GPU up, most often after an Xid error, a failed reset or a lost power cable"
		f.Fix = []string{"sudo dmesg | grep -iE 'NVRM|Xid|amdgpu'", "power-cycle " + n.Name + " if a reboot does not bring it back"}
	default:
		f.Want = ""
	}
	return f
}

func gpuDriverFix(n *fact.Node, g *fact.GPU) []string {
	switch {
	case g.Vendor == "AMD":
		return []string{"sudo modprobe amdgpu", "sudo dmesg | grep -i amdgpu   # says what is missing, most often firmware",
			install(n, "firmware-amd-graphics   # Ubuntu: linux-firmware", "amd-gpu-firmware")}
	case n.Host.Distro == "ubuntu":
		return []string{"sudo ubuntu-drivers install --gpgpu   # then reboot"}
	}
	return []string{install(n, "nvidia-open   # from NVIDIA's CUDA repository", "nvidia-open   # from NVIDIA's CUDA repository") + "; then reboot"}
}

// fewerGPUs is about a GPU that fell off the bus: it is in no list, so only the
// node's likes show that it is missing.
func fewerGPUs(n *fact.Node, usual int) Finding {
	return Finding{Subject: node(n), Status: Fail, Got: fmt.Sprintf("%d GPUs", len(n.GPUs)), Want: fmt.Sprint(usual),
		Why: "the other nodes of this product have more, so here one is off the bus or was never fitted",
		Fix: []string{"lspci -d ::03xx; lspci -d ::12xx   # on " + n.Name, "power off, reseat the GPU and its power cables"}}
}

// machine is what a node was sold as.
type machine struct{ product, arch string }

func machineOf(n *fact.Node) machine { return machine{n.Host.Product, n.Host.Arch} }

// usualGPUs returns how many GPUs most nodes of one product have. It has to be most:
// of two nodes with different counts either may be right.
func usualGPUs(c *Case) map[machine]int {
	groups := map[machine][]*fact.Node{}
	for _, n := range c.Up() {
		if n.Host.Product != "" {
			groups[machineOf(n)] = append(groups[machineOf(n)], n)
		}
	}
	counts := map[machine]int{}
	for m, group := range groups {
		if usual, have := Usual(group, func(n *fact.Node) int { return len(n.GPUs) }); have*2 > len(group) {
			counts[m] = usual
		}
	}
	return counts
}
