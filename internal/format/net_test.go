package format

import (
	"testing"

	"weft/internal/dump"
)

// A virtio NIC's device is virtio2, not the PCI function it sits on.
func TestNetdevOnThePCIBus(t *testing.T) {
	for _, x := range []struct{ name, link, device, want string }{
		{"card", "../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/net/eth0", "../../../0000:01:00.0", "0000:01:00.0"},
		{"virtio", "../../devices/pci0000:00/0000:00:04.0/virtio2/net/eth0", "../../../virtio2", "0000:00:04.0"},
		{"virtio without PCI", "../../devices/platform/virtio-mmio.0/virtio0/net/eth0", "../../../virtio0", ""},
		{"usb", "../../devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/net/eth0", "../../../1-1:1.0", ""},
		{"bridge", "../../devices/virtual/net/eth0", "", ""},
	} {
		d := dump.NewNode("n")
		d.Text[netDir+"/eth0/ifindex"] = "2\n"
		d.Text[netDir+"/eth0/type"] = "1\n"
		d.Link[netDir+"/eth0"] = x.link
		if x.device != "" {
			d.Link[netDir+"/eth0/device"] = x.device
		}
		n := Node(d)
		if len(n.Netdevs) != 1 || n.Netdevs[0].BDF != x.want {
			t.Errorf("%s: got %+v, want one netdev at %q", x.name, n.Netdevs, x.want)
		}
	}
}

// The kernel writes an empty line for a NUMA node that has memory and no processors.
func TestNUMANodesWithoutProcessors(t *testing.T) {
	d := dump.NewNode("n")
	d.Text["/sys/devices/system/node/node0/cpulist"] = "0-1\n"
	d.Text["/sys/devices/system/node/node1/cpulist"] = "\n"
	d.Text["/sys/devices/system/node/node2/distance"] = "20 20 10\n" // its cpulist was not read
	h := Node(d).Host
	if cpus, ok := h.NUMACPUs[1]; h.NUMANodes != 3 || len(h.NUMACPUs) != 2 || h.NUMACPUs[0] != "0-1" || cpus != "" || !ok {
		t.Errorf("got %d NUMA nodes, %v", h.NUMANodes, h.NUMACPUs)
	}
}
