package perftest

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weft/internal/fixture"
	"weft/internal/unit"
)

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// mib is a rate of so many hundredths of MiB/s.
func mib(hundredths float64) unit.Rate { return unit.Rate(hundredths*(8<<20)/100 + 0.5) }

func us(n float64) time.Duration { return time.Duration(n*1000 + 0.5) }

func gid(s string) netip.Addr { return netip.MustParseAddr(s) }

func TestReadFixtures(t *testing.T) {
	for _, tc := range []struct {
		file string
		want Report
	}{{
		file: "perftest_ib_loopback_8M.txt", // both sides in one file
		want: Report{
			Test: "ib_write_bw", Device: "ib0", Transport: "IB", Connection: "RC", LinkType: "IB", MTU: 4096, QPs: 1,
			TXDepth: 128, CQModeration: 1, Inline: new(0), RDMACM: new(false), Exchange: "Ethernet",
			Local:  Address{LID: 0xd06, QPN: 0x95f, PSN: 0x3c9e82, RKey: 0x080359},
			Remote: Address{LID: 0xd06, QPN: 0x95e, PSN: 0xbd024b, RKey: 0x080258},
			Rows: []Row{
				{Line: 19, Size: 8 * unit.MiB, Iterations: 20000, Peak: mib(2405674), Average: mib(2405672), MsgRate: 3007},
				{Line: 40, Size: 8 * unit.MiB, Iterations: 20000, Peak: mib(2405674), Average: mib(2405672), MsgRate: 3007},
			},
		},
	}, {
		file: "perftest_ib_write_bw_cx3_mib.txt",
		want: Report{Rows: []Row{{Line: 3, Size: 64 * unit.KiB, Iterations: 5000, Peak: mib(329363), Average: mib(329356), MsgRate: 52697}}},
	}, {
		file: "perftest_ib_write_bw_edr_ib_header.txt",
		want: Report{
			Test: "ib_write_bw", Device: "mlx5_1", Transport: "IB", Connection: "RC", LinkType: "IB", MTU: 4096, QPs: 1,
			TXDepth: 128, CQModeration: 100, Inline: new(0), RDMACM: new(false), Exchange: "Ethernet",
		},
	}, {
		file: "perftest_ib_write_bw_spark_rail1_run_infinitely.txt",
		want: Report{
			Test: "ib_write_bw", Device: "rocep1s0f0", Transport: "IB", Connection: "RC", LinkType: "Ethernet", MTU: 1024, QPs: 1,
			GIDIndex: new(3), TXDepth: 128, CQModeration: 1, Inline: new(0), RDMACM: new(false), Exchange: "Ethernet",
			Local:  Address{QPN: 0x129, PSN: 0x57279d, RKey: 0x184300, GID: gid("::ffff:192.168.200.13")},
			Remote: Address{QPN: 0x129, PSN: 0x531b7, RKey: 0x184300, GID: gid("::ffff:192.168.200.12")},
			Rows: []Row{
				{Line: 26, Size: 64 * unit.KiB, Iterations: 882805, Average: 92570 * unit.Mbps, MsgRate: 176554},
				{Line: 27, Size: 64 * unit.KiB, Iterations: 882802, Average: 92570 * unit.Mbps, MsgRate: 176554},
				{Line: 28, Size: 64 * unit.KiB, Iterations: 882791, Average: 92570 * unit.Mbps, MsgRate: 176554},
				{Line: 29, Size: 64 * unit.KiB, Iterations: 882791, Average: 92560 * unit.Mbps, MsgRate: 176552},
				{Line: 30, Size: 64 * unit.KiB, Iterations: 882821, Average: 92570 * unit.Mbps, MsgRate: 176555},
			},
			Warnings: []Problem{{Kind: NoPeak, Line: 3, Said: "WARNING: BW peak won't be measured in this run."}},
		},
	}, {
		file: "perftest_ib_write_lat_cx3.txt",
		want: Report{Rows: []Row{{
			Line: 3, Size: 2, Iterations: 1000, Min: us(1.10), Max: us(2.05), Typical: us(1.11), Avg: us(1.12),
			P99: us(1.19), P999: us(2.05),
		}}},
	}} {
		t.Run(tc.file, func(t *testing.T) {
			got, err := Read(fixture.Read(t, tc.file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(tc.want, got, addrs, cmpopts.IgnoreFields(Problem{}, "Why", "Next")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadAllSizes(t *testing.T) {
	got, err := Read(fixture.Read(t, "perftest_ib_loopback_all_sizes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Test != "ib_write_bw" || got.Device != "ib0" || got.MTU != 4096 || got.CQModeration != 100 || got.TXDepth != 128 || got.Problem != nil {
		t.Errorf("header %+v", got)
	}
	if len(got.Rows) != 24 { // 2 bytes to 8 MiB, and the last from the other side too
		t.Fatalf("%d rows", len(got.Rows))
	}
	for i, row := range got.Rows[:23] {
		if row.Size != 2<<i || row.Iterations != 2000 {
			t.Errorf("row %d: %+v", i, row)
		}
		// The message rate is the same number in another unit: it shows that MB is 2^20.
		if by := float64(row.MsgRate) * float64(row.Size) * 8; by/float64(row.Average) < 0.99 || by/float64(row.Average) > 1.01 {
			t.Errorf("row %d: %s and %d messages of %d bytes a second", i, row.Average, row.MsgRate, row.Size)
		}
	}
	if row := got.Rows[11]; row.Peak != mib(1003402) || row.Average != mib(994841) || row.MsgRate != 2546793 {
		t.Errorf("4096 bytes: %+v", row)
	}
	if row := got.Rows[23]; row.Average != mib(2324068) {
		t.Errorf("the last: %+v", row)
	}
}

// sample is what rxe printed in the lab, of two generations of perftest.
type sample struct {
	file string
	want Report
}

func TestReadSamples(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.file, func(t *testing.T) {
			read := Read
			if strings.HasSuffix(s.file, ".json") {
				read = ReadJSON
			}
			got, err := read(fixture.Read(t, "lab/samples/"+s.file))
			if err != nil {
				t.Error(err)
			}
			for _, w := range got.Warnings {
				if w.Kind != NoPeak && w.Kind != Inline {
					t.Errorf("warning %+v", w)
				}
			}
			got.Warnings = nil
			for i := range got.Rows {
				if got.Rows[i].Line == 0 {
					t.Error("a row without its line")
				}
				got.Rows[i].Line = 0
			}
			if d := cmp.Diff(s.want, got, addrs); d != "" {
				t.Error(d)
			}
		})
	}
}

// samples are the runs of the lab: both generations, both sides, both formats.
func samples() []sample {
	var all []sample
	gbps := func(hundredths int) unit.Rate { return unit.Rate(hundredths) * 10 * unit.Mbps }
	bw := func(peak, average int, rate int64) Row {
		return Row{Size: 64 * unit.KiB, Iterations: 200, Peak: gbps(peak), Average: gbps(average), MsgRate: rate}
	}
	lat := func(min, max, typical, avg, stdev, p99, p999 float64) Row {
		return Row{Size: 8, Iterations: 200, Min: us(min), Max: us(max), Typical: us(typical), Avg: us(avg), Stdev: us(stdev), P99: us(p99), P999: us(p999)}
	}
	end := func(qpn, psn int, rkey uint32, last string) Address {
		return Address{QPN: qpn, PSN: psn, RKey: rkey, GID: gid("::ffff:10.10.0." + last)}
	}
	for _, s := range []struct {
		folder, test   string
		psn            int
		client, server uint32 // keys
		row, other     *Row
	}{
		{"bookworm-perftest-4.5", "ib_write_bw", 0xe034b4, 0x262, 0x28a, new(bw(44, 42, 798)), new(bw(44, 42, 798))},
		{"bookworm-perftest-4.5", "ib_send_bw", 0x3007b5, 0, 0, new(bw(36, 36, 685)), new(bw(0, 38, 719))},
		{"bookworm-perftest-4.5", "ib_read_bw", 0xe70e1e, 0x462, 0x4f6, new(bw(40, 40, 759)), new(bw(40, 40, 759))},
		{"bookworm-perftest-4.5", "ib_write_lat", 0x547ef, 0x59a, 0x54c,
			new(lat(339.51, 4020.36, 549.54, 1052.97, 840.30, 3981.00, 4020.36)), new(lat(342.47, 4066.21, 557.66, 1061.90, 851.97, 4043.44, 4066.21))},
		{"bookworm-perftest-4.5", "ib_send_lat", 0x23f78a, 0, 0,
			new(lat(316.84, 4685.33, 870.68, 1324.63, 1071.90, 4252.72, 4685.33)), new(lat(326.32, 4324.74, 1010.16, 1328.24, 1019.55, 4145.50, 4324.74))},
		{"bookworm-perftest-4.5", "ib_read_lat", 0xea6505, 0x7d6, 0x742,
			new(lat(316.76, 2550.60, 487.38, 504.50, 116.19, 1148.02, 2550.60)), nil}, // a server that is read from has no number
		{"trixie-perftest-25.01", "ib_write_bw", 0x5f8d35, 0x2a0, 0x252, new(bw(46, 45, 854)), new(bw(46, 45, 854))},
		{"trixie-perftest-25.01", "ib_send_bw", 0x40c7cc, 0, 0, new(bw(39, 39, 745)), new(bw(0, 42, 798))},
		{"trixie-perftest-25.01", "ib_read_bw", 0x8935cb, 0x477, 0x4b9, new(bw(43, 43, 825)), new(bw(43, 43, 825))},
		{"trixie-perftest-25.01", "ib_write_lat", 0x38d732, 0x587, 0x52b,
			new(lat(331.08, 4035.83, 574.13, 1136.84, 945.04, 4030.73, 4035.83)), new(lat(316.19, 3911.38, 661.18, 1141.17, 806.32, 3624.81, 3911.38))},
		{"trixie-perftest-25.01", "ib_send_lat", 0xe8ee64, 0, 0,
			new(lat(338.09, 4652.61, 479.64, 1074.00, 997.33, 4645.22, 4652.61)), new(lat(310.61, 4547.73, 514.11, 1071.46, 862.16, 4016.36, 4547.73))},
		{"trixie-perftest-25.01", "ib_read_lat", 0x40c375, 0x7c9, 0x780,
			new(lat(315.49, 970.32, 396.15, 408.75, 59.21, 719.86, 970.32)), nil},
	} {
		qpn := map[string]int{"ib_write_bw": 0x11, "ib_send_bw": 0x12, "ib_read_bw": 0x13, "ib_write_lat": 0x14, "ib_send_lat": 0x15, "ib_read_lat": 0x16}[s.test]
		r := Report{
			Test: s.test, Device: "rxe_0", Transport: "IB", Connection: "RC", LinkType: "Ethernet", MTU: 4096, GIDIndex: new(1),
			QPs: 1, RDMACM: new(false), Exchange: "Ethernet",
		}
		depth := 1
		if strings.HasSuffix(s.test, "_bw") {
			r.CQModeration, depth = 1, 128
		}
		if strings.HasPrefix(s.test, "ib_read_") {
			r.Outstanding = 128
		} else {
			r.Inline = new(0)
		}
		asked := r
		asked.TXDepth, asked.Rows = depth, []Row{*s.row}
		all = append(all, sample{s.folder + "/" + s.test + ".json", asked})
		asked.Local, asked.Remote = end(qpn, s.psn, s.client, "1"), end(qpn, s.psn, s.server, "2")
		all = append(all, sample{s.folder + "/" + s.test + ".stdout", asked})
		answered := r
		answered.Local, answered.Remote = asked.Remote, asked.Local
		if strings.HasPrefix(s.test, "ib_send_") {
			answered.RXDepth = 200
		}
		if s.other != nil {
			answered.Rows = []Row{*s.other}
		}
		all = append(all, sample{s.folder + "/" + s.test + ".server.stdout", answered})
	}
	return all
}
