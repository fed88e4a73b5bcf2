package demo_test

import (
	"fmt"

	"weft/internal/sample"
)

// strixIB is seeds/000 after the packages were installed and before opensm was: the
// first port of each card has a link and waits in INIT, the second was never
// plugged. IPoIB has no carrier yet, so there are no addresses.
func strixIB() *sample.Cluster {
	c := &sample.Cluster{Fabric: &sample.Fabric{}}
	for i := 1; i <= 2; i++ {
		m := sample.Halo(fmt.Sprintf("pc%d", i), i)
		m.Kernel = "6.18.13-200.fc43.x86_64"
		m.DMI = sample.DMI{Vendor: "BOSGAME", Product: "M5", Board: "M5", BIOS: "1.07", Date: "10/14/2025"}
		root := m.Root("0000:00:02.5", 0, sample.Link{GTs: 16, Width: 4})
		d := m.Plug(sample.ConnectX3, "0000:c3:00.0", root, "mlx4_0", "ibp195s0", 56)
		d.Ports[0].State, d.Ports[0].Sent = sample.Init, 0
		first := m.Netdev("ibp195s0")
		first.Up = false
		d.Ports = append(d.Ports, &sample.Port{Layer: "InfiniBand", State: sample.Down, Phys: sample.Polling, Rate: "10 Gb/sec (4X SDR)", Netdev: "ibp195s0d1"})
		second := *first
		second.Name, second.MTU, second.Port = "ibp195s0d1", 4092, 1
		m.Net = append(m.Net, &second)
		m.ModParams = map[string]string{"mlx4_core.log_num_mgm_entry_size": "-10"}
		m.Dmesg = []string{
			"[    3.104417] mlx4_core: Mellanox ConnectX core driver v4.0-0",
			"[    8.530112] mlx4_core 0000:c3:00.0: DMFS high rate steer mode is: disabled performance optimized steering",
			"[    8.530790] mlx4_core 0000:c3:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at 0000:00:02.5 (capable of 63.008 Gb/s with 8.0 GT/s PCIe x8 link)",
			"[    9.911203] mlx4_core 0000:c3:00.0 ibp195s0: renamed from ib0",
			"[   14.207551] mlx4_core 0000:c3:00.0 ibp195s0: Port: 1 Link INIT",
		}
		m.Firewalld("ibp195s0")
		c.Machines = append(c.Machines, m)
		c.Fabric.Hosts = append(c.Fabric.Hosts, sample.Host{Machine: m, Device: "mlx4_0", Link: "4xFDR"})
	}
	return c
}
