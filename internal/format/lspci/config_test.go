package lspci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/fixture"
)

// space writes a configuration space with an express capability at 0x60 and,
// in 4096 bytes, ACS behind another extended capability.
type space struct {
	class            uint16
	bridge           bool
	kind             uint16 // port type
	slot             bool
	devCap           uint32
	devCtl           uint16
	lnkCap           uint32
	lnkCtl, lnkSta   uint16
	acsCap, acsCtl   uint16
	size             int
	noACS, noExpress bool
}

func (s space) bytes() []byte {
	b := make([]byte, s.size)
	put16 := func(at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
	put32 := func(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
	put16(0x00, 0x15b3)
	put16(0x02, 0x1021)
	b[0x08] = 0xa1
	put16(0x0a, s.class)
	if s.bridge {
		b[0x0e], b[0x18], b[0x19], b[0x1a] = 1, 0, 0x21, 0x23
	}
	if s.size <= 64 {
		put16(0x06, 0x10)
		b[0x34] = 0x40
		return b
	}
	if s.noExpress {
		return b
	}
	put16(0x06, 0x10)
	b[0x34] = 0x40
	b[0x40], b[0x41] = 0x01, 0x60 // power management, then express
	put16(0x42, 3)
	b[0x60] = 0x10
	flags := 2 | s.kind<<4
	if s.slot {
		flags |= 0x100
	}
	put16(0x62, flags)
	put32(0x64, s.devCap)
	put16(0x68, s.devCtl)
	put32(0x6c, s.lnkCap)
	put16(0x70, s.lnkCtl)
	put16(0x72, s.lnkSta)
	if s.size == 4096 && !s.noACS {
		put32(0x100, 0x0003|1<<16|0x148<<20) // device serial number
		put32(0x148, 0x000d|1<<16)
		put16(0x14c, s.acsCap)
		put16(0x14e, s.acsCtl)
	}
	return b
}

var spaces = map[string]struct {
	in   space
	want Config
}{
	"ConnectX endpoint downgraded to x4": {
		space{class: 0x0207, kind: 0, devCap: 2, devCtl: 1<<5 | 5<<12, lnkCap: 5 | 16<<4, lnkSta: 3 | 4<<4, acsCap: 0, acsCtl: 0, size: 4096},
		Config{
			VendorID: 0x15b3, DeviceID: 0x1021, ClassCode: 0x0207, Rev: 0xa1, CapsRead: true, ExtRead: true, ACS: &ACS{},
			PCIe: &PCIe{
				PortType: Endpoint, MaxPayloadCap: new(512), MaxPayload: new(256), MaxReadReq: new(4096),
				LinkCap: &Link{32000, 16}, LinkSta: &Link{8000, 4}, ASPMCap: &ASPM{}, ASPM: &ASPM{},
			},
		},
	},
	"root port with ACS redirect and ASPM": {
		space{class: 0x0604, bridge: true, kind: 4, slot: true, devCap: 1, devCtl: 1<<5 | 2<<12, lnkCap: 4 | 8<<4 | 3<<10,
			lnkCtl: 2, lnkSta: 1 | 1<<4, acsCap: 0x5f, acsCtl: 0x1d, size: 4096},
		Config{
			VendorID: 0x15b3, DeviceID: 0x1021, ClassCode: 0x0604, Rev: 0xa1, Bridge: true, Secondary: 0x21, Subordinate: 0x23,
			CapsRead: true, ExtRead: true,
			ACS: &ACS{
				Cap: ACSBits{SrcValid: true, TransBlk: true, ReqRedir: true, CmpltRedir: true, UpstreamFwd: true, DirectTrans: true},
				Ctl: ACSBits{SrcValid: true, ReqRedir: true, CmpltRedir: true, UpstreamFwd: true},
			},
			PCIe: &PCIe{
				PortType: RootPort, Slot: true, MaxPayloadCap: new(256), MaxPayload: new(256), MaxReadReq: new(512),
				LinkCap: &Link{16000, 8}, LinkSta: &Link{2500, 1}, ASPMCap: &ASPM{L0s: true, L1: true}, ASPM: &ASPM{L1: true},
			},
		},
	},
	"switch downstream port without ACS": {
		space{class: 0x0604, bridge: true, kind: 6, devCap: 0, devCtl: 2 << 12, lnkCap: 6 | 16<<4 | 1<<10, lnkCtl: 1, lnkSta: 6 | 16<<4, noACS: true, size: 4096},
		Config{
			VendorID: 0x15b3, DeviceID: 0x1021, ClassCode: 0x0604, Rev: 0xa1, Bridge: true, Secondary: 0x21, Subordinate: 0x23,
			CapsRead: true, ExtRead: true,
			PCIe: &PCIe{
				PortType: DownstreamPort, MaxPayloadCap: new(128), MaxPayload: new(128), MaxReadReq: new(512),
				LinkCap: &Link{64000, 16}, LinkSta: &Link{64000, 16}, ASPMCap: &ASPM{L0s: true}, ASPM: &ASPM{L0s: true},
			},
		},
	},
	"integrated endpoint has no link": {
		space{class: 0x0200, kind: 9, devCap: 1, devCtl: 0, lnkCap: 0xffff, size: 256},
		Config{
			VendorID: 0x15b3, DeviceID: 0x1021, ClassCode: 0x0200, Rev: 0xa1, CapsRead: true,
			PCIe: &PCIe{PortType: RootEndpoint, MaxPayloadCap: new(256), MaxPayload: new(128), MaxReadReq: new(128)},
		},
	},
	"plain PCI": {
		space{class: 0x0600, size: 256, noExpress: true},
		Config{VendorID: 0x15b3, DeviceID: 0x1021, ClassCode: 0x0600, Rev: 0xa1, CapsRead: true},
	},
	"unprivileged read": {
		space{class: 0x0207, size: 64},
		Config{VendorID: 0x15b3, DeviceID: 0x1021, ClassCode: 0x0207, Rev: 0xa1},
	},
}

func TestParseConfig(t *testing.T) {
	for name, c := range spaces {
		t.Run(name, func(t *testing.T) {
			got, err := ParseConfig(c.in.bytes())
			if err != nil {
				t.Fatal(err)
			}
			equal(t, c.want, got)
		})
	}
}

func TestParseConfigOdd(t *testing.T) {
	good := func() []byte { return spaces["root port with ACS redirect and ASPM"].in.bytes() }
	for name, c := range map[string]struct {
		edit func(b []byte) []byte
		err  string
		pcie bool
	}{
		"short":         {func(b []byte) []byte { return b[:40] }, "has 40 bytes", false},
		"gone":          {func(b []byte) []byte { return bytes.Repeat([]byte{0xff}, 256) }, "all ones", false},
		"odd header":    {func(b []byte) []byte { b[0x0e] = 0x7e; return b }, "header type 0x7e", false},
		"circle":        {func(b []byte) []byte { b[0x61] = 0x40; return b }, "capability list is a circle", true},
		"into header":   {func(b []byte) []byte { b[0x61] = 0x10; return b }, "capability at 0x10 is outside", true},
		"express cut":   {func(b []byte) []byte { b[0x41] = 0xf4; b[0xf4] = 0x10; return b[:256] }, "express capability at 0xf4 is cut off", false},
		"asleep":        {func(b []byte) []byte { b[0x41] = 0x80; b[0x80] = 0xff; return b }, "capability at 0x80: the device answers all ones", false},
		"ext circle":    {func(b []byte) []byte { b[0x14b] = 0x14; b[0x14a] |= 0x80; return b }, "extended capability list is a circle", true},
		"ext too low":   {func(b []byte) []byte { b[0x14b] = 0x04; return b }, "extended capability at 0x40 is outside", true},
		"odd length":    {func(b []byte) []byte { return b[:300] }, "", true},
		"reserved size": {func(b []byte) []byte { b[0x68], b[0x69] = 0xe0, 0x70; return b }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseConfig(c.edit(good()))
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if (got.PCIe != nil) != c.pcie {
				t.Errorf("PCIe %+v, want it: %v", got.PCIe, c.pcie)
			}
			if name == "reserved size" && (got.PCIe.MaxPayload != nil || got.PCIe.MaxReadReq != nil) {
				t.Errorf("reserved sizes became %v and %v", got.PCIe.MaxPayload, got.PCIe.MaxReadReq)
			}
			if name == "odd length" && (got.ExtRead || got.ACS != nil) {
				t.Error("300 bytes gave extended capabilities")
			}
		})
	}
	if _, err := ParseConfig(bytes.Repeat([]byte{0xff}, 64)); !errors.Is(err, ErrGone) {
		t.Errorf("error %v, want ErrGone", err)
	}
}

// agree compares what lspci's text and the raw bytes say of one function.
func agree(t *testing.T, d Device, c Config) {
	t.Helper()
	if (d.PortType != "") != (c.PCIe != nil) {
		t.Fatalf("%s: lspci says port type %q, the bytes %+v", d.Addr, d.PortType, c.PCIe)
	}
	p := c.PCIe
	if p == nil {
		return
	}
	equal(t, d.PortType, string(p.PortType))
	equal(t, d.MaxPayloadCap, p.MaxPayloadCap)
	equal(t, d.MaxPayload, p.MaxPayload)
	equal(t, d.MaxReadReq, p.MaxReadReq)
	equal(t, d.LinkCap, p.LinkCap)
	equal(t, d.LinkSta, p.LinkSta)
	word := func(a *ASPM, none, suffix string) string {
		switch {
		case a == nil:
			return ""
		case a.L0s && a.L1:
			return "L0s L1" + suffix
		case a.L0s:
			return "L0s" + suffix
		case a.L1:
			return "L1" + suffix
		}
		return none
	}
	equal(t, d.ASPMCap, word(p.ASPMCap, "not supported", ""))
	equal(t, d.ASPM, word(p.ASPM, "Disabled", " Enabled"))
	if !c.ExtRead {
		return
	}
	names := func(a *ACS, pick func(*ACS) ACSBits) map[string]bool {
		if a == nil {
			return nil
		}
		x := pick(a)
		return map[string]bool{
			"SrcValid": x.SrcValid, "TransBlk": x.TransBlk, "ReqRedir": x.ReqRedir, "CmpltRedir": x.CmpltRedir,
			"UpstreamFwd": x.UpstreamFwd, "EgressCtrl": x.EgressCtrl, "DirectTrans": x.DirectTrans,
		}
	}
	equal(t, d.ACSCap, names(c.ACS, func(a *ACS) ACSBits { return a.Cap }))
	equal(t, d.ACSCtl, names(c.ACS, func(a *ACS) ACSBits { return a.Ctl }))
}

func lspci(t *testing.T, args ...string) []Device {
	t.Helper()
	if _, err := exec.LookPath("lspci"); err != nil {
		t.Skip("lspci is not installed: nothing to compare with")
	}
	cmd := exec.Command("lspci", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("lspci does not run here: %v", err)
	}
	devs, err := Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	return devs
}

// TestConfigAgreesWithLspci lets lspci itself decode the spaces of this test,
// which have what a virtual machine's own devices lack: links, ASPM and ACS.
func TestConfigAgreesWithLspci(t *testing.T) {
	for name, c := range spaces {
		t.Run(name, func(t *testing.T) {
			b := c.in.bytes()
			var hex strings.Builder
			fmt.Fprintln(&hex, "21:00.0 Device")
			for i := 0; i < len(b); i += 16 {
				fmt.Fprintf(&hex, "%02x: % x\n", i, b[i:i+16])
			}
			file := filepath.Join(t.TempDir(), "hex")
			if err := os.WriteFile(file, []byte(hex.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			devs := lspci(t, "-vvv", "-nn", "-F", file)
			if len(devs) != 1 {
				t.Fatalf("lspci shows %d devices, want 1", len(devs))
			}
			got, err := ParseConfig(b)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, devs[0], got)
			equal(t, *devs[0].ClassCode, got.ClassCode)
			equal(t, *devs[0].VendorID, got.VendorID)
			equal(t, *devs[0].DeviceID, got.DeviceID)
		})
	}
}

// TestConfigOfThisMachine compares this machine's own devices.
func TestConfigOfThisMachine(t *testing.T) {
	devs := lspci(t, "-D", "-vvv", "-nn")
	if len(devs) == 0 {
		t.Skip("this machine has no PCI devices")
	}
	for _, d := range devs {
		b, err := os.ReadFile(filepath.Join("/sys/bus/pci/devices", d.Addr, "config"))
		if err != nil {
			t.Skipf("configuration space is not readable: %v", err)
		}
		got, err := ParseConfig(b)
		if err != nil {
			t.Fatalf("%s: %v", d.Addr, err)
		}
		if !got.CapsRead {
			t.Skip("configuration space is cut to 64 bytes: the test does not run as root")
		}
		agree(t, d, got)
		equal(t, *d.VendorID, got.VendorID)
		equal(t, *d.DeviceID, got.DeviceID)
		equal(t, *d.ClassCode, got.ClassCode)
	}
}

// TestConfigOfSamples compares the dumps of two virtual machines with the
// lspci output that was kept beside them.
func TestConfigOfSamples(t *testing.T) {
	for _, name := range []string{"sysfs-k61.tar.gz", "sysfs-k612.tar.gz"} {
		t.Run(name, func(t *testing.T) {
			zr, err := gzip.NewReader(bytes.NewReader(fixture.Read(t, "lab/samples/"+name)))
			if err != nil {
				t.Fatal(err)
			}
			var devs []Device
			spaces := map[string][]byte{}
			for tr := tar.NewReader(zr); ; {
				h, err := tr.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				base := filepath.Base(h.Name)
				if base != "config" && base != "lspci-vvv.txt" || h.Typeflag != tar.TypeReg {
					continue
				}
				b, err := io.ReadAll(tr)
				if err != nil {
					t.Fatal(err)
				}
				if base == "config" {
					spaces[filepath.Base(filepath.Dir(h.Name))] = b
				} else if devs, err = Parse(b); err != nil {
					t.Fatal(err)
				}
			}
			if len(devs) != 9 || len(spaces) != 9 {
				t.Fatalf("%d devices and %d spaces, want 9 and 9", len(devs), len(spaces))
			}
			for _, d := range devs {
				got, err := ParseConfig(spaces[d.Addr])
				if err != nil {
					t.Fatalf("%s: %v", d.Addr, err)
				}
				agree(t, d, got)
			}
		})
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, c := range spaces {
		f.Add(c.in.bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseConfig(b)
		if len(b) < 64 && err == nil {
			t.Error("no error for a space shorter than its header")
		}
		if c.PCIe != nil && !c.CapsRead || c.ACS != nil && !c.ExtRead {
			t.Error("a capability out of bytes that are not there")
		}
	})
}
