package perftest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
	"weft/internal/unit"
)

func TestReadJSONUnquoted(t *testing.T) {
	got, err := ReadJSON(fixture.Read(t, "perftest_out_json_invalid_unquoted.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := Report{
		Test: "ib_write_lat", Device: "rxe0", Transport: "IB", Connection: "RC", LinkType: "Ethernet", MTU: 1024, GIDIndex: new(1),
		QPs: 1, TXDepth: 1, Inline: new(0), RDMACM: new(false), Exchange: "Ethernet",
		Rows: []Row{{Line: 22, Size: 128, Iterations: 5000, Min: us(2.37), Max: us(5.39), Typical: us(2.42), Avg: us(2.42), Stdev: us(0.05), P99: us(2.47), P999: us(4.03)}},
	}
	if d := cmp.Diff(want, got, addrs); d != "" {
		t.Error(d)
	}
}

func TestReadJSON(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Row
		err        string
	}{
		{name: "Gb/s by the message rate", text: `{"results": {"MsgSize": 65536, "n_iterations": 200, "BW_peak": 0.46, "BW_average": 0.45, "MsgRate": 0.000854}}`,
			want: []Row{{Line: 1, Size: 65536, Iterations: 200, Peak: 460 * unit.Mbps, Average: 450 * unit.Mbps, MsgRate: 854}}},
		{name: "MiB/s by the message rate", text: `{"results": {"MsgSize": 65536, "n_iterations": 5000, "BW_peak": 3293.63, "BW_average": 3293.56, "MsgRate": 0.052697}}`,
			want: []Row{{Line: 1, Size: 65536, Iterations: 5000, Peak: mib(329363), Average: mib(329356), MsgRate: 52697}}},
		{name: "slow, with six digits", text: `{"results": {"MsgSize": 65536, "BW_average": 0.010486, "MsgRate": 0.000020}}`,
			want: []Row{{Line: 1, Size: 65536, Average: 10486000, MsgRate: 20}}},
		{name: "nothing was moved", text: `{"results": {"MsgSize": 65536, "BW_peak": 0.00, "BW_average": 0.00, "MsgRate": 0.000000}}`,
			want: []Row{{Line: 1, Size: 65536}}},
		{name: "too slow to tell", text: "{\n\"results\": {\"MsgSize\": 8388608, \"BW_average\": 0.01, \"MsgRate\": 0.000000}}",
			err: `line 2: 0 messages of 8388608 bytes a second do not tell the unit of BW_average "0.01"`},
		{name: "a service level without quotes", text: "{\n\"results\": {\n\"MsgSize\": 1024,\nsl: 3,\n\"n_iterations\": 5000,\n\"BW_peak\": 9.10,\n\"BW_average\": 9.05,\n \"MsgRate\": 1.104736\n}\n}\n",
			want: []Row{{Line: 2, Size: 1024, Iterations: 5000, Peak: 9100 * unit.Mbps, Average: 9050 * unit.Mbps, MsgRate: 1104736}}},
		{name: "by duration, with the processor's load", text: "{\nresults: {\nMsgSize: 2,\nn_iterations: 100,\nt_avg: 1.21,\ntps_average: 826446.28,\nCPU_util: 12.50\n},\n}",
			want: []Row{{Line: 2, Size: 2, Iterations: 100, Avg: us(1.21), PerSecond: 826446.28, CPUPercent: 12.5}}},
		{name: "both directions", text: `{"test_info": {"test": "Send_Bidirectional_BW_Test"}, "results_local": {"MsgSize": 65536, "BW_average": 94.00, "MsgRate": 0.179291}, "results_remote": {"MsgSize": 65536, "BW_average": 95.00, "MsgRate": 0.181198}}`,
			want: []Row{{Line: 1, Size: 65536, Side: "local", Average: 94 * unit.Gbps, MsgRate: 179291}, {Line: 1, Size: 65536, Side: "remote", Average: 95 * unit.Gbps, MsgRate: 181198}}},
		{name: "a number alone", text: "{\n\"results\": {\n\"bw_avg\": 92.57,\n\n}\n}", err: "line 3: bw_avg alone tells no unit: run without --output"},
		{name: "not a number", text: "{results: {MsgSize: big}}", err: `line 1: #bytes "big" is not a number`},
		{name: "cut", text: "{\n\"test_info\": {\n\"test\": \"Send_BW_Test\",\n", err: "line 4: the document ends inside an object"},
		{name: "something else", text: `{"hosts": {"a": 1}}`, err: `line 1: "hosts" is not perftest output`},
		{name: "a list", text: "[1, 2]", err: "line 1: unexpected '['"},
		{name: "no document", text: "Couldn't connect", err: `line 1: "Couldn't connect" is not a file of --out_json`},
		{name: "too deep", text: "{a:{b:{c:1}}}", err: "line 1: an object within an object within an object"},
		{name: "nothing", text: " \n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ReadJSON([]byte(tc.text))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got.Rows); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadPaths(t *testing.T) {
	got, err := ReadPaths(fixture.Read(t, "compare_eth_vs_rdma_strixhalo_e810.txt"))
	want := []Path{
		{"Ethernet (1G LAN)", us(74), 940 * unit.Mbps},
		{"Ethernet (RoCE NIC)", us(68), 55700 * unit.Mbps},
		{"RDMA (RoCE)", us(5.23), 50640 * unit.Mbps},
	}
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for in, want := range map[string]string{
		"Path Latency Bandwidth\nx 1.2.3 ms 5 Gbps\n":   `line 2: path "x": 1.2.3 ms, 5 Gbps`,
		"RDMA 5 us 5 Gbps\n":                            `line 1: "RDMA 5 us 5 Gbps" is not a table of paths output`,
		"Path Latency Bandwidth\nx 9e9 ms 5 Gbps\n":     `line 2: "x 9e9 ms 5 Gbps" is not a table of paths output`,
		"Path Latency Bandwidth\nx 9999999999 ms 5Gbps": `line 2: path "x": 9999999999 ms, 5 Gbps`,
	} {
		if _, err := ReadPaths([]byte(in)); text(err) != want {
			t.Errorf("%q: %v", in, err)
		}
	}
}
