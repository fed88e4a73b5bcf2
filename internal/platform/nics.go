package platform

import "weft/internal/unit"

// NICs lists the RDMA cards that weft knows.
var NICs = []NIC{
	{Vendor: 0x15b3, Device: 0x1021, Name: "ConnectX-7", Driver: "mlx5_ib", Modules: []string{"mlx5_core", "mlx5_ib"},
		Rate: 400 * unit.Gbps, GPUDirect: true, Layers: []string{"InfiniBand", "Ethernet"}, Source: "pci.ids; fixtures lspci_vvv_connectx_h100host.txt"},
}
