package nvsmi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
	"weft/internal/format/printed"
)

var none = ECCCounts{new(uint64(0)), new(uint64(0)), new(uint64(0)), new(uint64(0))}

var h200 = GPU{
	BDF: "0000:00:06.0", Name: "NVIDIA H200", Brand: "NVIDIA", Architecture: "Hopper",
	UUID: "GPU-00000000-1111-2222-3333-444444444444", Serial: "1000000000001", VBIOS: "96.00.A5.00.1A",
	Addressing: "None", Recovery: "None",
	VendorID: new(uint16(0x10de)), DeviceID: new(uint16(0x2335)),
	SubsystemVendorID: new(uint16(0x10de)), SubsystemDeviceID: new(uint16(0x18bf)),
	PCIeGen: new(5), PCIeGenMax: new(5), PCIeGenDeviceMax: new(5),
	PCIeWidthLanes: new(16), PCIeWidthMaxLanes: new(16), PCIeReplays: new(uint64(0)),
	MemoryTotalBytes: new(uint64(143771 << 20)), MemoryUsedBytes: new(uint64(0)), BAR1TotalBytes: new(uint64(262144 << 20)),
	PowerDrawW: new(126.68), PowerLimitW: new(700.0), PowerDefaultLimitW: new(700.0), PowerMaxLimitW: new(700.0),
	ClockSMMHz: new(1980), ClockMemMHz: new(3201), ClockSMMaxMHz: new(1980), ClockMemMaxMHz: new(3201),
	PState: "P0", ClockReasons: []string{"gpu_idle"}, UtilPercent: new(0),
	TempC: new(36), MemTempC: new(34),
	Persistence: new(true), MIG: new(false), ECC: new(true),
	Volatile: none, Aggregate: none,
	RemappedCorr: new(uint64(0)), RemappedUncorr: new(uint64(0)), RemapPending: new(false), RemapFailed: new(false),
	Processes: new(0),
}

func TestParseXML(t *testing.T) {
	rtx3090 := GPU{
		BDF: "0000:00:10.0", Name: "NVIDIA GeForce RTX 3090", Brand: "GeForce", Architecture: "Ampere",
		UUID: "GPU-12345678-aaaa-bbbb-cccc-0123456789ab", VBIOS: "94.02.71.40.72",
		PCIeGen: new(1), PCIeGenMax: new(4), PCIeGenDeviceMax: new(4),
		PCIeWidthLanes: new(16), PCIeWidthMaxLanes: new(16), PCIeReplays: new(uint64(0)),
		MemoryTotalBytes: new(uint64(24576 << 20)), MemoryUsedBytes: new(uint64(1 << 20)), BAR1TotalBytes: new(uint64(32768 << 20)),
		PowerDrawW: new(27.23), PowerLimitW: new(200.0), PowerDefaultLimitW: new(350.0), PowerMaxLimitW: new(375.0),
		ClockSMMHz: new(0), ClockMemMHz: new(405), ClockSMMaxMHz: new(2100), ClockMemMaxMHz: new(9751),
		PState: "P8", ClockReasons: []string{"gpu_idle"}, UtilPercent: new(0), TempC: new(37), Persistence: new(true), Processes: new(0),
	}
	ada := GPU{
		BDF: "0000:06:00.0", Name: "NVIDIA RTX 4000 SFF Ada Generation", Brand: "NVIDIA RTX", Architecture: "Ada Lovelace",
		UUID: "GPU-37037c3f-65c8-ec4d-24a9-420204ad8026", Serial: "REDACTED", VBIOS: "95.04.53.00.01",
		Addressing: "HMM", Recovery: "None",
		VendorID: new(uint16(0x10de)), DeviceID: new(uint16(0x27b0)),
		SubsystemVendorID: new(uint16(0x10de)), SubsystemDeviceID: new(uint16(0x16fa)),
		PCIeGen: new(1), PCIeGenMax: new(4), PCIeGenDeviceMax: new(4), PCIeGenHostMax: new(4),
		PCIeWidthLanes: new(16), PCIeWidthMaxLanes: new(16), PCIeReplays: new(uint64(0)),
		MemoryTotalBytes: new(uint64(20475 << 20)), MemoryUsedBytes: new(uint64(3534 << 20)), BAR1TotalBytes: new(uint64(32768 << 20)),
		PowerDrawW: new(8.81), PowerLimitW: new(70.0), PowerDefaultLimitW: new(70.0), PowerMaxLimitW: new(70.0),
		ClockSMMHz: new(210), ClockMemMHz: new(405), ClockSMMaxMHz: new(3105), ClockMemMaxMHz: new(7001),
		PState: "P8", ClockReasons: []string{"gpu_idle"}, UtilPercent: new(0), TempC: new(38), Persistence: new(true), ECC: new(false),
		RemappedCorr: new(uint64(0)), RemappedUncorr: new(uint64(0)), RemapPending: new(false), RemapFailed: new(false),
		Processes: new(4),
	}
	for name, want := range map[string]Log{
		"nvidia-smi_q_x_rtx3090_v12.xml":    {Driver: "525.147.05", CUDA: "12.0", Attached: new(1), GPUs: []GPU{rtx3090}},
		"nvidia-smi_q_x_rtx4000ada_v13.xml": {Driver: "595.84", CUDA: "13.2", Attached: new(1), GPUs: []GPU{ada}},
		"h200_q.xml":                        {Driver: "580.159.04", CUDA: "13.0", Attached: new(1), GPUs: []GPU{h200}},
	} {
		t.Run(name, func(t *testing.T) {
			b := recorded(t, name)
			got, err := ParseXML(b)
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			crlf, err := ParseXML([]byte(strings.ReplaceAll(string(b), "\n", "\r\n")))
			if d := cmp.Diff(want, crlf); d != "" || err != nil {
				t.Error("with CRLF:", err, d)
			}
		})
	}
}

// recorded reads an own output when the name says H200, a shared one otherwise.
func recorded(t testing.TB, name string) []byte {
	if strings.HasPrefix(name, "h200") {
		return own(t, name)
	}
	return fixture.Read(t, name)
}

const small = `<?xml version="1.0" ?>
<nvidia_smi_log>
	<driver_version>580.95.05</driver_version>
	<attached_gpus>2</attached_gpus>
	<gpu id="0000000F:01:00.0">
		<product_name>NVIDIA GB10 &amp; friends</product_name>
		<mig_devices>
			<mig_device><fb_memory_usage><total>9 MiB</total></fb_memory_usage></mig_device>
		</mig_devices>
		<clocks_event_reasons>
			<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
			<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
			<clocks_event_reason_sync_boost>Not Active</clocks_event_reason_sync_boost>
		</clocks_event_reasons>
		<fb_memory_usage><total>N/A</total><used>[Not Supported]</used></fb_memory_usage>
		<ecc_errors><volatile>
			<sram_uncorrectable_parity>2</sram_uncorrectable_parity>
			<sram_uncorrectable_secded>3</sram_uncorrectable_secded>
		</volatile></ecc_errors>
		<performance_state>P0</performance_state>
		<clocks_event_reasons_counters/>
	</gpu>
	<gpu id="00000001:02:1F.7">
		<clocks><sm_clock>fast</sm_clock><mem_clock>405 MHz</mem_clock></clocks>
		<clocks_event_reasons><clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle></clocks_event_reasons>
`

func TestParseXMLOdd(t *testing.T) {
	got, err := ParseXML([]byte("# a comment\n" + small))
	want := Log{Driver: "580.95.05", Attached: new(2), GPUs: []GPU{
		{
			BDF: "000f:01:00.0", Name: "NVIDIA GB10 & friends", PState: "P0",
			ClockReasons: []string{"sw_power_cap", "hw_thermal_slowdown"},
			Volatile:     ECCCounts{SRAMUncorrectable: new(uint64(5))},
		},
		{BDF: "0001:02:1f.7", ClockMemMHz: new(405), ClockReasons: []string{}},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wantErr := "line 25: clocks/sm_clock: \"fast\" is not a number\nline 27: document ends early"
	if err == nil || err.Error() != wantErr {
		t.Errorf("error %q, want %q", err, wantErr)
	}

	for in, want := range map[string]string{
		"": `no XML: ""`,
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n": `no XML: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."`,
		"<html></html>": "line 1: document ends early",
	} {
		if _, err := ParseXML([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("ParseXML(%q) error %v, want %s", in, err, want)
		}
	}
}

func TestParseText(t *testing.T) {
	retired := func(bdf string, single, double uint64, pending bool) GPU {
		return GPU{BDF: bdf, RetiredSingle: &single, RetiredDouble: &double, RetiredPending: &pending}
	}
	text := h200
	text.PowerDrawW = new(126.67) // asked a moment later
	for name, want := range map[string]Log{
		"h200_q.txt": {Driver: "580.159.04", CUDA: "13.0", Attached: new(1), GPUs: []GPU{text}},
		"nvidia-smi_azure_bad.txt": {Driver: "535.86.10", CUDA: "12.2", Attached: new(8), GPUs: []GPU{
			retired("0001:00:00.0", 60, 5, false),
			retired("0002:00:00.0", 2, 61, true),
			retired("0003:00:00.0", 0, 0, false),
			retired("0004:00:00.0", 6, 0, true),
			retired("0005:00:00.0", 0, 0, false),
			retired("0006:00:00.0", 20, 45, true),
			retired("0007:00:00.0", 0, 0, false),
			retired("0008:00:00.0", 8, 56, true),
		}},
		"nvidia-smi_gb10_q_fb_memory_na.txt": {GPUs: []GPU{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseText(recorded(t, name))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseTextOdd(t *testing.T) {
	in := `GPU 00000000:41:00.0
    Clocks Throttle Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    Clocks
        SM                                : slow
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 7
            Type                          : C
        Process ID                        : 8
`
	got, err := ParseText([]byte(in))
	want := Log{GPUs: []GPU{{BDF: "0000:41:00.0", ClockReasons: []string{"hw_slowdown", "hw_thermal_slowdown"}, Processes: new(2)}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err == nil || err.Error() != `line 7: Clocks/SM: "slow" is not a number` {
		t.Error(err)
	}
	_, err = ParseText([]byte("No devices were found\n"))
	if err == nil || err.Error() != `line 1: "No devices were found" is no part of nvidia-smi -q` {
		t.Error(err)
	}
}

func TestParseCSV(t *testing.T) {
	csv := GPU{
		Index: new(0), Name: "NVIDIA H200", BDF: "0000:00:06.0", UUID: h200.UUID, Serial: h200.Serial,
		MemoryTotalBytes: h200.MemoryTotalBytes, MemoryUsedBytes: new(uint64(0)),
		PowerDrawW: new(126.67), PowerLimitW: new(700.0), ClockSMMHz: new(1980), ClockMemMHz: new(3201),
		PCIeGen: new(5), PCIeWidthLanes: new(16), MIG: new(false), Addressing: "None", ComputeCap: "9.0",
	}
	for name, tt := range map[string]struct {
		in   []byte
		want Log
		err  string
	}{
		"H200": {own(t, "h200_query.csv"), Log{GPUs: []GPU{csv}}, ""},
		"no units": {
			[]byte("name, memory.total [MiB], power.draw [W], driver_version\nNVIDIA H200, 143771, 126.67, 580.159.04\nNVIDIA H200, [N/A], [Unknown Error], 580.159.04\n"),
			Log{Driver: "580.159.04", GPUs: []GPU{{Name: "NVIDIA H200", MemoryTotalBytes: h200.MemoryTotalBytes, PowerDrawW: new(126.67)}, {Name: "NVIDIA H200"}}},
			"",
		},
		"a bad value": {
			[]byte("temperature.gpu, unheard.of\nhot, 1\n"),
			Log{GPUs: []GPU{{}}},
			`line 2: temperature.gpu: "hot" is not a number`,
		},
		"no driver": {[]byte("NVIDIA-SMI has failed"), Log{}, `line 1: "NVIDIA-SMI has failed" is no header`},
		"nothing":   {nil, Log{}, "no header"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseCSV(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestParseCSVGB10(t *testing.T) {
	got, err := ParseCSV(fixture.Read(t, "nvidia-smi_gb10_query_csv.txt"))
	want := Log{GPUs: []GPU{{PowerDrawW: new(11.17), UtilPercent: new(0), TempC: new(35)}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// Six lines of another program follow in the fixture.
	if err == nil || strings.Count(err.Error(), "\n") != 5 || !strings.HasPrefix(err.Error(), "line 5: 1 values for 6 columns") {
		t.Error(err)
	}
}

func TestParseTable(t *testing.T) {
	for name, want := range map[string]Log{
		"nvidia-smi_gb10_table.txt": {Driver: "580.126.09", CUDA: "13.0", GPUs: []GPU{{
			BDF: "000f:01:00.0", Index: new(0), Name: "NVIDIA GB10", PowerDrawW: new(3.0),
		}}},
		"h200_table.txt": {Driver: "580.159.04", CUDA: "13.0", GPUs: []GPU{{
			BDF: "0000:00:06.0", Index: new(0), Name: "NVIDIA H200", PowerDrawW: new(126.0), PowerLimitW: new(700.0),
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseTable(recorded(t, name))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := ParseTable([]byte("bash: nvidia-smi: command not found\n")); err == nil {
		t.Error("no error for no table")
	}
}

func fuzzLog(f *testing.F, parse func([]byte) (Log, error), names ...string) {
	seed(f, names...)
	f.Add([]byte(small))
	f.Fuzz(func(t *testing.T, b []byte) {
		log, _ := parse(b)
		for _, g := range log.GPUs {
			if again, ok := printed.BDF(g.BDF); g.BDF != "" && (!ok || again != g.BDF) {
				t.Errorf("BDF %q is not in the kernel's spelling", g.BDF)
			}
		}
	})
}

func FuzzParseXML(f *testing.F)  { fuzzLog(f, ParseXML) }
func FuzzParseText(f *testing.F) { fuzzLog(f, ParseText, "nvidia-smi_azure_bad.txt") }
func FuzzParseCSV(f *testing.F)  { fuzzLog(f, ParseCSV, "nvidia-smi_gb10_query_csv.txt") }
func FuzzParseTable(f *testing.F) {
	fuzzLog(f, ParseTable, "nvidia-smi_gb10_table.txt")
}

func BenchmarkParseXML(b *testing.B) {
	in := own(b, "h200_q.xml")
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := ParseXML(in); err != nil {
			b.Fatal(err)
		}
	}
}
