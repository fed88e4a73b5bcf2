package kmsg

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weft/internal/fixture"
)

var noText = cmpopts.IgnoreFields(Event{}, "Text")

func TestFixtures(t *testing.T) {
	const boot = "Sun Feb 23 16:24:18 2025"
	cqe := func(line int, at string) Event {
		return Event{Kind: ResponderError, Line: line, At: at, Device: "rocep33s0f0", Detail: "syndrome 0x5, vendor syndrome 0xf9"}
	}
	xid := func(line int, at, detail string) Event {
		return Event{Kind: Xid, Line: line, At: at, Device: "0000:9b:00.0", Number: new(119), Detail: detail}
	}
	peermem := func(line int, at string) Event { return Event{Kind: PeermemContext, Line: line, At: at} }
	for name, want := range map[string][]Event{
		"dmesg_mlx4_connectx3_strixhalo.txt": {
			{Kind: Steering, Line: 5, At: "9.162204", Device: "0000:c3:00.0", Detail: "disabled performance optimized steering"},
			{Kind: PCIeLimited, Line: 6, At: "9.162913", Device: "0000:c3:00.0", Limit: &PCIeLimit{
				AvailableMbps: 31504, SpeedMTps: 8000, WidthLanes: 4, BDF: "0000:00:02.5",
				CapableMbps: 63008, CapableSpeedMTps: 8000, CapableWidthLanes: 8,
			}},
			{Kind: LinkInit, Line: 13, At: "1943.886040", Device: "0000:c3:00.0", Netdev: "ibp195s0", Number: new(1)},
			{Kind: LinkUp, Line: 14, At: "1943.941515", Device: "0000:c3:00.0", Netdev: "ibp195s0", Number: new(1)},
		},
		"dmesg_mlx5_link_up.txt": {
			{Kind: LinkUp, Line: 2, At: "21.365907", Device: "0000:08:00.0", Netdev: "ens1"},
			{Kind: LinkUp, Line: 3, At: "27.947560", Device: "0000:82:00.0", Netdev: "ens3"},
		},
		"dmesg_mlx5_port_module_and_power.txt": {
			{Kind: SlotPower, Line: 2, Device: "0000:5c:00.0", Number: new(27)},
			{Kind: ModuleError, Line: 3, At: "Sun Dec  1 14:54:40 2024", Number: new(0), Detail: "Cable error, High Temperature"},
			{Kind: CommandError, Line: 4, Detail: "ACCESS_REG: bad resource"},
			{Kind: CommandError, Line: 5, At: "Sun Dec 1 14:54:40 2024", Device: "0000:d2:00.0", Detail: "ACCESS_REG"},
		},
		"dmesg_mlx5_responder_error_cqe.txt": {cqe(2, "15601.662156"), cqe(4, "15601.662159")},
		"dmesg_xid119.txt": {
			xid(4, boot, "pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4)."),
			xid(39, "Sun Feb 23 16:24:24 2025", "pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 10 (FREE) (0xa55a0210 0x0)."),
			xid(41, "Sun Feb 23 16:24:30 2025", "pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 10 (FREE) (0xa55a0090 0x0)."),
			xid(43, "Sun Feb 23 16:27:12 2025", "pid=1263500, name=cache_mgr_main, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20801813 0x4c)."),
			xid(44, "Sun Feb 23 16:30:13 2025", "pid=1240590, name=gpud, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20803032 0x58c)."),
		},
		"kmsg_nvidia_peermem_invalid_context.txt": {
			peermem(2, "227.996636"), peermem(3, "227.996637"), peermem(4, "227.996638"), peermem(5, "227.996639"),
			peermem(6, "227.996650"), peermem(7, "227.996661"), peermem(8, "227.996662"),
		},
		"odinlink_thunderbolt_crc_error_kernel.txt": {
			{Kind: ThunderboltCRC, Line: 2, Number: new(1)},
			{Kind: ThunderboltLost, Line: 3, Number: new(1)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(want, Parse(fixture.Read(t, name)), noText); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		line string
		want *Event
	}{
		{"kern  :warn  : [    5.100000] pcieport 0000:00:01.1: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)",
			&Event{Kind: AERCorrectable, At: "5.100000", Device: "0000:00:01.1", Detail: "Physical Layer"}},
		{"mlx5_core 0000:C1:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
			&Event{Kind: AERCorrectable, Device: "0000:c1:00.0", Detail: "Data Link Layer"}},
		{"mlx5_core 0000:c1:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
			&Event{Kind: AERNonFatal, Device: "0000:c1:00.0", Detail: "Transaction Layer"}},
		{"mlx5_core 0000:c1:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Inaccessible, (Unregistered Agent ID)",
			&Event{Kind: AERFatal, Device: "0000:c1:00.0", Detail: "Inaccessible"}},
		{"pcieport 0000:00:01.1: AER: Corrected error received: 0000:c1:00.0", nil},
		{"Dec  1 14:54:40 gpu7 kernel: [  100.5] mlx5_core 0000:17:00.0 ens1f0np0: Link down",
			&Event{Kind: LinkDown, At: "100.5", Device: "0000:17:00.0", Netdev: "ens1f0np0"}},
		{"ice 0000:c1:00.0 enp193s0f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC",
			&Event{Kind: LinkUp, Device: "0000:c1:00.0", Netdev: "enp193s0f0"}},
		{"ice 0000:c1:00.0 enp193s0f0: NIC Link is Down", &Event{Kind: LinkDown, Device: "0000:c1:00.0", Netdev: "enp193s0f0"}},
		{"audit: Link up is a nice phrase: Link up", nil},
		{"mlx5_core 0000:17:00.0: Port module event: module 1, Cable unplugged",
			&Event{Kind: Module, Device: "0000:17:00.0", Number: new(1), Detail: "Cable unplugged"}},
		{"mlx5_core 0000:17:00.0: temp_warn:147:(pid 0): High temperature on sensors with bit set 0 1",
			&Event{Kind: CardHot, Device: "0000:17:00.0", Detail: "0 1"}},
		{"NVRM: Xid (PCI:000F:01:00): 79, GPU has fallen off the bus.",
			&Event{Kind: Xid, Device: "000f:01:00.0", Number: new(79), Detail: "GPU has fallen off the bus."}},
		{"nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
			&Event{Kind: SXid, Device: "0000:c3:00.0", Number: new(12028), Detail: "Non-fatal, Link 32 egress non-posted PRIV error"}},
		{"NVRM: Xid (PCI:0000:01:00): many", nil},
		{"mlx5_core 0000:17:00.0: 126.016 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x8 link)", nil},
		{"mlx5_core 0000:17:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8 GT/s x2 link at 0000:00:1c.0 (capable of 126.016 Gb/s with 16 GT/s x8 link)",
			&Event{Kind: PCIeLimited, Device: "0000:17:00.0", Limit: &PCIeLimit{15752, 8000, 2, "0000:00:1c.0", 126016, 16000, 8}}},
		{"mlx5_core 0000:17:00.0: wide Gb/s available PCIe bandwidth, limited by 8 GT/s x2 link at 0000:00:1c.0 (capable of 1 Gb/s with 16 GT/s x8 link)", nil},
		{"", nil},
		{"] 00", nil}, // found by fuzzing
		{"6,1,x,-;text", nil},
	} {
		var want []Event
		if tt.want != nil {
			tt.want.Line = 1
			want = []Event{*tt.want}
		}
		if d := cmp.Diff(want, Parse([]byte(tt.line+"\r\n")), noText); d != "" {
			t.Errorf("%s: %s", tt.line, d)
		}
	}
}

func TestText(t *testing.T) {
	got := Parse([]byte("4,10,1000007,-;mlx5_core 0000:08:00.0 ens1: Link up\n SUBSYSTEM=pci\n DEVICE=+pci:0000:08:00.0\n"))
	want := []Event{{Kind: LinkUp, Line: 1, At: "1.000007", Device: "0000:08:00.0", Netdev: "ens1", Text: "mlx5_core 0000:08:00.0 ens1: Link up"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Two devices that err at once must not swap their syndromes.
func TestInterleaved(t *testing.T) {
	got := Parse([]byte("infiniband mlx5_0: mlx5_poll_one:527:(pid 0): Requestor error cqe on cqn 0x4:\n" +
		"infiniband mlx5_1: mlx5_poll_one:530:(pid 0): syndrome 0x5, vendor syndrome 0xf9\n"))
	want := []Event{{Kind: RequesterError, Line: 1, Device: "mlx5_0"}}
	if d := cmp.Diff(want, got, noText); d != "" {
		t.Error(d)
	}
}

func FuzzParse(f *testing.F) {
	fixture.Seed(f, "dmesg_*", "kmsg_*", "odinlink_*")
	f.Add([]byte("NVRM: Xid (PCI:0000:9b:00): 119, x\npcieport 0000:00:01.1: PCIe Bus Error: severity=Corrected, type=P, (R)\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		last := 0
		for _, e := range Parse(b) {
			if e.Line <= last {
				t.Errorf("line %d after %d", e.Line, last)
			}
			last = e.Line
			if (e.Kind == PCIeLimited) != (e.Limit != nil) {
				t.Errorf("%s has limit %v", e.Kind, e.Limit)
			}
			if e.Kind == Xid && e.Number == nil {
				t.Error("Xid without its number")
			}
		}
	})
}
