// Package sample builds dumps of machines that do not exist: tests break them one
// fault at a time, and the demo shows them. Pure.
//
// A Machine starts healthy (New) and is changed field by field. Node writes what
// its files and tools would have answered, in the formats that the tools print. A
// Cluster adds what machines say of each other and of their InfiniBand fabric.
package sample

import (
	"time"

	"weft/internal/dump"
	"weft/internal/format"
	"weft/internal/spec"
)

// Now is when the machines were asked. It is a constant, so that the same machine
// always gives the same bytes.
var Now = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)

// Machine is one machine that does not exist. Start with New.
type Machine struct {
	Name string
	ID   int // makes MAC addresses and GUIDs differ: 1 to 254

	OS        OS
	Kernel    string // uname -r
	Arch      string // uname -m
	DMI       DMI
	MemoryGiB int
	CmdLine   string
	NUMA      int // nodes
	User      string
	Groups    []string
	SSHTo     string        // the node's address that ssh arrived at
	Skew      time.Duration // its clock against that of the machine that asks
	Unsynced  bool          // no NTP
	Runtimes  []string      // container runtimes: podman, docker

	PCI    []*PCI
	RDMA   []*RDMA
	Net    []*Netdev
	GPUs   []*GPU
	Routes []Route

	Modules     []string          // loaded
	BootModules []string          // /etc/modules-load.d/rdma.conf
	Modprobe    string            // /etc/modprobe.d/weft-sample.conf
	ModParams   map[string]string // "mlx4_core.log_num_mgm_entry_size" → value
	OFED        string            // "MLNX_OFED_LINUX-23.10-2.1.3.1"; "" for in-tree drivers
	InTree      bool              // the in-tree mlx5 is loaded although OFED is installed
	DKMS        []string          // lines of dkms status
	Missing     []string          // packages and tools that are not installed
	Opensm      string            // "": not installed; "active", "inactive", "failed"
	Passthrough bool              // the IOMMU passes through; false: it translates
	Memlock     int64             // bytes a login may lock; Unlimited
	Limits      string            // /etc/security/limits.d/99-rdma.conf
	VerbsMode   string            // of /dev/infiniband/uverbs*: "crw-rw-rw- root root"

	Manager string            // who configures interfaces: Netplan, NetworkManager, …; "": as the distribution does
	Files   map[string]string // configuration files that differ: path → text; "" is one that is not there

	Zones  []Zone // firewalld; none: no firewall
	Env    []Env
	Libs   []string // paths of libnccl and librccl
	Images []Image
	CDI    []string // "nvidia.com/gpu"
	Dmesg  []string

	NVIDIA NVIDIA // the driver, where there is an NVIDIA GPU
	ROCm   string // "7.1.1"; "" when not installed
}

// Unlimited is no limit.
const Unlimited = -1

// New returns a healthy machine without cards: Ubuntu 24.04, a management
// interface eno1 at 10.0.0.ID, and every setting as RDMA wants it.
func New(name string, id int) *Machine {
	m := &Machine{
		Name: name, ID: id, OS: Ubuntu2404, Kernel: "6.8.0-85-generic", Arch: "x86_64",
		DMI:       DMI{"Supermicro", "SYS-420GP-TNR", "X12DPG-OA6", "1.4b", "04/13/2023"},
		MemoryGiB: 512, CmdLine: "BOOT_IMAGE=/vmlinuz root=/dev/mapper/root ro quiet iommu=pt pcie_aspm=off", NUMA: 1,
		User: "root", Groups: []string{"root"}, Runtimes: []string{"docker"},
		Modules: []string{"ib_core", "ib_uverbs", "ib_umad", "rdma_cm", "rdma_ucm"}, BootModules: []string{"ib_umad", "rdma_ucm"},
		Passthrough: true, Memlock: Unlimited, VerbsMode: "crw-rw-rw- root root",
		Limits: "* soft memlock unlimited\n* hard memlock unlimited\nroot soft memlock unlimited\nroot hard memlock unlimited\n",
	}
	m.Manage("eno1", "10.0.0.", 24)
	return m
}

// Manage makes the machine managed through a plain Ethernet interface at NET.ID,
// in place of the one it had.
func (m *Machine) Manage(netdev, net string, bits int) {
	addr := net + itoa(m.ID)
	eno := &Netdev{Name: netdev, MAC: m.mac(0), Mbps: 1000, Up: true, MTU: 1500, Addrs: []string{addr + "/" + itoa(bits)}}
	if len(m.Net) > 0 {
		m.Net = m.Net[1:]
	}
	m.Net = append([]*Netdev{eno}, m.Net...)
	m.SSHTo = addr
	m.Routes = []Route{{Dst: "default", Via: net + "254", Dev: netdev}}
}

// Node writes what the machine would have answered.
func (m *Machine) Node() *dump.Node {
	n := dump.NewNode(m.Name)
	w := writer{n}
	m.writeHost(w)
	m.writePCI(w)
	m.writeRDMA(w)
	m.writeNet(w)
	m.writeQoS(w)
	m.writeGPUs(w)
	m.writeModules(w)
	m.writeSettings(w)
	m.writeFirewall(w)
	m.writeSoftware(w)
	m.writeConfig(w)
	return n
}

// writer fills a dump. What holds nothing is left out, as collect does.
type writer struct{ n *dump.Node }

func (w writer) file(path, text string) {
	if text != "" {
		w.n.Text[path] = text
	}
}

// line writes a file of one line.
func (w writer) line(path, text string) { w.file(path, text+"\n") }

func (w writer) cmd(run, text string) { w.file("$ "+run, text) }

func (w writer) link(path, to string) { w.n.Link[path] = to }

// Cluster is a set of machines.
type Cluster struct {
	Note     string
	Machines []*Machine
	Fabric   *Fabric   // InfiniBand, as the first machine that has it sees it
	Want     spec.Spec // says whom each node is asked about
}

// Dump writes what the cluster would have answered.
func (c *Cluster) Dump() *dump.Dump {
	d := &dump.Dump{Note: c.Note}
	fabric := c.Fabric
	for _, m := range c.Machines {
		n := m.Node()
		c.writePeers(m, writer{n})
		if fabric != nil && m.hasInfiniBand() {
			fabric.write(writer{n})
			fabric = nil // asked of one node for all
		}
		format.Settle(format.For(c.Want, m.Name), n)
		d.Nodes = append(d.Nodes, n)
	}
	return d
}
