package demo_test

import "weft/internal/sample"

// sparkWS is seeds/004 with the entries of its troubleshooting table, after the
// workstation was rebooted: what ip link set is gone, what netplan renamed stays.
func sparkWS() *sample.Cluster {
	spark := sample.Spark("spark", 1, 100)
	spark.Netdev("enp1s0f0np0").Addrs = []string{"192.168.200.1/24"}
	// Its twin enP2p1s0f0np0 is up, and nobody gave it an address: at 100 Gb/s the
	// document needs one function alone.

	ws := sample.New("workstation", 2)
	ws.Kernel, ws.MemoryGiB = "6.14.0-33-generic", 256
	ws.DMI = sample.DMI{Vendor: "ASUS", Product: "Pro WS WRX90E-SAGE SE", Board: "Pro WS WRX90E-SAGE SE", BIOS: "1106", Date: "03/21/2025"}
	ws.Manage("eno2np1", "10.0.0.", 24)
	ws.User, ws.Groups = "dev", []string{"dev", "sudo", "docker"}
	ws.VerbsMode = "crw-rw---- root rdma"
	ws.NVIDIA, ws.CDI = sample.NVIDIA{Driver: "580.95.05", CUDA: "13.0", Open: true}, []string{"nvidia.com/gpu"}
	ws.Images = spark.Images
	ws.AddGPU(sample.RTX6000, "0000:21:00.0", ws.Root("0000:20:01.1", 0, sample.Link{GTs: 32, Width: 16}))

	root := ws.Root("0000:00:01.1", 0, sample.Link{GTs: 16, Width: 16})
	first := ws.Plug(sample.ConnectX5, "0000:01:00.0", root, "rocep1s0f0", "enp1s0f0np0", 100)
	ws.Unplug(ws.Plug(sample.ConnectX5, "0000:01:00.1", root, "rocep1s0f1", "enp1s0f1np1", 100))
	net := ws.Netdev("enp1s0f0np0")
	net.Addrs, net.MTU = []string{"192.168.200.2/24"}, 1500

	// A workstation has little air for a server card, and its BIOS saves power.
	ws.CmdLine = "BOOT_IMAGE=/boot/vmlinuz root=/dev/nvme0n1p2 ro quiet splash iommu=pt"
	first.Temp, first.TempCrit = 97, 105
	ws.At("0000:01:00.0").L1, ws.At("0000:00:01.1").L1 = true, true

	// The lines that the document adds to both; the workstation also names the RDMA
	// device as it was called before netplan.
	lines := []string{"UCX_NET_DEVICES=enp1s0f0np0", "NCCL_SOCKET_IFNAME=enp1s0f0np0", "OMPI_MCA_btl_tcp_if_include=enp1s0f0np0"}
	spark.Export("/root/.bashrc", append(lines, "NCCL_IB_HCA=rocep1s0f0")...)
	ws.Export("/home/dev/.bashrc", append(lines, "NCCL_IB_HCA=mlx5_0")...)
	return &sample.Cluster{Machines: []*sample.Machine{spark, ws}}
}
