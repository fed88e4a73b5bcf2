package rocmsmi

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
	"weft/internal/format/printed"
)

func TestParseROCm(t *testing.T) {
	got, err := ParseROCm(fixture.Read(t, "rocm-smi_rx6700xt_rocm612.json"))
	want := Report{Driver: "6.3.6", GPUs: []GPU{{
		Index: new(0), BDF: "0000:07:00.0", Name: "Navi 22 [Radeon RX 6700/6700 XT / 6800M]", GFX: "gfx1031",
		DeviceID: new(uint16(0x73df)), VBIOS: "113-67XA6SSB1-D01", NUMANode: new(0),
		VRAMTotalBytes: new(uint64(12868124672)), VRAMUsedBytes: new(uint64(1572745216)),
		GTTTotalBytes: new(uint64(16792432640)), GTTUsedBytes: new(uint64(242036736)),
		PowerW: new(6.0), PowerLimitW: new(211.0), ClockGFXMHz: new(0), ClockMemMHz: new(96),
		TempEdgeC: new(45), TempHotspotC: new(47), TempMemC: new(46),
		PCIeSpeedMTps: new(16000), PCIeWidthLanes: new(16), PCIeReplays: new(uint64(0)),
	}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}

	got, err = ParseROCm(fixture.Read(t, "rocm-smi_json_radeon780m.json"))
	want = Report{GPUs: []GPU{{
		Index: new(0), BDF: "0000:c4:00.0", Name: "Phoenix3", DeviceID: new(uint16(0x1900)), VBIOS: "113-PHXGENERIC-001",
		PowerW: new(7.222), ClockGFXMHz: new(800), ClockMemMHz: new(400), TempEdgeC: new(31),
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != "line 19: document ends early" {
		t.Error(err)
	}
}

func TestParseROCmMI100(t *testing.T) {
	got, err := ParseROCm(fixture.Read(t, "rocm-smi_mi100_rocm602.json"))
	if err != nil || got.Driver != "6.3.6" || len(got.GPUs) != 4 {
		t.Fatalf("driver %q, %d GPUs, %v; want 6.3.6, 4", got.Driver, len(got.GPUs), err)
	}
	want := GPU{
		Index: new(0), BDF: "0000:83:00.0", Name: "Arcturus GL-XL [Instinct MI100]",
		DeviceID: new(uint16(0x738c)), UniqueID: "0x79ccd55167a2124a", VBIOS: "113-D3431401-101", NUMANode: new(1),
		VRAMTotalBytes: new(uint64(34342961152)), VRAMUsedBytes: new(uint64(6750208)),
		GTTTotalBytes: new(uint64(135138402304)), GTTUsedBytes: new(uint64(11354112)),
		PowerW: new(36.0), PowerLimitW: new(290.0), ClockGFXMHz: new(300), ClockMemMHz: new(1200),
		TempEdgeC: new(53), TempHotspotC: new(55), TempMemC: new(53),
		PCIeSpeedMTps: new(16000), PCIeWidthLanes: new(16), PCIeReplays: new(uint64(0)),
	}
	if d := cmp.Diff(want, got.GPUs[0]); d != "" {
		t.Error(d)
	}
	if n := got.Topo.Names; !cmp.Equal(n, []string{"GPU0", "GPU1", "GPU2", "GPU3"}) {
		t.Error("names", n)
	}
	p := Pair{"GPU3", "GPU1"}
	if got.Topo.Weight[p] != 40 || got.Topo.Hops[p] != 2 || got.Topo.Link[p] != "PCIE" || len(got.Topo.Weight) != 12 {
		t.Errorf("between GPU3 and GPU1: %d, %d hops, %q", got.Topo.Weight[p], got.Topo.Hops[p], got.Topo.Link[p])
	}
}

const twoCards = `WARNING: AMD GPU device(s) is/are in a low-power state.
{"card1": {"Device ID": "0x1586", "Unique ID": "N/A", "(Topology) Numa Node": "-1", "PCI Bus": "nowhere",
 "list": [1, {"a": "b"}]}, "card3": {"VRAM Total Memory (B)": "lots", "GFX Version": "gfx1151"}}
trailing words`

func TestParseROCmOdd(t *testing.T) {
	got, err := ParseROCm([]byte(twoCards))
	want := Report{GPUs: []GPU{{Index: new(1), DeviceID: new(uint16(0x1586))}, {Index: new(3), GFX: "gfx1151"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wantErr := "line 2: pci bus: \"nowhere\" is not a PCI address\nline 3: vram total memory (b): \"lots\" B is not a memory size"
	if err == nil || err.Error() != wantErr {
		t.Errorf("error %v, want %s", err, wantErr)
	}
	for in, want := range map[string]string{
		"":                          `no JSON: ""`,
		"ERROR: no GPU\n[ERROR] no": `no JSON: "ERROR: no GPU\n[ERROR] no"`,
		"{}":                        "no cards",
		`"loose"`:                   "line 1: document ends early",
		"{\n]":                      "line 2: document ends early",
	} {
		if _, err := ParseROCm([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("ParseROCm(%q): %v, want %s", in, err, want)
		}
	}
}

func TestParseAMDFragment(t *testing.T) {
	got, err := ParseAMD(fixture.Read(t, "amd-smi_metric_json_igpu.txt"))
	want := Report{GPUs: []GPU{{PowerW: new(9.0), Throttle: "UNTHROTTLED", ClockGFXMHz: new(49), ClockGFXMaxMHz: new(2645)}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != "line 27: document ends early" {
		t.Error(err)
	}
}

const amdStatic = `[
 {"gpu": 0,
  "asic": {"market_name": "Radeon 8060S", "vendor_id": "0x1002", "device_id": "0x1586", "asic_serial": "0x0A",
           "num_compute_units": 40, "target_graphics_version": "gfx1151"},
  "bus": {"bdf": "0000:C5:00.0", "max_pcie_width": 16, "max_pcie_speed": {"value": 16, "unit": "GT/s"}},
  "vbios": {"version": "023.011.000.039"},
  "driver": {"name": "amdgpu", "version": "6.16.6"},
  "limit": {"ppt0": {"max_power_limit": {"value": 140, "unit": "W"}, "socket_power_limit": {"value": 120, "unit": "W"}}},
  "numa": {"node": 0, "affinity": "N/A"},
  "vram": {"size": {"value": 2, "unit": "GB"}}},
 {"gpu": 1, "vram": {"size": "N/A"}}
]`

const amdMetric = `{"gpu_data": [
 {"gpu": 0, "power": {"socket_power": {"value": "N/A"}},
  "temperature": {"edge": {"value": 40, "unit": "C"}, "hotspot": {"value": 51, "unit": "C"}, "mem": "N/A"},
  "pcie": {"width": 4, "speed": {"value": 2.5, "unit": "GT/s"}, "replay_count": 7},
  "mem_usage": {"total_vram": {"value": 196592, "unit": "MB"}, "used_vram": {"value": 285, "unit": "MB"}, "total_gtt": {"value": 1, "unit": "PB"}},
  "ecc": {"total_correctable_count": 3, "total_uncorrectable_count": 1}}]}`

func TestParseAMD(t *testing.T) {
	got, err := ParseAMD([]byte(amdStatic))
	want := Report{Driver: "6.16.6", GPUs: []GPU{{
		Index: new(0), Name: "Radeon 8060S", VendorID: new(uint16(0x1002)), DeviceID: new(uint16(0x1586)), UniqueID: "0x0A",
		ComputeUnits: new(40), GFX: "gfx1151", BDF: "0000:c5:00.0", PCIeWidthMaxLanes: new(16), PCIeSpeedMaxMTps: new(16000),
		VBIOS: "023.011.000.039", PowerMaxW: new(140.0), PowerLimitW: new(120.0), NUMANode: new(0), VRAMTotalBytes: new(uint64(2 << 30)),
	}, {Index: new(1)}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}

	got, err = ParseAMD([]byte(amdMetric))
	// A size in a unit that nobody has seen keeps no value from before the unit was read.
	want = Report{GPUs: []GPU{{
		Index: new(0), TempEdgeC: new(40), TempHotspotC: new(51), PCIeWidthLanes: new(4), PCIeSpeedMTps: new(2500), PCIeReplays: new(uint64(7)),
		VRAMTotalBytes: new(uint64(196592 << 20)), VRAMUsedBytes: new(uint64(285 << 20)),
		ECCCorrectable: new(uint64(3)), ECCUncorrectable: new(uint64(1)),
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != `line 5: mem_usage/total_gtt: "1" PB is not a memory size` {
		t.Error(err)
	}
}

func TestParseTopo(t *testing.T) {
	got, err := ParseTopo(fixture.Read(t, "rocm-smi_topo_weight_8gpu.txt"))
	if err != nil || len(got.Names) != 8 || len(got.Weight) != 64 || got.Link != nil {
		t.Fatalf("%d names, %d weights, %v; want 8, 64", len(got.Names), len(got.Weight), err)
	}
	for p, want := range map[Pair]int{{"GPU0", "GPU0"}: 0, {"GPU0", "GPU3"}: 40, {"GPU3", "GPU4"}: 72, {"GPU7", "GPU6"}: 40} {
		if got.Weight[p] != want {
			t.Errorf("%v: %d, want %d", p, got.Weight[p], want)
		}
	}
}

const topo = `===== Hops between two GPUs =====
       GPU0   GPU1
GPU0   0      2
GPU1   N/A    0
===== Link Type between two GPUs =====
       GPU0   GPU1
GPU0   0      XGMI
GPU1   XGMI
===== Numa Nodes =====
GPU[0]		: (Topology) Numa Node: 0
GPU[1]		: (Topology) Numa Node: east
GPU[1]		: (Topology) Numa Affinity: 1
===== End of ROCm SMI Log =====
`

func TestParseTopoSections(t *testing.T) {
	got, err := ParseTopo([]byte(topo))
	want := Topo{
		Names: []string{"GPU0", "GPU1"},
		Hops:  map[Pair]int{{"GPU0", "GPU0"}: 0, {"GPU0", "GPU1"}: 2, {"GPU1", "GPU1"}: 0},
		Link:  map[Pair]string{{"GPU0", "GPU1"}: "XGMI"},
		NUMA:  map[string]int{"GPU0": 0},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != "line 8: 1 values for 2 GPUs\nline 11: \"east\" is not a NUMA node" {
		t.Error(err)
	}
	if _, err := ParseTopo(nil); err == nil || err.Error() != "no topology" {
		t.Error(err)
	}
}

func TestParseInfo(t *testing.T) {
	got, err := ParseInfo(fixture.Read(t, "rocminfo_gfx1201_isa.txt"))
	if d := cmp.Diff([]Agent{{ISAs: []string{"gfx1201", "gfx12-generic"}}}, got); d != "" || err != nil {
		t.Error(err, d)
	}
}

const rocminfo = `ROCk module is loaded
HSA System Attributes
Runtime Version:         1.18
Name:                    ignored
HSA Agents
*******
Agent 1
*******
  Name:                    AMD RYZEN AI MAX+ 395
  Uuid:                    CPU-XX
  Marketing Name:          AMD RYZEN AI MAX+ 395
  Device Type:             CPU
  BDFID:                   0
  Compute Unit:            32
*******
Agent 2
*******
  Name:                    gfx1151
  Uuid:                    GPU-XX
  Marketing Name:          AMD Radeon Graphics
  Node:                    1
  Device Type:             GPU
  Chip ID:                 5510(0x1586)
  BDFID:                   50432
  Compute Unit:            many
  Pool Info:
    Pool 1
      Segment:             GLOBAL
      Name:                a pool
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1151:sramecc-
`

func TestParseInfoAgents(t *testing.T) {
	got, err := ParseInfo([]byte(rocminfo))
	want := []Agent{
		{Name: "AMD RYZEN AI MAX+ 395", Marketing: "AMD RYZEN AI MAX+ 395", UUID: "CPU-XX", Type: "CPU", ComputeUnits: new(32)},
		{Name: "gfx1151", Marketing: "AMD Radeon Graphics", UUID: "GPU-XX", Type: "GPU", ISAs: []string{"gfx1151"}, ChipID: new(uint16(0x1586)), Bus: "c5:00.0", Node: new(1)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != `line 25: Compute Unit "many" is not a small number` {
		t.Error(err)
	}
	if _, err := ParseInfo([]byte("ROCk module is NOT loaded, possibly no GPU devices\n")); err == nil || err.Error() != "no agents" {
		t.Error(err)
	}
}

const kfdGPU = "cpu_cores_count 0\nsimd_count 80\nsimd_per_cu 2\ngfx_target_version 110501\nvendor_id 4098\ndevice_id 5510\nlocation_id 50432\ndomain 0\ndrm_render_minor 128\nhive_id 0\n"

func TestParseNode(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Node
		err  string
	}{
		{kfdGPU, Node{GPU: true, GFX: "gfx1151", BDF: "0000:c5:00.0", VendorID: 0x1002, DeviceID: 0x1586, SIMDs: 80, SIMDsPerCU: 2, RenderMinor: 128}, ""},
		{"simd_count 4\nlocation_id 257\ndomain 15\n", Node{GPU: true, BDF: "000f:01:00.1", SIMDs: 4}, ""},
		{"cpu_cores_count 32\nsimd_count 0\ngfx_target_version 0\nlocation_id 0\n", Node{CPUCores: 32}, ""},
		{"simd_count few\n", Node{}, `line 1: simd_count "few" is not a number`},
		{"", Node{}, "no simd_count"},
	} {
		got, err := ParseNode([]byte(tt.in))
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Error(d)
		}
		if err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
			t.Errorf("error %v, want %q", err, tt.err)
		}
	}
	for v, want := range map[uint64]string{110501: "gfx1151", 90010: "gfx90a", 90402: "gfx942", 100301: "gfx1031", 120001: "gfx1201", 0: "", 1 << 60: ""} {
		if got := GFX(v); got != want {
			t.Errorf("GFX(%d) = %q, want %q", v, got, want)
		}
	}
}

func TestParseNICs(t *testing.T) {
	got, err := ParseNICs(fixture.Read(t, "amd-smi_ainic_ionic_down.txt"))
	want := []NIC{{
		Driver: "ionic", DriverVersion: "25.05.4.001", NUMANode: new(1), CPUAffinity: "16-31,48-63",
		Ports: []NICPort{{
			Netdev: "enp229s0", Type: "Ethernet", MAC: "04:90:81:2c:77:b0", LinkState: "down",
			Carrier: new(false), MTUBytes: new(1500), SpeedMbps: new(0),
		}},
		RDMA: []NICRDMA{{
			Name: "rocep229s0", NodeGUID: "0690:81ff:fe2c:77b0", Firmware: "1.110.1-a-1",
			Ports: []NICRDMAPort{{Number: new(1), Netdev: "enp229s0", State: "DOWN"}},
		}},
	}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
}

const nics = `GPU: 0
    ASIC:
        MARKET_NAME: not a NIC
    NUMA:
        NODE: 7
NIC: 0
    BUS:
        BDF: 0000:E5:00.0
    NUMA:
        NODE: N/A
    PORTS:
        PORT_0:
            LINK_STATE: UP
            CARRIER: 1
            LINK_SPEED: 400000 Mb/s
            MTU: large
NIC: 1
    DRIVER:
        NAME: ionic
`

func TestParseNICsTwo(t *testing.T) {
	got, err := ParseNICs([]byte(nics))
	want := []NIC{
		{Index: new(0), BDF: "0000:e5:00.0", Ports: []NICPort{{LinkState: "up", Carrier: new(true), SpeedMbps: new(400000)}}},
		{Index: new(1), Driver: "ionic"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != `line 16: "large" is not a number` {
		t.Error(err)
	}
	if _, err := ParseNICs([]byte("nothing here\n")); err == nil || err.Error() != "no NICs" {
		t.Error(err)
	}
}

func fuzzReport(f *testing.F, parse func([]byte) (Report, error)) {
	fixture.Seed(f, "rocm-smi_json_radeon780m.json", "rocm-smi_rx6700xt_rocm612.json", "amd-smi_metric_json_igpu.txt")
	f.Add([]byte(twoCards))
	f.Add([]byte(amdStatic))
	f.Add([]byte(amdMetric))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parse(b)
		if len(r.GPUs) == 0 && r.Driver == "" && err == nil {
			t.Error("nothing read and no error")
		}
		for _, g := range r.GPUs {
			if again, ok := printed.BDF(g.BDF); g.BDF != "" && (!ok || again != g.BDF) {
				t.Errorf("BDF %q is not in the kernel's spelling", g.BDF)
			}
		}
	})
}

func FuzzParseROCm(f *testing.F) { fuzzReport(f, ParseROCm) }
func FuzzParseAMD(f *testing.F)  { fuzzReport(f, ParseAMD) }

func FuzzParseTopo(f *testing.F) {
	fixture.Seed(f, "rocm-smi_topo_weight_8gpu.txt")
	f.Add([]byte(topo))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := ParseTopo(b); got.Names == nil && got.NUMA == nil && err == nil {
			t.Error("nothing read and no error")
		}
	})
}

func FuzzParseInfo(f *testing.F) {
	fixture.Seed(f, "rocminfo_gfx1201_isa.txt")
	f.Add([]byte(rocminfo))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := ParseInfo(b); got == nil && err == nil {
			t.Error("nothing read and no error")
		}
	})
}

func FuzzParseNode(f *testing.F) {
	f.Add([]byte(kfdGPU))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, _ := ParseNode(b)
		if _, ok := printed.BDF(n.BDF); n.GPU != ok {
			t.Errorf("GPU %v at %q", n.GPU, n.BDF)
		}
	})
}

func FuzzParseNICs(f *testing.F) {
	fixture.Seed(f, "amd-smi_ainic_ionic_down.txt")
	f.Add([]byte(nics))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := ParseNICs(b); got == nil && err == nil {
			t.Error("nothing read and no error")
		}
	})
}
