package lspci

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Config is what a function's configuration space says of itself.
type Config struct {
	VendorID  uint16
	DeviceID  uint16
	ClassCode uint16 // base class and subclass, as lspci -n prints them
	Rev       uint8
	Bridge    bool // header type 1
	// Secondary and Subordinate are the buses below a bridge.
	Secondary   uint8
	Subordinate uint8

	// CapsRead is false when the bytes end before the capabilities (an
	// unprivileged read gives 64): then PCIe is unknown, not absent.
	CapsRead bool
	PCIe     *PCIe
	// ExtRead is false when the bytes end before the extended capabilities:
	// then ACS is unknown, not absent.
	ExtRead bool
	ACS     *ACS
}

// PCIe is the PCI Express capability. A nil pointer is a reserved encoding, or
// a register that this kind of port does not have.
type PCIe struct {
	PortType      PortType
	Slot          bool // a slot is implemented behind this port
	MaxPayloadCap *int // bytes
	MaxPayload    *int // bytes
	MaxReadReq    *int // bytes
	LinkCap       *Link
	LinkSta       *Link
	ASPMCap       *ASPM
	ASPM          *ASPM // what link control leaves enabled
}

// ASPM is a set of low-power link states.
type ASPM struct{ L0s, L1 bool }

// ACS is the access control services capability and control.
type ACS struct{ Cap, Ctl ACSBits }

// ACSBits has a field for each bit that both registers share, under lspci's names.
type ACSBits struct {
	SrcValid, TransBlk, ReqRedir, CmpltRedir, UpstreamFwd, EgressCtrl, DirectTrans bool
}

// PortType is the kind of PCIe function, in lspci's words.
type PortType string

// Their encodings: PCI_EXP_TYPE_* in include/uapi/linux/pci_regs.h.
const (
	Endpoint       PortType = "Endpoint"
	LegacyEndpoint PortType = "Legacy Endpoint"
	RootPort       PortType = "Root Port"
	UpstreamPort   PortType = "Upstream Port"
	DownstreamPort PortType = "Downstream Port"
	ToPCIBridge    PortType = "PCI-Express to PCI/PCI-X Bridge"
	FromPCIBridge  PortType = "PCI/PCI-X to PCI-Express Bridge"
	RootEndpoint   PortType = "Root Complex Integrated Endpoint"
	EventCollector PortType = "Root Complex Event Collector"
)

var portTypes = map[uint16]PortType{
	0: Endpoint, 1: LegacyEndpoint, 4: RootPort, 5: UpstreamPort, 6: DownstreamPort,
	7: ToPCIBridge, 8: FromPCIBridge, 9: RootEndpoint, 10: EventCollector,
}

// Offsets and bits below: include/uapi/linux/pci_regs.h.
const (
	headerSize = 64
	configSize = 256
	extSize    = 4096

	regStatus     = 0x06
	statusCapList = 0x10
	regHeaderType = 0x0e
	regCapPtr     = 0x34
	regCapPtrCB   = 0x14 // CardBus bridges keep it elsewhere

	capExpress = 0x10
	extCapACS  = 0x000d

	expFlags   = 0x02
	expDevCap  = 0x04
	expDevCtl  = 0x08
	expLnkCap  = 0x0c
	expLnkCtl  = 0x10
	expLnkSta  = 0x12
	expEnd     = 0x14
	flagsSlot  = 0x0100
	acsCap     = 0x04
	acsCtl     = 0x06
	acsEnd     = 0x08
	maxCaps    = (configSize - headerSize) / 4 // no list of 4-byte steps can be longer
	maxExtCaps = (extSize - configSize) / 4
)

// ErrGone says that the function answers all ones: it fell off the bus, or
// sleeps too deep to answer.
var ErrGone = errors.New("the device answers all ones")

// ParseConfig reads /sys/bus/pci/devices/*/config: 64, 256 or 4096 bytes, or
// any other length that a broken read left.
func ParseConfig(b []byte) (Config, error) {
	if len(b) < headerSize {
		return Config{}, fmt.Errorf("configuration space has %d bytes, want at least %d", len(b), headerSize)
	}
	c := Config{
		VendorID: u16(b, 0), DeviceID: u16(b, 2), ClassCode: u16(b, 0x0a), Rev: b[8],
		CapsRead: len(b) >= configSize, ExtRead: len(b) >= extSize,
	}
	if c.VendorID == 0xffff {
		return Config{}, ErrGone
	}
	capPtr := regCapPtr
	switch b[regHeaderType] & 0x7f {
	case 0:
	case 1:
		c.Bridge, c.Secondary, c.Subordinate = true, b[0x19], b[0x1a]
	case 2:
		capPtr = regCapPtrCB
	default:
		return c, fmt.Errorf("header type %#x is unknown", b[regHeaderType]&0x7f)
	}
	if !c.CapsRead {
		return c, nil
	}
	var errs []error
	if u16(b, regStatus)&statusCapList != 0 {
		errs = append(errs, c.caps(b, int(b[capPtr]&^3)))
	}
	if c.ExtRead && c.PCIe != nil {
		errs = append(errs, c.extCaps(b))
	}
	return c, errors.Join(errs...)
}

// caps walks the capability list. Every step is counted, so that a list that
// bites its tail ends.
func (c *Config) caps(b []byte, at int) error {
	for range maxCaps + 1 {
		if at == 0 {
			return nil
		}
		if at < headerSize || at+2 > configSize {
			return fmt.Errorf("capability at %#x is outside the list", at)
		}
		if b[at] == 0xff {
			return fmt.Errorf("capability at %#x: %w", at, ErrGone)
		}
		if b[at] == capExpress && c.PCIe == nil {
			if at+expEnd > configSize {
				return fmt.Errorf("express capability at %#x is cut off", at)
			}
			c.PCIe = express(b[at : at+expEnd])
		}
		at = int(b[at+1] &^ 3)
	}
	return errors.New("capability list is a circle")
}

// extCaps walks the extended capabilities in the same way.
func (c *Config) extCaps(b []byte) error {
	at := configSize
	for range maxExtCaps + 1 {
		if at < configSize || at+4 > extSize {
			return fmt.Errorf("extended capability at %#x is outside the list", at)
		}
		head := binary.LittleEndian.Uint32(b[at:])
		if head == 0 || head == 0xffffffff {
			return nil // an empty list, or a bridge that does not pass extended space on
		}
		if head&0xffff == extCapACS && c.ACS == nil && at+acsEnd <= extSize {
			c.ACS = &ACS{Cap: acsBits(u16(b, at+acsCap)), Ctl: acsBits(u16(b, at+acsCtl))}
		}
		if at = int(head >> 20 &^ 3); at == 0 {
			return nil
		}
	}
	return errors.New("extended capability list is a circle")
}

func express(e []byte) *PCIe {
	flags := u16(e, expFlags)
	p := &PCIe{PortType: portTypes[flags>>4&0xf], Slot: flags&flagsSlot != 0}
	if p.PortType == "" {
		p.PortType = PortType(fmt.Sprintf("Unknown type %d", flags>>4&0xf))
	}
	devCtl := u16(e, expDevCtl)
	p.MaxPayloadCap = size(e[expDevCap] & 7)
	p.MaxPayload = size(uint8(devCtl >> 5 & 7))
	p.MaxReadReq = size(uint8(devCtl >> 12 & 7))
	if p.PortType == RootEndpoint || p.PortType == EventCollector {
		return p // no link belongs to it
	}
	lnkCap, lnkCtl := binary.LittleEndian.Uint32(e[expLnkCap:]), u16(e, expLnkCtl)
	p.LinkCap = linkBits(uint16(lnkCap))
	p.LinkSta = linkBits(u16(e, expLnkSta))
	p.ASPMCap = &ASPM{L0s: lnkCap>>10&1 != 0, L1: lnkCap>>11&1 != 0}
	p.ASPM = &ASPM{L0s: lnkCtl&1 != 0, L1: lnkCtl&2 != 0}
	return p
}

// size decodes a payload or request size; 6 and 7 are reserved.
func size(code uint8) *int {
	if code > 5 {
		return nil
	}
	n := 128 << code
	return &n
}

// linkBits decodes speed (bits 0-3) and width (bits 4-9), which sit alike in
// link capabilities and link status.
func linkBits(r uint16) *Link {
	// Speed codes: PCI_EXP_LNKCAP_SLS_* in include/uapi/linux/pci_regs.h.
	speeds := []int{0, 2500, 5000, 8000, 16000, 32000, 64000}
	l := &Link{WidthLanes: int(r >> 4 & 0x3f)}
	if s := int(r & 0xf); s < len(speeds) {
		l.SpeedMTps = speeds[s]
	}
	return l
}

func acsBits(r uint16) ACSBits {
	on := func(bit int) bool { return r>>bit&1 != 0 }
	return ACSBits{on(0), on(1), on(2), on(3), on(4), on(5), on(6)}
}

func u16(b []byte, at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
