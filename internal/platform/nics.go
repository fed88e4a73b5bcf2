package platform

import "weft/internal/unit"

// Where the rows come from. pci.ids 2023.04.10 is Debian 12's, 2026.05.24 the
// project's own; a test holds the ids against the file where a machine has one.
const (
	ids23    = "pci.ids 2023.04.10"
	ids26    = "pci.ids 2026.05.24"
	bnxtIDs  = "bnxt_pci_tbl in drivers/net/ethernet/broadcom/bnxt/bnxt.c"
	cx3Note  = "RHEL 10 dropped mlx4, and GPUDirect RDMA wants a ConnectX-4 or newer"
	e810Note = "comes up as RoCE v2 or iWARP, depending on driver and settings; the minimum is the NVM version that ethtool -i tells first"
)

var (
	both  = []string{"InfiniBand", "Ethernet"}
	ether = []string{"Ethernet"}
	ib    = []string{"InfiniBand"}
)

// mlx4 is a ConnectX-3: InfiniBand and Ethernet, no reach into GPU memory.
func mlx4(device uint16, name string, rate unit.Rate) NIC {
	return NIC{Vendor: 0x15b3, Device: device, Name: name, Driver: "mlx4_ib", Modules: []string{"mlx4_core", "mlx4_ib"},
		Rate: rate, Layers: both, Note: cx3Note, Source: ids23 + "; seed 002"}
}

// mlx5 is a Connect-IB or ConnectX-4 and newer. Its driver registers dma-buf
// memory since kernel 5.12 (reg_user_mr_dmabuf in drivers/infiniband/hw/mlx5).
func mlx5(device uint16, name string, rate unit.Rate, layers []string, source string) NIC {
	return NIC{Vendor: 0x15b3, Device: device, Name: name, Driver: "mlx5_ib", Modules: []string{"mlx5_core", "mlx5_ib"},
		Rate: rate, GPUDirect: true, DMABuf: "5.12", Layers: layers, Source: source}
}

// ice is an Intel 800-series card. irdma registers dma-buf memory since 6.4 at
// the latest: rdma-core 45.0 (February 2023) brought the user side.
func ice(device uint16, name string, rate unit.Rate, firmware string) NIC {
	return NIC{Vendor: 0x8086, Device: device, Name: name, Driver: "irdma", Modules: []string{"ice", "irdma"}, Rate: rate,
		MinFirmware: firmware, GPUDirect: true, DMABuf: "6.4", Layers: ether, Note: e810Note,
		Source: ids23 + "; CHECKS.md port.firmware; github.com/uccl-project/uccl pull 802 (GPUDirect by dma-buf)"}
}

// x722 is an iWARP card of 10 Gb/s; a kernel before 5.14 drives it with i40iw.
func x722(device uint16) NIC {
	return NIC{Vendor: 0x8086, Device: device, Name: "X722", Driver: "irdma", Modules: []string{"i40e", "irdma"}, Rate: 10 * unit.Gbps,
		Layers: ether, Note: "iWARP alone: it cannot talk to a RoCE card", Source: ids23 + "; drivers/infiniband/hw/irdma/Kconfig"}
}

// bnxt is a Broadcom NetXtreme-E card.
func bnxt(device uint16, name string, rate unit.Rate, source string) NIC {
	return NIC{Vendor: 0x14e4, Device: device, Name: name, Driver: "bnxt_re", Modules: []string{"bnxt_en", "bnxt_re"}, Rate: rate,
		GPUDirect: true, Layers: ether, Source: source}
}

// t6 is a Chelsio Terminator 6: function 4 of the card, the one with the network.
func t6(device uint16, name string, rate unit.Rate) NIC {
	return NIC{Vendor: 0x1425, Device: device, Name: name, Driver: "iw_cxgb4", Modules: []string{"cxgb4", "iw_cxgb4"}, Rate: rate,
		Layers: ether, Note: "iWARP alone: it cannot talk to a RoCE card", Source: ids23}
}

func vf(n NIC) NIC {
	n.VF, n.Rate = true, 0
	return n
}

// NICs lists the RDMA cards that weft knows.
var NICs = []NIC{
	mlx4(0x1003, "ConnectX-3", 56*unit.Gbps),
	vf(mlx4(0x1004, "ConnectX-3 VF", 0)),
	mlx4(0x1007, "ConnectX-3 Pro", 56*unit.Gbps),
	mlx5(0x1011, "Connect-IB", 56*unit.Gbps, ib, ids23),
	vf(mlx5(0x1012, "Connect-IB VF", 0, ib, ids23)),
	mlx5(0x1013, "ConnectX-4", 100*unit.Gbps, both, ids23),
	vf(mlx5(0x1014, "ConnectX-4 VF", 0, both, ids23)),
	mlx5(0x1015, "ConnectX-4 Lx", 50*unit.Gbps, ether, ids23),
	vf(mlx5(0x1016, "ConnectX-4 Lx VF", 0, ether, ids23)),
	mlx5(0x1017, "ConnectX-5", 100*unit.Gbps, both, ids23),
	vf(mlx5(0x1018, "ConnectX-5 VF", 0, both, ids23)),
	mlx5(0x1019, "ConnectX-5 Ex", 100*unit.Gbps, both, ids23),
	vf(mlx5(0x101a, "ConnectX-5 Ex VF", 0, both, ids23)),
	mlx5(0x101b, "ConnectX-6", 200*unit.Gbps, both, ids23),
	vf(mlx5(0x101c, "ConnectX-6 VF", 0, both, ids23)),
	mlx5(0x101d, "ConnectX-6 Dx", 200*unit.Gbps, ether, ids23),
	vf(mlx5(0x101e, "ConnectX VF", 0, both, ids23)),
	mlx5(0x101f, "ConnectX-6 Lx", 50*unit.Gbps, ether, ids23),
	mlx5(0x1021, "ConnectX-7", 400*unit.Gbps, both, ids23+"; fixtures lspci_vvv_connectx_h100host.txt"),
	mlx5(0x1023, "ConnectX-8", 800*unit.Gbps, both, ids23),
	mlx5(0x1025, "ConnectX-9", 0, both, ids26),
	mlx5(0xa2d2, "BlueField", 100*unit.Gbps, both, ids23),
	vf(mlx5(0xa2d3, "BlueField VF", 0, both, ids23)),
	mlx5(0xa2d6, "BlueField-2", 200*unit.Gbps, both, ids23),
	mlx5(0xa2dc, "BlueField-3", 400*unit.Gbps, both, ids23),

	ice(0x1591, "E810-C", 100*unit.Gbps, "4.91"),
	ice(0x1592, "E810-C", 100*unit.Gbps, "4.91"),
	ice(0x1593, "E810-C", 100*unit.Gbps, "4.91"),
	ice(0x1599, "E810-XXV", 25*unit.Gbps, "4.91"),
	ice(0x159a, "E810-XXV", 25*unit.Gbps, "4.91"),
	ice(0x159b, "E810-XXV", 25*unit.Gbps, "4.91"),
	ice(0x124c, "E823-L", 0, ""),
	ice(0x124d, "E823-L", 0, ""),
	ice(0x151d, "E823-L", 0, ""),
	ice(0x188a, "E823-C", 0, ""),
	ice(0x188b, "E823-C", 0, ""),
	ice(0x188c, "E823-C", 0, ""),
	x722(0x37ce), x722(0x37cf), x722(0x37d0), x722(0x37d2), x722(0x37d3), x722(0x37d4), x722(0x0dda),
	{Vendor: 0x8086, Device: 0x24f0, Name: "Omni-Path 100", Driver: "hfi1", Modules: []string{"hfi1", "rdmavt"}, Rate: 100 * unit.Gbps, Layers: ib,
		Note: "looks like InfiniBand and speaks to Omni-Path alone", Source: ids23 + "; fixtures sysfs_infiniband_hfi1_0_procfs.txt"},
	{Vendor: 0x8086, Device: 0x24f1, Name: "Omni-Path 100", Driver: "hfi1", Modules: []string{"hfi1", "rdmavt"}, Rate: 100 * unit.Gbps, Layers: ib,
		Note: "looks like InfiniBand and speaks to Omni-Path alone", Source: ids23},

	bnxt(0x16d6, "BCM57412", 10*unit.Gbps, ids23),
	bnxt(0x16d7, "BCM57414", 25*unit.Gbps, ids23),
	bnxt(0x16d8, "BCM57416", 10*unit.Gbps, ids23),
	bnxt(0x16d9, "BCM57417", 10*unit.Gbps, ids23),
	bnxt(0x1614, "BCM57454", 100*unit.Gbps, ids23),
	bnxt(0x1750, "BCM57508 (Thor)", 200*unit.Gbps, ids23),
	bnxt(0x1751, "BCM57504 (Thor)", 200*unit.Gbps, ids23),
	bnxt(0x1752, "BCM57502 (Thor)", 50*unit.Gbps, ids23),
	vf(bnxt(0x1806, "BCM5750X VF", 0, ids23)),
	vf(bnxt(0x1808, "BCM5750X VF", 0, ids23)),
	bnxt(0x1760, "BCM57608 (Thor 2)", 400*unit.Gbps, bnxtIDs),
	bnxt(0x1761, "BCM57604 (Thor 2)", 0, bnxtIDs),
	bnxt(0x1762, "BCM57602 (Thor 2)", 0, bnxtIDs),

	t6(0x6401, "T6225-CR", 25*unit.Gbps),
	t6(0x6402, "T6225-SO-CR", 25*unit.Gbps),
	t6(0x6403, "T6425-CR", 25*unit.Gbps),
	t6(0x6404, "T6425-SO-CR", 25*unit.Gbps),
	t6(0x6405, "T6225-OCP-SO", 25*unit.Gbps),
	t6(0x6406, "T62100-OCP-SO", 100*unit.Gbps),
	t6(0x6407, "T62100-LP-CR", 100*unit.Gbps),
	t6(0x6408, "T62100-SO-CR", 100*unit.Gbps),
	t6(0x640d, "T62100-CR", 100*unit.Gbps),
	t6(0x6411, "T6225-LL-CR", 25*unit.Gbps),
	t6(0x6414, "T61100-OCP-SO", 100*unit.Gbps),

	{Vendor: 0x1dd8, Device: 0x1002, Name: "AMD Pensando", Driver: "ionic_rdma", Modules: []string{"ionic", "ionic_rdma"}, GPUDirect: true, Layers: ether,
		Note: "DSC and Pollara share this id; the RDMA driver is in the kernel since 6.18, before that it is AMD's own", Source: ids23 + "; drivers/infiniband/hw/ionic (added 2025-09)"},
	{Vendor: 0x1dd8, Device: 0x1003, Name: "AMD Pensando VF", VF: true, Driver: "ionic_rdma", Modules: []string{"ionic", "ionic_rdma"}, GPUDirect: true, Layers: ether,
		Source: ids23},
}
