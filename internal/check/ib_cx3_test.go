package check

import (
	"testing"

	"weft/internal/fact"
)

func TestIBCX3(t *testing.T) {
	cx3 := func(do func(c *Case, n *fact.Node, d *fact.PCI)) func(c *Case) {
		return func(c *Case) {
			n := c.Nodes[1]
			d := n.At("0000:19:00.0")
			d.Device, d.Driver = 0x1003, "mlx4_core"
			n.GPUs = nil
			do(c, n, d)
		}
	}
	rhel := func(n *fact.Node, version string) {
		n.Host.Distro, n.Host.Like, n.Host.Version, n.Host.OS = "rhel", "fedora", version, "Red Hat Enterprise Linux "+version
	}
	const known = "n2 0000:19:00.0 pass: ConnectX-3: no GPUDirect, no driver from RHEL 10 on"
	const dead = "n2 0000:19:00.0 fail: ConnectX-3 without a driver on Red Hat Enterprise Linux 10.1, want mlx4_core: RHEL dropped mlx4 in release 10, so the card is dead on this system"
	judge(t, ibCX3, []row{
		{name: "none", want: "cluster skip: no ConnectX-3 card"},
		{name: "on Ubuntu", do: cx3(func(c *Case, n *fact.Node, d *fact.PCI) {}), want: known},
		{name: "on RHEL 9", do: cx3(func(c *Case, n *fact.Node, d *fact.PCI) { rhel(n, "9.4") }), want: known},
		{name: "on RHEL 10", do: cx3(func(c *Case, n *fact.Node, d *fact.PCI) { rhel(n, "10.1"); d.Driver = "" }), want: dead, fix: "ConnectX-4"},
		{name: "on a rebuild of RHEL 10 with a driver from elsewhere", do: cx3(func(c *Case, n *fact.Node, d *fact.PCI) {
			rhel(n, "10.1")
			n.Host.Distro, n.Host.Like = "rocky", "rhel centos fedora"
		}), want: known},
		{name: "without a driver on Fedora it is port.present's", do: cx3(func(c *Case, n *fact.Node, d *fact.PCI) {
			n.Host.Distro, n.Host.Like, n.Host.Version, d.Driver = "fedora", "", "43", ""
		}), want: known},
		{name: "GPUDirect is asked for", do: cx3(func(c *Case, n *fact.Node, d *fact.PCI) { c.Want.Workload.Features = []string{"gpudirect"} }), fix: "workload.features",
			want: "n2 0000:19:00.0 fail: ConnectX-3, want GPUDirect: weft.yaml asks for GPUDirect, and neither this card nor mlx4 can reach GPU memory"},
		{name: "a GPU that has none either", do: cx3(func(c *Case, n *fact.Node, d *fact.PCI) { n.GPUs = []*fact.GPU{{Arch: "gfx1151"}} }), want: known},
		{name: "given to a guest", do: cx3(func(c *Case, n *fact.Node, d *fact.PCI) { d.Driver = "vfio-pci" }), want: "cluster skip: no ConnectX-3 card"},
	})
}

func TestADroppedDriverIsSaidOnce(t *testing.T) {
	c := good()
	n := c.Nodes[1]
	n.Host.Distro, n.Host.Like, n.Host.Version = "rhel", "fedora", "10.1"
	n.PCI = append(n.PCI, &fact.PCI{BDF: "0000:41:00.0", Vendor: 0x15b3, Device: 0x1003, Class: 0x028000})
	for _, f := range of(portPresent, c) {
		if f.Status == Fail {
			t.Errorf("port.present says %q, which ib.cx3 explains", line(f))
		}
	}
}
