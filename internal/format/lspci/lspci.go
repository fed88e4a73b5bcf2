// Package lspci reads lspci's text and raw PCI configuration space. Pure: bytes in, structs out.
package lspci

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// Device is one PCI function as lspci prints it. A nil pointer, an empty
// string or a nil map was not told.
type Device struct {
	Addr         string  // 0000:c1:00.0; "" when the text is a fragment without its first line
	Class        string  // "Ethernet controller"
	ClassCode    *uint16 // 0x0200; told by -nn and -n
	VendorID     *uint16 // told by -nn and -n, as is DeviceID
	DeviceID     *uint16
	Name         string
	Rev          string // "a1"
	Subsystem    string
	NUMANode     *int
	IOMMUGroup   *int
	PhysicalSlot string
	Driver       string
	Modules      []string
	Fault        string // what lspci shouts with !!!, such as "Unknown header type 7f"
	NoAccess     bool   // capabilities were not readable: lspci did not run as root

	PortType      string // see PortType of PCIe
	LinkCap       *Link
	LinkSta       *Link
	SpeedDown     bool   // lspci calls the current speed downgraded
	WidthDown     bool   // and the width
	ASPMCap       string // "L0s L1", "not supported"
	ASPM          string // of LnkCtl: "Disabled", "L1 Enabled"
	MaxPayloadCap *int   // bytes
	MaxPayload    *int   // bytes
	MaxReadReq    *int   // bytes
	ACSCap        map[string]bool
	ACSCtl        map[string]bool
	SRIOV         *SRIOV

	ProductName  string // vital product data
	PartNumber   string
	SerialNumber string
}

// Link is a PCIe link's speed and width.
type Link struct {
	SpeedMTps  int // megatransfers per second and lane: 2500, 5000, 8000, 16000, 32000, 64000; 0 when lspci says unknown
	WidthLanes int // 0 when no link is up
}

// SRIOV is the single-root I/O virtualisation capability.
type SRIOV struct {
	Enabled    bool
	InitialVFs int
	TotalVFs   int
	NumVFs     int
}

// ASPMEnabled reports whether LnkCtl leaves any low-power link state on; ok is
// false when it was not told.
func (d Device) ASPMEnabled() (on, ok bool) {
	return d.ASPM != "" && d.ASPM != "Disabled", d.ASPM != ""
}

// Parse reads lspci with any of -nn, -n, -v, -vv, -vvv and -D.
func Parse(b []byte) ([]Device, error) {
	var devs []Device
	var errs []error
	var section string // the last "Key:" seen, for lines that continue it
	for num, s := range printed.Lines(b) {
		if s[0] == '#' || strings.HasPrefix(s, "$ ") {
			continue
		}
		first, rest, _ := strings.Cut(s, " ")
		if addr, ok := address(first); ok && rest != "" {
			d := Device{Addr: addr}
			header(rest, &d)
			devs, section = append(devs, d), ""
			continue
		}
		if strings.Contains(first, "@") { // root@host:~# lspci -vv
			continue
		}
		if strings.HasPrefix(s, "lspci: ") || strings.HasPrefix(s, "pcilib: ") {
			// lspci goes on after a warning, so what follows is still read.
			errs = append(errs, fmt.Errorf("line %d: %.120s", num, s))
			continue
		}
		key, val, isKey := strings.Cut(s, ":")
		if strings.ContainsAny(key, " \t") && !slices.Contains(spacedKeys, key) {
			isKey = false
		}
		if len(devs) == 0 {
			if !isKey && !strings.HasPrefix(s, "!!!") {
				errs = append(errs, fmt.Errorf("line %d: %.60q before any device", num, s))
				continue
			}
			devs = append(devs, Device{}) // a fragment
		}
		d := &devs[len(devs)-1]
		if !isKey {
			if strings.HasPrefix(s, "!!! ") {
				d.Fault = strings.TrimPrefix(s, "!!! ")
			} else if slices.Contains(continued, section) {
				detail(section, s, d)
			}
			continue
		}
		section = key
		detail(key, strings.TrimSpace(val), d)
	}
	return devs, errors.Join(errs...)
}

// spacedKeys are the keys with a space in them; elsewhere a space before the
// colon means that the line continues the one above.
var spacedKeys = []string{
	"NUMA node", "IOMMU group", "Physical Slot", "Kernel driver in use", "Kernel modules",
	"Product Name", "[PN] Part number", "[SN] Serial number", "Initial VFs",
}

// continued are the keys whose registers lspci spreads over several lines.
var continued = []string{"DevCap", "DevCtl", "LnkCap", "LnkCtl", "LnkSta", "ACSCap", "ACSCtl"}

// address reads 0001:1a:00.0 and, as lspci writes it where domain 0 is the only
// one, 1a:00.0.
func address(s string) (string, bool) {
	if strings.Count(s, ":") == 1 {
		s = "0000:" + s
	}
	return printed.BDF(s)
}

// header reads `Class [code]: Name [vendor:device] (rev a1) (prog-if 02)`.
func header(s string, d *Device) {
	class, name, _ := strings.Cut(s, ": ")
	d.Class = class
	if i := strings.LastIndex(class, " ["); i >= 0 && strings.HasSuffix(class, "]") {
		if code, ok := hex16(class[i+2 : len(class)-1]); ok {
			d.Class, d.ClassCode = class[:i], &code
		}
	} else if code, ok := hex16(strings.TrimSuffix(class, ":")); ok { // -n
		d.Class, d.ClassCode = "", &code
	}
	if i := strings.Index(name, " (prog-if "); i >= 0 {
		name = name[:i]
	}
	if i := strings.LastIndex(name, " (rev "); i >= 0 && strings.HasSuffix(name, ")") {
		d.Rev, name = name[i+len(" (rev "):len(name)-1], name[:i]
	}
	d.Name = name
	ids := name
	if i := strings.LastIndex(name, "["); i >= 0 && strings.HasSuffix(name, "]") {
		ids = name[i+1 : len(name)-1]
	}
	vendor, device, ok := strings.Cut(ids, ":")
	v, okV := hex16(vendor)
	p, okP := hex16(device)
	if ok && okV && okP {
		d.VendorID, d.DeviceID = &v, &p
		d.Name = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(name, ids), "["+ids+"]"))
	}
}

func hex16(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 16, 16)
	return uint16(n), err == nil && len(s) == 4
}

// detail reads one line under a device: val belongs to key, or continues it.
func detail(key, val string, d *Device) {
	switch key {
	case "Subsystem":
		d.Subsystem = val
	case "NUMA node":
		d.NUMANode = number(val)
	case "IOMMU group":
		d.IOMMUGroup = number(val)
	case "Physical Slot":
		d.PhysicalSlot = val
	case "Kernel driver in use":
		d.Driver = val
	case "Kernel modules":
		for m := range strings.SplitSeq(val, ",") {
			d.Modules = append(d.Modules, strings.TrimSpace(m))
		}
	case "Product Name":
		d.ProductName = val
	case "[PN] Part number":
		d.PartNumber = val
	case "[SN] Serial number":
		d.SerialNumber = val
	case "Capabilities":
		capability(val, d)
	case "DevCap":
		if n := bytesOf(val, "MaxPayload "); n != nil {
			d.MaxPayloadCap = n
		}
	case "DevCtl":
		if n := bytesOf(val, "MaxPayload "); n != nil {
			d.MaxPayload = n
		}
		if n := bytesOf(val, "MaxReadReq "); n != nil {
			d.MaxReadReq = n
		}
	case "LnkCap":
		if l := link(val); l != nil {
			d.LinkCap = l
			if _, aspm, ok := strings.Cut(val, "ASPM "); ok {
				d.ASPMCap, _, _ = strings.Cut(aspm, ",")
			}
		}
	case "LnkSta":
		if l := link(val); l != nil {
			d.LinkSta = l
			speed, width, _ := strings.Cut(val, "Width ")
			d.SpeedDown = strings.Contains(speed, "(downgraded)")
			d.WidthDown = strings.Contains(width, "(downgraded)")
		}
	case "LnkCtl":
		if aspm, ok := strings.CutPrefix(val, "ASPM "); ok {
			d.ASPM, _, _ = strings.Cut(aspm, ";")
		}
	case "ACSCap":
		d.ACSCap = flags(val, d.ACSCap)
	case "ACSCtl":
		d.ACSCtl = flags(val, d.ACSCtl)
	case "IOVCtl":
		if d.SRIOV != nil {
			d.SRIOV.Enabled = d.SRIOV.Enabled || strings.HasPrefix(val, "Enable+")
		}
	case "Initial VFs":
		vfs(val, d)
	}
}

// capability reads what follows "Capabilities:".
func capability(val string, d *Device) {
	if strings.Contains(val, "<access denied>") {
		d.NoAccess = true
		return
	}
	_, what, _ := strings.Cut(val, "] ")
	switch {
	case strings.HasPrefix(what, "Express "):
		_, kind, ok := strings.Cut(what, ") ") // "(v2) Root Port (Slot+), MSI 00"
		if !ok {
			return
		}
		kind, _, _ = strings.Cut(kind, ", ")
		kind, _, _ = strings.Cut(kind, " (Slot")
		d.PortType = kind
	case strings.HasPrefix(what, "Single Root I/O Virtualization"):
		d.SRIOV = &SRIOV{}
	}
}

// vfs reads "16, Total VFs: 16, Number of VFs: 0, …", what follows "Initial VFs:".
func vfs(val string, d *Device) {
	if d.SRIOV == nil {
		return
	}
	for i, part := range strings.Split(val, ", ") {
		k, v, _ := strings.Cut(part, ": ")
		if i == 0 {
			k, v = "Initial VFs", part
		}
		n := number(v)
		if n == nil {
			continue
		}
		switch k {
		case "Initial VFs":
			d.SRIOV.InitialVFs = *n
		case "Total VFs":
			d.SRIOV.TotalVFs = *n
		case "Number of VFs":
			d.SRIOV.NumVFs = *n
		}
	}
}

// link reads "… Speed 8GT/s (ok), Width x4 (downgraded), …"; nil when the line
// says nothing of a link.
func link(val string) *Link {
	_, speed, okS := strings.Cut(val, "Speed ")
	_, width, okW := strings.Cut(val, "Width x")
	if !okS || !okW {
		return nil
	}
	var l Link
	gts, _, ok := strings.Cut(speed, "GT/s")
	if f, err := strconv.ParseFloat(gts, 64); ok && err == nil && f > 0 && f < 1000 {
		l.SpeedMTps = int(f * 1000)
	}
	digits := strings.IndexFunc(width, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(width)
	}
	if n := number(width[:digits]); n != nil {
		l.WidthLanes = *n
	}
	return &l
}

// bytesOf returns N of "… KEY N bytes …".
func bytesOf(val, key string) *int {
	_, rest, ok := strings.Cut(val, key)
	n, _, isBytes := strings.Cut(rest, " bytes")
	if !ok || !isBytes {
		return nil
	}
	return number(n)
}

// flags reads "SrcValid+ TransBlk- …" on top of what an earlier line had.
func flags(val string, m map[string]bool) map[string]bool {
	for w := range strings.FieldsSeq(val) {
		name, state := w[:len(w)-1], w[len(w)-1]
		if name == "" || state != '+' && state != '-' {
			continue
		}
		if m == nil {
			m = map[string]bool{}
		}
		m[name] = state == '+'
	}
	return m
}

// number returns nil for what is not a plain number: unknown, not zero.
func number(s string) *int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return nil
	}
	return &n
}
