package lspci

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

func equal(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestFragmentFixture(t *testing.T) {
	got, err := Parse(fixture.Read(t, "lspci_lnk_connectx3_x4_downgraded.txt"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, []Device{{
		LinkCap: &Link{SpeedMTps: 8000, WidthLanes: 8}, LinkSta: &Link{SpeedMTps: 8000, WidthLanes: 4},
		WidthDown: true, ASPMCap: "L0s",
	}}, got)
	if on, ok := got[0].ASPMEnabled(); on || ok {
		t.Errorf("ASPMEnabled = %v, %v, want unknown", on, ok)
	}
}

func TestNNFixture(t *testing.T) {
	got, err := Parse(fixture.Read(t, "lspci_nn_a100.txt"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, d := range got {
		if d.VendorID == nil || d.DeviceID == nil || d.ClassCode == nil {
			t.Fatalf("%s: ids are missing: %+v", d.Addr, d)
		}
		count[d.Class]++
	}
	equal(t, map[string]int{
		"3D controller": 8, "Bridge": 6, "Infiniband controller": 8, "Non-Volatile memory controller": 8, "Ethernet controller": 1,
	}, count)
	equal(t, Device{
		Addr: "0001:00:00.0", Class: "3D controller", ClassCode: new(uint16(0x302)), VendorID: new(uint16(0x10de)),
		DeviceID: new(uint16(0x20b2)), Name: "NVIDIA Corporation GA100 [A100 SXM4 80GB]", Rev: "a1",
	}, got[0])
	equal(t, Device{
		Addr: "0101:00:00.0", Class: "Infiniband controller", ClassCode: new(uint16(0x207)), VendorID: new(uint16(0x15b3)),
		DeviceID: new(uint16(0x101c)), Name: "Mellanox Technologies MT28908 Family [ConnectX-6 Virtual Function]",
	}, got[14])
	if last := got[len(got)-1].Addr; last != "f392:00:00.0" {
		t.Errorf("last device %s, want f392:00:00.0", last)
	}
}

func TestVVVFixture(t *testing.T) {
	got, err := Parse(fixture.Read(t, "lspci_vvv_connectx_h100host.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 {
		t.Fatalf("%d devices, want 3", len(got))
	}
	off := func() map[string]bool {
		return map[string]bool{
			"SrcValid": false, "TransBlk": false, "ReqRedir": false, "CmpltRedir": false,
			"UpstreamFwd": false, "EgressCtrl": false, "DirectTrans": false,
		}
	}
	cx7 := Device{
		Addr: "0000:1a:00.0", Class: "Ethernet controller", Name: "Mellanox Technologies MT2910 Family [ConnectX-7]",
		Subsystem: "Mellanox Technologies MT2910 Family [ConnectX-7]", NUMANode: new(0), Driver: "mlx5_core", Modules: []string{"mlx5_core"},
		PortType: "Endpoint", LinkCap: &Link{32000, 16}, LinkSta: &Link{32000, 16}, ASPMCap: "not supported", ASPM: "Disabled",
		MaxPayloadCap: new(512), MaxPayload: new(256), MaxReadReq: new(4096), SRIOV: &SRIOV{InitialVFs: 16, TotalVFs: 16},
		ProductName: "NVIDIA ConnectX-7 HHHL Adapter card, 400GbE / NDR IB (default mode), Single-port OSFP, PCIe 5.0 x16, Crypto Disabled, Secure Boot Enabled",
		PartNumber:  "MCX75310AAS-NEAT", SerialNumber: "MT2340J88735",
	}
	cx6 := cx7
	cx6.Addr, cx6.Name = "0000:1b:00.0", "Mellanox Technologies MT2892 Family [ConnectX-6 Dx]"
	cx6.Subsystem, cx6.LinkCap, cx6.LinkSta = cx6.Name, &Link{16000, 16}, &Link{16000, 16}
	cx6.SRIOV, cx6.ACSCap, cx6.ACSCtl = &SRIOV{InitialVFs: 8, TotalVFs: 8}, off(), off()
	cx6.ProductName = "ConnectX-6 Dx EN adapter card, 100GbE, Dual-port QSFP56, PCIe 4.0 x16, No Crypto"
	cx6.PartNumber, cx6.SerialNumber = "MCX623106AN-CDAT", "MT2226J24976"
	second := cx6
	second.Addr = "0000:1b:00.1"
	equal(t, []Device{cx7, cx6, second}, got)
	if on, ok := got[0].ASPMEnabled(); on || !ok {
		t.Errorf("ASPMEnabled = %v, %v, want false, true", on, ok)
	}
}

const inline = `root@n1:~# lspci -vvv -nn
10000:e0:1d.0 PCI bridge [0604]: Intel Corporation Device [8086:a340] (rev f0) (prog-if 00 [Normal decode])
	Physical Slot: 4
	IOMMU group: 26
	Capabilities: [40] Express (v2) Root Port (Slot+), MSI 00
		LnkCap:	Port #9, Speed 8GT/s, Width x4, ASPM L0s L1, Exit Latency L0s <1us, L1 <16us
		LnkCtl:	ASPM L1 Enabled; RCB 64 bytes, Disabled- CommClk+
		LnkSta:	Speed 2.5GT/s (downgraded), Width x1 (downgraded)
	Capabilities: [148 v1] Access Control Services
		ACSCap:	SrcValid+ TransBlk+
			ReqRedir+
		ACSCtl:	SrcValid+ TransBlk- ReqRedir+
C1:00.0 0207: 15b3:1017 (rev ff)
	!!! Unknown header type 7f
02:00.0 3D controller: NVIDIA Corporation Device 2b85
	LnkSta: Speed unknown, Width x0
	Capabilities: [180 v1] Single Root I/O Virtualization (SR-IOV)
		IOVCtl:	Enable+ Migration-
		Initial VFs: 8, Total VFs: 8, Number of VFs: 4, Function Dependency Link: 00
	Capabilities: <access denied>
lspci: Unable to load libkmod resources: error -2
`

func TestInline(t *testing.T) {
	got, err := Parse([]byte(inline))
	if err == nil || !strings.HasPrefix(err.Error(), "line 21: lspci: Unable") {
		t.Errorf("error %v, want the warning on line 21", err)
	}
	equal(t, []Device{
		{
			Addr: "10000:e0:1d.0", Class: "PCI bridge", ClassCode: new(uint16(0x604)), VendorID: new(uint16(0x8086)), DeviceID: new(uint16(0xa340)),
			Name: "Intel Corporation Device", Rev: "f0", PhysicalSlot: "4", IOMMUGroup: new(26), PortType: "Root Port",
			LinkCap: &Link{8000, 4}, LinkSta: &Link{2500, 1}, SpeedDown: true, WidthDown: true, ASPMCap: "L0s L1", ASPM: "L1 Enabled",
			ACSCap: map[string]bool{"SrcValid": true, "TransBlk": true, "ReqRedir": true},
			ACSCtl: map[string]bool{"SrcValid": true, "TransBlk": false, "ReqRedir": true},
		},
		{
			Addr: "0000:c1:00.0", ClassCode: new(uint16(0x207)), VendorID: new(uint16(0x15b3)), DeviceID: new(uint16(0x1017)), Rev: "ff",
			Fault: "Unknown header type 7f",
		},
		{
			Addr: "0000:02:00.0", Class: "3D controller", Name: "NVIDIA Corporation Device 2b85", LinkSta: &Link{},
			SRIOV: &SRIOV{Enabled: true, InitialVFs: 8, TotalVFs: 8, NumVFs: 4}, NoAccess: true,
		},
	}, got)
	if on, ok := got[0].ASPMEnabled(); !on || !ok {
		t.Errorf("ASPMEnabled = %v, %v, want true, true", on, ok)
	}
	if got, err := Parse([]byte("hello world\n")); err == nil || len(got) != 0 {
		t.Errorf("Parse of no lspci = %v, %v, want nothing and an error", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(inline))
	fixture.Seed(f, "lspci_nn_a100.txt", "lspci_lnk_connectx3_x4_downgraded.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		devs, _ := Parse(b)
		for i, d := range devs {
			if d.Addr == "" && i > 0 {
				t.Errorf("device %d has no address", i)
			}
			if d.Addr != "" {
				if a, ok := address(d.Addr); !ok || a != d.Addr {
					t.Errorf("address %q is not in its normal form", d.Addr)
				}
			}
		}
	})
}
