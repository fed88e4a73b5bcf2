package ibdev

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
)

func TestIbdev2netdevFixtures(t *testing.T) {
	up, down := new(true), new(false)
	spark := []Netdev{
		{Device: "rocep1s0f0", Port: 1, Netdev: "enp1s0f0np0", Up: up}, {Device: "rocep1s0f1", Port: 1, Netdev: "enp1s0f1np1", Up: down},
		{Device: "roceP2p1s0f0", Port: 1, Netdev: "enP2p1s0f0np0", Up: up}, {Device: "roceP2p1s0f1", Port: 1, Netdev: "enP2p1s0f1np1", Up: down},
	}
	for file, want := range map[string][]Netdev{
		"ibdev2netdev_ethN.txt": {
			{Device: "mlx5_0", Port: 1, Netdev: "eth2", Up: up}, {Device: "mlx5_1", Port: 1, Netdev: "eth3", Up: up},
			{Device: "mlx5_2", Port: 1, Netdev: "eth4", Up: up}, {Device: "mlx5_3", Port: 1, Netdev: "eth5", Up: up},
		},
		"ibdev2netdev_spark1.txt": spark,
		"ibdev2netdev_spark2.txt": spark,
		"ibdev2netdev_spark_port1.txt": {
			{Device: "roceP2p1s0f0", Port: 1, Netdev: "enP2p1s0f0np0", Up: down}, {Device: "roceP2p1s0f1", Port: 1, Netdev: "enP2p1s0f1np1", Up: up},
			{Device: "rocep1s0f0", Port: 1, Netdev: "enp1s0f0np0", Up: down}, {Device: "rocep1s0f1", Port: 1, Netdev: "enp1s0f1np1", Up: up},
		},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseIbdev2netdev(fixture.Read(t, ""+file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestIbdev2netdevSamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []Netdev
		err      string
	}{
		{name: "-v", in: "0000:86:00.0 mlx5_0 (MT4115 - MT16X) CX455A - ConnectX-4 QSFP28 fw 12.17.2032 port 1 (ACTIVE) ==> ib0 (Up)\n",
			want: []Netdev{{Device: "mlx5_0", Port: 1, Netdev: "ib0", Up: new(true), PCI: "0000:86:00.0", Firmware: "12.17.2032", State: "ACTIVE"}}},
		{name: "nothing bound, no state", in: "mlx5_3 port 2 ==>  \r\n", want: []Netdev{{Device: "mlx5_3", Port: 2}}},
		{name: "no port", in: "mlx5_3 ==> eth0 (Up)\n", err: `line 1: port: "mlx5_3 " has no device and port`},
		{name: "missing tool", in: "ibdev2netdev: command not found", err: `line 1: "ibdev2netdev: command not found" is not ibdev2netdev output`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseIbdev2netdev([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func gidAt(dev string, index int, gid, ipv4, typ, netdev string) PortGID {
	row := PortGID{Device: dev, Port: 1, GID: GID{Index: index, Addr: netip.MustParseAddr(gid), Type: typ}, Netdev: netdev}
	if ipv4 != "" {
		row.IPv4 = netip.MustParseAddr(ipv4)
	}
	return row
}

func TestShowGIDsFixtures(t *testing.T) {
	for file, want := range map[string][]PortGID{
		"show_gids_index_differs_node_a.txt": {
			gidAt("mlx5_4", 4, "::ffff:172.20.1.1", "172.20.1.1", "RoCE v1", "net1"),
			gidAt("mlx5_4", 5, "::ffff:172.20.1.1", "172.20.1.1", "RoCE v2", "net1"),
		},
		"show_gids_index_differs_node_b.txt": {
			gidAt("mlx5_4", 6, "::ffff:172.20.1.2", "172.20.1.2", "RoCE v1", "net1"),
			gidAt("mlx5_4", 7, "::ffff:172.20.1.2", "172.20.1.2", "RoCE v2", "net1"),
		},
		"show_gids_macvlan_pod.txt": {
			gidAt("mlx5_0", 4, "fe80::a4ed:ccff:fe8b:1994", "", "RoCE v1", "net1"),
			gidAt("mlx5_0", 5, "fe80::a4ed:ccff:fe8b:1994", "", "RoCE v2", "net1"),
			gidAt("mlx5_0", 6, "::ffff:10.152.0.12", "10.152.0.12", "RoCE v1", "net1"),
			gidAt("mlx5_0", 7, "::ffff:10.152.0.12", "10.152.0.12", "RoCE v2", "net1"),
			gidAt("mlx5_1", 4, "fe80::9459:9bff:fe54:7704", "", "RoCE v1", "net2"),
			gidAt("mlx5_1", 5, "fe80::9459:9bff:fe54:7704", "", "RoCE v2", "net2"),
			gidAt("mlx5_1", 6, "::ffff:10.152.4.12", "10.152.4.12", "RoCE v1", "net2"),
			gidAt("mlx5_1", 7, "::ffff:10.152.4.12", "10.152.4.12", "RoCE v2", "net2"),
			gidAt("mlx5_2", 4, "fe80::90ea:b5ff:fec5:3f24", "", "RoCE v1", "net3"),
		},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := ParseShowGIDs(fixture.Read(t, ""+file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(want, got, addrs); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestShowGIDsSamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []PortGID
		err      string
	}{
		{name: "InfiniBand has no netdev", in: "mlx5_0\t1\t0\tfe80:0000:0000:0000:0002:c903:0000:0001\t\t\tv1\t\nn_gids_found=1\n",
			want: []PortGID{gidAt("mlx5_0", 0, "fe80::2:c903:0:1", "", "RoCE v1", "")}},
		{name: "cut", in: "mlx5_0 1 0 fe80::1 v1 eth0\nmlx5_0 1 1 fe80\nn_gids_found=2\n",
			want: []PortGID{gidAt("mlx5_0", 0, "fe80::1", "", "RoCE v1", "eth0")},
			err: "line 2: row: \"mlx5_0 1 1 fe80\" is not device, port, index, GID\n" +
				"line 3: n_gids_found: \"2\", but 1 were read"},
		{name: "missing tool", in: "show_gids: command not found", err: `line 1: "show_gids: command not found" is not show_gids output`},
		{name: "no RDMA device", in: "DEV\tPORT\tINDEX\tGID\n---\t----\t-----\t---\nn_gids_found=0\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseShowGIDs([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got, addrs); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestIbportstate(t *testing.T) {
	got, err := ParseIbportstate(fixture.Read(t, "ibportstate_ibstat_mlx4_disabled_fdr.txt"))
	if err != nil {
		t.Error(err)
	}
	fdr := []string{"SDR", "DDR", "QDR", "FDR"}
	if d := cmp.Diff([]PortState{{
		BaseLID: new(38), SMLID: new(13), LMC: new(0), WidthSupported: []int{1, 4}, WidthEnabled: []int{1, 4}, WidthActive: 4,
		SpeedSupported: fdr, SpeedEnabled: fdr, SpeedActive: "FDR",
	}}, got); d != "" {
		t.Error(d)
	}
}

// smpquery portinfo prints the same record under the same heading.
func TestIbportstateReadsSmpquery(t *testing.T) {
	got, err := ParseIbportstate(fixture.Read(t, "lab/ibsim/width/smpquery-pi.txt"))
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]PortState{{
		At: "Lid 1", Number: new(1), State: "ACTIVE", PhysState: "LinkUp", BaseLID: new(1), SMLID: new(1), LMC: new(0),
		WidthSupported: []int{1, 4, 8, 12, 2}, WidthEnabled: []int{1, 4}, WidthActive: 4,
		SpeedSupported: []string{"SDR", "DDR", "QDR", "FDR", "EDR", "HDR"},
		SpeedEnabled:   []string{"SDR", "DDR", "QDR", "FDR", "EDR"}, SpeedActive: "EDR",
		MTUSupported: 2048, MTUActive: 2048,
	}}, got); d != "" {
		t.Error(d)
	}
}

func TestIbportstateSamples(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []PortState
		err      string
	}{
		{
			name: "switch, peer not reached",
			in: "Switch PortInfo:\n# Port info: Lid 3 port 1\nLinkState:.......................Initialize\n" +
				"PhysLinkState:...................LinkUp\nLinkWidthActive:.................1X\nLinkSpeedActive:.................10.0 Gbps\n" +
				"LinkSpeedExtActive:..............No Extended Speed\nibwarn: [1] mad_rpc: _do_madrpc failed\n" +
				"ibportstate: iberror: failed: smp query nodeinfo failed\n",
			want: []PortState{{Of: "Switch", At: "Lid 3", Number: new(1), State: "INIT", PhysState: "LinkUp", WidthActive: 1, SpeedActive: "QDR"}},
			err:  `line 9: tool says "ibportstate: iberror: failed: smp query nodeinfo failed"`,
		},
		{
			name: "peer by direct route, FDR10, XDR",
			in: "CA/RT PortInfo:\n# Port info: DR path slid 65535; dlid 65535; 0 port 2\nLinkSpeedActive:.................10.0 Gbps\n" +
				"# MLNX ext Port info: DR path slid 65535; dlid 65535; 0 port 2\nStateChangeEnable:...............0x00\n" +
				"LinkSpeedSupported:..............0x01\nLinkSpeedActive:.................0x01\n" +
				"Peer PortInfo:\n# Port info: DR path slid 65535; dlid 65535; 0,1 port 9\nLinkSpeedActive:.................Extended speed\n" +
				"LinkSpeedExtActive:..............106.25 Gbps\nLinkSpeedExtActive2:.............212.5 Gbps\n",
			want: []PortState{
				{Of: "CA/RT", At: "DR path slid 65535; dlid 65535; 0", Number: new(2), SpeedActive: "FDR10"},
				{Of: "Peer", At: "DR path slid 65535; dlid 65535; 0,1", Number: new(9), SpeedActive: "XDR"},
			},
		},
		{
			name: "words that are no words",
			in:   "LinkWidthActive:.................undefined (0)\nLinkWidthEnabled:................1X or wide\nLinkSpeedEnabled:................quick\n",
			want: []PortState{{WidthEnabled: []int{1}}},
			err: "line 1: LinkWidthActive: \"undefined (0)\" is not a width\nline 2: LinkWidthEnabled: \"wide\" is not a width\n" +
				"line 3: LinkSpeedEnabled: \"quick\" is not a speed",
		},
		{name: "missing tool", in: "-bash: ibportstate: command not found",
			err: `line 1: "-bash: ibportstate: command not found" is not ibportstate output`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseIbportstate([]byte(tc.in))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
