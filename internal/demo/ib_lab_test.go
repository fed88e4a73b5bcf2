package demo_test

import "weft/internal/sample"

// ibLab is the lab of seeds/002 once everything is plugged in. The switch is QDR, so
// 40 Gb/s is right for cards of 100. IPoIB was asked to be connected and stays in
// datagram mode, because mlx5 has no other.
func ibLab() *sample.Cluster {
	c := sample.InfiniBand("r730", 3)
	r730a, r730b, r720 := c.Machines[0], c.Machines[1], c.Machines[2]
	r730a.Name, r730b.Name, r720.Name = "r730a", "r730b", "r720"
	r730b.MemoryGiB = 768

	// Three T4 in the R730s; two P4 in the R720, whose processors RHEL 10 dropped.
	r730a.AddGPU(sample.TeslaT4, "0000:06:00.0", r730a.Root("0000:00:03.2", 0, sample.Link{GTs: 8, Width: 8}))
	r720.OS, r720.Kernel, r720.MemoryGiB = sample.RHEL9, "5.14.0-570.12.1.el9_6.x86_64", 128
	r720.DMI = sample.DMI{Vendor: "Dell Inc.", Product: "PowerEdge R720", Board: "0DCWD1", BIOS: "2.9.0", Date: "12/06/2019"}
	r720.GPUs = nil
	for _, bdf := range []string{"0000:05:00.0", "0000:00:03.0"} {
		r720.Remove(bdf)
	}
	// The P4s sit at the other processor than the card.
	r720.AddGPU(sample.TeslaP4, "0000:42:00.0", r720.Root("0000:40:02.0", 1, sample.Link{GTs: 8, Width: 16}))
	r720.AddGPU(sample.TeslaP4, "0000:43:00.0", r720.Root("0000:40:03.0", 1, sample.Link{GTs: 8, Width: 16}))
	r720.Firewalld("ibp4s0")

	// A second opensm, and both are masters.
	r720.Opensm = "active"
	r720.Device("mlx5_0").Ports[0].SMLID = 3
	c.Fabric.SMs = append(c.Fabric.SMs, sample.SM{Host: 2, State: 3})

	// The ConnectX-3 that was to be used at first is still there, without a driver.
	up := r730b.Root("0000:80:02.0", 1, sample.Link{GTs: 8, Width: 8})
	r730b.AddFunction(sample.ConnectX3, "0000:82:00.0", up).Driver = ""
	return c
}
