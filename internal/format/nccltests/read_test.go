package nccltests

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weft/internal/fixture"
	"weft/internal/unit"
)

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// gb is a rate of so many GB/s, as nccl-tests prints them.
func gb(n float64) unit.Rate { return unit.Rate(math.Round(n * 8e9)) }

func us(n float64) time.Duration { return time.Duration(math.Round(n * 1e3)) }

func ok(time, alg, bus float64) *Result {
	return &Result{Time: us(time), Alg: gb(alg), Bus: gb(bus), Wrong: new(int64(0))}
}

func TestFixtures(t *testing.T) {
	titan := []Device{
		{0, 0, 226099, "node05-ccncluster", 0, "0x1a", "TITAN Xp"},
		{1, 0, 226099, "node05-ccncluster", 1, "0x1b", "TITAN Xp"},
	}
	a10g := func(i int) Device { return Device{i, 0, 199642, "ip-172-31-27-192", i, "0x00", "NVIDIA A10G"} }
	for _, tc := range []struct {
		file string
		want Report
	}{{
		file: "nccl-tests_allgather_spark_mtu1500_16G.txt",
		want: Report{
			Op: "all_gather", Version: "2.17.6", NCCL: "2.28.3", GPU: "NVIDIA GB10", Threads: 1, GPUsPerThread: 1, Min: 16 * unit.GiB, Max: 16 * unit.GiB,
			Warmup: 1, Iterations: 20, Checked: new(true), Ranks: 2, Nodes: 2,
			Devices: []Device{{0, 0, 1935208, "spark", 0, "000f:01:00", "NVIDIA GB10"}, {1, 0, 1278829, "spark-3995", 0, "000f:01:00", "NVIDIA GB10"}},
			Rows: []Row{{Line: 13, Op: "all_gather", Size: 16 * unit.GiB, Count: 2147483648, Type: "float", RedOp: "none",
				Out: ok(453650, 37.87, 18.94), In: ok(410049, 41.90, 20.95)}},
			OutOfBounds: new(0),
		},
	}, {
		file: "nccl-tests_allreduce_gb200_72gpu.txt",
		want: Report{
			GPU: "NVIDIA Graphics Device", Ranks: 72, Devices: []Device{{71, 0, 14840, "slurm-gb200-207-171", 3, "0x01", "NVIDIA Graphics Device"}},
			Rows: []Row{
				{Line: 7, Size: 512 * unit.MiB, Count: 134217728, Type: "float", RedOp: "sum", Out: ok(1806.7, 297.16, 586.06), In: ok(1835.9, 292.43, 576.74)},
				{Line: 8, Size: unit.GiB, Count: 268435456, Type: "float", RedOp: "sum", Out: ok(3108.8, 345.38, 681.17), In: ok(2924.7, 367.13, 724.06)},
				{Line: 9, Size: 2 * unit.GiB, Count: 536870912, Type: "float", RedOp: "sum", Out: ok(5589.1, 384.22, 757.78), In: ok(5474.6, 392.26, 773.62)},
				{Line: 10, Size: 4 * unit.GiB, Count: 1073741824, Type: "float", RedOp: "sum", Out: ok(10094, 425.49, 839.16), In: ok(10141, 423.54, 835.32)},
				{Line: 11, Size: 8 * unit.GiB, Count: 2147483648, Type: "float", RedOp: "sum", Out: ok(20299, 423.16, 834.57), In: ok(20006, 429.37, 846.82)},
			},
			OutOfBounds: new(0), AverageBus: new(gb(745.53)),
		},
	}, {
		file: "nccl-tests_allreduce_old_8titanxp.txt", // the list of devices was cut
		want: Report{
			GPU: "TITAN Xp", Threads: 1, GPUsPerThread: 8, Min: 8, Max: 128 * unit.MiB, Warmup: 5, Iterations: 20, Checked: new(true), Ranks: 8, Devices: titan,
			Rows: []Row{{Line: 11, Size: 8, Count: 2, Type: "float", RedOp: "sum",
				Out: &Result{Time: us(42.86), Delta: new(1e-07)}, In: &Result{Time: us(42.51), Delta: new(1e-07)}}},
		},
	}, {
		file: "nccl-tests_allreduce_single_size_a10g.txt",
		want: Report{
			NCCL: "2.18.5", GPU: "NVIDIA A10G", Threads: 4, GPUsPerThread: 1, Min: 29388800, Max: 29388800, Warmup: 5, Iterations: 20, Checked: new(true),
			Ranks: 4, Nodes: 1, Devices: []Device{a10g(0), a10g(1), a10g(2), a10g(3)},
			Rows:        []Row{{Line: 14, Size: 29388800, Count: 7347200, Type: "float", RedOp: "sum", Out: ok(14207, 2.07, 3.10), In: ok(14186, 2.07, 3.11)}},
			OutOfBounds: new(0), AverageBus: new(gb(3.10518)),
		},
	}, {
		file: "nccl-tests_allreduce_spark_2node_2.31.txt",
		want: Report{
			Op: "all_reduce", Version: "2.20.0", NCCL: "2.31.2", GPU: "NVIDIA GB10", Threads: 1, GPUsPerThread: 1, Min: 8 * unit.KiB, Max: 8 * unit.GiB,
			Warmup: 10, Iterations: 100, Checked: new(true), Ranks: 2, Nodes: 2,
			Devices: []Device{{0, 0, 1666603, "spark-d708", 0, "000f:01:00", "NVIDIA GB10"}, {1, 0, 1669515, "spark-dbf4", 0, "000f:01:00", "NVIDIA GB10"}},
			Rows: []Row{
				{Line: 13, Op: "all_reduce", Size: 8192, Count: 2048, Type: "float", RedOp: "sum", Out: ok(35.15, 0.23, 0.23), In: ok(30.33, 0.27, 0.27)},
				{Line: 14, Op: "all_reduce", Size: 16384, Count: 4096, Type: "float", RedOp: "sum", Out: ok(31.67, 0.52, 0.52), In: ok(30.75, 0.53, 0.53)},
				{Line: 15, Op: "all_reduce", Size: 32768, Count: 8192, Type: "float", RedOp: "sum", Out: ok(39.56, 0.83, 0.83), In: ok(37.44, 0.88, 0.88)},
				{Line: 16, Op: "all_reduce", Size: 65536, Count: 16384, Type: "float", RedOp: "sum", Out: ok(67.93, 0.96, 0.96), In: ok(64.71, 1.01, 1.01)},
			},
		},
	}, {
		file: "nccl-tests_broadcast_socket_no_libibverbs.txt",
		want: Report{
			NCCL: "2.9.6", GPU: "Tesla V100-PCIE-16GB", Threads: 1, GPUsPerThread: 1, Min: 8, Max: 2 * unit.GiB, Warmup: 10, Iterations: 100, Checked: new(false),
			Ranks: 2, Nodes: 2,
			Devices: []Device{{0, 0, 14926, "v100-gpu-1", 0, "0x00", "Tesla V100-PCIE-16GB"}, {1, 0, 9210, "v100-gpu-5", 0, "0x00", "Tesla V100-PCIE-16GB"}},
			Rows:    []Row{{Line: 16, Size: 8, Count: 2, Type: "float", Root: new(0), Out: &Result{Time: us(45.82)}, In: &Result{Time: us(38.17)}}},
			Warnings: []Problem{
				{Kind: NCCLWarns, Line: 8, Said: "Failed to open libibverbs.so[.1]", Why: "NCCL warns", Next: "read it with weft nccl"},
				{Kind: NCCLWarns, Line: 11, Said: "Failed to open libibverbs.so[.1]", Why: "NCCL warns", Next: "read it with weft nccl"},
			},
		},
	}} {
		t.Run(tc.file, func(t *testing.T) {
			got, err := Read(fixture.Read(t, tc.file))
			if err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSuperbench reads the runs of one machine, 34 sizes each, of the layouts that differ
// from test to test.
func TestSuperbench(t *testing.T) {
	for _, tc := range []struct {
		op, file string
		redop    string
		root     bool
		average  float64
		last     Row
	}{
		{"all_gather", "nccl-tests_allgather_superbench.txt", "", false, 58.2651, Row{Count: 268435456, Out: &Result{Time: us(33646), Alg: gb(255.31), Bus: gb(223.39)}, In: &Result{Time: us(32669), Alg: gb(262.94), Bus: gb(230.07)}}},
		{"alltoall", "nccl-tests_alltoall_superbench.txt", "", false, 58.6481, Row{Count: 268435456, Out: &Result{Time: us(33508), Alg: gb(256.36), Bus: gb(224.31)}, In: &Result{Time: us(33234), Alg: gb(258.47), Bus: gb(226.16)}}},
		{"broadcast", "nccl-tests_broadcast_superbench.txt", "", true, 64.8653, Row{Count: 2147483648, Out: &Result{Time: us(36896), Alg: gb(232.81), Bus: gb(232.81)}, In: &Result{Time: us(36599), Alg: gb(234.70), Bus: gb(234.70)}}},
		{"reduce", "nccl-tests_reduce_superbench.txt", "sum", true, 65.018, Row{Count: 2147483648, Out: &Result{Time: us(37613), Alg: gb(228.38), Bus: gb(228.38)}, In: &Result{Time: us(37539), Alg: gb(228.83), Bus: gb(228.83)}}},
		{"reduce_scatter", "nccl-tests_reducescatter_superbench.txt", "sum", false, 60.168, Row{Count: 268435456, Out: &Result{Time: us(32464), Alg: gb(264.60), Bus: gb(231.52)}, In: &Result{Time: us(32502), Alg: gb(264.29), Bus: gb(231.25)}}},
	} {
		t.Run(tc.op, func(t *testing.T) {
			got, err := Read(fixture.Read(t, tc.file))
			if err != nil || got.Problem != nil {
				t.Fatal(err, got.Problem)
			}
			if got.Ranks != 8 || got.Nodes != 1 || got.GPU != "A100-SXM4-40GB" || *got.Checked || got.Iterations != 20 || got.Max != 8*unit.GiB || *got.OutOfBounds != 0 || *got.AverageBus != gb(tc.average) {
				t.Errorf("%+v", got)
			}
			if len(got.Rows) != 34 {
				t.Fatalf("%d rows", len(got.Rows))
			}
			var sum, n float64
			for _, row := range got.Rows {
				if row.Type != "float" || row.RedOp != tc.redop || (row.Root != nil) != tc.root {
					t.Errorf("row %+v", row)
				}
				for _, v := range []*Result{row.Out, row.In} {
					agrees(t, tc.op, row, v, got.Ranks)
					sum += float64(v.Bus)
					n++
				}
			}
			// The average over rows that were rounded.
			if math.Abs(sum/n-float64(gb(tc.average))) > float64(gb(0.005)) {
				t.Errorf("average %g, printed %g", sum/n/8e9, tc.average)
			}
			last := got.Rows[33]
			if last.Size != 8*unit.GiB || last.Count != tc.last.Count || !cmp.Equal(last.Out, tc.last.Out) || !cmp.Equal(last.In, tc.last.In) {
				t.Errorf("last row %+v", last)
			}
		})
	}
}

// agrees wants BusBW to say what the program printed: two digits after the point, of a
// time that was rounded to four or more.
func agrees(t *testing.T, op string, row Row, v *Result, ranks int) {
	t.Helper()
	if row.Size == 0 {
		return // fewer bytes than one for each rank
	}
	alg, bus, err := BusBW(op, int64(row.Size), v.Time.Seconds(), ranks)
	if err != nil {
		t.Fatal(err)
	}
	half := 0.5 // of the last digit of the time, in microseconds
	switch micros := v.Time.Seconds() * 1e6; {
	case micros < 100:
		half = 0.005
	case micros < 10000:
		half = 0.05
	}
	slack := half / (v.Time.Seconds() * 1e6)
	for _, p := range []struct {
		name          string
		said, printed unit.Rate
	}{{"algbw", alg, v.Alg}, {"busbw", bus, v.Bus}} {
		if d := math.Abs(float64(p.said - p.printed)); d > slack*float64(p.said)+0.0051*8e9 {
			t.Errorf("%s of %d bytes in %s: %s %.3f GB/s, printed %.2f", op, row.Size, v.Time, p.name, float64(p.said)/8e9, float64(p.printed)/8e9)
		}
	}
}

// TestBusBWAgrees wants the formulas to give what every other fixture prints.
func TestBusBWAgrees(t *testing.T) {
	for file, op := range map[string]string{
		"nccl-tests_allgather_spark_mtu1500_16G.txt":    "all_gather",
		"nccl-tests_allreduce_gb200_72gpu.txt":          "all_reduce",
		"nccl-tests_allreduce_old_8titanxp.txt":         "all_reduce",
		"nccl-tests_allreduce_single_size_a10g.txt":     "all_reduce",
		"nccl-tests_allreduce_spark_2node_2.31.txt":     "all_reduce",
		"nccl-tests_broadcast_socket_no_libibverbs.txt": "broadcast",
	} {
		got, err := Read(fixture.Read(t, file))
		if err != nil || len(got.Rows) == 0 {
			t.Fatal(file, err)
		}
		for _, row := range got.Rows {
			agrees(t, op, row, row.Out, got.Ranks)
			agrees(t, op, row, row.In, got.Ranks)
		}
	}
}

func TestBusBW(t *testing.T) {
	for _, tc := range []struct {
		op       string
		alg, bus float64 // GB/s of 8 GB in a second over 8 ranks
	}{
		{"all_reduce", 8, 14}, {"AllReduce", 8, 14}, {"all_reduce_perf", 8, 14}, {"all_reduce_perf_mpi", 8, 14}, {"all_reduce_bias", 8, 14},
		{"all_gather", 8, 7}, {"all_gather_into_tensor", 8, 7}, {"reduce_scatter", 8, 7}, {"reduce_scatter_tensor", 8, 7},
		{"alltoall", 8, 7}, {"all_to_all", 8, 7}, {"all_to_all_single", 8, 7}, {"alltoallv", 8, 7}, {"gather", 8, 7}, {"scatter", 8, 7},
		{"hypercube", 7, 7}, {"broadcast", 8, 8}, {"reduce", 8, 8}, {"sendrecv", 8, 8}, {"batch_isend_irecv", 8, 8},
	} {
		alg, bus, err := BusBW(tc.op, 8e9, 1, 8)
		if err != nil || alg != gb(tc.alg) || bus != gb(tc.bus) {
			t.Errorf("%s: %v %v %v", tc.op, alg, bus, err)
		}
	}
	if alg, bus, err := BusBW("all_reduce", 1e9, 1, 1); err != nil || alg != gb(1) || bus != 0 {
		t.Errorf("one rank: %v %v %v", alg, bus, err)
	}
	for _, bad := range []struct {
		op      string
		bytes   int64
		seconds float64
		ranks   int
	}{
		{"all_sum", 1, 1, 1}, {"", 1, 1, 1}, {"reduce", -1, 1, 1}, {"reduce", 1, 0, 1}, {"reduce", 1, math.NaN(), 1},
		{"reduce", 1, math.Inf(1), 1}, {"reduce", 1, 1, 0}, {"reduce", math.MaxInt64, 1e-9, 2},
	} {
		if alg, bus, err := BusBW(bad.op, bad.bytes, bad.seconds, bad.ranks); err == nil || alg != 0 || bus != 0 {
			t.Errorf("%+v: %v %v %v", bad, alg, bus, err)
		}
	}
}

func TestTorchBench(t *testing.T) {
	got, err := Read(fixture.Read(t, "all_reduce_bench_py_4n.txt"))
	if err != nil || got.Problem != nil {
		t.Fatal(err, got.Problem)
	}
	if len(got.Rows) != 20 {
		t.Fatalf("%d rows", len(got.Rows))
	}
	for i, row := range got.Rows {
		if row.Size != 32*unit.KiB<<i {
			t.Errorf("row %d: %d bytes", i, row.Size)
		}
		// Four nodes of eight: 2·31/32.
		if row.Out.Alg > gb(10) && math.Abs(float64(row.Out.Bus)/float64(row.Out.Alg)-1.9375) > 0.001 {
			t.Errorf("row %d: busbw %s, algbw %s", i, row.Out.Bus, row.Out.Alg)
		}
	}
	if o := got.Rows[0].Out; o.Bus != gb(0.92) || o.Alg != gb(0.48) || o.Time != 68267*time.Nanosecond {
		t.Errorf("32 KiB: %+v", o)
	}
	if o := got.Rows[15].Out; o.Bus != gb(94.15) || o.Alg != gb(48.59) {
		t.Errorf("1 GiB: %+v", o)
	}
}
