package dcb

import (
	"errors"
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

const (
	pfcText = "root@n1:~# dcb -s pfc show dev eth2\npfc-cap 8 macsec-bypass off delay 7 \nprio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off \nrequests 0:0 1:0 2:0 3:217 4:0 5:0 6:0 7:0 \nindications 0:0 1:0 2:0 3:179 4:0 5:0 6:0 7:0 \n"
	pfcJSON = `{"pfc_cap":8,"macsec_bypass":false,"delay":7,"prio_pfc":[false,false,false,true,false,false,false,false],"requests":[0,0,0,217,0,0,0,0],"indications":[0,0,0,179,0,0,0,0]}`
	etsText = "willing on ets-cap 8 cbs off \ntc-bw 0:10 1:20 2:70 3:0 4:0 5:0 6:0 7:0 \npg-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 \ntc-tsa 0:ets 1:ets 2:ets 3:strict 4:vendor 5:cbs 6:strict 7:strict \nprio-tc 0:0 1:0 2:1 3:2 4:0 5:0 6:7 7:7 \nreco-tc-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 \n"
	etsJSON = `{"willing":true,"ets_cap":8,"cbs":false,"tc_bw":[10,20,70,0,0,0,0,0],"pg_bw":[0,0,0,0,0,0,0,0],"tc_tsa":["ets","ets","ets","strict","vendor","cbs","strict","strict"],"prio_tc":[0,0,1,2,0,0,7,7],"reco_tc_bw":[0,0,0,0,0,0,0,0]}`
	appText = "ethtype-prio 8906:3 \ndefault-prio 0 1 \ndscp-prio CS6:6 AF31:3 EF:5 5:2 \ndgram-port-prio 4791:3 \npcp-prio 1nd:1 \n"
	appJSON = `{"ethtype_prio":[[35078,3]],"default_prio":[0,1],"dscp_prio":[[48,6],[26,3],[46,5],[5,2]],"dgram_port_prio":[[4791,3]],"pcp_prio":[["1nd",1]]}`
	bufText = "prio-buffer 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0 \nbuffer-size 0:20016b 1:96Kb 2:1.5Mb 3:0b 4:0b 5:0b 6:0b 7:0b \ntotal-size 256Kb \n"
	bufJSON = `{"prio_buffer":[0,0,0,1,0,0,0,0],"buffer_size":[20016,98304,1572864,0,0,0,0,0],"total_size":262144}`
)

func TestDCB(t *testing.T) {
	prio3 := []uint64{0, 0, 0, 217, 0, 0, 0, 0}
	for _, in := range []string{pfcText, pfcJSON, "# source: here\n" + pfcJSON} {
		got, err := ParsePFC([]byte(in))
		noErr(t, err)
		equal(t, PFC{
			Cap: new(8), MACsecBypass: new(false), Delay: new(7), Enabled: []bool{3: true, 7: false},
			Requests: prio3, Indications: []uint64{0, 0, 0, 179, 0, 0, 0, 0},
		}, got)
	}
	for _, in := range []string{etsText, etsJSON} {
		got, err := ParseETS([]byte(in))
		noErr(t, err)
		equal(t, ETS{
			Willing: new(true), Cap: new(8), CBS: new(false), TCBW: []int{10, 20, 70, 0, 0, 0, 0, 0}, PGBW: make([]int, 8),
			TSA:    []string{"ets", "ets", "ets", "strict", "vendor", "cbs", "strict", "strict"},
			PrioTC: []int{0, 0, 1, 2, 0, 0, 7, 7},
		}, got)
	}
	for _, in := range []string{appText, appJSON} {
		got, err := ParseApp([]byte(in))
		noErr(t, err)
		equal(t, App{
			Default: []int{0, 1}, EtherType: []Map{{0x8906, 3}}, DgramPort: []Map{{4791, 3}},
			DSCP: []Map{{5, 2}, {26, 3}, {46, 5}, {48, 6}},
		}, got)
	}
	for _, in := range []string{bufText, bufJSON} {
		got, err := ParseBuffer([]byte(in))
		noErr(t, err)
		equal(t, Buffer{
			PrioBuffer: []int{0, 0, 0, 1, 0, 0, 0, 0}, Bytes: []uint64{20016, 98304, 1572864, 0, 0, 0, 0, 0}, TotalBytes: new(uint64(262144)),
		}, got)
	}
}

func TestPrioOf(t *testing.T) {
	a := App{DSCP: []Map{{26, 3}, {26, 4}, {26, 1}, {48, 0}}}
	for dscp, want := range map[int]struct {
		prio int
		ok   bool
	}{26: {4, true}, 48: {0, true}, 5: {0, false}} {
		if p, ok := a.PrioOf(dscp); p != want.prio || ok != want.ok {
			t.Errorf("PrioOf(%d) = %d, %v, want %d, %v", dscp, p, ok, want.prio, want.ok)
		}
	}
}

func TestEmptyApp(t *testing.T) {
	for _, in := range []string{"", "{}", "{ }\n", "$ dcb app show dev eth2\n"} {
		got, err := ParseApp([]byte(in))
		noErr(t, err)
		equal(t, App{}, got)
	}
	if _, err := ParseApp([]byte("hello world")); !errors.Is(err, ErrNothing) {
		t.Errorf("error %v, want ErrNothing", err)
	}
}

func TestDSCPNames(t *testing.T) {
	for name, want := range map[string]int{
		"CS0": 0, "CS3": 24, "CS7": 56, "AF11": 10, "AF31": 26, "AF43": 38, "EF": 46, "VOICE-ADMIT": 44, "LE": 1, "default": 0, "63": 63,
	} {
		if got, err := dscp(name); err != nil || got != want {
			t.Errorf("dscp(%s) = %d, %v, want %d", name, got, err, want)
		}
	}
	for _, bad := range []string{"64", "CS8", "AF51", "AF14", "AF1", "", "-1", "x"} {
		if got, err := dscp(bad); err == nil {
			t.Errorf("dscp(%q) = %d without an error", bad, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	all := map[string]func([]byte) error{
		"pfc":    func(b []byte) error { _, err := ParsePFC(b); return err },
		"ets":    func(b []byte) error { _, err := ParseETS(b); return err },
		"app":    func(b []byte) error { _, err := ParseApp(b); return err },
		"buffer": func(b []byte) error { _, err := ParseBuffer(b); return err },
		"qos":    func(b []byte) error { _, err := ParseMlnxQoS(b); return err },
	}
	for name, parse := range all {
		for in, want := range map[string]error{
			"Attribute read: Operation not supported\n":  ErrNotSupported,
			"Attribute not found: Success\n":             ErrNotSupported,
			"RTNETLINK answers: Operation not permitted": ErrTool,
			"sh: 1: dcb: not found":                      ErrTool,
			"Traceback (most recent call last):\n":       ErrTool,
		} {
			if err := parse([]byte(in)); !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "line 1:") {
				t.Errorf("%s of %q: %v, want %v on line 1", name, in, err, want)
			}
		}
		if name == "app" {
			continue
		}
		for _, in := range []string{"", "hello on", "{}"} {
			if err := parse([]byte(in)); !errors.Is(err, ErrNothing) {
				t.Errorf("%s of %q: %v, want ErrNothing", name, in, err)
			}
		}
	}
	for in, want := range map[string]string{
		"prio-pfc 0:off 1:on":   "prio-pfc has 2 values, want 8",
		"prio-pfc 1:off":        `prio-pfc: "1:off" is out of place`,
		`{"prio_pfc":[true,`:    "line 1: unexpected EOF",
		`{"prio_pfc":["x"]}`:    `prio-pfc: "0:x" is out of place`,
		"\n{\"pfc_cap\":}":      "line 2: invalid character",
		`{"prio_pfc":{"a":[]}}`: "prio-pfc",
	} {
		if p, err := ParsePFC([]byte(in)); err == nil || !strings.Contains(err.Error(), want) || p.Enabled != nil {
			t.Errorf("ParsePFC(%q) = %v, %v, want %q", in, p.Enabled, err, want)
		}
	}
	if a, err := ParseApp([]byte("dscp-prio 99:3 26:9 24:3")); err == nil || len(a.DSCP) != 1 || a.DSCP[0] != (Map{24, 3}) {
		t.Errorf("ParseApp = %v, %v, want the good entry and an error", a.DSCP, err)
	}
}

func TestMlnxQoSFixtures(t *testing.T) {
	got, err := ParseMlnxQoS(fixture.Read(t, "mlnx_qos_dscp_ets.txt"))
	noErr(t, err)
	dscps := map[int]int{}
	for i := range 64 {
		dscps[i] = i / 8
	}
	ets := func(tc, bw, prio int) Class {
		return Class{TC: tc, RateLimit: "unlimited", TSA: "ets", BWPercent: &bw, Priorities: []int{prio}}
	}
	equal(t, QoS{
		Device: "eth2", DCBX: "OS controlled", Trust: "dscp", DSCPPrio: dscps, CableM: new(10),
		PFC: []bool{true, false, true, false, false, false, true, true},
		Classes: []Class{
			ets(0, 10, 1), ets(1, 10, 0), ets(2, 10, 2), ets(3, 10, 3), ets(4, 10, 4), ets(5, 10, 5),
			{TC: 6, RateLimit: "unlimited", TSA: "strict", Priorities: []int{6}}, ets(7, 40, 7),
		},
	}, got)

	equal(t, []int{1, 0, 2, 3, 4, 5, 6, 7}, got.PrioTC())

	got, err = ParseMlnxQoS(fixture.Read(t, "mlnx_qos_pfc_prio3_only.txt"))
	noErr(t, err)
	equal(t, QoS{Device: "eth2", PFC: []bool{3: true, 7: false}}, got)
	equal(t, []int(nil), got.PrioTC())
}

const qosText = "$ mlnx_qos -i ens1f0np0\r\n" + `DCBX mode: Firmware controlled
Priority trust state: pcp
Receive buffer size (bytes): 20016,156096,0,0,0,0,0,0,max_buffer_size=262144
Cable len: 7
PFC configuration:
	priority    0   1   2   3   4   5   6   7
	enabled     0   0   0   1   0   0   0   0   
	buffer      0   0   0   1   0   0   0   0   
tc: 0 ratelimit: 25.0 Gbps, tsa: vendor
	 priority:  1
	 priority:  2
`

func TestMlnxQoS(t *testing.T) {
	got, err := ParseMlnxQoS([]byte(qosText))
	noErr(t, err)
	equal(t, QoS{
		Device: "ens1f0np0", DCBX: "Firmware controlled", Trust: "pcp", CableM: new(7), PFC: []bool{3: true, 7: false},
		PFCBuffer: []int{3: 1, 7: 0}, BufferBytes: []int{20016, 156096, 0, 0, 0, 0, 0, 0},
		Classes: []Class{{TC: 0, RateLimit: "25.0 Gbps", TSA: "vendor", Priorities: []int{1, 2}}},
	}, got)
	for in, want := range map[string]string{
		"PFC configuration:\nenabled 0 0 1": "line 2: row has 3 columns",
		"prio:9 dscp:1":                     "line 1: \"9 dscp:1\"",
		"prio:1 dscp:64":                    "line 1: 64 is over 63",
		"tc: 8 tsa: ets":                    "line 1: \"8 tsa: ets\" is no traffic class",
		"hello":                             "line 1: \"hello\"",
	} {
		if _, err := ParseMlnxQoS([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseMlnxQoS(%q): %v, want %q", in, err, want)
		}
	}
}

func eight[T any](t *testing.T, what string, list []T) {
	if list != nil && len(list) != priorities {
		t.Errorf("%s has %d values", what, len(list))
	}
}

func FuzzPFC(f *testing.F) {
	f.Add([]byte(pfcText))
	f.Add([]byte(pfcJSON))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, _ := ParsePFC(b)
		eight(t, "enabled", p.Enabled)
		eight(t, "requests", p.Requests)
		eight(t, "indications", p.Indications)
	})
}

func FuzzETS(f *testing.F) {
	f.Add([]byte(etsText))
	f.Add([]byte(etsJSON))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, _ := ParseETS(b)
		eight(t, "bandwidth", e.TCBW)
		eight(t, "algorithm", e.TSA)
		eight(t, "classes", e.PrioTC)
	})
}

func FuzzApp(f *testing.F) {
	f.Add([]byte(appText))
	f.Add([]byte(appJSON))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, _ := ParseApp(b)
		for _, m := range a.DSCP {
			if m.Key < 0 || m.Key > 63 || m.Prio < 0 || m.Prio > 7 {
				t.Errorf("DSCP entry %+v", m)
			}
		}
	})
}

func FuzzBuffer(f *testing.F) {
	f.Add([]byte(bufText))
	f.Add([]byte(bufJSON))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, _ := ParseBuffer(b)
		eight(t, "priorities", x.PrioBuffer)
		eight(t, "sizes", x.Bytes)
	})
}

func FuzzMlnxQoS(f *testing.F) {
	f.Add([]byte(qosText))
	f.Add([]byte("dscp2prio mapping:\n\tprio:3 dscp:26,\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, _ := ParseMlnxQoS(b)
		eight(t, "pfc", q.PFC)
		eight(t, "classes", q.PrioTC())
		for code, prio := range q.DSCPPrio {
			if code < 0 || code > 63 || prio < 0 || prio > 7 {
				t.Errorf("DSCP %d has priority %d", code, prio)
			}
		}
	})
}
