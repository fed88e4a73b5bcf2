// Package fact holds what is known of a cluster: nodes, RDMA ports, GPUs, PCIe
// paths, host settings and the InfiniBand fabric. Pure: unknown is a value.
//
// Names are the kernel's: mlx5_0/1, netdev, GID index, BDF, ACTIVE. Everything
// that may be unknown is a Val, a nil pointer or an empty list with a Gap that
// says why.
package fact

import (
	"net/netip"
	"slices"
	"strings"

	"weft/internal/unit"
)

// Cluster is everything known of a set of nodes.
type Cluster struct {
	Nodes  []*Node `json:"nodes"`
	Fabric *Fabric `json:"fabric"` // nil when no InfiniBand fabric tool answered

	named map[string]*Node // Nodes by name, made by Index
}

// Index makes Node quick. Call it again when Nodes have changed.
func (c *Cluster) Index() {
	c.named = make(map[string]*Node, len(c.Nodes))
	for _, n := range c.Nodes {
		c.named[n.Name] = n
	}
}

// Node returns the named node, or nil.
func (c *Cluster) Node(name string) *Node {
	if c.named != nil && len(c.named) == len(c.Nodes) {
		return c.named[name]
	}
	for _, n := range c.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Gap is something that could not be read, and why.
type Gap struct {
	Path string `json:"path"` // "/sys/…" or "$ command"
	Why  string `json:"why"`
}

// Node is one machine.
type Node struct {
	Name string `json:"name"`
	Down string `json:"down,omitempty"` // why nothing at all is known of it; "" when it answered
	Gaps []Gap  `json:"gaps,omitempty"`

	Host     Host      `json:"host"`
	PCI      []*PCI    `json:"pci,omitempty"`     // NICs, GPUs and the bridges above them
	Ports    []*Port   `json:"ports,omitempty"`   // RDMA ports
	Netdevs  []*Netdev `json:"netdevs,omitempty"` // network interfaces, loopback left out
	GPUs     []*GPU    `json:"gpus,omitempty"`
	Settings Settings  `json:"settings"`
	Peers    []Peer    `json:"peers,omitempty"` // what this node says of the others

	at     map[string]*PCI    // PCI by BDF, made by Index
	netdev map[string]*Netdev // Netdevs by name, made by Index
}

// Netdev returns the named network interface, or nil.
func (n *Node) Netdev(name string) *Netdev {
	if len(n.netdev) == len(n.Netdevs) {
		return n.netdev[name]
	}
	for _, d := range n.Netdevs {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Port returns the RDMA port by its name ("mlx5_0/1"), or nil.
func (n *Node) Port(name string) *Port {
	for _, p := range n.Ports {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Index makes At and Netdev quick. Call it again when PCI or Netdevs have changed.
func (n *Node) Index() {
	n.at = make(map[string]*PCI, len(n.PCI))
	for _, p := range n.PCI {
		n.at[p.BDF] = p
	}
	n.netdev = make(map[string]*Netdev, len(n.Netdevs))
	for _, d := range n.Netdevs {
		n.netdev[d.Name] = d
		d.prefixes = nil
		d.prefixes = d.Prefixes()
	}
}

// At returns the PCI device with that address, or nil.
func (n *Node) At(bdf string) *PCI {
	if len(n.at) == len(n.PCI) {
		return n.at[bdf]
	}
	for _, p := range n.PCI {
		if p.BDF == bdf {
			return p
		}
	}
	return nil
}

// Host is the machine and its operating system.
type Host struct {
	Hostname   string         `json:"hostname,omitempty"`
	Vendor     string         `json:"vendor,omitempty"`  // DMI sys_vendor
	Product    string         `json:"product,omitempty"` // DMI product_name
	Board      string         `json:"board,omitempty"`   // DMI board_name
	BIOS       string         `json:"bios,omitempty"`    // DMI bios_version, bios_date
	Arch       string         `json:"arch,omitempty"`    // uname -m
	Kernel     string         `json:"kernel,omitempty"`  // uname -r
	OS         string         `json:"os,omitempty"`      // os-release PRETTY_NAME
	Distro     string         `json:"distro,omitempty"`  // os-release ID
	Like       string         `json:"like,omitempty"`    // os-release ID_LIKE
	Version    string         `json:"version,omitempty"` // os-release VERSION_ID
	Memory     Val[unit.Size] `json:"memory"`            // MemTotal
	CmdLine    string         `json:"cmdline,omitempty"` // /proc/cmdline
	BootID     string         `json:"boot_id,omitempty"` // /proc/sys/kernel/random/boot_id; clones of a virtual machine share one
	Uptime     Val[float64]   `json:"uptime"`            // /proc/uptime, seconds since boot
	ClockSkew  Val[float64]   `json:"clock_skew"`        // seconds against the machine that runs weft, + is ahead
	SkewError  Val[float64]   `json:"skew_error"`        // half the round trip that the skew was measured in, seconds
	ClockSync  Val[bool]      `json:"clock_sync"`        // NTP synchronised, as timedatectl or chronyc say
	NUMANodes  int            `json:"numa_nodes"`
	NUMACPUs   map[int]string `json:"numa_cpus,omitempty"`  // node*/cpulist: "0-15"; "" is a NUMA node without processors
	User       string         `json:"user,omitempty"`       // who weft was on the node
	Groups     []string       `json:"groups,omitempty"`     // that user's groups
	SSHFrom    string         `json:"ssh_from,omitempty"`   // SSH_CONNECTION: client address
	SSHTo      string         `json:"ssh_to,omitempty"`     // SSH_CONNECTION: this node's address
	Containers []string       `json:"containers,omitempty"` // runtimes found: podman, docker
}

// Debian reports whether the node installs packages with apt.
func (h Host) Debian() bool {
	return h.Distro == "debian" || h.Distro == "ubuntu" || strings.Contains(h.Like, "debian")
}

// PCI is one PCI function: a NIC, a GPU, or a bridge above one of them.
type PCI struct {
	BDF      string         `json:"bdf"`    // "0000:c1:00.0"
	Vendor   uint16         `json:"vendor"` // 0x15b3
	Device   uint16         `json:"device"`
	Class    uint32         `json:"class"` // 0x020000
	Driver   string         `json:"driver,omitempty"`
	Slot     string         `json:"slot,omitempty"`
	Up       string         `json:"up,omitempty"` // BDF of the bridge above; "" at a host bridge
	Host     string         `json:"host"`         // host bridge: "pci0000:c0"
	NUMA     Val[int]       `json:"numa"`
	PhysFn   string         `json:"physfn,omitempty"` // BDF of the physical function when this is a VF
	Cur      Link           `json:"cur"`              // link to the bridge above, now
	Max      Link           `json:"max"`              // what this end can do
	ASPM     Val[string]    `json:"aspm"`             // "off", "L0s", "L1", "L0s L1"
	MaxRead  Val[int]       `json:"max_read"`         // MaxReadReq, bytes
	ACSRedir Val[bool]      `json:"acs_redir"`        // request or completion redirect is on (bridges)
	ACSCtl   Val[int]       `json:"acs_ctl"`          // the two bits of that in ACS Control: 4 request, 8 completion
	IOMMU    string         `json:"iommu,omitempty"`  // group
	AER      map[string]int `json:"aer,omitempty"`    // "correctable", "nonfatal", "fatal": totals
	VPDPart  string         `json:"vpd_part,omitempty"`
}

// Link is a PCIe link's speed and width; zero is unknown.
type Link struct {
	GTs   float64 `json:"gts"`   // 2.5 5 8 16 32 64
	Width int     `json:"width"` // lanes
}

// GID is one entry of a port's GID table.
type GID struct {
	Index  int    `json:"index"`
	GID    string `json:"gid"`              // "0000:0000:0000:0000:0000:ffff:c0a8:c801"
	Type   string `json:"type,omitempty"`   // "IB/RoCE v1", "RoCE v2"
	Netdev string `json:"netdev,omitempty"` // the netdev it belongs to
}

// Port is one port of one RDMA device.
type Port struct {
	Name         string            `json:"name"`   // "mlx5_0/1"
	Device       string            `json:"device"` // "mlx5_0"
	Num          int               `json:"num"`
	BDF          string            `json:"bdf,omitempty"`       // "" for software devices
	Driver       string            `json:"driver,omitempty"`    // mlx4 mlx5 irdma rxe siw hfi1 bnxt_re …
	Netdev       string            `json:"netdev,omitempty"`    // "" when none is bound
	Layer        string            `json:"layer"`               // "InfiniBand", "Ethernet"; "" unknown
	NodeType     string            `json:"node_type,omitempty"` // "1: CA", "4: RNIC" (iWARP)
	State        string            `json:"state"`               // "ACTIVE", "DOWN", "INIT", "ARMED"; "" unknown
	Phys         string            `json:"phys"`                // "LinkUp", "Disabled", "Polling"; "" unknown
	Rate         Val[unit.Rate]    `json:"rate"`
	Width        string            `json:"width,omitempty"` // "4X"
	Speed        string            `json:"speed,omitempty"` // "EDR"
	ActiveMTU    Val[int]          `json:"active_mtu"`      // bytes on the wire: 1024 2048 4096
	MaxMTU       Val[int]          `json:"max_mtu"`
	LID          Val[int]          `json:"lid"`
	SMLID        Val[int]          `json:"sm_lid"`
	NodeGUID     string            `json:"node_guid,omitempty"`
	SysGUID      string            `json:"sys_guid,omitempty"`
	Firmware     string            `json:"firmware,omitempty"`
	Board        string            `json:"board,omitempty"`
	HCAType      string            `json:"hca_type,omitempty"`
	GIDs         []GID             `json:"gids,omitempty"`
	GIDsRead     bool              `json:"gids_read"`          // the table was readable (it may be empty)
	Counters     map[string]uint64 `json:"counters,omitempty"` // counters/* and hw_counters/*
	TrafficClass Val[int]          `json:"traffic_class"`      // tc/1/traffic_class; -1: the driver sets none, and programs choose
	CMARoCE      string            `json:"cma_roce,omitempty"` // default_roce_mode of rdma_cm: "IB/RoCE v1", "RoCE v2"
	Temp         Val[float64]      `json:"temp"`               // card, °C
	TempMax      Val[float64]      `json:"temp_max"`           // the card's own critical limit, °C
	QoS          QoS               `json:"qos"`
	Module       *Module           `json:"module"` // cable or transceiver; nil unknown
}

// RoCE reports whether the port speaks RoCE: Ethernet and not iWARP.
func (p *Port) RoCE() bool { return p.Layer == "Ethernet" && !p.IWARP() }

// IWARP reports whether the device is an iWARP one.
func (p *Port) IWARP() bool { return strings.Contains(p.NodeType, "RNIC") || p.Driver == "siw" }

// IB reports whether the port is InfiniBand (or Omni-Path, which looks alike).
func (p *Port) IB() bool { return p.Layer == "InfiniBand" }

// Up reports whether the port is ACTIVE.
func (p *Port) Up() bool { return p.State == "ACTIVE" }

// Soft reports whether the device is software: rxe or siw.
func (p *Port) Soft() bool { return p.Driver == "rxe" || p.Driver == "siw" }

// QoS is how an Ethernet port treats RDMA traffic.
type QoS struct {
	PFC       []bool         `json:"pfc,omitempty"`    // per priority 0–7; nil unknown
	Trust     string         `json:"trust,omitempty"`  // "dscp", "pcp"
	DSCP      map[int]int    `json:"dscp,omitempty"`   // DSCP → priority, where the device tells
	ECNNP     []bool         `json:"ecn_np,omitempty"` // roce_np enabled per priority; nil unknown
	ECNRP     []bool         `json:"ecn_rp,omitempty"` // roce_rp enabled per priority; nil unknown
	PauseRx   Val[bool]      `json:"pause_rx"`         // global pause
	PauseTx   Val[bool]      `json:"pause_tx"`
	PausePrio map[int]uint64 `json:"pause_prio,omitempty"` // rx_prioN_pause: pause frames received per priority
	PrioTC    []int          `json:"prio_tc,omitempty"`    // traffic class per priority 0–7; nil unknown
	TSA       []string       `json:"tsa,omitempty"`        // per traffic class 0–7: "strict", "ets", "vendor", "cbs"; nil unknown
	TCBW      []int          `json:"tc_bw,omitempty"`      // per traffic class 0–7: percent of the bandwidth with ets; nil unknown
	FWAgent   Val[bool]      `json:"fw_agent"`             // ice: its firmware negotiates all this by itself (fw-lldp-agent)
}

// Module is the cable or transceiver in a port.
type Module struct {
	Vendor string       `json:"vendor,omitempty"`
	Part   string       `json:"part,omitempty"`
	Length string       `json:"length,omitempty"`
	Temp   Val[float64] `json:"temp"` // °C
	Alarms []string     `json:"alarms,omitempty"`
}

// Netdev is one network interface.
type Netdev struct {
	Name     string         `json:"name"`
	Index    int            `json:"index"`
	MAC      string         `json:"mac,omitempty"`
	BDF      string         `json:"bdf,omitempty"`
	Driver   string         `json:"driver,omitempty"`
	Firmware string         `json:"firmware,omitempty"`
	Type     string         `json:"type"`           // "ether", "infiniband"
	Kind     string         `json:"kind,omitempty"` // "bond", "vlan", "bridge", "ipoib", "macvlan"; "" plain
	Master   string         `json:"master,omitempty"`
	Oper     string         `json:"oper"`          // "up", "down", "unknown"
	Off      bool           `json:"off,omitempty"` // switched off: ip link set up would switch it on
	Carrier  Val[bool]      `json:"carrier"`
	MTU      Val[int]       `json:"mtu"`
	Speed    Val[unit.Rate] `json:"speed"`
	MaxSpeed Val[unit.Rate] `json:"max_speed"`       // highest supported link mode
	Addrs    []string       `json:"addrs,omitempty"` // "192.168.200.1/24", IPv4 and IPv6
	Again    []string       `json:"again,omitempty"` // for each of Addrs what ip addr add is told to make it again: "192.168.200.1/24 brd 192.168.200.255 scope global"; "" when that is not sure
	Mode     string         `json:"mode,omitempty"`  // IPoIB: "datagram", "connected"
	Zone     string         `json:"zone,omitempty"`  // firewalld zone
	Flaps    Val[int]       `json:"flaps"`           // carrier_down_count

	Qdiscs     []Qdisc `json:"qdiscs,omitempty"` // tc qdisc: what packets wait in before they are sent, equal ones once
	QdiscsRead bool    `json:"qdiscs_read"`      // tc told all of them; else there is at most the root's kind, from ip addr

	Manager string `json:"manager,omitempty"` // who configures it: "netplan", "NetworkManager", "networkd", "ifupdown"; "" nobody, or not read
	Config  string `json:"config,omitempty"`  // the file that configures it; "" when it is not one file, or none that was read
	Profile string `json:"profile,omitempty"` // NetworkManager: the UUID of its connection; netplan: the name of its definition

	prefixes []netip.Prefix // of Addrs, made by Index
}

// Qdisc is a queueing discipline of a netdev.
type Qdisc struct {
	Kind string         `json:"kind"`           // "mq", "fq_codel", "netem"
	Rate Val[unit.Rate] `json:"rate"`           // the most that it lets through, where it says so: netem, tbf, cake
	Does []string       `json:"does,omitempty"` // what else netem does, in tc's words: "delay 5ms", "loss 1%"

	Again string `json:"again,omitempty"` // what tc qdisc replace is told to make it again; "" when that is not sure
}

// Prefixes returns the addresses with their prefix length, IPv4 first; what cannot
// be read and IPv6 link-local, which every interface has, are left out.
func (d *Netdev) Prefixes() []netip.Prefix {
	if d.prefixes != nil {
		return d.prefixes
	}
	var four, six []netip.Prefix
	for _, a := range d.Addrs {
		switch p, err := netip.ParsePrefix(a); {
		case err != nil:
		case p.Addr().Is4():
			four = append(four, p)
		case !p.Addr().IsLinkLocalUnicast():
			six = append(six, p)
		}
	}
	return append(four, six...)
}

// GPU is one accelerator.
type GPU struct {
	Index    int            `json:"index"`
	BDF      string         `json:"bdf"`
	Vendor   string         `json:"vendor"` // "NVIDIA", "AMD", "Intel"
	Device   uint16         `json:"device"` // PCI device id
	Name     string         `json:"name,omitempty"`
	Arch     string         `json:"arch,omitempty"`   // "Turing", "gfx1151"
	Driver   string         `json:"driver,omitempty"` // version; "" unknown
	Bound    bool           `json:"bound"`            // a GPU driver drives it
	Seen     Val[bool]      `json:"seen"`             // the driver's own tool or sysfs lists it
	Memory   Val[unit.Size] `json:"memory"`
	GTT      Val[unit.Size] `json:"gtt"`       // amdgpu: system memory the GPU may map
	Power    Val[float64]   `json:"power"`     // W now
	PowerMax Val[float64]   `json:"power_max"` // W limit in force
	Clock    Val[int]       `json:"clock"`     // MHz now (SM / gfx)
	ClockMax Val[int]       `json:"clock_max"`
	Util     Val[int]       `json:"util"`               // %
	Throttle []string       `json:"throttle,omitempty"` // reasons that are active
	Temp     Val[float64]   `json:"temp"`
	MIG      string         `json:"mig,omitempty"` // "Enabled", "Disabled"
	UUID     string         `json:"uuid,omitempty"`
}

// Fabric is an InfiniBand fabric as its tools tell it.
type Fabric struct {
	Switches []Switch     `json:"switches,omitempty"`
	Links    []FabricLink `json:"links,omitempty"`
	SMs      []SM         `json:"sms,omitempty"`
	SMsRead  bool         `json:"sms_read"`
}

// Switch is one InfiniBand switch.
type Switch struct {
	GUID  string `json:"guid"`
	Name  string `json:"name"`
	LID   int    `json:"lid"`
	Ports int    `json:"ports"`
}

// FabricLink is one link of the fabric, from either end.
type FabricLink struct {
	A        End               `json:"a"`
	B        End               `json:"b"`
	Width    string            `json:"width"`               // "4x"
	Speed    string            `json:"speed"`               // "EDR"
	MaxWidth string            `json:"max_width,omitempty"` // what both ends could do
	MaxSpeed string            `json:"max_speed,omitempty"`
	Errors   map[string]uint64 `json:"errors,omitempty"` // ibqueryerrors
}

// End is one end of a fabric link.
type End struct {
	GUID   string `json:"guid"`
	Name   string `json:"name"`
	Port   int    `json:"port"`
	Switch bool   `json:"switch"`
}

// SM is a subnet manager.
type SM struct {
	GUID     string `json:"guid"`
	Name     string `json:"name,omitempty"`
	LID      int    `json:"lid"`
	State    string `json:"state"` // "MASTER", "STANDBY", "DISCOVERING", "NOTACTIVE"
	Priority int    `json:"priority"`
}

// Settings is how the host is set up.
type Settings struct {
	Modules       []string           `json:"modules,omitempty"` // loaded
	ModulesRead   bool               `json:"modules_read"`
	BootModules   []string           `json:"boot_modules,omitempty"` // modules-load.d, /etc/modules
	SoftBoot      []string           `json:"soft_boot,omitempty"`    // units, rules and scripts that make software RDMA devices at boot
	SoftBootRead  bool               `json:"soft_boot_read"`
	ModBarred     []string           `json:"mod_barred,omitempty"`  // modprobe.d: blacklist, or install that does nothing
	ModOptions    map[string]string  `json:"mod_options,omitempty"` // modprobe.d: module → options
	ModParams     map[string]string  `json:"mod_params,omitempty"`  // /sys/module: "mlx4_core.log_num_mgm_entry_size" → value
	ModPaths      map[string]string  `json:"mod_paths,omitempty"`   // modinfo -n: module → file
	DKMS          []DKMS             `json:"dkms,omitempty"`
	OFED          string             `json:"ofed,omitempty"`     // ofed_info -s
	Packages      map[string]string  `json:"packages,omitempty"` // name → version
	PackagesRead  bool               `json:"packages_read"`
	Services      map[string]Service `json:"services,omitempty"` // unit → state
	ServicesRead  bool               `json:"services_read"`
	Devices       []DevNode          `json:"devices,omitempty"` // /dev/infiniband, /dev/kfd, /dev/dri, /dev/nvidia*
	DevicesRead   bool               `json:"devices_read"`
	Memlock       Memlock            `json:"memlock"`
	Firewall      Firewall           `json:"firewall"`
	Routes        []Route            `json:"routes,omitempty"` // IPv4 and IPv6 main table
	RoutesRead    bool               `json:"routes_read"`
	Neighbours    []Neighbour        `json:"neighbours,omitempty"` // ARP / ND
	LLDP          []LLDP             `json:"lldp,omitempty"`
	IOMMUGroups   Val[int]           `json:"iommu_groups"`         // how many groups there are; 0 is off
	IOMMUType     string             `json:"iommu_type,omitempty"` // of the RDMA NICs' groups: "identity", "DMA", "DMA-FQ"; "" unknown
	Env           []EnvVar           `json:"env,omitempty"`        // NCCL and friends, where they are set
	EnvRead       bool               `json:"env_read"`
	Images        []Image            `json:"images,omitempty"`
	ImagesRead    bool               `json:"images_read"`
	NCCL          []Library          `json:"nccl,omitempty"` // libnccl, librccl, libnccl-net and their versions
	LibrariesRead bool               `json:"libraries_read"`
	GPUDriver     string             `json:"gpu_driver,omitempty"` // NVIDIA driver version, or amdgpu's
	GPUOpen       Val[bool]          `json:"gpu_open"`             // NVIDIA: the open kernel module, which speaks dma-buf (/proc/driver/nvidia/version)
	CUDA          string             `json:"cuda,omitempty"`
	ROCm          string             `json:"rocm,omitempty"`
	CDI           []string           `json:"cdi,omitempty"` // CDI specs found
	CDIRead       bool               `json:"cdi_read"`
	Sysctl        map[string]string  `json:"sysctl,omitempty"` // kernel settings that weft.yaml names, in its spelling; what the kernel has not is not there
	SysctlRead    bool               `json:"sysctl_read"`
	TTMPages      Val[int64]         `json:"ttm_pages"` // ttm.pages_limit
	GTTSize       Val[int64]         `json:"gtt_size"`  // amdgpu.gttsize, MiB; -1 is automatic
	Kmsg          []KmsgEvent        `json:"kmsg,omitempty"`
	KmsgRead      bool               `json:"kmsg_read"`
	Files         map[string]string  `json:"files,omitempty"`        // configuration files that weft may edit: path → text
	FilesRead     bool               `json:"files_read"`             // what is in none of Files and Gaps is not there
	FilesBarred   map[string]string  `json:"files_barred,omitempty"` // of Files: path → why weft does not edit it: "a symbolic link to ../sysctl.conf"
	NetManager    string             `json:"net_manager,omitempty"`  // who should configure an interface that nobody does yet: as Netdev.Manager
	BootTool      string             `json:"boot_tool,omitempty"`    // what changes kernel parameters: "update-grub", "grub2-mkconfig", "grub-mkconfig", "grubby", "kernelstub", "systemd-boot"; "" unknown
	Tools         []string           `json:"tools,omitempty"`        // commands that are there, of those that weft plan chooses from, sorted
	ToolsRead     bool               `json:"tools_read"`
}

// Has reports whether a command is there, as far as it was asked for: see ToolsRead.
func (s *Settings) Has(tool string) bool { return slices.Contains(s.Tools, tool) }

// Loaded reports whether a kernel module is loaded, in the kernel's spelling: "_", not "-".
func (s *Settings) Loaded(module string) bool {
	for _, m := range s.Modules {
		if m == module {
			return true
		}
	}
	return false
}

// DKMS is one module version that DKMS knows.
type DKMS struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	Kernel  string `json:"kernel"`
	State   string `json:"state"`
}

// Service is a systemd unit.
type Service struct {
	Load    string     `json:"load"`    // "loaded", "not-found"
	Active  string     `json:"active"`  // "active", "inactive", "failed"
	Enabled string     `json:"enabled"` // "enabled", "disabled", ""
	Memlock Val[Limit] `json:"memlock"` // LimitMEMLOCK of the unit
	Running Val[Limit] `json:"running"` // what its main process really has: /proc/PID/limits, "Max locked memory", soft
}

// Limit is a byte limit; Unlimited is the largest value.
type Limit uint64

// Unlimited is no limit.
const Unlimited Limit = 1<<64 - 1

// Memlock is how much memory may be locked.
type Memlock struct {
	Login     Val[Limit] `json:"login"` // soft limit of the session that weft had
	LoginHard Val[Limit] `json:"login_hard"`
	Wish      Val[Limit] `json:"wish"`    // what limits.conf and limits.d say for that user
	Default   Val[Limit] `json:"default"` // systemd's DefaultLimitMEMLOCK
}

// DevNode is a device file.
type DevNode struct {
	Path  string `json:"path"`
	Mode  string `json:"mode"` // "crw-rw-rw-"
	Owner string `json:"owner"`
	Group string `json:"group"`
}

// Firewall is what would happen to packets that arrive.
type Firewall struct {
	Kind  string         `json:"kind,omitempty"` // "firewalld", "ufw", "nftables", "iptables", "none"; "" unknown
	Ports []FirewallPort `json:"ports,omitempty"`
}

// FirewallPort is the verdict for one interface and one port.
type FirewallPort struct {
	Netdev  string `json:"netdev"`
	Port    string `json:"port"`            // "4791/udp"
	Verdict string `json:"verdict"`         // "allowed", "blocked", "unknown"
	Chain   string `json:"chain,omitempty"` // the chain of nftables that blocks, or may: "inet filter input"
}

// Route is one route of the main table.
type Route struct {
	Dst    string `json:"dst"` // "default", "192.168.200.0/24"
	Via    string `json:"via,omitempty"`
	Dev    string `json:"dev"`
	Src    string `json:"src,omitempty"`
	Metric int    `json:"metric"`
	Again  string `json:"again,omitempty"` // what ip route add is told to make it again; "" when that is not sure
}

// Neighbour is one ARP or ND entry.
type Neighbour struct {
	Addr  string `json:"addr"`
	Dev   string `json:"dev"`
	MAC   string `json:"mac"`
	State string `json:"state"`
}

// LLDP is what a neighbour says of itself on one interface.
type LLDP struct {
	Netdev  string `json:"netdev"`
	Chassis string `json:"chassis"`
	Port    string `json:"port"`
}

// EnvVar is an environment variable and where it is set.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Where string `json:"where"` // "/etc/environment", "container ray-head"
}

// Image is a container image.
type Image struct {
	Name   string `json:"name"` // repository:tag
	Digest string `json:"digest"`
}

// Library is a shared library and its version.
type Library struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path"`
}

// KmsgEvent is a known event in the kernel log.
type KmsgEvent struct {
	Kind   string `json:"kind"`
	Device string `json:"device,omitempty"`
	Text   string `json:"text"`
	Count  int    `json:"count"`
}

// Peer is what one node says of another.
type Peer struct {
	Node         string    `json:"node"`
	Addr         string    `json:"addr"`                // data-plane address that was asked about
	Port         string    `json:"port,omitempty"`      // this node's data port that should reach it: "mlx5_0/1"
	RouteDev     string    `json:"route_dev,omitempty"` // ip route get: leaves by
	RouteSrc     string    `json:"route_src,omitempty"`
	Ping         Val[bool] `json:"ping"`                 // a small ping came back
	Jumbo        Val[bool] `json:"jumbo"`                // a full-size ping that may not be fragmented came back
	JumboSize    int       `json:"jumbo_size,omitempty"` // its payload
	Resolves     []string  `json:"resolves,omitempty"`   // what the peer's name resolves to here
	ResolvesRead bool      `json:"resolves_read"`
}
