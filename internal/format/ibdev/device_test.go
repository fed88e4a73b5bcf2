package ibdev

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func TestDeviceFixtures(t *testing.T) {
	for _, tc := range []struct {
		file  string
		parse func([]byte) ([]Device, error)
		want  []Device
		err   string
	}{{
		file: "ibstat_cx7_ndr_active.txt", parse: ParseIbstat,
		want: []Device{{
			Name: "mlx5_5", NodeType: "CA", CAType: "MT4129", NumPorts: new(1), Firmware: "28.41.1000", HWVersion: "0",
			NodeGUID: "0x9c63c003005548ae", SysImageGUID: "0x9c63c003005548ae",
			Ports: []Port{{
				Number: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: "400", BaseLID: new(987), LMC: new(0), SMLID: new(359),
				CapMask: "0xa751e848", PortGUID: "0x9c63c003005548ae", LinkLayer: "InfiniBand",
			}},
		}},
	}, {
		file: "ibportstate_ibstat_mlx4_disabled_fdr.txt", parse: ParseIbstat,
		want: []Device{{
			Name: "mlx4_0", NodeType: "CA", CAType: "MT4099", NumPorts: new(2), Firmware: "2.42.5000", HWVersion: "1",
			NodeGUID: "0xf4521403007be0e0", SysImageGUID: "0xf4521403007be0e3",
			Ports: []Port{{
				Number: 1, State: "DOWN", PhysState: "Disabled", RateGbps: "10", BaseLID: new(38), LMC: new(0), SMLID: new(13),
				CapMask: "0x02594868", PortGUID: "0xf4521403007be0e1", LinkLayer: "InfiniBand",
			}, {
				Number: 2, State: "ACTIVE", PhysState: "LinkUp", RateGbps: "56",
			}},
		}},
	}, {
		file: "lab/ibsim/width/ibstat.txt", parse: ParseIbstat,
		want: []Device{{
			Name: "ibsim0", NodeType: "CA", CAType: "simulator", NumPorts: new(1), Firmware: "1", HWVersion: "a1",
			NodeGUID: "0x0000000000100000", SysImageGUID: "0x0000000000100000",
			Ports: []Port{{
				Number: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: "104", BaseLID: new(1), LMC: new(0), SMLID: new(1),
				CapMask: "0x0050c04a", PortGUID: "0x0000000000100001", LinkLayer: "InfiniBand",
			}},
		}},
	}, {
		file: "ibstatus_bond_25g.txt", parse: ParseIbstatus,
		want: []Device{{Name: "mlx5_bond_0", Ports: []Port{{
			Number: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: "25", WidthLanes: 1, Speed: "EDR",
			BaseLID: new(0), SMLID: new(0), LinkLayer: "Ethernet",
			GIDs: []GID{{Addr: netip.MustParseAddr("fe80::e42:a1ff:fe9a:6766")}},
		}}}},
	}, {
		file: "ibv_devinfo_mixed_eth_ib_mtu1024.txt", parse: ParseDevinfo,
		want: []Device{{
			Name: "mlx5_12", Transport: "InfiniBand", Firmware: "22.38.1900", NodeGUID: "0xa088c20300309a0d",
			SysImageGUID: "0xa088c20300309a0c", VendorID: "0x02c9", VendorPartID: new(4125), HWVersion: "0x0",
			BoardID: "MT_0000000436", NumPorts: new(1),
			Ports: []Port{{
				Number: 1, State: "DOWN", MaxMTUBytes: 4096, ActiveMTUBytes: 1024, SMLID: new(0), BaseLID: new(0), LMC: new(0),
				LinkLayer: "Ethernet",
			}},
		}, {
			Name: "mlx5_13", Transport: "InfiniBand", Firmware: "28.39.2048", NodeGUID: "0x58a2e103002a1640",
			SysImageGUID: "0x58a2e103002a1640", VendorID: "0x02c9", VendorPartID: new(4129), HWVersion: "0x0",
			BoardID: "MT_0000000838", NumPorts: new(1),
		}},
	}, {
		file: "ibv_devinfo_port_down_cx7.txt", parse: ParseDevinfo,
		want: []Device{{
			Name: "mlx5_0", Transport: "InfiniBand", Firmware: "28.39.2048", NodeGUID: "0x58a2e103002a09b8",
			SysImageGUID: "0x58a2e103002a09b8", VendorID: "0x02c9", VendorPartID: new(4129), HWVersion: "0x0",
			BoardID: "MT_0000000838", NumPorts: new(1),
			Ports: []Port{{
				Number: 1, State: "DOWN", MaxMTUBytes: 4096, ActiveMTUBytes: 4096, SMLID: new(0), BaseLID: new(65535), LMC: new(0),
				LinkLayer: "InfiniBand",
			}},
		}},
	}, {
		file: "ibv_devinfo_port_init_no_sm.txt", parse: ParseDevinfo,
		want: []Device{{
			Name: "mlx5_7", Transport: "InfiniBand", Firmware: "28.39.3004", NodeGUID: "0x0000000000000000",
			VendorID: "0x02c9", VendorPartID: new(4126), HWVersion: "0x0", BoardID: "MT_0000000838", NumPorts: new(1),
			Ports: []Port{{
				Number: 1, State: "INIT", MaxMTUBytes: 4096, ActiveMTUBytes: 4096, SMLID: new(4), LMC: new(0), LinkLayer: "InfiniBand",
			}},
		}},
		err: `line 6: sys_image_guid: "a088::c203:005b:370c" is not a GUID`,
	}, {
		file: "lab/samples/bookworm-perftest-4.5/ibv_devinfo-v.txt", parse: ParseDevinfo, want: []Device{rxeVerbose},
	}, {
		file: "lab/samples/trixie-perftest-25.01/ibv_devinfo-v.txt", parse: ParseDevinfo, want: []Device{rxeVerbose},
	}} {
		t.Run(tc.file, func(t *testing.T) {
			got, err := tc.parse(fixture.Read(t, tc.file))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got, addrs); d != "" {
				t.Error(d)
			}
		})
	}
}

var rxeVerbose = Device{
	Name: "rxe_0", Transport: "InfiniBand", Firmware: "0.0.0", NodeGUID: "0x505400fffe010001", SysImageGUID: "0x505400fffe010001",
	VendorID: "0xffffff", VendorPartID: new(0), HWVersion: "0x0", NumPorts: new(1),
	Ports: []Port{{
		Number: 1, State: "ACTIVE", PhysState: "LinkUp", WidthLanes: 1, Speed: "SDR", MaxMTUBytes: 4096, ActiveMTUBytes: 4096,
		SMLID: new(0), BaseLID: new(0), LMC: new(0), LinkLayer: "Ethernet", CapMask: "0x00010000",
		GIDs: []GID{
			{Index: 0, Addr: netip.MustParseAddr("fe80::5054:ff:fe01:1"), Type: "RoCE v2"},
			{Index: 1, Addr: netip.MustParseAddr("::ffff:10.10.0.1"), Type: "RoCE v2"},
		},
	}},
}

func TestDeviceSamples(t *testing.T) {
	for _, tc := range []struct {
		name  string
		parse func([]byte) ([]Device, error)
		in    string
		want  []Device
		err   string
	}{
		{name: "ibstat: nothing printed", parse: ParseIbstat},
		{name: "ibstat: only a comment", parse: ParseIbstat, in: "# source: nowhere\n"},
		{
			name: "ibstat: not ibstat", parse: ParseIbstat, in: "sh: 1: ibstat: not found\n",
			err: `line 1: "sh: 1: ibstat: not found" is not ibstat output`,
		},
		{
			name: "ibstat: prompt, CRLF, FDR10, words that are no words", parse: ParseIbstat,
			in: "$ ibstat\r\nSwitch 'sw0'\r\n  Port 0:\r\n    State: Initializing\r\n    Physical state: LinkErrorRecovery\r\n" +
				"    Rate: 40 (FDR10)\r\n    Base lid: twelve\r\n  Port x:\r\n    State: Active\r\niWARP RNIC 'cxgb4_0'\r\n  Port 1:\r\n    State: Odd",
			want: []Device{
				{Name: "sw0", NodeType: "Switch", Ports: []Port{
					{State: "INIT", PhysState: "LinkErrorRecovery", RateGbps: "40", Speed: "FDR10"},
				}},
				{Name: "cxgb4_0", NodeType: "iWARP RNIC", Ports: []Port{{Number: 1}}},
			},
			err: "line 7: Base lid: \"twelve\" is not a number\nline 8: port: \"x\" is not a number\nline 12: State: \"Odd\" is not a port state",
		},
		{
			name: "ibstatus: two ports, unknown stays unknown", parse: ParseIbstatus,
			in: "Infiniband device 'mlx4_0' port 1 status:\n\tdefault gid:\t unknown\n\tbase lid:\t 0xffff\n\tsm lid:\t\t unknown\n" +
				"\tstate:\t\t 1: DOWN\n\tphys state:\t 2: Polling\n\trate:\t\t 10 Gb/sec (4X)\n\tlink_layer:\t IB\n\n" +
				"Infiniband device 'mlx4_0' port 2 status:\n\tstate:\t\t unknown\n\trate:\t\t 2.5 Gb/sec (1X SDR)\n",
			want: []Device{{Name: "mlx4_0", Ports: []Port{
				{Number: 1, State: "DOWN", PhysState: "Polling", RateGbps: "10", WidthLanes: 4, BaseLID: new(65535), LinkLayer: "InfiniBand"},
				{Number: 2, RateGbps: "2.5", WidthLanes: 1, Speed: "SDR"},
			}}},
		},
		{
			name: "ibstatus: broken head and values", parse: ParseIbstatus,
			in: "Infiniband device 'a' port one status:\n state: 4: ACTIVE\nInfiniband device 'b' port 1 status:\n" +
				" default gid: here\n rate: fast\n phys state: 9: Gone\n",
			want: []Device{{Name: "b", Ports: []Port{{Number: 1}}}},
			err: "line 1: device: \"Infiniband device 'a' port one status:\" has no name and port\n" +
				"line 4: default gid: \"here\" is not a GID\nline 5: rate: \"fast\" is not a rate\nline 6: phys state: \"9: Gone\" is not a physical state",
		},
		{name: "ibstatus: no class folder", parse: ParseIbstatus, in: "Fatal error:  No devices\n",
			err: `line 1: "Fatal error:  No devices" is not ibstatus output`},
		{name: "devinfo: none there", parse: ParseDevinfo, in: "No IB devices found\n"},
		{name: "devinfo: no permission", parse: ParseDevinfo, in: "Failed to get IB devices list: Function not implemented\n",
			err: `line 1: tool says "Failed to get IB devices list: Function not implemented"`},
		{name: "devinfo -l", parse: ParseDevinfo, in: "2 HCAs found:\n\tmlx5_0\n\tmlx5_1\n\n",
			want: []Device{{Name: "mlx5_0"}, {Name: "mlx5_1"}}},
		{
			name: "devinfo -v: old tool, NDR port, both GID forms", parse: ParseDevinfo,
			in: "hca_id:\tmlx5_0\n\ttransport:\t\t\tiWARP (1)\n\t\tport:\t2\n\t\t\tstate:\t\t\tPORT_ARMED (3)\n" +
				"\t\t\tactive_width:\t\t2X (16)\n\t\t\tactive_speed:\t\tinvalid speed (128)\n" +
				"\t\t\tphys_state:\t\tPORT_CONFIGURATION TRAINNING (4)\n\t\t\tport_cap_flags2:\t0x003f\n" +
				"\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0000:0000:0000:0001, RoCE v1\n\t\t\tGID[ 12]:\t\t2001:db8::1, RoCE v2\n" +
				"\t\t\tGID[  3]:\t\tnone\n\t\t\tactive_mtu:\t\tinvalid MTU (0)\n",
			want: []Device{{Name: "mlx5_0", Transport: "iWARP", Ports: []Port{{
				Number: 2, State: "ARMED", PhysState: "PortConfigurationTraining", WidthLanes: 2, Speed: "NDR",
				GIDs: []GID{
					{Addr: netip.MustParseAddr("fe80::1"), Type: "RoCE v1"},
					{Index: 12, Addr: netip.MustParseAddr("2001:db8::1"), Type: "RoCE v2"},
				},
			}}}},
			err: "line 11: GID[  3]: \"none\" is not a GID\nline 12: active_mtu: \"invalid MTU (0)\" is not an MTU",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.parse([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got, addrs); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFaultsStayFew(t *testing.T) {
	in := "CA 'a'\n"
	for range 25 {
		in += "Number of ports: many\n"
	}
	_, err := ParseIbstat([]byte(in))
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error %v is not a list", err)
	}
	list := joined.Unwrap()
	if len(list) != 21 || list[20].Error() != "and 5 more lines" {
		t.Errorf("%d errors, last %q; want 21, last \"and 5 more lines\"", len(list), list[len(list)-1])
	}
}

// text is the error's, "" for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
