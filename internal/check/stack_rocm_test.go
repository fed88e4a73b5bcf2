package check

import (
	"testing"

	"weft/internal/fact"
)

func TestStackROCm(t *testing.T) {
	strix := func(c *Case, distro, kernel string) {
		n := c.Nodes[1]
		n.GPUs = []*fact.GPU{{Vendor: "AMD", Arch: "gfx1151", Bound: true}}
		n.Host.Distro, n.Host.Like, n.Host.Kernel = distro, "", kernel
	}
	const why = ": older ones lack two amdkfd fixes: queues and the memory check go wrong, and big models hang"
	judge(t, stackROCm, []row{
		{name: "no such GPU", want: "cluster skip: no node has a GPU that wants a certain kernel (gfx1151)"},
		{name: "6.19", do: func(c *Case) { strix(c, "fedora", "6.19.2-200.fc43.x86_64") }, want: "n2 pass: kernel 6.19.2-200.fc43.x86_64"},
		{name: "6.18.4 is just enough", do: func(c *Case) { strix(c, "fedora", "6.18.4-200.fc43.x86_64") },
			want: "n2 pass: kernel 6.18.4-200.fc43.x86_64: 6.19 is recommended: large models that hung ran again on it"},
		{name: "6.18.3 is just too old", do: func(c *Case) { strix(c, "fedora", "6.18.3-200.fc43.x86_64") },
			want: "n2 fail: kernel 6.18.3-200.fc43.x86_64, want 6.18.4 or newer, best 6.19" + why, fix: "sudo dnf upgrade --refresh kernel"},
		{name: "Fedora 43 as shipped", do: func(c *Case) { strix(c, "fedora", "6.17.1-300.fc43.x86_64") },
			want: "n2 fail: kernel 6.17.1-300.fc43.x86_64, want 6.18.4 or newer, best 6.19" + why},
		{name: "Ubuntu patched its 6.17", do: func(c *Case) { strix(c, "ubuntu", "6.17.0-19-generic") },
			want: "n2 pass: kernel 6.17.0-19-generic: 6.19 is recommended: large models that hung ran again on it"},
		{name: "Ubuntu before that", do: func(c *Case) { strix(c, "ubuntu", "6.17.0-18-generic") },
			want: "n2 fail: kernel 6.17.0-18-generic, want 6.17.0-19 or newer, best 6.19" + why, fix: "linux-generic-hwe-24.04"},
		{name: "Ubuntu OEM", do: func(c *Case) { strix(c, "ubuntu", "6.14.0-1017-oem") },
			want: "n2 fail: kernel 6.14.0-1017-oem, want 6.14.0-1018 or newer, best 6.19" + why, fix: "linux-oem"},
		{name: "Debian", do: func(c *Case) { strix(c, "debian", "6.12.48+deb13-amd64") },
			want: "n2 fail: kernel 6.12.48+deb13-amd64, want 6.18.4 or newer, best 6.19" + why, fix: "stable-backports"},
		{name: "unread", do: func(c *Case) { strix(c, "fedora", "") }, want: "n2 unknown: the kernel version was not read"},
	})
}
