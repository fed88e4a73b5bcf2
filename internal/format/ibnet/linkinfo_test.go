package ibnet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

func TestLinkinfoFiles(t *testing.T) {
	for _, tc := range []struct {
		file                    string
		ports, active, narrowed int // narrowed: could be wider than 4 lanes or faster
		first                   PortLink
	}{{
		file: "lab/ibsim/2sw8h/iblinkinfo.txt", ports: 80, active: 20, narrowed: 20,
		first: PortLink{
			Kind: "CA", GUID: "0x000000000010000f", Name: "host8", LID: 10, Port: 1, WidthLanes: 4, Speed: "SDR", State: "ACTIVE", PhysState: "LinkUp",
			Peer: End{Name: "sw2", Port: 4, LID: 3}, CouldLanes: 12, CouldSpeed: "QDR",
		},
	}, {
		file: "lab/ibsim/2sw8h/iblinkinfo-l.txt", ports: 80, active: 20, narrowed: 20,
		first: PortLink{
			GUID: "0x000000000010000f", Name: "host8", LID: 10, Port: 1, WidthLanes: 4, Speed: "SDR", State: "ACTIVE", PhysState: "LinkUp",
			Peer: End{GUID: "0x0000000000200001", Name: "sw2", Port: 4, LID: 3}, CouldLanes: 12, CouldSpeed: "QDR",
		},
	}, {
		file: "lab/ibsim/216h/iblinkinfo.txt", ports: 864, active: 864, narrowed: 864,
		first: PortLink{
			Kind: "CA", GUID: "0x00000000001001af", Name: "node0215 mlx5_0", LID: 194, Port: 1, WidthLanes: 4, Speed: "HDR", State: "ACTIVE", PhysState: "LinkUp",
			Peer: End{Name: "leaf011", Port: 18, LID: 23}, CouldLanes: 12,
		},
	}, {
		file: "lab/ibsim/216h/iblinkinfo-l.txt", ports: 864, active: 864, narrowed: 864,
		first: PortLink{
			GUID: "0x00000000001001af", Name: "node0215 mlx5_0", LID: 194, Port: 1, WidthLanes: 4, Speed: "HDR", State: "ACTIVE", PhysState: "LinkUp",
			Peer: End{GUID: "0x000000000020000b", Name: "leaf011", Port: 18, LID: 23}, CouldLanes: 12,
		},
	}, {
		file: "lab/ibsim/ndr/iblinkinfo.txt", ports: 116, active: 24, narrowed: 24,
		first: PortLink{
			Kind: "CA", GUID: "0x000000000010000f", Name: "node0007 mlx5_0", LID: 11, Port: 1, WidthLanes: 4, Speed: "SDR", State: "ACTIVE", PhysState: "LinkUp",
			Peer: End{Name: "leaf001", Port: 4, LID: 3}, CouldLanes: 12, CouldSpeed: "QDR",
		},
	}, {
		file: "lab/ibsim/width/iblinkinfo-down.txt", ports: 79, active: 16, narrowed: 16,
		first: PortLink{
			Kind: "CA", GUID: "0x000000000010000d", Name: "host7", LID: 9, Port: 1, WidthLanes: 4, Speed: "SDR", State: "ACTIVE", PhysState: "LinkUp",
			Peer: End{Name: "sw2", Port: 3, LID: 3}, CouldLanes: 12, CouldSpeed: "QDR",
		},
	}} {
		t.Run(tc.file, func(t *testing.T) {
			ports, err := ParseLinkinfo(fixture.Read(t, tc.file))
			if err != nil {
				t.Error(err)
			}
			active, narrowed := 0, 0
			for _, p := range ports {
				if p.State == "ACTIVE" {
					active++
				} else if p.State != "DOWN" || p.PhysState != "Polling" || p.Peer != (End{}) {
					t.Errorf("port %+v is neither active nor empty", p)
				}
				if p.CouldLanes > 4 || p.CouldSpeed != "" {
					narrowed++
				}
			}
			if len(ports) != tc.ports || active != tc.active || narrowed != tc.narrowed {
				t.Fatalf("%d ports, %d active, %d narrowed; want %d, %d, %d", len(ports), active, narrowed, tc.ports, tc.active, tc.narrowed)
			}
			if d := cmp.Diff(tc.first, ports[0]); d != "" {
				t.Error(d)
			}
		})
	}
}

// A link that trained at one lane, seen from the switch.
func TestLinkinfoNarrow(t *testing.T) {
	ports, err := ParseLinkinfo(fixture.Read(t, "lab/ibsim/width/iblinkinfo.txt"))
	if err != nil {
		t.Error(err)
	}
	var got []PortLink
	for _, p := range ports {
		if p.WidthLanes == 1 && p.Kind == "SW" {
			got = append(got, p)
		}
	}
	if d := cmp.Diff([]PortLink{{
		Kind: "SW", GUID: "0x0000000000200000", Name: "sw1", LID: 2, Port: 2, WidthLanes: 1, Speed: "EDR", State: "ACTIVE", PhysState: "LinkUp",
		Peer: End{Name: "host2", Port: 1, LID: 4}, CouldLanes: 12, CouldSpeed: "HDR",
	}}, got); d != "" {
		t.Error(d)
	}
}

func TestLinkinfoSamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []PortLink
		err      string
	}{
		{
			name: "HOQ of -p, names with quotes and colons, FDR10",
			in: "Switch: 0x1 MF0;a:b/U1:\n  3  1[ 7] ==( 4X  10.0 Gbps Armed/  LinkUp) (HOQ:16 VL_Stall:7)==>  8  2[ 1] \"x \"y\"\" (Could be FDR10 (Found link at 10.0 Gbps) )\n" +
				"  3  2[  ] ==(  Down/Disabled)==>   [  ] \"\" ( )\n",
			want: []PortLink{
				{Kind: "SW", GUID: "0x0000000000000001", Name: "MF0;a:b/U1", LID: 3, Port: 1, WidthLanes: 4, Speed: "QDR", CouldSpeed: "FDR10", State: "ARMED", PhysState: "LinkUp",
					Peer: End{Name: `x "y"`, LID: 8, Port: 2}},
				{Kind: "SW", GUID: "0x0000000000000001", Name: "MF0;a:b/U1", LID: 3, Port: 2, State: "DOWN", PhysState: "Disabled"},
			},
		},
		{
			name: "words that are no words, a cut tail",
			in:   "CA: a:\n 0x5 1 1[ ] ==( 3X fast Up/ There)==> 1 z[ ] \"b\" ( )\n 0x5 q 1[ ] ==( 4X\n 0x5 1 2[ ] ==( 4X 2.5 Gbps Active/ Lin",
			want: []PortLink{{Kind: "CA", GUID: "0x0000000000000005", Name: "a", LID: 1, Port: 1, Peer: End{Name: "b", LID: 1}}},
			err: "line 2: physical state: \" There\" is not one\nline 2: state: \"Up\" is not a port state\n" +
				"line 2: width: \"3X\" is not a width\nline 2: speed: \" fast \" is not a speed\n" +
				"line 2: peer: \" 1 z[ ] \\\"b\\\" ( )\" has no LID and port\n" +
				"line 3: port: \"0x5 q 1[ ] \" has no LID and port\nline 4: port: \" 4X 2.5 Gbps Active/ Lin\" has no peer",
		},
		{name: "missing tool", in: "iblinkinfo: not found", err: `line 1: "iblinkinfo: not found" is not iblinkinfo output`},
		{name: "no port", in: "iblinkinfo: iberror: failed: can't open UMAD port ((null):0)",
			err: `line 1: tool says "iblinkinfo: iberror: failed: can't open UMAD port ((null):0)"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseLinkinfo([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
