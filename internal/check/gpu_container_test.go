package check

import (
	"testing"

	"weft/internal/fact"
)

func TestGPUContainer(t *testing.T) {
	bare := func(c *Case, runtimes ...string) *fact.Node {
		n := c.Nodes[1]
		n.Settings.CDI, n.Host.Containers = nil, runtimes
		return n
	}
	amd := func(c *Case) *fact.Node {
		n := bare(c, "podman")
		n.GPUs = []*fact.GPU{{Vendor: "AMD", Arch: "gfx1151", Bound: true}}
		n.Host.User, n.Host.Groups = "ann", []string{"ann", "render"}
		n.Settings.Devices = []fact.DevNode{{Path: "/dev/kfd", Mode: "crw-rw----", Owner: "root", Group: "render"}, {Path: "/dev/dri/renderD128", Mode: "crw-rw----", Owner: "root", Group: "render"}}
		return n
	}
	judge(t, gpuContainer, []row{
		{name: "CDI", want: "n1 pass: CDI"},
		{name: "docker with the toolkit", do: func(c *Case) { bare(c, "docker").Settings.Packages["nvidia-container-toolkit"] = "1.18.0" },
			want: "n2 pass: nvidia-container-toolkit"},
		{name: "podman with the toolkit alone", do: func(c *Case) { bare(c, "docker", "podman").Settings.Packages["nvidia-container-toolkit"] = "1.18.0" },
			want: "n2 fail: nvidia-container-toolkit without a CDI spec, want a CDI spec: podman finds GPUs through CDI alone, so --device nvidia.com/gpu=all fails here", fix: "nvidia-ctk cdi generate"},
		{name: "nothing", do: func(c *Case) { bare(c, "docker") },
			want: "n2 fail: neither a CDI spec nor nvidia-container-toolkit, want the toolkit: a container on this node finds no GPU, so the serving image fails or runs on the CPU", fix: "sudo apt install nvidia-container-toolkit"},
		{name: "nothing on Fedora", do: func(c *Case) { bare(c, "podman").Host = fact.Host{Distro: "fedora", Containers: []string{"podman"}} },
			want: "n2 fail: neither a CDI spec nor nvidia-container-toolkit, want the toolkit: a container on this node finds no GPU, so the serving image fails or runs on the CPU", fix: "sudo dnf install nvidia-container-toolkit"},
		{name: "specs unread", do: func(c *Case) { bare(c, "podman").Settings.CDIRead = false }, want: "n2 unknown: the CDI specs were not read"},
		{name: "packages unread", do: func(c *Case) {
			n := bare(c, "podman")
			n.Settings.Packages, n.Settings.PackagesRead = nil, false
		}, want: "n2 unknown: there is no CDI spec, and the packages were not read"},
		{name: "AMD", do: func(c *Case) { amd(c) }, want: "n2 pass: /dev/kfd and /dev/dri"},
		{name: "AMD without the group", do: func(c *Case) { amd(c).Host.Groups = []string{"ann"} },
			want: "n2 fail: /dev/kfd crw-rw---- root:render, want usable by ann: a rootless container has its user's rights, so it is refused the GPU", fix: "usermod -aG render,video ann"},
		{name: "AMD open to all", do: func(c *Case) {
			n := amd(c)
			n.Host.Groups, n.Settings.Devices[0].Mode, n.Settings.Devices[1].Mode = nil, "crw-rw-rw-", "crw-rw-rw-"
		}, want: "n2 pass: /dev/kfd and /dev/dri"},
		{name: "AMD without kfd", do: func(c *Case) { n := amd(c); n.Settings.Devices = n.Settings.Devices[1:] },
			want: "n2 fail: no /dev/kfd, want /dev/kfd and /dev/dri/renderD*: a container gets the GPU through these files, and amdgpu did not make them", fix: "modprobe amdgpu"},
		{name: "AMD unread", do: func(c *Case) { amd(c).Settings.DevicesRead = false }, want: "n2 unknown: the device files were not read"},
		{name: "no runtime", do: func(c *Case) { c.Nodes[0].Host.Containers, c.Nodes[1].Host.Containers = nil, nil },
			want: "cluster skip: no node has both a GPU and a container runtime (podman, docker)"},
	})
}
