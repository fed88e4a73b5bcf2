package ethtool

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weft/internal/fixture"
)

func equal(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("error %v, want none", err)
	}
}

func u(n uint64) *uint64   { return &n }
func f(x float64) *float64 { return &x }

func TestSettingsFixture(t *testing.T) {
	got, err := ParseSettings(fixture.Read(t, "ethtool_link_settings.txt"))
	if !errors.Is(err, ErrNotPermitted) || !strings.Contains(err.Error(), "line 2:") || !strings.Contains(err.Error(), "line 3:") {
		t.Errorf("error %v, want two refusals on lines 2 and 3", err)
	}
	modes := []string{"10baseT/Half", "10baseT/Full", "100baseT/Half", "100baseT/Full", "1000baseT/Full"}
	equal(t, Settings{
		Device: "eth1", SupportedPorts: []string{"TP", "MII"}, SupportedModes: modes, AdvertisedModes: modes,
		SupportedPause: "Symmetric", AdvertisedPause: "Symmetric", SupportsAutoneg: new(true), Autoneg: new(true),
		SpeedMbps: new(1000), Duplex: "Full", Port: "Twisted Pair", Transceiver: "internal", LinkDetected: new(true),
	}, got)
	equal(t, new(1000), got.MaxSupportedMbps())
}

const settingsText = `Settings for ens1f0np0:
	Supported ports: [ FIBRE ]
	Supported link modes:   25000baseCR/Full 100000baseCR4/Full
	                        200000baseCR4/Full
	Supported FEC modes: None	 RS	 BASER
	Advertised FEC modes: RS
	Link partner advertised link modes:  Not reported
	Speed: 100000Mb/s
	Lanes: 4
	Duplex: Full
	Auto-negotiation: on
	Port: Direct Attach Copper
	Current message level: 0x00000004 (4)
	                       link
	Link detected: yes`

const settingsJSON = `[ {
        "ifname": "ens1f0np0",
        "supported-ports": [ "FIBRE" ],
        "supported-link-modes": [ "25000baseCR/Full","100000baseCR4/Full","200000baseCR4/Full" ],
        "supported-fec-modes": [ "None","RS","BASER" ],
        "advertised-fec-modes": [ "RS" ],
        "speed": 100000,
        "lanes": 4,
        "duplex": "Full",
        "auto-negotiation": true,
        "port": "Direct Attach Copper",
        "link-detected": true
    } ]`

func TestSettingsForms(t *testing.T) {
	want := Settings{
		Device: "ens1f0np0", SupportedPorts: []string{"FIBRE"},
		SupportedModes: []string{"25000baseCR/Full", "100000baseCR4/Full", "200000baseCR4/Full"},
		SupportedFEC:   []string{"None", "RS", "BASER"}, AdvertisedFEC: []string{"RS"},
		SpeedMbps: new(100000), Lanes: new(4), Duplex: "Full", Autoneg: new(true), Port: "Direct Attach Copper", LinkDetected: new(true),
	}
	for name, in := range map[string]string{"text": settingsText, "json": settingsJSON, "crlf": strings.ReplaceAll(settingsText, "\n", "\r\n")} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSettings([]byte(in))
			noErr(t, err)
			equal(t, want, got)
			equal(t, new(200000), got.MaxSupportedMbps())
		})
	}
	unknown := Settings{Device: "eth0", LinkDetected: new(false), LinkDownReason: "No cable", Autoneg: new(false)}
	got, err := ParseSettings([]byte("Settings for eth0:\n\tSupported link modes:   Not reported\n\tSpeed: Unknown!\n\tDuplex: Unknown! (255)\n\tAuto-negotiation: off\n\tLink detected: no (No cable)\n"))
	noErr(t, err)
	equal(t, unknown, got)
	if m := got.MaxSupportedMbps(); m != nil {
		t.Errorf("MaxSupportedMbps = %d, want unknown", *m)
	}
	got, err = ParseSettings([]byte(`[{"ifname":"eth0","speed":4294967295,"duplex":"Unknown! (255)","link-detected":false}]`))
	noErr(t, err)
	equal(t, Settings{Device: "eth0", LinkDetected: new(false)}, got)
}

func TestLabSettings(t *testing.T) {
	b := fixture.Read(t, "lab/samples/bookworm-perftest-4.5/ethtool.txt")
	head, _, _ := strings.Cut(string(b), "driver:")
	got, err := ParseSettings([]byte(head))
	noErr(t, err)
	equal(t, Settings{
		Device: "data0", SupportedPause: "No", AdvertisedPause: "No", SupportsAutoneg: new(false), Autoneg: new(false),
		Port: "Other", Transceiver: "internal", LinkDetected: new(true),
	}, got)
	if _, err := ParseSettings(fixture.Read(t, "lab/samples/trixie-perftest-25.01/ethtool.txt")); !errors.Is(err, ErrNoTool) {
		t.Errorf("error %v, want ErrNoTool", err)
	}
}

func TestDriver(t *testing.T) {
	got, err := ParseDriver(fixture.Read(t, "ethtool_i_ice_e810.txt"))
	noErr(t, err)
	equal(t, Driver{Driver: "ice", Version: "6.18.5-200.fc43.x86_64", Firmware: "4.91 0x800214b5 1.3909.0", BusInfo: "0000:c2:00.0"}, got)
	got, err = ParseDriver([]byte(`[{"driver":"mlx5_core","version":"6.8","firmware-version":"28.39.1002 (NVD0000000020)","bus-info":"0000:01:00.0"}]`))
	noErr(t, err)
	equal(t, Driver{Driver: "mlx5_core", Version: "6.8", Firmware: "28.39.1002 (NVD0000000020)", BusInfo: "0000:01:00.0"}, got)
}

func TestPause(t *testing.T) {
	got, err := ParsePause(fixture.Read(t, "ethtool_a_pause_fail.txt"))
	if !errors.Is(err, ErrNotSupported) || !strings.HasPrefix(err.Error(), "line 2:") {
		t.Errorf("error %v, want ErrNotSupported on line 2", err)
	}
	equal(t, Pause{Device: "__wlp3s0"}, got)

	want := Pause{Device: "eth2", Autoneg: new(true), RX: new(false), TX: new(true), NegotiatedRX: new(true), NegotiatedTX: new(false), TXFrames: u(5), RXFrames: u(18446744073709551615)}
	for name, in := range map[string]string{
		"text": "Pause parameters for eth2:\nAutonegotiate:\ton\nRX:\t\toff\nTX:\t\ton\nRX negotiated: on\nTX negotiated: off\nStatistics:\n  tx_pause_frames: 5\n  rx_pause_frames: 18446744073709551615\n",
		"json": `[ { "ifname": "eth2", "autonegotiate": true, "rx": false, "tx": true, "negotiated": { "rx": true, "tx": false }, "statistics": { "tx_pause_frames": 5, "rx_pause_frames": 18446744073709551615 } } ]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePause([]byte(in))
			noErr(t, err)
			equal(t, want, got)
		})
	}
}

func TestStats(t *testing.T) {
	got, err := ParseStats(fixture.Read(t, "ethtool_S_stats.txt"))
	noErr(t, err)
	if len(got.Counters) != 82 {
		t.Errorf("%d counters, want 82", len(got.Counters))
	}
	for name, want := range map[string]uint64{
		"rx_packets": 912398, "tx_bytes": 190360255, "rx_long_byte_count": 96506134, "tx_queue_3_bytes": 4358198, "rx_queue_3_alloc_failed": 0,
	} {
		if n, ok := got.Counters[name]; !ok || n != want {
			t.Errorf("%s = %d, %v, want %d", name, n, ok, want)
		}
	}
	got, err = ParseStats([]byte("NIC statistics:\n     [0]: rx_ucast_packets: 7\n     broken: -1\n     max: 18446744073709551615"))
	if err == nil || !strings.Contains(err.Error(), "line 3:") {
		t.Errorf("error %v, want one on line 3", err)
	}
	equal(t, map[string]uint64{"[0]: rx_ucast_packets": 7, "max": 18446744073709551615}, got.Counters)

	want := Stats{Device: "eth0", Counters: map[string]uint64{
		"eth-mac-FramesTransmittedOK": 9, "rx-rmon-etherStatsPkts64Octets": 1, "rx-rmon-etherStatsPkts65to127Octets": 2, "tx-rmon-etherStatsPkts1519toMaxOctets": 3,
	}}
	for name, in := range map[string]string{
		"text": "Standard stats for eth0:\neth-mac-FramesTransmittedOK: 9\nrx-rmon-etherStatsPkts64Octets: 1\nrx-rmon-etherStatsPkts65to127Octets: 2\ntx-rmon-etherStatsPkts1519toMaxOctets: 3\n",
		"json": `[{"ifname":"eth0","eth-mac":{"FramesTransmittedOK":9},"rmon":{"rx-pktsNtoM":[{"low":0,"high":64,"val":1},{"low":65,"high":127,"val":2}],"tx-pktsNtoM":[{"low":1519,"high":0,"val":3}]}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseStats([]byte(in))
			noErr(t, err)
			equal(t, want, got)
		})
	}
}

const moduleQSFP = `	Identifier                                : 0x11 (QSFP28)
	Connector                                 : 0x0c (MPO Parallel Optic)
	Transceiver type                          : 100G Ethernet: 100G Base-SR4 or 25GBase-SR
	Length (Copper or Active cable)           : 50m
	Transmitter technology                    : 0x00 (850 nm VCSEL)
	Vendor name                               : Example
	Vendor PN                                 : EX-100-SR4
	Vendor rev                                : A4
	Vendor SN                                 : EX0001
	Module temperature                        : 30.56 degrees C / 87.01 degrees F
	Module voltage                            : 3.2350 V
	Rx loss of signal                         : [ No, Yes ]
	Tx fault                                  : None
	Laser tx bias current (Channel 1)         : 6.750 mA
	Laser tx bias current (Channel 2)         : 0.000 mA
	Transmit avg optical power (Channel 1)    : 0.9077 mW / -0.42 dBm
	Transmit avg optical power (Channel 2)    : 0.0000 mW / -inf dBm
	Rcvr signal avg optical power(Channel 1)  : 0.9522 mW / -0.21 dBm
	Rcvr signal avg optical power(Channel 2)  : 0.0001 mW / -40.00 dBm
	Laser rx power low alarm        (Chan 1)  : Off
	Laser rx power low alarm        (Chan 2)  : On
	Module temperature high alarm             : Off
	Module temperature high alarm threshold   : 80.00 degrees C / 176.00 degrees F
	Module temperature high warning threshold : 70.00 degrees C / 158.00 degrees F
`

// The double module_temperature is upstream's own, in the first releases with this JSON.
const moduleJSON = `[ {
        "identifier": 17,
        "identifier_description": "QSFP28",
        "connector": 12,
        "connector_description": "MPO Parallel Optic",
        "length_(copper_or_active_cable)": 50,
        "transmitter_technology": 0,
        "transmitter_technology_description": "850 nm VCSEL",
        "vendor_name": "Example",
        "vendor_oui": [ 0,2,201 ],
        "vendor_pn": "EX-100-SR4",
        "vendor_rev": "A4",
        "vendor_sn": "EX0001",
        "rx_loss_of_signal": [ "No","Yes" ],
        "module_temperature": 30.5600,
        "module_voltage": 3.2350,
        "laser_tx_bias_current": [ 6.75,0 ],
        "transmit_avg_optical_power": [ 0.9077,0 ],
        "rx_power": { "values": [ 0.9522,0.0001 ], "type": "Rcvr signal avg optical power" },
        "laser_rx_power_low_alarm": [ false,true ],
        "module_temperature_high_alarm": false,
        "module_temperature": { "high_alarm_threshold": 80, "low_alarm_threshold": -10, "high_warning_threshold": 70 }
    } ]`

func TestModule(t *testing.T) {
	want := Module{
		Identifier: "QSFP28", Connector: "MPO Parallel Optic", Technology: "850 nm VCSEL", Vendor: "Example", PartNumber: "EX-100-SR4",
		SerialNumber: "EX0001", Rev: "A4", CableM: f(50), TempC: f(30.56), TempHighC: f(80), TempWarnC: f(70), VoltageV: f(3.235),
		Lanes: []Lane{
			{BiasMA: f(6.75), TxMW: f(0.9077), TxDBm: f(-0.42), RxMW: f(0.9522), RxDBm: f(-0.21)},
			{BiasMA: f(0), TxMW: f(0), RxMW: f(0.0001), RxDBm: f(-40)},
		},
		Alarms: []string{"Rx loss of signal (Chan 2)", "Laser rx power low alarm (Chan 2)"},
	}
	got, err := ParseModule([]byte(moduleQSFP))
	noErr(t, err)
	equal(t, want, got)

	for i := range want.Lanes { // JSON has no dBm
		want.Lanes[i].TxDBm, want.Lanes[i].RxDBm = nil, nil
	}
	got, err = ParseModule([]byte(moduleJSON))
	noErr(t, err)
	equal(t, want, got)
	later := strings.Replace(moduleJSON, `"module_temperature": 30`, `"module_temperature_measurement": 30`, 1)
	got, err = ParseModule([]byte(later))
	noErr(t, err)
	equal(t, want, got)

	sfp := "\tIdentifier : 0x03 (SFP)\n\tLength (Copper) : 0m\n\tLaser bias current : 6.986 mA\n\tLaser output power : 0.4678 mW / -3.30 dBm\n\tReceiver signal average optical power : 0.4000 mW / -3.98 dBm\n"
	got, err = ParseModule([]byte(sfp))
	noErr(t, err)
	equal(t, Module{Identifier: "SFP", Lanes: []Lane{{BiasMA: f(6.986), TxMW: f(0.4678), TxDBm: f(-3.3), RxMW: f(0.4), RxDBm: f(-3.98)}}}, got)

	old := "Identifier : 0x0d (QSFP+)\nLaser tx bias current (Channel 0) : 1 mA\nLaser tx bias current (Channel 3) : 4 mA\nLaser tx bias current (Channel 99999) : 4 mA\n"
	got, err = ParseModule([]byte(old))
	noErr(t, err)
	equal(t, Module{Identifier: "QSFP+", Lanes: []Lane{{BiasMA: f(1)}, {}, {}, {BiasMA: f(4)}}}, got)

	cmis := "Identifier : 0x19 (OSFP 8X Pluggable Transceiver)\nCable assembly length : 0.5000m\nVendor PN : MCP4Y10-N00A"
	got, err = ParseModule([]byte(cmis))
	noErr(t, err)
	equal(t, Module{Identifier: "OSFP 8X Pluggable Transceiver", CableM: f(0.5), PartNumber: "MCP4Y10-N00A"}, got)
	got, err = ParseModule([]byte("Identifier : 0x19 (OSFP)\nCable assembly length : > 6.3km"))
	noErr(t, err)
	equal(t, Module{Identifier: "OSFP"}, got)
}

func TestRings(t *testing.T) {
	got, err := ParseRings(fixture.Read(t, "ethtool_g_rings.txt"))
	noErr(t, err)
	equal(t, Rings{Device: "eth2", Max: Ring{u(2047), u(0), u(0), u(511)}, Now: Ring{u(200), u(0), u(0), u(511)}}, got)
	want := Rings{Device: "e", Max: Ring{RX: u(8192), TX: u(8192)}, Now: Ring{RX: u(1024), TX: u(1024)}}
	for name, in := range map[string]string{
		"text": "Ring parameters for e:\nPre-set maximums:\nRX:\t\t8192\nRX Mini:\tn/a\nRX Jumbo:\tn/a\nTX:\t\t8192\nCurrent hardware settings:\nRX:\t\t1024\nRX Mini:\tn/a\nTX:\t\t1024\nTX Push:\toff\n",
		"json": `[{"ifname":"e","rx-max":8192,"tx-max":8192,"rx":1024,"tx":1024,"tx-push":false}]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseRings([]byte(in))
			noErr(t, err)
			equal(t, want, got)
		})
	}
}

func TestCoalesce(t *testing.T) {
	got, err := ParseCoalesce(fixture.Read(t, "ethtool_c_coalesce.txt"))
	noErr(t, err)
	equal(t, Coalesce{Device: "eth2", AdaptiveRX: new(false), AdaptiveTX: new(false), Values: map[string]uint64{
		"pkt-rate-high": 10, "tx-usecs-irq": 0, "tx-frame-low": 25, "tx-usecs-high": 0,
	}}, got)
	got, err = ParseCoalesce([]byte(`[{"ifname":"e","adaptive-rx":true,"rx-usecs":8,"cqe-mode-rx":false}]`))
	noErr(t, err)
	equal(t, Coalesce{Device: "e", AdaptiveRX: new(true), CQEModeRX: new(false), Values: map[string]uint64{"rx-usecs": 8}}, got)
	got, err = ParseCoalesce([]byte("Coalesce parameters for e:\nAdaptive RX: on  TX: n/a\nrx-usecs:\t8\nCQE mode RX: on  TX: off\n"))
	noErr(t, err)
	equal(t, Coalesce{Device: "e", AdaptiveRX: new(true), CQEModeRX: new(true), CQEModeTX: new(false), Values: map[string]uint64{"rx-usecs": 8}}, got)
}

func TestFeatures(t *testing.T) {
	got, err := ParseFeatures(fixture.Read(t, "ethtool_k_offloads.txt"))
	noErr(t, err)
	if got.Device != "bond0" || len(got.List) != 34 {
		t.Errorf("device %s with %d features, want bond0 with 34", got.Device, len(got.List))
	}
	for _, want := range []Feature{
		{Name: "rx-checksumming", Fixed: new(true)}, {Name: "tx-checksumming", On: true}, {Name: "tx-checksum-unneeded", On: true, Fixed: new(true)},
		{Name: "generic-segmentation-offload", Requested: new(true)}, {Name: "large-receive-offload", On: true},
	} {
		x, ok := got.Get(want.Name)
		if !ok {
			t.Errorf("%s is missing", want.Name)
		}
		equal(t, want, x)
	}
	if _, ok := got.Get("nope"); ok {
		t.Error("Get found a feature that is not there")
	}
	got, err = ParseFeatures([]byte(`[{"ifname":"e","rx-checksumming":{"active":true,"fixed":true,"requested":false},"tx-checksumming":{"active":true,"fixed":null,"requested":null}}]`))
	noErr(t, err)
	equal(t, Features{Device: "e", List: []Feature{
		{Name: "rx-checksumming", On: true, Fixed: new(true), Requested: new(false)}, {Name: "tx-checksumming", On: true},
	}}, got)
}

// TestFeaturesOfThisMachine compares both forms that the installed ethtool prints.
func TestFeaturesOfThisMachine(t *testing.T) {
	run := func(args ...string) Features {
		out, err := exec.Command("ethtool", args...).Output()
		if err != nil {
			t.Skipf("ethtool %v does not run here: %v", args, err)
		}
		got, err := ParseFeatures(out)
		noErr(t, err)
		return got
	}
	text, js := run("-k", "lo"), run("--json", "-k", "lo")
	if text.Device != "lo" || js.Device != "lo" || len(text.List) == 0 || len(text.List) != len(js.List) {
		t.Fatalf("%s with %d features in text, %s with %d in JSON", text.Device, len(text.List), js.Device, len(js.List))
	}
	for i, x := range text.List {
		if x.Name != js.List[i].Name || x.On != js.List[i].On {
			t.Errorf("text says %+v, JSON %+v", x, js.List[i])
		}
	}
}

func TestPrivFlags(t *testing.T) {
	got, err := ParsePrivFlags(fixture.Read(t, "ethtool_priv_flags.txt"))
	noErr(t, err)
	equal(t, PrivFlags{Device: "eth0", Flags: map[string]bool{
		"legacy-rx": false, "vf-true-promisc-support": false, "vf-vlan-pruning": true, "flow-director-atr": true,
		"veb-stats": false, "hw-atr-eviction": true, "link-down-on-close": false,
	}}, got)
	got, err = ParsePrivFlags([]byte(`[{"ifname":"e","rx_cqe_moder":true}]`))
	noErr(t, err)
	equal(t, PrivFlags{Device: "e", Flags: map[string]bool{"rx_cqe_moder": true}}, got)
}

func TestFEC(t *testing.T) {
	want := FEC{Device: "e", Configured: []string{"Auto", "RS", "BaseR"}, Active: []string{"RS"}, Corrected: u(7), Uncorrectable: u(0)}
	for name, in := range map[string]string{
		"text": "FEC parameters for e:\nSupported/Configured FEC encodings: Auto RS BaseR\nActive FEC encoding: RS\nStatistics:\n  corrected_blocks: 7\n    Lane 0: 7\n  uncorrectable_blocks: 0\n",
		"json": `[{"ifname":"e","config":["Auto","RS","BaseR"],"active":["RS"],"statistics":{"corrected_blocks":{"total":7,"lanes":[7]},"uncorrectable_blocks":{"total":0}}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseFEC([]byte(in))
			noErr(t, err)
			equal(t, want, got)
		})
	}
}

// parsers lists every reader, so that refusals and fuzzing cover all of them.
var parsers = map[string]func([]byte) (any, error){
	"settings":  func(b []byte) (any, error) { return ParseSettings(b) },
	"driver":    func(b []byte) (any, error) { return ParseDriver(b) },
	"pause":     func(b []byte) (any, error) { return ParsePause(b) },
	"stats":     func(b []byte) (any, error) { return ParseStats(b) },
	"module":    func(b []byte) (any, error) { return ParseModule(b) },
	"rings":     func(b []byte) (any, error) { return ParseRings(b) },
	"coalesce":  func(b []byte) (any, error) { return ParseCoalesce(b) },
	"features":  func(b []byte) (any, error) { return ParseFeatures(b) },
	"privflags": func(b []byte) (any, error) { return ParsePrivFlags(b) },
	"fec":       func(b []byte) (any, error) { return ParseFEC(b) },
}

func TestRefusals(t *testing.T) {
	for name, parse := range parsers {
		for in, want := range map[string]error{
			"netlink error: Operation not supported\n":                                           ErrNotSupported,
			"netlink error: Operation not supported\n[ ]\n":                                      ErrNotSupported,
			"no stats available\n":                                                               ErrNotSupported,
			"netlink error: no device matches name (offset 24)\nnetlink error: No such device\n": ErrNoDevice,
			"Cannot get driver information: No such device\n":                                    ErrNoDevice,
			"netlink error: Operation not permitted\n":                                           ErrNotPermitted,
			"sh: 1: ethtool: not found\n":                                                        ErrNoTool,
			"bash: ethtool: command not found\n":                                                 ErrNoTool,
			"ethtool: bad command line argument(s)\nFor more information run ethtool -h\n":       ErrTool,
			"":                          ErrNothing,
			"root@n1:~# ethtool -a e\n": ErrNothing,
			"[ ]":                       ErrNothing,
		} {
			if got, err := parse([]byte(in)); !errors.Is(err, want) {
				t.Errorf("%s of %q = %+v, %v, want %v", name, in, got, err, want)
			}
		}
		for _, in := range []string{"[{", `[{"a":`, "[" + strings.Repeat(`{"a":`, 100), `[{"a":1]`} {
			if _, err := parse([]byte(in)); err == nil || !strings.Contains(err.Error(), "line 1:") {
				t.Errorf("%s of %q: error %v, want one on line 1", name, in, err)
			}
		}
	}
}

func fuzz(f *testing.F, name string, inline ...string) {
	for _, s := range inline {
		f.Add([]byte(s))
	}
	fixture.Seed(f, "ethtool_*")
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parsers[name](b)
		switch v := got.(type) {
		case Module:
			if len(v.Lanes) > maxLanes+1 {
				t.Errorf("%d lanes", len(v.Lanes))
			}
		case Stats:
			if err == nil && len(v.Counters) == 0 {
				t.Error("no counter and no error")
			}
		case Settings:
			if v.SpeedMbps != nil && *v.SpeedMbps < 0 {
				t.Errorf("speed %d", *v.SpeedMbps)
			}
		}
		if len(strings.TrimSpace(string(b))) == 0 && err == nil {
			t.Error("nothing was read without an error")
		}
	})
}

func FuzzSettings(f *testing.F) { fuzz(f, "settings", settingsText, settingsJSON) }
func FuzzDriver(f *testing.F)   { fuzz(f, "driver", `[{"driver":"ice"}]`) }
func FuzzPause(f *testing.F)    { fuzz(f, "pause", `[{"rx":true,"negotiated":{"rx":true}}]`) }
func FuzzStats(f *testing.F) {
	fuzz(f, "stats", `[{"rmon":{"rx-pktsNtoM":[{"low":0,"high":64,"val":1}]}}]`)
}
func FuzzModule(f *testing.F)    { fuzz(f, "module", moduleQSFP, moduleJSON) }
func FuzzRings(f *testing.F)     { fuzz(f, "rings", `[{"rx-max":1}]`) }
func FuzzCoalesce(f *testing.F)  { fuzz(f, "coalesce", `[{"rx-usecs":1}]`) }
func FuzzFeatures(f *testing.F)  { fuzz(f, "features", `[{"a":{"active":true}}]`) }
func FuzzPrivFlags(f *testing.F) { fuzz(f, "privflags", `[{"a":true}]`) }
func FuzzFEC(f *testing.F)       { fuzz(f, "fec", `[{"config":["RS"]}]`) }
