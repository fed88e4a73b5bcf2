package demo_test

import (
	"time"

	"weft/internal/sample"
)

// kaiRack is the four-node cluster of seeds/001 with the failures that the document
// warns of, spread so that every node has some.
func kaiRack() *sample.Cluster {
	c := sample.RoCE("kai", 4)
	kai1, kai2, kai3, kai4 := c.Machines[0], c.Machines[1], c.Machines[2], c.Machines[3]
	for _, m := range c.Machines {
		// The document's launch: bootstrap over management, data over both cards.
		m.Export("/etc/environment", "NCCL_SOCKET_IFNAME=eno1", "NCCL_IB_HCA=mlx5_0,mlx5_1", "NCCL_IB_GID_INDEX=3", "NCCL_NET_GDR_LEVEL=PHB")
	}

	// kai1: peermem does not load, and the driver is not the open one. Somebody left
	// NCCL on TCP after debugging.
	kai1.Unload("nvidia_peermem")
	kai1.Export("/etc/environment", "NCCL_IB_DISABLE=1")

	// kai2: a port of 200 Gb/s came up at 100, and ssh arrives on the data plane.
	kai2.Device("mlx5_0").Ports[0].Rate = "100 Gb/sec (2X HDR)"
	kai2.Netdev("ens1f0np0").Mbps = 100000
	kai2.SSHTo = "10.10.1.2"

	// kai3: nobody ran mlnx_qos, and its clock runs ahead.
	for _, name := range []string{"ens1f0np0", "ens2f0np0"} {
		kai3.Netdev(name).QoS = &sample.QoS{Cable: "MCP1650-H001E30"}
	}
	kai3.Skew, kai3.Unsynced = 4200*time.Millisecond, true

	// kai4: MTU 1500, and OFED's modules are built for an older kernel alone, so the
	// in-tree ones run.
	kai4.Netdev("ens1f0np0").MTU = 1500
	kai4.Netdev("ens2f0np0").MTU = 1500
	kai4.InTree = true
	kai4.DKMS = []string{"mlnx-ofed-kernel/23.10.OFED.23.10.2.1.3.1, 5.15.0-119-generic, x86_64: installed", "nvidia/535.183.06, " + kai4.Kernel + ", x86_64: installed"}
	return c
}
