// Package ibdev reads what RDMA user-space tools print about this host's devices. Pure: bytes in, structs and line-numbered errors out.
package ibdev

import "net/netip"

// Device is one RDMA device as ibstat, ibstatus or ibv_devinfo shows it.
// An empty string is a value that tool does not print or could not read.
type Device struct {
	Name         string // "mlx5_0"
	NodeType     string // "CA", "Switch", "iWARP RNIC"; ibstat only
	CAType       string // "MT4129"; ibstat only
	VendorID     string // "0x02c9"; ibv_devinfo only
	VendorPartID *int   // 4129; ibv_devinfo only
	Firmware     string
	HWVersion    string
	BoardID      string // "MT_0000000838"; ibv_devinfo only
	NodeGUID     string // "0x" and 16 lower-case hex digits, whatever the tool's own form
	SysImageGUID string
	Transport    string // "InfiniBand", "iWARP"; ibv_devinfo only
	NumPorts     *int   // as the tool claims; Ports may hold fewer when the text was cut
	Ports        []Port
}

// Port is one port of a Device.
type Port struct {
	Number         int
	State          string // the kernel's word: NOP DOWN INIT ARMED ACTIVE ACTIVE_DEFER
	PhysState      string // the kernel's word: Sleep Polling Disabled PortConfigurationTraining LinkUp LinkErrorRecovery "Phy Test"
	RateGbps       string // "400", "2.5"; the number as printed
	WidthLanes     int    // 4 for 4X; 0 when not printed
	Speed          string // generation of one lane: SDR DDR QDR FDR10 FDR EDR HDR NDR XDR
	BaseLID        *int
	SMLID          *int
	LMC            *int
	CapMask        string
	PortGUID       string
	LinkLayer      string // "InfiniBand" or "Ethernet"
	MaxMTUBytes    int    // 0 when not printed
	ActiveMTUBytes int    // 0 when not printed
	GIDs           []GID
}

// GID is one entry of a port's GID table.
type GID struct {
	Index int
	Addr  netip.Addr
	Type  string // "RoCE v1", "RoCE v2"; empty on InfiniBand and where the tool prints no type
}
