package ibnet

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func TestSminfo(t *testing.T) {
	for file, count := range map[string]int{"2sw8h": 232, "216h": 6662, "ndr": 299, "width": 232} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseSminfo(fixture.Read(t, "lab/ibsim/"+file+"/sminfo.txt"))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff([]SM{{LID: 1, GUID: "0x0000000000100001", ActivityCount: count, State: "MASTER"}}, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSminfoSamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []SM
		err      string
	}{
		{
			name: "a master, a LID without one, a standby",
			in: "sminfo: sm lid 1 sm guid 0x100001, activity count 463 priority 5 state 3 SMINFO_MASTER\n" +
				"ibwarn: [9] mad_rpc: _do_madrpc failed; dport (Lid 2)\nsminfo: iberror: failed: query\n" +
				"sminfo: sm lid 7 sm guid 0x100007, activity count 192 priority 3 state 2 SMINFO_STANDBY\n",
			want: []SM{
				{LID: 1, GUID: "0x0000000000100001", ActivityCount: 463, Priority: 5, State: "MASTER"},
				{LID: 7, GUID: "0x0000000000100007", ActivityCount: 192, Priority: 3, State: "STANDBY"},
			},
			err: "line 2: tool says \"ibwarn: [9] mad_rpc: _do_madrpc failed; dport (Lid 2)\"\nline 3: tool says \"sminfo: iberror: failed: query\"",
		},
		{name: "new state", in: "sminfo: sm lid 1 sm guid 0x2, activity count 3 priority 4 state 9 SMINFO_ODD",
			want: []SM{{LID: 1, GUID: "0x0000000000000002", ActivityCount: 3, Priority: 4}}, err: "line 1: state: 9 is not an SM state"},
		{name: "cut", in: "sminfo: sm lid 1 sm guid 0x2, activity", err: `line 1: sm: "lid 1 sm guid 0x2, activity" has no lid, guid, count, priority and state`},
		{name: "missing tool", in: "sminfo: not found", err: `line 1: "sminfo: not found" is not sminfo output`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseSminfo([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSaqueryFiles(t *testing.T) {
	host := func(name string) SA {
		return SA{Nodes: []NodeRecord{{
			Node:     Node{Kind: "CA", GUID: "0x0000000000100000", Name: name, SysImageGUID: "0x0000000000100000", VendorID: "0x0", DeviceID: "0x0", LID: 1, NumPorts: 1},
			PortGUID: "0x0000000000100001", Port: 1,
		}}}
	}
	ports := func(speed string) SA {
		return SA{Ports: []PortRecord{
			{LID: 1, Port: 1, State: "ACTIVE", PhysState: "LinkUp", WidthLanes: 4, Speed: speed, SMLID: 1, MaxMTUBytes: 2048, ActiveMTUBytes: 2048, CapMask: "0x50c04a", IsSM: true},
			{LID: 2, State: "ACTIVE", PhysState: "LinkUp", WidthLanes: 4, Speed: "SDR", SMLID: 1, MaxMTUBytes: 1024, ActiveMTUBytes: 256, CapMask: "0xc048"},
		}}
	}
	sm := SA{Ports: []PortRecord{{LID: 1, Port: 1, SMLID: 1, CapMask: "0x50c04a", IsSM: true}}}
	path := SA{Paths: []PathRecord{{
		SLID: 1, DLID: 2, SGID: netip.MustParseAddr("fe80::10:1"), DGID: netip.MustParseAddr("fe80::20:0"), MTUBytes: 1024, RateGbps: "10", PKey: "0xffff",
	}}}
	for file, want := range map[string]SA{
		"2sw8h/saquery-nr.txt": host("host1"), "216h/saquery-nr.txt": host("node0000 mlx5_0"),
		"ndr/saquery-nr.txt": host("node0000 mlx5_0"), "width/saquery-nr.txt": host("host1"),
		"2sw8h/saquery-pir2.txt": ports("SDR"), "216h/saquery-pir2.txt": ports("HDR"), "ndr/saquery-pir2.txt": ports("SDR"), "width/saquery-pir2.txt": ports("EDR"),
		"2sw8h/saquery-pir.txt": sm, "216h/saquery-pir.txt": sm, "ndr/saquery-pir.txt": sm, "width/saquery-pir.txt": sm,
		"2sw8h/saquery-path.txt": path, "ndr/saquery-path.txt": path, "width/saquery-path.txt": path,
	} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseSaquery(fixture.Read(t, "lab/ibsim/"+file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got, addrs); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSaquerySamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     SA
		err      string
	}{
		{
			name: "SMIR: two subnet managers",
			in: "SMInfoRecord dump:\n\t\tRID\n\t\tLID...................1\n\t\tSMInfo dump:\n\t\tGUID..................0x0000000000100001\n" +
				"\t\tSM_Key................0x0000000000000000\n\t\tActCount..............459\n\t\tPriority..............5\n\t\tSMState...............3\n" +
				"SMInfoRecord dump:\n\t\tLID...................7\n\t\tGUID..................0x0000000000100007\n\t\tActCount..............52\n\t\tSMState...............2\n",
			want: SA{SMs: []SM{
				{LID: 1, GUID: "0x0000000000100001", ActivityCount: 459, Priority: 5, State: "MASTER"},
				{LID: 7, GUID: "0x0000000000100007", ActivityCount: 52, State: "STANDBY"},
			}},
		},
		{
			name: "LR, and a record that is not kept",
			in: "LinkRecord dump:\n\t\tFromLID....................2\n\t\tFromPort...................5\n\t\tToPort.....................1\n\t\tToLID......................4\n" +
				"SwitchInfoRecord dump:\n\t\tLID.....................................2\n",
			want: SA{Links: []LinkRecord{{FromLID: 2, FromPort: 5, ToLID: 4, ToPort: 1}}},
		},
		{
			name: "-s: nobody, one switched off",
			in:   "IsSM ports\n\nIsSMdisabled ports\nPortInfoRecord dump:\n\t\tEndPortLid..............9\n\t\tPortNum.................1\n\t\tcapability_mask.........0x400\n",
			want: SA{Ports: []PortRecord{{LID: 9, Port: 1, CapMask: "0x400", IsSMDisabled: true}}},
		},
		{name: "-s: nobody at all", in: "IsSM ports\n\nIsSMdisabled ports\n"},
		{name: "no subnet manager", in: "Query SA failed: Connection timed out\n", err: `line 1: tool says "Query SA failed: Connection timed out"`},
		{name: "not trusted", in: "ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)\n",
			err: `line 1: tool says "ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)"`},
		{name: "missing tool", in: "saquery: not found", err: `line 1: "saquery: not found" is not saquery output`},
		{
			name: "words that are no words",
			in: "NodeRecord dump:\n node_type...............Toaster\nPortInfoRecord dump:\n LinkState:...Up\n PhysLinkState:...Up\n LinkWidthActive:...3X\n" +
				" LinkSpeedActive:...fast\n CapMask:...none\nPathRecord dump:\n sgid...here\n mtu...0x80\n rate...0x80\nSMInfoRecord dump:\n SMState...9\n GUID...x\n LID...x\n",
			want: SA{Nodes: make([]NodeRecord, 1), Ports: make([]PortRecord, 1), Paths: make([]PathRecord, 1), SMs: make([]SM, 1)},
			err: "line 2: node_type: \"Toaster\" is not a node type\nline 4: LinkState: \"Up\" is not a port state\n" +
				"line 5: PhysLinkState: \"Up\" is not a physical state\nline 6: LinkWidthActive: \"3X\" is not a width\n" +
				"line 7: LinkSpeedActive: \"fast\" is not a speed\nline 8: CapMask: \"none\" is not a number\nline 10: sgid: \"here\" is not a GID\n" +
				"line 11: mtu: \"0x80\" is not an MTU\nline 12: rate: \"0x80\" is not a rate\nline 14: SMState: \"9\" is not an SM state\n" +
				"line 15: GUID: \"x\" is not a GUID\nline 16: LID: \"x\" is not a number",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseSaquery([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got, addrs); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOpensmLogFiles(t *testing.T) {
	timeout := func(at1, at2, at3, tid string) []SMEvent {
		return []SMEvent{
			{At: at1, Kind: SMError, Func: "log_send_error", Code: "5411", Text: "DR SMP Send completed with error (IB_TIMEOUT) -- dropping"},
			{At: at2, Kind: SMError, Func: "sm_mad_ctrl_send_err_cb", Code: "3113", Text: "MAD completed in error (IB_TIMEOUT): SubnGet(NodeInfo), attr_mod 0x0, TID " + tid},
			{At: at3, Kind: SMError, Func: "sm_mad_ctrl_send_err_cb", Code: "3120", Text: "Timeout while getting attribute 0x11 (NodeInfo); Possible mis-set mkey?"},
		}
	}
	var width []SMEvent
	width = append(width,
		SMEvent{At: "Nov 15 02:28:07 236262", Kind: SMStart},
		SMEvent{At: "Nov 15 02:28:07 239342", Kind: SMState, State: "DISCOVERING"},
		SMEvent{At: "Nov 15 02:28:07 244458", Kind: SMState, State: "MASTER"},
		SMEvent{At: "Nov 15 02:28:07 246838", Kind: SMSubnetUp},
		SMEvent{At: "Nov 15 02:28:07 887169", Kind: SMSubnetUp},
	)
	width = append(width, timeout("Nov 15 02:28:20 443813", "Nov 15 02:28:20 443844", "Nov 15 02:28:20 443846", "0x142f")...)
	width = append(width, timeout("Nov 15 02:28:20 447142", "Nov 15 02:28:20 447154", "Nov 15 02:28:20 447156", "0x14b7")...)
	width = append(width, SMEvent{At: "Nov 15 02:28:20 449353", Kind: SMSubnetUp})
	width = append(width, timeout("Nov 15 02:28:20 451761", "Nov 15 02:28:20 451772", "Nov 15 02:28:20 451774", "0x1554")...)
	width = append(width, SMEvent{At: "Nov 15 02:28:20 453174", Kind: SMSubnetUp}, SMEvent{At: "Nov 15 02:28:20 776499", Kind: SMExit})

	for file, want := range map[string]SMLog{
		"opensm_bind_failed_kernel_6.11.txt": {Version: "3.3.23", Events: []SMEvent{
			{At: "138670", Kind: SMStart},
			{At: "140628", Kind: SMState, State: "DISCOVERING"},
			{At: "165028", Kind: SMError, Func: "osm_vendor_bind", Code: "5426", Text: "Unable to register class 129 version 1"},
			{At: "165157", Kind: SMError, Func: "osm_sm_mad_ctrl_bind", Code: "3118", Text: "Vendor specific bind failed"},
			{At: "165162", Kind: SMError, Func: "osm_sm_bind", Code: "2E10", Text: "SM MAD Controller bind failed (IB_ERROR)"},
			{At: "165173", Kind: SMError, Func: "perfmgr_mad_unbind", Code: "5405", Text: "No previous bind"},
			{At: "165176", Kind: SMError, Func: "osm_congestion_control_shutdown", Code: "C108", Text: "No previous bind"},
			{At: "165217", Kind: SMError, Func: "osm_sa_mad_ctrl_unbind", Code: "1A11", Text: "No previous bind"},
			{At: "165630", Kind: SMExit},
		}},
		"lab/ibsim/216h/opensm.log": {Version: "3.3.23", Events: []SMEvent{
			{At: "Nov 15 02:28:38 411454", Kind: SMStart},
			{At: "Nov 15 02:28:38 414875", Kind: SMState, State: "DISCOVERING"},
			{At: "Nov 15 02:28:38 479739", Kind: SMState, State: "MASTER"},
			{At: "Nov 15 02:28:38 553444", Kind: SMSubnetUp},
			{At: "Nov 15 02:28:39 196237", Kind: SMExit},
		}},
		"lab/ibsim/width/opensm.log": {Version: "3.3.23", Events: width},
		"lab/ibsim/2sw8h/opensm.out": {Version: "3.3.23", Events: []SMEvent{
			{Kind: SMStart}, {Kind: SMState, State: "DISCOVERING"}, {Kind: SMState, State: "MASTER"}, {Kind: SMExit},
		}},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseOpensmLog(fixture.Read(t, file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if s := got.State(); s != "" {
				t.Errorf("state %q after the exit, want none", s)
			}
		})
	}
}

func TestOpensmLogSamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     SMLog
		state    string
		err      string
	}{
		{
			name: "standby takes over", state: "MASTER",
			in: "Nov 15 03:57:30 769493 [5D54D740] 0x03 -> OpenSM 5.17.0.MLNX20231105 (2.0)\nNov 15 03:57:30 788925 [5A5466C0] 0x80 -> Entering STANDBY state\n" +
				"Nov 15 03:57:34 1 [5] 0x01 -> a_func: ERR 5411: gone\n\t\t\tMethod 0x1, Attr 0x20, TID 0x12f7\n" +
				"Nov 15 03:57:36 2 [5] 0x80 -> Entering MASTER state\nNov 15 03:57:37 3 [5] 0x82 -> Errors during initialization\n",
			want: SMLog{Version: "5.17.0.MLNX20231105", Events: []SMEvent{
				{At: "Nov 15 03:57:30 769493", Kind: SMStart}, {At: "Nov 15 03:57:30 788925", Kind: SMState, State: "STANDBY"},
				{At: "Nov 15 03:57:34 1", Kind: SMError, Func: "a_func", Code: "5411", Text: "gone"},
				{At: "Nov 15 03:57:36 2", Kind: SMState, State: "MASTER"}, {At: "Nov 15 03:57:37 3", Kind: SMInitErrors},
			}},
		},
		{
			name: "journal, started again", state: "",
			in: "Nov 15 10:00:00 head1 OpenSM[812]: OpenSM 3.3.23\nNov 15 10:00:01 head1 OpenSM[812]: Entering MASTER state\n" +
				"Nov 15 11:00:00 head1 OpenSM[900]: OpenSM 3.3.23\n",
			want: SMLog{Version: "3.3.23", Events: []SMEvent{
				{At: "Nov 15 10:00:00", Kind: SMStart}, {At: "Nov 15 10:00:01", Kind: SMState, State: "MASTER"}, {At: "Nov 15 11:00:00", Kind: SMStart},
			}},
		},
		{name: "chatter only", in: "Nov 15 02:28:07 1 [E2D54740] 0x02 -> osm_vendor_init: 1000 pending umads specified\n"},
		{name: "nothing"},
		{name: "not a log", in: "cat: /var/log/opensm.log: No such file", err: `line 1: "cat: /var/log/opensm.log: No such file" is not opensm output`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseOpensmLog([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if s := got.State(); s != tc.state {
				t.Errorf("state %q, want %q", s, tc.state)
			}
		})
	}
}
