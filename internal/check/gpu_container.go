package check

import (
	"slices"
	"strings"

	"weft/internal/fact"
)

var gpuContainer = Check{
	ID:    "gpu.container",
	Title: "Containers can reach the GPU",
	None:  "no node has both a GPU and a container runtime (podman, docker)",
	Each: func(c *Case, n *fact.Node, out []Finding) []Finding {
		switch gpus := c.gpus(n); {
		case len(gpus) == 0 || len(n.Host.Containers) == 0:
		case gpus[0].Vendor == "AMD":
			out = append(out, judgeContainerAMD(n))
		default:
			out = append(out, judgeContainerNVIDIA(n))
		}
		return out
	},
}

func judgeContainerNVIDIA(n *fact.Node) Finding {
	f := Finding{Subject: node(n)}
	s := &n.Settings
	toolkit := s.Packages["nvidia-container-toolkit"] != ""
	podman := slices.Contains(n.Host.Containers, "podman")
	const generate = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
	switch {
	case slices.ContainsFunc(s.CDI, func(spec string) bool { return strings.Contains(spec, "nvidia") }):
		f.Got = "CDI"
	case !s.CDIRead:
		f.Status, f.Why = Unknown, "the CDI specs were not read"
		f.Fix = []string{"ls /etc/cdi /var/run/cdi   # on " + n.Name}
	case toolkit && !podman:
		f.Got = "nvidia-container-toolkit" // docker --gpus works through its hook, without CDI
	case toolkit:
		f.Status, f.Got, f.Want = Fail, "nvidia-container-toolkit without a CDI spec", "a CDI spec"
		f.Why = "podman finds GPUs through CDI alone, so --device nvidia.com/gpu=all fails here"
		f.Fix = []string{generate}
	case !s.PackagesRead:
		f.Status, f.Why = Unknown, "there is no CDI spec, and the packages were not read"
	default:
		f.Status, f.Got, f.Want = Fail, "neither a CDI spec nor nvidia-container-toolkit", "the toolkit"
		f.Why = "a container on this node finds no GPU, so the serving image fails or runs on the CPU"
		f.Fix = []string{install(n, "nvidia-container-toolkit", "nvidia-container-toolkit") + "   # from NVIDIA's repository", generate}
		if !podman {
			f.Fix[1] = "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker"
		}
	}
	return f
}

func judgeContainerAMD(n *fact.Node) Finding {
	f := Finding{Subject: node(n), Got: "/dev/kfd and /dev/dri"}
	if !n.Settings.DevicesRead {
		f.Status, f.Got, f.Why = Unknown, "", "the device files were not read"
		f.Fix = []string{"ls -l /dev/kfd /dev/dri   # on " + n.Name}
		return f
	}
	for _, want := range []string{"/dev/kfd", "/dev/dri/renderD"} {
		i := slices.IndexFunc(n.Settings.Devices, func(d fact.DevNode) bool { return strings.HasPrefix(d.Path, want) })
		if i < 0 {
			f.Status, f.Got, f.Want = Fail, "no "+want, "/dev/kfd and /dev/dri/renderD*"
			f.Why = "a container gets the GPU through these files, and amdgpu did not make them"
			f.Fix = []string{"sudo modprobe amdgpu", "sudo dmesg | grep -iE 'amdgpu|kfd'"}
			return f
		}
		if d := n.Settings.Devices[i]; !gpuFileUsable(d, n.Host) {
			f.Status, f.Got, f.Want = Fail, d.Path+" "+d.Mode+" "+d.Owner+":"+d.Group, "usable by "+n.Host.User
			f.Why = "a rootless container has its user's rights, so it is refused the GPU"
			f.Fix = []string{"sudo usermod -aG render,video " + n.Host.User + "   # then log in again; podman also wants --group-add keep-groups"}
			return f
		}
	}
	return f
}

// gpuFileUsable reports whether the user whom weft was on the node may read and write
// a device file.
func gpuFileUsable(d fact.DevNode, h fact.Host) bool {
	may := func(from int) bool { return len(d.Mode) >= from+2 && d.Mode[from:from+2] == "rw" }
	return h.User == "root" || may(7) || may(1) && d.Owner == h.User || may(4) && slices.Contains(h.Groups, d.Group)
}
