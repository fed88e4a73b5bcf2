package check

import (
	"fmt"
	"slices"
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func TestCards(t *testing.T) {
	c := good()
	n := c.Nodes[0]
	n.Ports = append(n.Ports,
		&fact.Port{Name: "mlx5_0/2", Device: "mlx5_0", Num: 2, BDF: "0000:19:00.0", State: "ACTIVE"}, // same function
		&fact.Port{Name: "mlx5_2/1", Device: "mlx5_2", Num: 1, BDF: "0000:19:00.2", State: "ACTIVE"}, // its virtual one
		&fact.Port{Name: "mlx5_9/1", Device: "mlx5_9", Num: 1, BDF: "0000:ff:00.0", State: "ACTIVE"}, // not among the PCI facts
		&fact.Port{Name: "rxe0/1", Device: "rxe0", Num: 1, Driver: "rxe", State: "ACTIVE"})
	n.PCI = append(n.PCI, &fact.PCI{BDF: "0000:19:00.2", PhysFn: "0000:19:00.0"})
	c.prepare()
	var got []string
	for _, k := range slices.Concat(c.cards(c.Nodes[0]), c.cards(c.Nodes[1])) {
		bdf := "-"
		if k.dev != nil {
			bdf = k.dev.BDF
		}
		got = append(got, k.node.Name+" "+k.port.Name+" "+bdf)
	}
	want := []string{"n1 mlx5_0/1 0000:19:00.0", "n1 mlx5_9/1 -", "n2 mlx5_0/1 0000:19:00.0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBootArgByDistribution(t *testing.T) {
	deb := &fact.Node{Host: fact.Host{Distro: "debian"}}
	rpm := &fact.Node{Host: fact.Host{Distro: "fedora"}}
	for n, want := range map[*fact.Node]string{
		deb: `sudo sed -i 's/^GRUB_CMDLINE_LINUX="/&iommu=pt /' /etc/default/grub && sudo update-grub   # then reboot`,
		rpm: `sudo grubby --update-kernel=ALL --args="iommu=pt"   # then reboot`,
	} {
		if got := bootArg(n, "iommu=pt"); got != want {
			t.Errorf("%s: got %s", n.Host.Distro, got)
		}
	}
}

// strixHalo makes a node the one of seed 000: a mini PC whose ConnectX-3 (x8) is in
// an OCuLink slot of four lanes.
func strixHalo(n *fact.Node) {
	n.GPUs = []*fact.GPU{{BDF: "0000:c4:00.0", Vendor: "AMD", Name: "Radeon 8060S", Arch: "gfx1151", Bound: true, Seen: fact.Some(true), Memory: fact.Some(512 * unit.MiB), GTT: fact.Some(124 * unit.GiB)}}
	n.Host.Memory, n.Host.NUMANodes, n.Host.Distro, n.Host.Like = fact.Some(125*unit.GiB), 1, "fedora", ""
	n.PCI = []*fact.PCI{
		{BDF: "0000:00:02.5", Vendor: 0x1022, Class: 0x060400, Host: "pci0000:00", Cur: fact.Link{GTs: 8, Width: 4}, Max: fact.Link{GTs: 16, Width: 4}, ASPM: fact.Some("off")},
		{BDF: "0000:19:00.0", Vendor: 0x15b3, Device: 0x1003, Class: 0x028000, Up: "0000:00:02.5", Host: "pci0000:00", Cur: fact.Link{GTs: 8, Width: 4}, Max: fact.Link{GTs: 8, Width: 8}, ASPM: fact.Some("off"), MaxRead: fact.Some(512)},
		{BDF: "0000:c4:00.0", Vendor: 0x1002, Device: 0x1586, Class: 0x038000, Host: "pci0000:00"},
	}
	n.Ports[0].Rate = fact.Some(56 * unit.Gbps)
}

// spark makes a node a DGX Spark with one function of its port.
func spark(n *fact.Node, link fact.Link) {
	n.GPUs = []*fact.GPU{{BDF: "000f:01:00.0", Vendor: "NVIDIA", Name: "NVIDIA GB10", Bound: true, Seen: fact.Some(true)}}
	n.Host.Arch, n.Host.NUMANodes = "aarch64", 1
	n.PCI = []*fact.PCI{
		{BDF: "0000:00:00.0", Class: 0x060400, Host: "pci0000:00", Cur: link, Max: link},
		{BDF: "0000:19:00.0", Vendor: 0x15b3, Device: 0x1021, Class: 0x020000, Up: "0000:00:00.0", Host: "pci0000:00", Cur: link, Max: fact.Link{GTs: 32, Width: 4}},
		{BDF: "000f:01:00.0", Vendor: 0x10de, Device: 0x2e12, Class: 0x030000, Host: "pci000f:00"},
	}
}

var nodeAndPCIe = []Check{nodeRead, nodeClock, nodeKernel, nodeNames, nodeFirewall, nodePackages, nodeModules, nodeOFED, nodeDevices,
	nodeMemlock, nodeIOMMU, nodeASPM, nodeACS, nodeGTT, pcieDesign, pciePath, pcieMRRS, pcieNUMA, pcieErrors}

// Nothing was read but that there is a port, a GPU, a peer: then nothing passes.
func TestUnreadNodesDoNotPass(t *testing.T) {
	c := &Case{}
	for i, name := range []string{"n1", "n2"} {
		c.Nodes = append(c.Nodes, &fact.Node{Name: name,
			Ports: []*fact.Port{{Name: "mlx5_0/1", Device: "mlx5_0", Num: 1, BDF: "0000:19:00.0", Netdev: "eth0"}},
			GPUs:  []*fact.GPU{{BDF: "0000:c4:00.0", Vendor: "AMD", Arch: "gfx1151"}},
			Peers: []fact.Peer{{Node: []string{"n2", "n1"}[i]}},
		})
	}
	for _, f := range Run(nodeAndPCIe, c) {
		if f.Status != Unknown && f.Status != Skip && f.Check != "node.read" {
			t.Errorf("%s: %s", f.Check, line(f))
		}
		if f.Status == Skip && f.Check != "pcie.design" {
			t.Errorf("%s is not judged: %s", f.Check, line(f))
		}
	}
}

// A large cluster must not take long: nothing here may search all nodes per node.
func BenchmarkNodeAndPCIe(b *testing.B) {
	c := &Case{}
	for i := range 10_000 {
		n := goodNode(1)
		n.Name = fmt.Sprintf("n%05d", i)
		for j := range 7 {
			p, d := *n.Ports[0], *n.At(n.Ports[0].BDF)
			p.Name, p.Device, p.BDF = fmt.Sprintf("mlx5_%d/1", j+2), fmt.Sprintf("mlx5_%d", j+2), fmt.Sprintf("0000:2%d:00.0", j)
			d.BDF = p.BDF
			n.Ports, n.PCI = append(n.Ports, &p), append(n.PCI, &d)
		}
		n.Peers = nil
		c.Nodes = append(c.Nodes, n)
	}
	for b.Loop() {
		Run(nodeAndPCIe, c)
	}
}
