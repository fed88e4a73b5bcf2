package ibnet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

func TestQueryErrorsFiles(t *testing.T) {
	for file, want := range map[string]ErrorReport{
		"lab/ibsim/2sw8h/ibqueryerrors.txt": {NodesChecked: new(10), BadNodes: new(0), PortsChecked: new(80), BadPorts: new(0), Suppressed: []string{}},
		"lab/ibsim/216h/ibqueryerrors.txt":  {NodesChecked: new(234), BadNodes: new(0), PortsChecked: new(864), BadPorts: new(0), Suppressed: []string{}},
		"lab/ibsim/ndr/ibqueryerrors.txt":   {NodesChecked: new(11), BadNodes: new(0), PortsChecked: new(116), BadPorts: new(0), Suppressed: []string{}},
		"lab/ibsim/width/ibqueryerrors-inj.txt": {
			Ports: []PortErrors{
				{Name: "host5", GUID: "0x0000000000100009", Port: 1, Counters: map[string]uint64{"SymbolErrorCounter": 100}},
				{Name: "sw2", GUID: "0x0000000000200001", All: true, Counters: map[string]uint64{"PortRcvErrors": 50}},
				{Name: "sw2", GUID: "0x0000000000200001", Port: 1, Counters: map[string]uint64{"PortRcvErrors": 50}},
				{Name: "sw1", GUID: "0x0000000000200000", All: true, Counters: map[string]uint64{"LinkDownedCounter": 7}},
				{Name: "sw1", GUID: "0x0000000000200000", Port: 35, Counters: map[string]uint64{"LinkDownedCounter": 7}},
			},
			NodesChecked: new(10), BadNodes: new(3), PortsChecked: new(80), BadPorts: new(3), Suppressed: []string{},
		},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseQueryErrors(fixture.Read(t, file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestQueryErrorsSamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     ErrorReport
		err      string
	}{
		{
			name: "-r --data -s",
			in: "Errors for 0x200001 \"leaf \"1\"\"\n   GUID 0x200001 port 3: [PortRcvErrors == 9] [PortXmitData == 4968 (19.406KB)]\n" +
				"       Link info:      3   3[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0x000000000010000d     10    1[  ] \"n6\" (Could be 12X )\n" +
				"\n## Summary: 11 nodes checked, 1 bad nodes found\n## Suppressed: SymbolErrorCounter LinkDownedCounter\n",
			want: ErrorReport{
				Ports: []PortErrors{{
					Name: `leaf "1"`, GUID: "0x0000000000200001", Port: 3, Counters: map[string]uint64{"PortRcvErrors": 9, "PortXmitData": 4968},
					Link: &PortLink{
						GUID: "0x0000000000200001", Name: `leaf "1"`, LID: 3, Port: 3, WidthLanes: 4, Speed: "HDR", State: "ACTIVE", PhysState: "LinkUp",
						Peer: End{GUID: "0x000000000010000d", Name: "n6", LID: 10, Port: 1}, CouldLanes: 12,
					},
				}},
				NodesChecked: new(11), BadNodes: new(1), Suppressed: []string{"SymbolErrorCounter", "LinkDownedCounter"},
			},
		},
		{
			name: "cut and broken",
			in: "Link info: 3\nErrors for \"a\"\nGUID 0x1 port\nGUID 0x1 port some: [A == 1]\nGUID 0x1 port 2: [A == 1] [B == x] [C == 3\n" +
				"## Summary: no nodes checked, 1 bad nodes found\nibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 4)\n",
			want: ErrorReport{Ports: []PortErrors{{Name: "a", GUID: "0x0000000000000001", Port: 2, Counters: map[string]uint64{"A": 1}}}},
			err: "line 1: link: \"Link info: 3\" belongs to no port\nline 3: port: \"GUID 0x1 port\" has no GUID and port\n" +
				"line 4: port: \"GUID 0x1 port some\" has no GUID and port\nline 5: counter: \"B == x\" is not a name and a number\n" +
				"line 5: counter: \"C == 3\" is cut short\nline 6: summary: \"no nodes checked, 1 bad nodes found\" has no two numbers\n" +
				"line 7: tool says \"ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 4)\"",
		},
		{name: "missing tool", in: "ibqueryerrors: not found", err: `line 1: "ibqueryerrors: not found" is not ibqueryerrors output`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseQueryErrors([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// errorCounters are the zero counters that the fixtures have in common.
func errorCounters(more map[string]uint64) map[string]uint64 {
	m := map[string]uint64{
		"SymbolErrorCounter": 0, "LinkErrorRecoveryCounter": 0, "LinkDownedCounter": 0, "PortRcvErrors": 0, "PortRcvRemotePhysicalErrors": 0,
		"PortRcvSwitchRelayErrors": 0, "PortXmitDiscards": 0, "PortXmitConstraintErrors": 0, "PortRcvConstraintErrors": 0,
		"LocalLinkIntegrityErrors": 0, "ExcessiveBufferOverrunErrors": 0, "VL15Dropped": 0, "QP1Dropped": 0, "PortXmitWait": 0,
	}
	for k, v := range more {
		m[k] = v
	}
	return m
}

func TestPerfqueryFiles(t *testing.T) {
	for file, want := range map[string][]PortCounters{
		"perfquery_hca.txt": {{LID: 2052, Port: 1, Extended: true, Counters: errorCounters(map[string]uint64{
			"PortXmitData": 178791657177235, "PortRcvData": 178762341961629, "PortXmitPkts": 393094651266, "PortRcvPkts": 387654829341,
			"PortUnicastXmitPkts": 387471005571, "PortUnicastRcvPkts": 387648134400, "PortMulticastXmitPkts": 5623645694,
			"PortMulticastRcvPkts": 6694940, "LinkDownedCounter": 1, "PortRcvSwitchRelayErrors": 7, "PortXmitDiscards": 20046, "PortXmitWait": 41864608,
		})}},
		"perfquery_switch.txt": {
			{LID: 1719, Port: 1, Extended: true, Counters: errorCounters(map[string]uint64{
				"PortXmitData": 36298026860928, "PortRcvData": 12279028775751, "PortXmitPkts": 101733204203, "PortRcvPkts": 32262508468,
				"PortUnicastXmitPkts": 101708165289, "PortUnicastRcvPkts": 26677661727, "PortMulticastXmitPkts": 25038914,
				"PortMulticastRcvPkts": 5584846741, "PortXmitWait": 22730501,
			})},
			{LID: 1719, Port: 2, Extended: true, Counters: errorCounters(map[string]uint64{
				"PortXmitData": 26006570014026, "PortRcvData": 39078804993378, "PortXmitPkts": 122978948297, "PortRcvPkts": 93660802641,
				"PortUnicastXmitPkts": 122978948297, "PortUnicastRcvPkts": 93660802641, "PortMulticastXmitPkts": 0,
				"PortMulticastRcvPkts": 0, "PortXmitWait": 36510964,
			})},
		},
		"lab/ibsim/width/perfquery-lid3.txt": {{LID: 3, Port: 1, Counters: errorCounters(map[string]uint64{
			"PortXmitData": 1728, "PortRcvData": 1728, "PortXmitPkts": 24, "PortRcvPkts": 24,
		})}},
		"lab/ibsim/width/perfquery.txt": {{LID: 1, Port: 1, Counters: errorCounters(map[string]uint64{
			"PortXmitData": 47664, "PortRcvData": 47664, "PortXmitPkts": 662, "PortRcvPkts": 662,
		})}},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := ParsePerfquery(fixture.Read(t, file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPerfquerySamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []PortCounters
		err      string
	}{
		{name: "all ports", in: "# Port counters: Lid 3 port 255 (CapMask: 0x1300)\r\nPortSelect:......................255\r\nVL15Dropped:.....................2\r\n",
			want: []PortCounters{{LID: 3, Port: 255, All: true, Counters: map[string]uint64{"VL15Dropped": 2}}}},
		{name: "head cut off", in: "PortSelect:......................4\nPortRcvErrors:...................1\n",
			want: []PortCounters{{Port: 4, Counters: map[string]uint64{"PortRcvErrors": 1}}}},
		{name: "direct route", in: "# Port counters: DR path slid 65535; dlid 65535; 0,1 port 2 (CapMask: 0x1300)\n",
			want: []PortCounters{{Port: 2, Counters: map[string]uint64{}}}},
		{name: "odd value, then no answer", in: "# Port counters: Lid 3 port 1\nPortRcvErrors:...................-1\nperfquery: iberror: failed: perfquery\n",
			want: []PortCounters{{LID: 3, Port: 1, Counters: map[string]uint64{}}},
			err:  "line 2: PortRcvErrors: \"-1\" is not a number\nline 3: tool says \"perfquery: iberror: failed: perfquery\""},
		{name: "missing tool", in: "perfquery: not found", err: `line 1: "perfquery: not found" is not perfquery output`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParsePerfquery([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
