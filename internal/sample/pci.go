package sample

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Link is the speed and width of a PCIe link.
type Link struct {
	GTs   float64
	Width int
}

func (l Link) speed() string { return fmt.Sprintf("%.1f GT/s PCIe", l.GTs) }

// PCI is one PCI function.
type PCI struct {
	BDF      string
	Vendor   uint16
	Device   uint16
	Class    uint32
	Driver   string
	Up       string // the bridge above; "" at the host bridge
	NUMA     int
	Cur, Max Link
	L0s, L1  bool // ASPM states that link control leaves enabled
	MaxRead  int  // MaxReadReq, bytes
	Switch   bool // a port of a PCIe switch, so ACS matters
	Redirect bool // and ACS redirects requests and completions there
	AER      int  // correctable errors
}

// Root adds a root port and returns its address. No check asks who made a bridge, so
// all are one kind.
func (m *Machine) Root(bdf string, numa int, max Link) string {
	m.PCI = append(m.PCI, &PCI{BDF: bdf, Vendor: 0x8086, Device: 0x2030, Class: 0x060400, Driver: "pcieport", NUMA: numa, Cur: max, Max: max, MaxRead: 128})
	return bdf
}

// At returns the PCI function with that address, or nil.
func (m *Machine) At(bdf string) *PCI {
	for _, p := range m.PCI {
		if p.BDF == bdf {
			return p
		}
	}
	return nil
}

// SwitchBelow puts a PCIe switch with two downstream ports below a bridge: at
// BUS:00.0, and at the next bus, devices 0 and 1. It returns the two.
func (m *Machine) SwitchBelow(up string, bus int, max Link) [2]string {
	port := func(bdf, up string) string {
		m.plug(&PCI{BDF: bdf, Vendor: 0x1000, Device: 0xc030, Class: 0x060400, Driver: "pcieport", Max: max, MaxRead: 128, Switch: true}, up)
		return bdf
	}
	above := port(fmt.Sprintf("0000:%02x:00.0", bus), up)
	return [2]string{port(fmt.Sprintf("0000:%02x:00.0", bus+1), above), port(fmt.Sprintf("0000:%02x:01.0", bus+1), above)}
}

// Remove takes a PCI function off the bus.
func (m *Machine) Remove(bdf string) {
	m.PCI = slices.DeleteFunc(m.PCI, func(p *PCI) bool { return p.BDF == bdf })
}

// plug adds a function below a bridge: the link runs at what both ends can do.
func (m *Machine) plug(p *PCI, up string) *PCI {
	p.Up, p.Cur = up, p.Max
	if above := m.At(up); above != nil {
		p.NUMA = above.NUMA
		p.Cur = Link{min(p.Max.GTs, above.Max.GTs), min(p.Max.Width, above.Max.Width)}
		above.Cur = p.Cur
	}
	m.PCI = append(m.PCI, p)
	return p
}

const pciDir = "/sys/bus/pci/devices/"

func (m *Machine) writePCI(w writer) {
	for group, p := range m.PCI {
		dir := pciDir + p.BDF
		w.line(dir+"/vendor", fmt.Sprintf("0x%04x", p.Vendor))
		w.line(dir+"/device", fmt.Sprintf("0x%04x", p.Device))
		w.line(dir+"/class", fmt.Sprintf("0x%06x", p.Class))
		w.line(dir+"/numa_node", itoa(p.NUMA))
		if p.Max.Width > 0 {
			w.line(dir+"/current_link_speed", p.Cur.speed())
			w.line(dir+"/current_link_width", itoa(p.Cur.Width))
			w.line(dir+"/max_link_speed", p.Max.speed())
			w.line(dir+"/max_link_width", itoa(p.Max.Width))
		}
		if p.Class>>16 == 0x02 {
			w.file(dir+"/aer_dev_correctable", fmt.Sprintf("RxErr %d\nBadTLP 0\nTOTAL_ERR_COR %d\n", p.AER, p.AER))
			w.file(dir+"/aer_dev_nonfatal", "Undefined 0\nTOTAL_ERR_NONFATAL 0\n")
			w.file(dir+"/aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 0\n")
		}
		if p.Driver != "" {
			w.link(dir+"/driver", "../../../bus/pci/drivers/"+p.Driver)
		}
		w.link(pciDir+p.BDF, "../../../devices/"+m.devicePath(p))
		w.link(dir+"/iommu_group", "../../../kernel/iommu_groups/"+itoa(group))
		kind := map[bool]string{true: "identity", false: "DMA-FQ"}[m.Passthrough]
		w.line("/sys/kernel/iommu_groups/"+itoa(group)+"/type", kind)
		w.file(dir+"/config", p.config())
	}
}

// devicePath is where a function hangs: "pci0000:00/0000:00:02.5/0000:c3:00.0".
func (m *Machine) devicePath(p *PCI) string {
	if above := m.At(p.Up); above != nil {
		return m.devicePath(above) + "/" + p.BDF
	}
	return "pci" + p.BDF[:7] + "/" + p.BDF
}

// config is the configuration space: the header, the PCI Express capability, and
// for ports of a switch the extended capability ACS. Other functions keep the first
// 256 bytes, which hold all that checks ask of them, so that dumps stay small.
// Offsets and codes: include/uapi/linux/pci_regs.h.
func (p *PCI) config() string {
	const express, acs = 0x60, 0x100
	b := make([]byte, 256)
	if p.Switch {
		b = make([]byte, 4096)
		binary.LittleEndian.PutUint32(b[acs:], 0x0001000d)
		binary.LittleEndian.PutUint16(b[acs+4:], 0x001f)
		if p.Redirect {
			binary.LittleEndian.PutUint16(b[acs+6:], 0x001d)
		}
	}
	put := func(at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
	put(0x00, p.Vendor)
	put(0x02, p.Device)
	put(0x06, 0x0010) // has a capability list
	b[0x09], b[0x0a], b[0x0b] = byte(p.Class), byte(p.Class>>8), byte(p.Class>>16)
	b[0x34] = express
	b[express] = 0x10
	kind := uint16(0) // endpoint
	if p.Class>>8 == 0x0604 {
		b[0x0e], kind = 1, 4 // header of a bridge, root port
		if p.Up != "" {
			kind = 6 // downstream port
		}
	}
	put(express+0x02, kind<<4|2)
	put(express+0x08, sizeCode(p.MaxRead)<<12)
	put(express+0x0c, linkCode(p.Max))
	var states uint16
	if p.L0s {
		states |= 1
	}
	if p.L1 {
		states |= 2
	}
	put(express+0x10, states)
	put(express+0x12, linkCode(p.Cur))
	return string(b)
}

func sizeCode(bytes int) (code uint16) {
	for size := 128; size < bytes; size *= 2 {
		code++
	}
	return code
}

func linkCode(l Link) uint16 {
	speed := map[float64]uint16{2.5: 1, 5: 2, 8: 3, 16: 4, 32: 5, 64: 6}[l.GTs]
	return uint16(l.Width)<<4 | speed
}
