package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
)

var nodeDevices = Check{
	ID:    "node.devices",
	Title: "/dev/infiniband is there and the user may open it",
	After: []string{"node.modules"},
	None:  "no node has an RDMA device",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		if len(n.Ports) > 0 {
			out = append(out, judgeDevices(n))
		}
		return out
	},
}

func judgeDevices(n *fact.Node) Finding {
	f := Finding{Subject: node(n)}
	var uverbs, barred []fact.DevNode
	cm := false
	for _, d := range n.Settings.Devices {
		name, in := strings.CutPrefix(d.Path, "/dev/infiniband/")
		cm = cm || in && name == "rdma_cm"
		if in && strings.HasPrefix(name, "uverbs") {
			uverbs = append(uverbs, d)
			if !devicesOpen(n.Host, d) {
				barred = append(barred, d)
			}
		}
	}
	switch {
	case !n.Settings.DevicesRead:
		f.Status, f.Why = Unknown, "/dev/infiniband was not read"
	case len(uverbs) == 0:
		f.Status, f.Got, f.Want = Fail, "no /dev/infiniband/uverbs*", "one per RDMA device"
		f.Why = "the kernel has the device, but no program can open it"
		f.Fix = []string{"sudo modprobe ib_uverbs", "sudo udevadm trigger --subsystem-match=infiniband_verbs"}
	case n.Host.User == "" && len(barred) > 0:
		f.Status, f.Why = Unknown, "who weft was on the node was not read"
	case len(barred) > 0:
		d := barred[0]
		f.Status, f.Got, f.Want = Fail, d.Path+" "+d.Mode+" "+d.Owner+":"+d.Group, "read and write for "+n.Host.User
		f.Why = n.Host.User + " may not open it, so RDMA programs find no device and fall back to TCP"
		f.Fix = devicesFix(n.Host.User, d)
	case !cm:
		f.Status, f.Got = Warn, "no /dev/infiniband/rdma_cm"
		f.Why = "programs that connect through rdma_cm cannot; NCCL does not need it"
		f.Fix = []string{"sudo modprobe rdma_ucm"}
	}
	return f
}

// devicesOpen reports whether the user may read and write a device file. Like the
// kernel it looks at the first class that fits: owner, group, others.
func devicesOpen(h fact.Host, d fact.DevNode) bool {
	class := 7
	switch {
	case h.User == "root":
		return true
	case h.User == d.Owner:
		class = 1
	case slices.Contains(h.Groups, d.Group):
		class = 4
	}
	return len(d.Mode) > class+1 && d.Mode[class:class+2] == "rw"
}

func devicesFix(user string, d fact.DevNode) []string {
	if d.Group != "root" && len(d.Mode) > 5 && d.Mode[4:6] == "rw" {
		return []string{"sudo usermod -aG " + d.Group + " " + user + "   # then log in again"}
	}
	return []string{
		`echo 'SUBSYSTEM=="infiniband_verbs", MODE="0666"' | sudo tee /etc/udev/rules.d/91-rdma.rules`,
		"sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=infiniband_verbs",
	}
}
