package check

import (
	"testing"

	"weft/internal/fact"
)

func TestNodeOFED(t *testing.T) {
	ofed := func(c *Case, path string) {
		s := &c.Nodes[1].Settings
		s.OFED, s.ModPaths = "MLNX_OFED_LINUX-24.10-0.7.0.0:", map[string]string{"mlx5_core": path}
		if path == "" {
			s.ModPaths = nil
		}
	}
	dkms := func(c *Case, all ...fact.DKMS) { c.Nodes[1].Settings.DKMS = all }
	const running = "6.8.0-60-generic"
	const stale = ", want built for 6.8.0-60-generic: DKMS has the driver but not for the running kernel, so the in-tree one, or none, is in use"
	judge(t, nodeOFED, []row{
		{name: "in-tree", want: "n1 pass: in-tree drivers"},
		{name: "OFED's own module", do: func(c *Case) { ofed(c, "/lib/modules/"+running+"/updates/dkms/mlx5_core.ko") }, want: "n2 pass: MLNX_OFED_LINUX-24.10-0.7.0.0"},
		{name: "weak-updates of RHEL", do: func(c *Case) {
			ofed(c, "/lib/modules/5.14.0/weak-updates/mlnx-ofa_kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko")
		}, want: "n2 pass: MLNX_OFED_LINUX-24.10-0.7.0.0"},
		{name: "OFED user space on the stock module", do: func(c *Case) {
			ofed(c, "/usr/lib/modules/"+running+"/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.zst")
		}, fix: "--add-kernel-support",
			want: "n2 fail: MLNX_OFED_LINUX-24.10-0.7.0.0 on the in-tree mlx5_core, want mlx5_core of MLNX_OFED_LINUX-24.10-0.7.0.0: the OFED build for this kernel failed unseen, so its libraries drive the stock module and GPUDirect lacks its other half"},
		{name: "DKMS built for another kernel", do: func(c *Case) {
			dkms(c, fact.DKMS{Module: "mlnx-ofed-kernel", Version: "24.10", Kernel: "6.8.0-59-generic", State: "installed"})
		},
			fix:  "sudo apt install linux-headers-6.8.0-60-generic\nsudo dkms autoinstall -k 6.8.0-60-generic",
			want: "n2 fail: not built: mlnx-ofed-kernel" + stale},
		{name: "DKMS added, never built", do: func(c *Case) { dkms(c, fact.DKMS{Module: "nvidia", Version: "570.86.15", State: "added"}) }, want: "n2 fail: not built: nvidia" + stale},
		{name: "DKMS built for both", do: func(c *Case) {
			dkms(c, fact.DKMS{Module: "nvidia", Version: "570.86.15", Kernel: "6.8.0-59-generic", State: "installed"}, fact.DKMS{Module: "nvidia", Version: "570.86.15", Kernel: running, State: "installed (original_module exists)"})
		}, want: "n2 pass: in-tree drivers"},
		{name: "DKMS of something else", do: func(c *Case) { dkms(c, fact.DKMS{Module: "v4l2loopback", Kernel: "5.15.0", State: "installed"}) }, want: "n2 pass: in-tree drivers"},
		{name: "the module's place was not read", do: func(c *Case) { ofed(c, "") }, fix: "modinfo -n mlx5_core",
			want: "n2 unknown: MLNX_OFED_LINUX-24.10-0.7.0.0: where mlx5_core comes from was not read"},
		{name: "unread", do: func(c *Case) { c.Nodes[1].Host.Kernel = "" }, want: "n2 unknown: uname was not read"},
		{name: "no RDMA", do: func(c *Case) { c.Nodes = c.Nodes[:1]; c.Nodes[0].Ports, c.Nodes[0].PCI = nil, nil }, want: "cluster skip: no node has an RDMA port or card"},
	})
}
