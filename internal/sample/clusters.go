package sample

import (
	"fmt"

	"weft/internal/spec"
)

// vllm is the image that every node of a cluster has.
var vllm = Image{"vllm/vllm-openai", "v0.11.0", "sha256:6f5a3c0e9d1b24876f5a3c0e9d1b24876f5a3c0e9d1b24876f5a3c0e9d1b2487"}

// RoCE returns healthy servers behind a lossless switch: two sockets, each with a
// ConnectX-6 of 200 Gb/s and two A100, Ubuntu 22.04 and OFED. The interfaces are in
// 10.10.1.0/24 and 10.10.2.0/24.
func RoCE(name string, n int) *Cluster {
	c := &Cluster{Want: spec.Spec{Purpose: "training", Data: spec.Data{Layer: "roce", MTU: 9000, Switch: "lossless"}}}
	for i := 1; i <= n; i++ {
		m := New(fmt.Sprintf("%s%d", name, i), i)
		m.OS, m.Kernel, m.NUMA = Ubuntu2204, "5.15.0-122-generic", 2
		m.OFED = "MLNX_OFED_LINUX-23.10-2.1.3.1"
		m.DKMS = []string{"mlnx-ofed-kernel/23.10.OFED.23.10.2.1.3.1, " + m.Kernel + ", x86_64: installed", "nvidia/535.183.06, " + m.Kernel + ", x86_64: installed"}
		m.NVIDIA = NVIDIA{Driver: "535.183.06", CUDA: "12.2"}
		m.CDI, m.Images = []string{"nvidia.com/gpu"}, []Image{vllm}
		m.Libs = []string{"/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5"}
		for s, host := range []string{"16", "c9"} {
			card := fmt.Sprintf("%02x", 0x17+s*0xb3)
			nic := m.Root("0000:"+host+":02.0", s, Link{16, 16})
			d := m.Plug(ConnectX6, "0000:"+card+":00.0", nic, fmt.Sprintf("mlx5_%d", s), fmt.Sprintf("ens%df0np0", s+1), 200)
			d.Temp, d.TempCrit = 58, 105
			net := m.Netdev(d.Ports[0].Netdev)
			net.QoS.Lossless()
			net.Addrs = []string{fmt.Sprintf("10.10.%d.%d/24", s+1, i)}
			for g := range 2 {
				up := m.Root(fmt.Sprintf("0000:%s:%02x.0", host, 4+2*g), s, Link{16, 16})
				m.AddGPU(A100, fmt.Sprintf("0000:%02x:00.0", 0x18+s*0xb3+g), up).MIG = "Disabled"
			}
		}
		m.load("nvidia_peermem")
		c.add(m, "mlx5_0/1", "mlx5_1/1")
	}
	return c
}

// InfiniBand returns healthy servers on one QDR switch: a ConnectX-4 and a T4 each,
// RHEL 10, one subnet manager on the first. IPoIB is in 192.168.40.0/24.
func InfiniBand(name string, n int) *Cluster {
	c := &Cluster{
		Want:   spec.Spec{Data: spec.Data{Layer: "infiniband", IPoIB: "datagram"}},
		Fabric: &Fabric{Switch: "Infiniscale-IV Mellanox Technologies", GUID: "0002:c902:0048:a1b8", Ports: 8, LID: n + 1},
	}
	for i := 1; i <= n; i++ {
		m := New(fmt.Sprintf("%s%d", name, i), i)
		m.OS, m.Kernel, m.NUMA, m.MemoryGiB = RHEL10, "6.12.0-124.8.1.el10_1.x86_64", 2, 256
		m.DMI = DMI{"Dell Inc.", "PowerEdge R730", "0WCJNT", "2.19.0", "12/12/2023"}
		m.Runtimes = []string{"podman"}
		m.NVIDIA, m.CDI = NVIDIA{Driver: "580.95.05", CUDA: "13.0"}, []string{"nvidia.com/gpu"}
		d := m.Plug(ConnectX4, "0000:04:00.0", m.Root("0000:00:02.0", 0, Link{8, 16}), "mlx5_0", "ibp4s0", 40)
		d.Ports[0].LID, d.Ports[0].SMLID = i, 1
		m.Netdev("ibp4s0").Addrs = []string{fmt.Sprintf("192.168.40.%d/24", i)}
		m.AddGPU(TeslaT4, "0000:05:00.0", m.Root("0000:00:03.0", 0, Link{8, 16}))
		m.load("nvidia_peermem")
		m.Firewalld("ibp4s0")
		c.Fabric.Hosts = append(c.Fabric.Hosts, Host{m, "mlx5_0", "4xQDR"})
		c.add(m, "mlx5_0/1")
	}
	c.Machines[0].Opensm = "active"
	c.Fabric.SMs = []SM{{Host: 0, State: 3}}
	return c
}

// Strix returns healthy Strix Halo machines behind a plain switch: an E810 of
// 100 Gb/s on four lanes each, Fedora 43. The interfaces are in 192.168.100.0/24.
func Strix(name string, n int) *Cluster {
	c := &Cluster{Want: spec.Spec{Purpose: "inference", Data: spec.Data{Layer: "roce", MTU: 9000, Switch: "plain"}}}
	for i := 1; i <= n; i++ {
		m := Halo(fmt.Sprintf("%s%d", name, i), i)
		d := m.Plug(E810, "0000:c2:00.0", m.Root("0000:00:02.1", 0, Link{16, 4}), "rocep194s0", "enp194s0np0", 100)
		m.Netdev(d.Ports[0].Netdev).Addrs = []string{fmt.Sprintf("192.168.100.%d/24", i)}
		m.Firewalld("enp194s0np0")
		c.add(m, "rocep194s0/1")
	}
	return c
}

// Halo is a Strix Halo machine without a card.
func Halo(name string, id int) *Machine {
	m := New(name, id)
	m.OS, m.Kernel, m.MemoryGiB = Fedora43, "6.19.7-200.fc43.x86_64", 124
	m.DMI = DMI{"Micro Computer (HK) Tech Limited", "MS-S1 MAX", "SHWSA", "1.05", "12/05/2025"}
	m.Runtimes, m.ROCm = []string{"podman"}, "7.1.1"
	m.AddGPU(StrixHalo, "0000:c4:00.0", m.Root("0000:00:08.1", 0, Link{16, 16}))
	return m
}

// Sparks returns two healthy DGX Sparks on one cable of 200 Gb/s, with both twins of
// the port in use, in 192.168.200.0/24 and 192.168.201.0/24.
func Sparks(name string) *Cluster {
	c := &Cluster{Want: spec.Spec{Purpose: "inference", Data: spec.Data{Layer: "roce", MTU: 9000, Switch: "none"}}}
	for i := 1; i <= 2; i++ {
		m := Spark(fmt.Sprintf("%s%d", name, i), i, 200)
		m.Netdev("enp1s0f0np0").Addrs = []string{fmt.Sprintf("192.168.200.%d/24", i)}
		m.Netdev("enP2p1s0f0np0").Addrs = []string{fmt.Sprintf("192.168.201.%d/24", i)}
		c.add(m, "rocep1s0f0/1", "roceP2p1s0f0/1")
	}
	return c
}

// Spark is a DGX Spark whose first port has a cable of the given rate: its four
// functions are two ports of two twins each.
func Spark(name string, id, gbps int) *Machine {
	m := New(name, id)
	m.Kernel, m.Arch, m.MemoryGiB = "6.14.0-1015-nvidia", "aarch64", 119
	m.DMI = DMI{"NVIDIA", "NVIDIA_DGX_Spark", "P4242", "5.36_0ACUM018", "08/14/2026"}
	m.CmdLine = "BOOT_IMAGE=/boot/vmlinuz root=/dev/nvme0n1p2 ro quiet iommu.passthrough=1 pcie_aspm=off"
	m.Manage("enP7s7", "10.0.0.", 24)
	m.NVIDIA, m.CDI = NVIDIA{Driver: "580.95.05", CUDA: "13.0", Open: true}, []string{"nvidia.com/gpu"}
	m.Images = []Image{vllm}
	m.AddGPU(GB10, "000f:01:00.0", m.Root("000f:00:00.0", 0, Link{}))
	for _, domain := range []string{"0000", "0002"} {
		up := m.Root(domain+":00:00.0", 0, Link{32, 4})
		prefix := map[string]string{"0000": "p1s0", "0002": "P2p1s0"}[domain]
		for fn := range 2 {
			suffix := fmt.Sprintf("%sf%d", prefix, fn)
			d := m.Plug(ConnectX7, fmt.Sprintf("%s:01:00.%d", domain, fn), up, "roce"+suffix, fmt.Sprintf("en%snp%d", suffix, fn), gbps)
			if fn == 1 {
				m.Unplug(d)
			}
		}
	}
	return m
}

// Unplug takes the cable out of a device's first port.
func (m *Machine) Unplug(d *RDMA) {
	p := d.Ports[0]
	p.State, p.Phys, p.Sent = Down, Disabled, 0
	p.Rate = "40 Gb/sec (4X QDR)"
	if net := m.Netdev(p.Netdev); net != nil {
		net.Up, net.MTU = false, 1500
	}
}

// add puts a machine into the cluster and its ports into weft.yaml.
func (c *Cluster) add(m *Machine, ports ...string) {
	want := spec.Node{Name: m.Name}
	for _, name := range ports {
		for _, d := range m.RDMA {
			if d.Name+"/1" != name {
				continue
			}
			port := spec.DataPort{Port: name, Netdev: d.Ports[0].Netdev}
			if net := m.Netdev(port.Netdev); net != nil && len(net.Addrs) > 0 {
				port.Address = net.Addrs[0]
			}
			want.Data = append(want.Data, port)
		}
	}
	c.Machines = append(c.Machines, m)
	c.Want.Nodes = append(c.Want.Nodes, want)
}
