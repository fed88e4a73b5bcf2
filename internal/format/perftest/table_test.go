package perftest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/unit"
)

// TestTables reads the tables of all ages, written after the formats in the sources.
func TestTables(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Row
		err        string
	}{
		{name: "2007, without a message rate",
			text: "#bytes #iterations    BW peak[MB/sec]    BW average[MB/sec]  \n  65536        1000             913.82                913.80\n",
			want: []Row{{Line: 2, Size: 65536, Iterations: 1000, Peak: mib(91382), Average: mib(91380)}}},
		{name: "2007, latency",
			text: " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n      2        1000           1.42           7.19               1.48\n",
			want: []Row{{Line: 2, Size: 2, Iterations: 1000, Min: us(1.42), Max: us(7.19), Typical: us(1.48)}}},
		{name: "small rates have six digits",
			text: " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 2          5000           0.042350            0.042185            2.636533\n",
			want: []Row{{Line: 2, Size: 2, Iterations: 5000, Peak: 42350000, Average: 42185000, MsgRate: 2636533}}},
		{name: "latency by duration, with the processor's load",
			text: " #bytes        #iterations       t_avg[usec]    tps average    CPU_Util[%%]\n 2             1234567            1.21           826446.28\t    12.50\n",
			want: []Row{{Line: 2, Size: 2, Iterations: 1234567, Avg: us(1.21), PerSecond: 826446.28, CPUPercent: 12.5}}},
		{name: "latency by duration, before tps",
			text: " #bytes        #iterations       t_avg[usec]  \t\n 2             1234567            1.21\n",
			want: []Row{{Line: 2, Size: 2, Iterations: 1234567, Avg: us(1.21)}}},
		{name: "bandwidth with the processor's load",
			text: " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]    CPU_Util[%]\n 65536      1000000          0.00               97.50\t\t     0.185966\t    3.12\n",
			want: []Row{{Line: 2, Size: 65536, Iterations: 1000000, Average: 97500 * unit.Mbps, MsgRate: 185966, CPUPercent: 3.12}}},
		{name: "by service level",
			text: " #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 1024    3           5000           9.10            9.05                  1.104736\n",
			want: []Row{{Line: 2, Size: 1024, Iterations: 5000, Peak: 9100 * unit.Mbps, Average: 9050 * unit.Mbps, MsgRate: 1104736}}},
		{name: "by port",
			text: " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]   BW Port1[MB/sec]   MsgRate Port1[Mpps]   BW Port2[MB/sec]   MsgRate Port2[Mpps]\n 65536 1000 0.00 200.00 0.003200 100.00 0.001600 100.00 0.001600\n",
			want: []Row{{Line: 2, Size: 65536, Iterations: 1000, Average: mib(20000), MsgRate: 3200}}},
		{name: "both directions",
			text: " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536 1000 190.00 188.00 0.358582\n\n Local results: \n 65536 1000 95.00 94.00 0.179291\n\n Remote results: \n 65536 1000 95.00 94.00 0.179291\n",
			want: []Row{
				{Line: 2, Size: 65536, Iterations: 1000, Peak: 190 * unit.Gbps, Average: 188 * unit.Gbps, MsgRate: 358582},
				{Line: 5, Size: 65536, Iterations: 1000, Side: "local", Peak: 95 * unit.Gbps, Average: 94 * unit.Gbps, MsgRate: 179291},
				{Line: 8, Size: 65536, Iterations: 1000, Side: "remote", Peak: 95 * unit.Gbps, Average: 94 * unit.Gbps, MsgRate: 179291},
			}},
		{name: "a column of a newer version",
			text: "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] BW min[Gb/sec] MsgRate[Mpps]\n65536 1000 97.00 96.00 40.00 0.183105\n",
			want: []Row{{Line: 2, Size: 65536, Iterations: 1000, Peak: 97 * unit.Gbps, Average: 96 * unit.Gbps, MsgRate: 183105}}},
		{name: "a unit of a newer version", text: "#bytes #iterations BW average[Tb/sec]\n65536 1000 1.00\n",
			want: []Row{{Line: 2, Size: 65536, Iterations: 1000}},
			err:  `line 1: column "BW average[Tb/sec]" has a unit that is not known`},
		{name: "a row that was cut", text: "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n65536 1000 97.00\n",
			err: "line 2: 3 numbers under 5 columns"},
		{name: "a counter that has gone round", text: "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n65536 1000 0.00 -3.21 0.1\n",
			err: "line 2: bw average -3.21 is less than nothing"},
		{name: "more than can be", text: "#bytes #iterations BW average[Gb/sec]\n65536 1000 99999999999\n",
			err: "line 2: bw average 99999999999 is more than can be"},
		{name: "samples one by one", text: "#bytes #iterations t_avg[usec]\n#, usec\n1, 1.23\n2, 1.25\n2 1000 1.24\n",
			want: []Row{{Line: 5, Size: 2, Iterations: 1000, Avg: us(1.24)}}},
		{name: "something else", text: "PING 10.0.0.1 56(84) bytes of data.\n", err: `line 1: "PING 10.0.0.1 56(84) bytes of data." is not perftest output`},
		{name: "nothing", text: "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Read([]byte(tc.text))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			if d := cmp.Diff(tc.want, got.Rows); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestHeaders reads headers that no fixture has.
func TestHeaders(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       Report
	}{
		{"2007", "------\n                    Send Bidirectional BW Test\nConnection type : UC\nInline data is used up to 400 bytes message\n  local address:  LID 0x01, QPN 0x0405, PSN 0x5d7e2e\n  remote address: LID 0x02, QPN 0x0405, PSN 0xd5ea70\nMtu : 2048\n",
			Report{Test: "ib_send_bw", Bidirectional: true, Connection: "UC", MTU: 2048,
				Local: Address{LID: 1, QPN: 0x405, PSN: 0x5d7e2e}, Remote: Address{LID: 2, QPN: 0x405, PSN: 0xd5ea70}}},
		{"atomic", "                    Atomic FETCH_AND_ADD BW Test\n Outstand reads  : 16\n", Report{Test: "ib_atomic_bw", Outstanding: 16}},
		{"lists, two directions, events", "      RDMA_Read Bidirectional Post List BW Test\n Test with events. Using mlx5_0_comp0\n Post List       : 64\n",
			Report{Test: "ib_read_bw", Bidirectional: true, Events: true, PostList: 64}},
		{"write with immediate", " RDMA_Write_imm Latency Test\n", Report{Test: "ib_write_lat"}},
		{"forwarding", " RDMA_Write BW forwarding Test\n", Report{Test: "ib_write_bw"}},
		{"raw Ethernet", " Send BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Connection type : RawEth\t\tUsing SRQ      : OFF\n Mtu             : 1518[B]\n",
			Report{Test: "raw_ethernet_bw", Device: "mlx5_0", Connection: "RawEth", MTU: 1518}},
		{"raw Ethernet, rules", "MAC attached  : 7C:FE:90:19:B0:A1\n**raw ethernet header****************************************\n\n--------------------------------------------------------------\n| Dest MAC         | Src MAC          | Packet Type          |\n Send Latency Test\n Connection type : RawEth\n",
			Report{Test: "raw_ethernet_lat", Connection: "RawEth"}},
		{"collapsed, newest", "RDMA_Write BW Test\nDual-port : OFF Device : bnxt_re0\nNumber of qps : 2 Transport type : IB\nConnection type : RC Using SRQ : OFF\nPCIe relax order: ON Lock-free : OFF\nibv_wr* API : ON Using Enhanced Reorder : OFF\nCQ Moderation : 1\nCQE Poll Batch : Dynamic\nGID index : 0\nrdma_cm QPs : ON\nUse ROCm memory : ON\nData ex. method : rdma_cm TOS : 105\n",
			Report{Test: "ib_write_bw", Device: "bnxt_re0", QPs: 2, Transport: "IB", Connection: "RC", CQModeration: 1, GIDIndex: new(0), RDMACM: new(true), Memory: "rocm", Exchange: "rdma_cm"}},
		{"of a GPU", "initializing CUDA\nPicking device No. 0\nusing DMA-BUF for GPU buffer address at 0x7f0b71000000 aligned at 0x7f0b71000000 with aligned size 33554432\n", Report{Memory: "cuda", DMABuf: true}},
		{"many queue pairs", " local address: LID 0x01 QPN 0x0066 PSN 0xdcb546\n GID: 254:128:00:00:00:00:00:00:16:76:116:255:254:70:225:171\n local address: LID 0x01 QPN 0x0067 PSN 0xdcb547\n GID: 254:128:00:00:00:00:00:00:00:00:00:00:00:00:00:01\n",
			Report{Local: Address{LID: 1, QPN: 0x66, PSN: 0xdcb546, GID: gid("fe80::104c:74ff:fe46:e1ab")}}},
	} {
		got, err := Read([]byte(tc.text))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if d := cmp.Diff(tc.want, got, addrs); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}
