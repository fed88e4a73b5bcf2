package check

import (
	"fmt"

	"weft/internal/fact"
	"weft/internal/unit"
)

// good returns two healthy RoCE nodes of one kind: a ConnectX-7 with one port in
// use and a spare one, an H100, a switch between them, and every setting as it
// should be. Tests break one thing at a time.
func good() *Case {
	c := &Case{}
	c.Want.Data.Switch = "lossless"
	for i := 1; i <= 2; i++ {
		c.Nodes = append(c.Nodes, goodNode(i))
	}
	return c
}

func goodNode(i int) *fact.Node {
	peer := 3 - i
	rate := fact.Some(200 * unit.Gbps)
	gen5 := fact.Link{GTs: 32, Width: 16}
	n := &fact.Node{
		Name: fmt.Sprintf("n%d", i),
		Host: fact.Host{
			Hostname: fmt.Sprintf("n%d", i), Vendor: "Supermicro", Product: "SYS-821GE", Arch: "x86_64",
			Kernel: "6.8.0-60-generic", OS: "Ubuntu 24.04.2 LTS", Distro: "ubuntu", Like: "debian", Version: "24.04",
			Memory: fact.Some(512 * unit.GiB), CmdLine: "ro quiet iommu=pt pcie_aspm=off",
			ClockSkew: fact.Some(0.001), SkewError: fact.Some(0.002), ClockSync: fact.Some(true), NUMANodes: 2,
			User: "root", Groups: []string{"root"}, SSHFrom: "10.0.0.9", SSHTo: fmt.Sprintf("10.0.0.%d", i),
			Containers: []string{"docker"},
		},
		PCI: []*fact.PCI{
			{BDF: "0000:16:00.0", Vendor: 0x8086, Device: 0x352a, Class: 0x060400, Host: "pci0000:16", NUMA: fact.Some(0), Cur: gen5, Max: gen5, ASPM: fact.Some("off"), ACSRedir: fact.Some(false)},
			{BDF: "0000:17:00.0", Vendor: 0x15b3, Device: 0x1979, Class: 0x060400, Up: "0000:16:00.0", Host: "pci0000:16", NUMA: fact.Some(0), Cur: gen5, Max: gen5, ASPM: fact.Some("off"), ACSRedir: fact.Some(false)},
			{BDF: "0000:18:00.0", Vendor: 0x15b3, Device: 0x1979, Class: 0x060400, Up: "0000:17:00.0", Host: "pci0000:16", NUMA: fact.Some(0), Cur: gen5, Max: gen5, ASPM: fact.Some("off"), ACSRedir: fact.Some(false)},
			{BDF: "0000:18:01.0", Vendor: 0x15b3, Device: 0x1979, Class: 0x060400, Up: "0000:17:00.0", Host: "pci0000:16", NUMA: fact.Some(0), Cur: gen5, Max: gen5, ASPM: fact.Some("off"), ACSRedir: fact.Some(false)},
			{BDF: "0000:19:00.0", Vendor: 0x15b3, Device: 0x1021, Class: 0x020000, Driver: "mlx5_core", Up: "0000:18:00.0", Host: "pci0000:16", NUMA: fact.Some(0), Cur: gen5, Max: gen5, ASPM: fact.Some("off"), MaxRead: fact.Some(4096), IOMMU: "40", AER: map[string]int{"correctable": 0, "nonfatal": 0, "fatal": 0}},
			{BDF: "0000:19:00.1", Vendor: 0x15b3, Device: 0x1021, Class: 0x020000, Driver: "mlx5_core", Up: "0000:18:00.0", Host: "pci0000:16", NUMA: fact.Some(0), Cur: gen5, Max: gen5, ASPM: fact.Some("off"), MaxRead: fact.Some(4096), IOMMU: "41", AER: map[string]int{"correctable": 0, "nonfatal": 0, "fatal": 0}},
			{BDF: "0000:1a:00.0", Vendor: 0x10de, Device: 0x2330, Class: 0x030200, Driver: "nvidia", Up: "0000:18:01.0", Host: "pci0000:16", NUMA: fact.Some(0), Cur: gen5, Max: gen5, ASPM: fact.Some("off"), IOMMU: "42"},
		},
		Ports: []*fact.Port{
			goodPort(i, 0, rate),
			{Name: "mlx5_1/1", Device: "mlx5_1", Num: 1, BDF: "0000:19:00.1", Driver: "mlx5", Netdev: "eth3", Layer: "Ethernet", NodeType: "1: CA",
				State: "DOWN", Phys: "Disabled", Rate: fact.Some(40 * unit.Gbps), Firmware: "28.43.2026", Board: "MT_0000000838", HCAType: "MT4129", GIDsRead: true},
		},
		Netdevs: []*fact.Netdev{
			{Name: "eno1", Index: 2, MAC: fmt.Sprintf("02:00:00:00:00:%02x", i), Type: "ether", Oper: "up", Carrier: fact.Some(true), MTU: fact.Some(1500), Speed: fact.Some(1 * unit.Gbps), Addrs: []string{fmt.Sprintf("10.0.0.%d/24", i)}},
			{Name: "eth2", Index: 3, MAC: fmt.Sprintf("02:00:00:00:01:%02x", i), BDF: "0000:19:00.0", Driver: "mlx5_core", Firmware: "28.43.2026", Type: "ether", Oper: "up", Carrier: fact.Some(true), MTU: fact.Some(9000), Speed: rate, MaxSpeed: rate, Addrs: []string{fmt.Sprintf("192.168.200.%d/24", i)}, Flaps: fact.Some(0),
				Qdiscs: []fact.Qdisc{{Kind: "mq"}, {Kind: "fq_codel"}}, QdiscsRead: true},
			{Name: "eth3", Index: 4, MAC: fmt.Sprintf("02:00:00:00:02:%02x", i), BDF: "0000:19:00.1", Driver: "mlx5_core", Type: "ether", Oper: "down", Carrier: fact.Some(false), MTU: fact.Some(1500)},
		},
		GPUs: []*fact.GPU{{
			Index: 0, BDF: "0000:1a:00.0", Vendor: "NVIDIA", Device: 0x2330, Name: "NVIDIA H100 80GB HBM3", Arch: "Hopper", Driver: "570.86.15", Bound: true,
			Seen: fact.Some(true), Memory: fact.Some(80 * unit.GiB), Power: fact.Some(70.0), PowerMax: fact.Some(700.0), Clock: fact.Some(345), ClockMax: fact.Some(1980), Util: fact.Some(0), MIG: "Disabled",
		}},
		Settings: fact.Settings{
			Modules:     []string{"mlx5_core", "mlx5_ib", "ib_core", "ib_uverbs", "ib_umad", "rdma_ucm", "rdma_cm", "nvidia", "nvidia_peermem"},
			ModulesRead: true, BootModules: []string{"nvidia-peermem", "ib_umad", "rdma_ucm"},
			ModPaths:     map[string]string{"mlx5_core": "/lib/modules/6.8.0-60-generic/kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko.zst"},
			Packages:     map[string]string{"rdma-core": "50.0", "ibverbs-utils": "50.0", "ibverbs-providers": "50.0", "perftest": "24.01", "infiniband-diags": "50.0", "ethtool": "6.7", "mstflint": "4.26", "iproute2": "6.1", "pciutils": "3.10", "rdmacm-utils": "50.0"},
			PackagesRead: true,
			Services:     map[string]fact.Service{"docker.service": {Load: "loaded", Active: "active", Enabled: "enabled", Memlock: fact.Some(fact.Unlimited)}, "opensm.service": {Load: "not-found", Active: "inactive"}},
			ServicesRead: true,
			Devices:      []fact.DevNode{{Path: "/dev/infiniband/uverbs0", Mode: "crw-rw-rw-", Owner: "root", Group: "root"}, {Path: "/dev/infiniband/rdma_cm", Mode: "crw-rw-rw-", Owner: "root", Group: "root"}, {Path: "/dev/infiniband/umad0", Mode: "crw-------", Owner: "root", Group: "root"}, {Path: "/dev/nvidia0", Mode: "crw-rw-rw-", Owner: "root", Group: "root"}},
			DevicesRead:  true,
			Memlock:      fact.Memlock{Login: fact.Some(fact.Unlimited), LoginHard: fact.Some(fact.Unlimited), Wish: fact.Some(fact.Unlimited), Default: fact.Some(fact.Unlimited)},
			Firewall:     fact.Firewall{Kind: "none", Ports: []fact.FirewallPort{{Netdev: "eth2", Port: "4791/udp", Verdict: "allowed"}, {Netdev: "eth2", Port: "6379/tcp", Verdict: "allowed"}}},
			Routes:       []fact.Route{{Dst: "default", Via: "10.0.0.254", Dev: "eno1"}, {Dst: "10.0.0.0/24", Dev: "eno1"}, {Dst: "192.168.200.0/24", Dev: "eth2"}},
			RoutesRead:   true,
			Neighbours:   []fact.Neighbour{{Addr: fmt.Sprintf("192.168.200.%d", peer), Dev: "eth2", MAC: fmt.Sprintf("02:00:00:00:01:%02x", peer), State: "REACHABLE"}},
			IOMMUGroups:  fact.Some(80), IOMMUType: "identity",
			EnvRead: true, Env: []fact.EnvVar{{Name: "NCCL_IB_HCA", Value: "=mlx5_0:1", Where: "/etc/environment"}, {Name: "NCCL_SOCKET_IFNAME", Value: "eno1", Where: "/etc/environment"}},
			ImagesRead: true, Images: []fact.Image{{Name: "vllm/vllm-openai:v0.11.0", Digest: "sha256:aa"}},
			NCCL:          []fact.Library{{Name: "libnccl", Version: "2.28.3", Path: "/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.3"}},
			LibrariesRead: true, GPUDriver: "570.86.15", CUDA: "12.8", CDI: []string{"nvidia.com/gpu"}, CDIRead: true, KmsgRead: true,
		},
		Peers: []fact.Peer{{Node: fmt.Sprintf("n%d", peer), Addr: fmt.Sprintf("192.168.200.%d", peer), Port: "mlx5_0/1", RouteDev: "eth2",
			RouteSrc: fmt.Sprintf("192.168.200.%d", i), Ping: fact.Some(true), Jumbo: fact.Some(true), JumboSize: 8972,
			Resolves: []string{fmt.Sprintf("192.168.200.%d", peer)}, ResolvesRead: true}},
	}
	return n
}

func goodPort(node, index int, rate fact.Val[unit.Rate]) *fact.Port {
	pfc := make([]bool, 8)
	pfc[3] = true
	return &fact.Port{
		Name: fmt.Sprintf("mlx5_%d/1", index), Device: fmt.Sprintf("mlx5_%d", index), Num: 1, BDF: fmt.Sprintf("0000:19:00.%d", index), Driver: "mlx5",
		Netdev: fmt.Sprintf("eth%d", index+2), Layer: "Ethernet", NodeType: "1: CA", State: "ACTIVE", Phys: "LinkUp", Rate: rate, Width: "4X", Speed: "HDR",
		ActiveMTU: fact.Some(4096), MaxMTU: fact.Some(4096), NodeGUID: fmt.Sprintf("0200:00ff:fe00:01%02x", node), SysGUID: fmt.Sprintf("0200:00ff:fe00:01%02x", node),
		Firmware: "28.43.2026", Board: "MT_0000000838", HCAType: "MT4129", GIDsRead: true,
		GIDs: []fact.GID{
			{Index: 0, GID: fmt.Sprintf("fe80:0000:0000:0000:0000:00ff:fe00:01%02x", node), Type: "IB/RoCE v1", Netdev: "eth2"},
			{Index: 1, GID: fmt.Sprintf("fe80:0000:0000:0000:0000:00ff:fe00:01%02x", node), Type: "RoCE v2", Netdev: "eth2"},
			{Index: 2, GID: fmt.Sprintf("0000:0000:0000:0000:0000:ffff:c0a8:c8%02x", node), Type: "IB/RoCE v1", Netdev: "eth2"},
			{Index: 3, GID: fmt.Sprintf("0000:0000:0000:0000:0000:ffff:c0a8:c8%02x", node), Type: "RoCE v2", Netdev: "eth2"},
		},
		Counters:     map[string]uint64{"link_downed": 0, "symbol_error": 0, "port_rcv_errors": 0, "port_xmit_data": 123456789, "port_rcv_data": 123456789, "local_link_integrity_errors": 0, "out_of_buffer": 0, "rnr_nak_retry_err": 0},
		TrafficClass: fact.Some(106), CMARoCE: "RoCE v2", Temp: fact.Some(52.0), TempMax: fact.Some(105.0),
		QoS:    fact.QoS{PFC: pfc, Trust: "dscp", DSCP: map[int]int{26: 3, 48: 6}, ECNNP: []bool{true, true, true, true, true, true, true, true}, ECNRP: []bool{true, true, true, true, true, true, true, true}, PauseRx: fact.Some(false), PauseTx: fact.Some(false), PausePrio: map[int]uint64{3: 10}},
		Module: &fact.Module{Vendor: "NVIDIA", Part: "MCP1650-H001E30", Length: "1m", Temp: fact.Some(38.0)},
	}
}

// goodIB returns two healthy InfiniBand nodes with an SM on the switch, IPoIB in
// datagram mode, and the fabric as its tools tell it.
func goodIB() *Case {
	c := good()
	c.Want.Data.Switch = ""
	for i, n := range c.Nodes {
		p := n.Ports[0]
		p.Layer, p.Netdev, p.Speed = "InfiniBand", "ib0", "HDR"
		p.LID, p.SMLID = fact.Some(3+i), fact.Some(1)
		p.GIDs = []fact.GID{{Index: 0, GID: "fe80:0000:0000:0000:" + p.NodeGUID, Type: "IB/RoCE v1"}}
		p.TrafficClass, p.QoS, p.CMARoCE = fact.Val[int]{}, fact.QoS{}, ""
		n.Ports[1].Layer, n.Ports[1].Netdev = "InfiniBand", "ib1"
		d := n.Netdev("eth2")
		d.Name, d.Type, d.Kind, d.Mode, d.MTU = "ib0", "infiniband", "ipoib", "datagram", fact.Some(4092)
		d.Speed, d.MaxSpeed = fact.Val[unit.Rate]{}, fact.Val[unit.Rate]{}
		n.Netdev("eth3").Name = "ib1"
		n.Settings.Modules = append(n.Settings.Modules, "ib_ipoib")
		n.Settings.BootModules = append(n.Settings.BootModules, "ib_ipoib")
		n.Settings.Routes[2].Dev = "ib0"
		n.Settings.Neighbours = nil
		n.Settings.Firewall.Ports = []fact.FirewallPort{{Netdev: "ib0", Port: "6379/tcp", Verdict: "allowed"}}
		n.Peers[0].RouteDev, n.Peers[0].JumboSize = "ib0", 0
		n.Peers[0].Jumbo = fact.Val[bool]{}
	}
	c.Fabric = &fact.Fabric{
		Switches: []fact.Switch{{GUID: "0xsw1", Name: "MF0;leaf1:MQM8700/U1", LID: 1, Ports: 40}},
		Links: []fact.FabricLink{
			{A: fact.End{GUID: "0xsw1", Name: "leaf1", Port: 1, Switch: true}, B: fact.End{GUID: "0xn1", Name: "n1 mlx5_0", Port: 1}, Width: "4x", Speed: "HDR"},
			{A: fact.End{GUID: "0xsw1", Name: "leaf1", Port: 2, Switch: true}, B: fact.End{GUID: "0xn2", Name: "n2 mlx5_0", Port: 1}, Width: "4x", Speed: "HDR"},
		},
		SMs: []fact.SM{{GUID: "0xsw1", Name: "leaf1", LID: 1, State: "MASTER", Priority: 14}}, SMsRead: true,
	}
	return c
}

// of returns the findings of one check on a case.
func of(ck Check, c *Case) []Finding { return Run([]Check{ck}, c) }
