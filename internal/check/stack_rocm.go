package check

import (
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
)

var stackROCm = Check{
	ID:    "stack.rocm",
	Title: "The kernel is new enough for ROCm on this GPU",
	None:  "no node has a GPU that wants a certain kernel (gfx1151)",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		for _, g := range c.gpuModels(n) {
			if need, ok := platform.KernelMinOf(g, n.Host); ok {
				out = append(out, judgeROCm(n, need))
			}
		}
		return out
	},
}

func judgeROCm(n *fact.Node, need platform.KernelMin) Finding {
	f := Finding{Subject: node(n), Got: "kernel " + n.Host.Kernel}
	reached, ok := platform.AtLeast(n.Host.Kernel, need.Min)
	best, _ := platform.AtLeast(n.Host.Kernel, need.Recommended)
	switch {
	case !ok:
		f.Status, f.Got, f.Why = Unknown, "", "the kernel version was not read"
		f.Fix = []string{"uname -r   # on " + n.Name}
	case !reached:
		f.Status, f.Want, f.Why = Fail, need.Min+" or newer, best "+need.Recommended, need.Why
		f.Fix = rocmKernelFix(n)
	case !best:
		f.Why = need.Recommended + " is recommended: large models that hung ran again on it"
	}
	return f
}

func rocmKernelFix(n *fact.Node) []string {
	const after = "   # then reboot, and use a ROCm image made for this kernel"
	switch {
	case n.Host.Distro == "ubuntu" && strings.HasSuffix(n.Host.Kernel, "-oem"):
		return []string{"sudo apt update && sudo apt upgrade   # brings the newest linux-oem; then reboot"}
	case n.Host.Distro == "ubuntu":
		return []string{"sudo apt update && sudo apt install linux-generic-hwe-" + n.Host.Version + after}
	case n.Host.Debian():
		return []string{"sudo apt install -t stable-backports linux-image-amd64" + after}
	}
	return []string{"sudo dnf upgrade --refresh kernel" + after}
}
