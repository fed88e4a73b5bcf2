package check

import (
	"testing"

	"weft/internal/fact"
)

func TestStackNCCL(t *testing.T) {
	lib := func(name, version string) fact.Library {
		return fact.Library{Name: name, Version: version, Path: "/opt/" + name}
	}
	set := func(c *Case, libs ...fact.Library) { c.Nodes[1].Settings.NCCL = libs }
	const (
		differ = ": ranks with different versions fail to connect or hang"
		plugin = ": a rank with another net plugin speaks another protocol, so the job hangs while it connects"
		slow   = ": a development build may be far slower: one gave 3 GB/s where the release gave 23.7"
	)
	judge(t, stackNCCL, []row{
		{name: "same", want: "n1 pass: libnccl 2.28.3"},
		{name: "the package's name for it", do: func(c *Case) { set(c, lib("libnccl", "2.28.3-1+cuda12.8")) }, want: "n2 pass: libnccl 2.28.3"},
		{name: "another", do: func(c *Case) { set(c, lib("libnccl", "2.29.1")) },
			want: "n2 fail: libnccl 2.29.1, want libnccl 2.28.3" + differ, fix: "sudo apt install libnccl2=VERSION"},
		{name: "none here", do: func(c *Case) { set(c) }, want: "n2 fail: none, want libnccl 2.28.3" + differ},
		{name: "a development build everywhere", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Settings.NCCL = []fact.Library{lib("libnccl", "2.29.0-dev")}
			}
		}, want: "n1 warn: libnccl 2.29.0-dev, want a release" + slow, fix: "/opt/libnccl"},
		{name: "a git hash", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.GPUs = []*fact.GPU{{Vendor: "AMD", Arch: "gfx1100"}}
				n.Settings.NCCL = []fact.Library{lib("librccl", "2.30.4-HEAD:2b22ab0")}
			}
		}, want: "n1 warn: librccl 2.30.4-HEAD:2b22ab0, want a release" + slow, fix: "rccl"},
		{name: "plugin on one node", do: func(c *Case) { set(c, lib("libnccl", "2.28.3"), lib("libnccl-net", "")) },
			want: "n2 fail: net plugin libnccl-net, want none" + plugin, fix: "NCCL_NET_PLUGIN=none"},
		{name: "two copies of one version", do: func(c *Case) { set(c, lib("libnccl", "2.28.3"), lib("libnccl", "2.28.3")) }, want: "n2 pass: libnccl 2.28.3"},
		{name: "two versions on each node", do: func(c *Case) {
			for _, n := range c.Nodes {
				n.Settings.NCCL = []fact.Library{lib("libnccl", "2.28.3"), lib("libnccl", "2.21.5")}
			}
		}, want: "n2 warn: libnccl 2.21.5, libnccl 2.28.3, want one version: which of them a job loads depends on its library path, so two jobs on this node may differ"},
		{name: "NCCL and RCCL are not compared", do: func(c *Case) {
			set(c, lib("librccl", "2.28.3"))
			c.Nodes[1].GPUs = []*fact.GPU{{Vendor: "AMD", Arch: "gfx942"}}
		}, want: "n2 pass: librccl 2.28.3"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Settings.LibrariesRead = false }, want: "n2 unknown: the installed libraries were not read"},
		{name: "in images alone", do: func(c *Case) { c.Nodes[0].Settings.NCCL, c.Nodes[1].Settings.NCCL = nil, nil },
			want: "cluster skip: no node has NCCL or RCCL outside of its images"},
	})
}

func TestNCCLRelease(t *testing.T) {
	for version, want := range map[string]bool{
		"2.28.3": true, "2.27.6+cuda13.0": true, "2.28.3-1+cuda12.8": true, "": true,
		"2.29.0-dev": false, "2.30.4-HEAD:2b22ab0": false, "2.28.3-g1a2b3c4": false, "2.28.3+git20260101": false, "master": false, "2.28.3-1-dirty+cuda12.8": false,
	} {
		if got := ncclRelease(version); got != want {
			t.Errorf("ncclRelease(%q) = %v", version, got)
		}
	}
}
