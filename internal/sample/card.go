package sample

// Card is a kind of network card that does RDMA.
type Card struct {
	Vendor, Device uint16
	Class          uint32
	Driver         string // of the PCI function
	HCA, Board     string
	Firmware       string // as the RDMA device tells it
	NVM            string // as ethtool -i tells it
	Max            Link
	Modes          []string // supported link modes; none for InfiniBand
	Modules        []string
}

// The cards of the seed documents. Ids are those of pci.ids; firmware versions are
// ones that exist.
var (
	ConnectX3 = Card{0x15b3, 0x1003, 0x028000, "mlx4_core", "MT4099", "MT_1090120019", "2.42.5000", "2.42.5000", Link{8, 8}, nil,
		[]string{"mlx4_core", "mlx4_ib", "ib_ipoib"}}
	ConnectX4 = Card{0x15b3, 0x1013, 0x020700, "mlx5_core", "MT4115", "MT_2180110032", "12.28.2006", "12.28.2006 (MT_2180110032)", Link{8, 16}, nil,
		[]string{"mlx5_core", "mlx5_ib", "ib_ipoib"}}
	ConnectX5 = Card{0x15b3, 0x1017, 0x020000, "mlx5_core", "MT4119", "MT_0000000012", "16.35.2000", "16.35.2000 (MT_0000000012)", Link{8, 16},
		[]string{"25000baseCR/Full", "40000baseCR4/Full", "50000baseCR2/Full", "100000baseCR4/Full"}, []string{"mlx5_core", "mlx5_ib"}}
	ConnectX6 = Card{0x15b3, 0x101b, 0x020000, "mlx5_core", "MT4123", "MT_0000000223", "20.39.3560", "20.39.3560 (MT_0000000223)", Link{16, 16},
		[]string{"50000baseCR/Full", "100000baseCR4/Full", "100000baseCR2/Full", "200000baseCR4/Full"}, []string{"mlx5_core", "mlx5_ib"}}
	ConnectX7 = Card{0x15b3, 0x1021, 0x020000, "mlx5_core", "MT4129", "NVD0000000087", "28.45.4028", "28.45.4028 (NVD0000000087)", Link{32, 4},
		[]string{"50000baseCR/Full", "100000baseCR4/Full", "100000baseCR2/Full", "200000baseCR4/Full", "200000baseCR2/Full"}, []string{"mlx5_core", "mlx5_ib"}}
	E810 = Card{0x8086, 0x1592, 0x020000, "ice", "", "", "1.71", "4.91 0x800214b5 1.3909.0", Link{16, 16},
		[]string{"25000baseCR/Full", "50000baseCR2/Full", "100000baseCR4/Full"}, []string{"ice", "irdma"}}
)

// AddFunction puts a card's PCI function below a bridge and nothing more: a card
// that the RDMA stack does not know.
func (m *Machine) AddFunction(card Card, bdf, up string) *PCI {
	p := m.plug(&PCI{BDF: bdf, Vendor: card.Vendor, Device: card.Device, Class: card.Class, Driver: card.Driver, Max: card.Max, MaxRead: 512}, up)
	if card.Vendor == 0x15b3 {
		p.MaxRead = 4096
	}
	return p
}

// Plug puts a card's function below a bridge: a PCI function, an RDMA device and a
// network interface that is up, at a rate in Gb/s. Without link modes the card runs
// InfiniBand, in the given generation, with IPoIB in datagram mode.
func (m *Machine) Plug(card Card, bdf, up, device, netdev string, gbps int) *RDMA {
	m.AddFunction(card, bdf, up)
	mac := m.mac(len(m.RDMA) + 1)
	d := &RDMA{Name: device, BDF: bdf, Card: card, GUID: guidOf(mac)}
	port := &Port{Layer: "Ethernet", State: Active, Phys: LinkUp, Rate: etherRate(gbps), Netdev: netdev, Sent: 41_000_000_000 + uint64(m.ID)*1000 + uint64(len(m.RDMA))}
	net := &Netdev{Name: netdev, MAC: mac, BDF: bdf, Mbps: gbps * 1000, Up: true, MTU: 9000, Modes: card.Modes, NVM: card.NVM, Driver: card.Driver}
	if card.Modes == nil {
		port.Layer, port.Rate = "InfiniBand", ibRate(gbps)
		net.IPoIB, net.MTU = "datagram", 2044
	} else {
		net.QoS = &QoS{DSCP: map[int]int{}, Cable: "MCP1650-H001E30"}
	}
	d.Ports = []*Port{port}
	m.RDMA = append(m.RDMA, d)
	m.Net = append(m.Net, net)
	for _, name := range card.Modules {
		m.load(name)
	}
	return d
}

func (m *Machine) load(module string) {
	for _, have := range m.Modules {
		if have == module {
			return
		}
	}
	m.Modules = append(m.Modules, module)
}

// Unload takes modules out of the loaded ones.
func (m *Machine) Unload(modules ...string) {
	var keep []string
	for _, have := range m.Modules {
		gone := false
		for _, x := range modules {
			gone = gone || x == have
		}
		if !gone {
			keep = append(keep, have)
		}
	}
	m.Modules = keep
}

// Netdev returns the network interface of that name, or nil.
func (m *Machine) Netdev(name string) *Netdev {
	for _, d := range m.Net {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Device returns the RDMA device of that name, or nil.
func (m *Machine) Device(name string) *RDMA {
	for _, d := range m.RDMA {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// etherRate is what the kernel says of an Ethernet port's rate; the generation is
// the InfiniBand one of the same speed.
func etherRate(gbps int) string {
	gen := map[int]string{10: "10 Gb/sec (1X QDR)", 25: "25 Gb/sec (1X EDR)", 40: "40 Gb/sec (4X QDR)", 50: "50 Gb/sec (2X EDR)",
		100: "100 Gb/sec (4X EDR)", 200: "200 Gb/sec (4X HDR)", 400: "400 Gb/sec (4X NDR)"}
	return gen[gbps]
}

func ibRate(gbps int) string {
	gen := map[int]string{10: "10 Gb/sec (4X SDR)", 40: "40 Gb/sec (4X QDR)", 56: "56 Gb/sec (4X FDR)", 100: "100 Gb/sec (4X EDR)", 200: "200 Gb/sec (4X HDR)"}
	return gen[gbps]
}
