package nccltests

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weft/internal/unit"
)

const (
	head = "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong \n"
	row8 = "        8192          2048     float     sum      -1    35.15    0.23    0.23       0    30.33    0.27    0.27       0\n"
)

// TestRows reads layouts that no fixture has, written after the sources.
func TestRows(t *testing.T) {
	whole := Row{Size: 8192, Count: 2048, Type: "float", RedOp: "sum", Out: ok(35.15, 0.23, 0.23), In: ok(30.33, 0.27, 0.27)}
	spread := whole
	spread.Out, spread.In = new(*whole.Out), new(*whole.In)
	spread.Out.Min, spread.Out.Max, spread.Out.P99 = us(30.1), us(40.2), us(39.9)
	spread.In.Min, spread.In.Max, spread.In.P99 = us(29.1), us(41.2), us(40.9)
	half := whole
	half.In = nil
	bare := whole
	bare.RedOp = ""
	rooted := whole
	rooted.RedOp, rooted.Root = "none", new(3)
	long := Row{Size: 8192, Count: 2048, Type: "bfloat16", RedOp: "mulsum", Out: ok(1.2e7, 0, 0), In: &Result{Time: us(30.33), Alg: gb(0.27), Bus: gb(0.27)}}
	for _, tc := range []struct {
		name, text string
		want       []Row
		err        string
	}{
		{name: "plain", text: head + row8, want: []Row{whole}},
		{name: "time of the processor", text: strings.ReplaceAll(head, " time ", " cputime ") + row8, want: []Row{whole}},
		{name: "a root", text: head + strings.Replace(row8, "sum      -1", "none      3", 1), want: []Row{rooted}},
		{name: "a blank operation", text: "#  size count type redop time algbw busbw error time algbw busbw error\n 8192 2048 float  35.15 0.23 0.23 N/A 30.33 0.27 0.27 N/A\n",
			want: []Row{{Size: 8192, Count: 2048, Type: "float", Out: &Result{Time: us(35.15), Alg: gb(0.23), Bus: gb(0.23)}, In: &Result{Time: us(30.33), Alg: gb(0.27), Bus: gb(0.27)}}}},
		{name: "both blank", text: head + " 8192 2048 float 35.15 0.23 0.23 0 30.33 0.27 0.27 0\n", want: []Row{bare}},
		{name: "the oldest", text: "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n 8192 2048 float sum 35.15 0.23 0.23 1e-07 30.33 0.27 0.27 0e+00\n",
			want: []Row{{Size: 8192, Count: 2048, Type: "float", RedOp: "sum", Out: &Result{Time: us(35.15), Alg: gb(0.23), Bus: gb(0.23), Delta: new(1e-7)},
				In: &Result{Time: us(30.33), Alg: gb(0.27), Bus: gb(0.27), Delta: new(0.0)}}}},
		{name: "long times, not checked in place", text: head + " 8192 2048 bfloat16 mulsum -1 1.2e+07 0.00 0.00 0 30.33 0.27 0.27 N/A\n", want: []Row{long}},
		{name: "each iteration", text: "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv%\n 8192 2048 float sum -1 35.15 0.23 0.23 0 30.10 40.20 39.90 5.00 30.33 0.27 0.27 0 29.10 41.20 40.90 6.00\n",
			want: []Row{spread}},
		{name: "with the date", text: strings.TrimRight(head, "\n") + " timestamp\n" + strings.TrimRight(row8, "\n") + "  2025-11-02 10:11:12\n", want: []Row{whole}},
		{name: "cut", text: head + " 8192 2048 float sum -1 35.15 0.23 0.23 0\n", want: []Row{half}},
		{name: "under mpirun", text: "[1,0]<stdout>:" + head + "[1,0]<stdout>:" + row8, want: []Row{whole}},
		{name: "under mpirun with the time", text: "Wed Jun 22 15:48:08 2016[1,0]<stdout>:" + head + "Wed Jun 22 15:48:09 2016[1,0]<stdout>:" + row8, want: []Row{whole}},
		{name: "under prterun", text: "[prterun-gpu1-2234@1,0]<stdout>: " + head + "[prterun-gpu1-2234@1,0]<stdout>: " + row8, want: []Row{whole}},
		{name: "under srun -l", text: "0: " + head + "0: " + row8, want: []Row{whole}},
		{name: "with NCCL's messages between", text: head + "gpu1:10:11 [0] NCCL INFO Launch mode Parallel\n" + row8 + "[2025-11-02 10:11:12] gpu1:10:11 [0] NCCL INFO comm 0x1 - Destroy COMPLETE\n", want: []Row{whole}},
		{name: "cut by NCCL's message", text: head + " 8192 2048 float sum -1 gpu1:10:11 [0] NCCL INFO AllReduce: opCount 0\ngpu1:10:11 [0] NCCL INFO more\n 35.15 0.23 0.23 0 30.33 0.27 0.27 0\n", want: []Row{whole}},
		{name: "cut twice, close", text: "#  Rank  0 Group  0 Pid 10 on 7gpu device  0 [0000:01:00] X\n" + head + " 8192 2048 float sum -17gpu:10:11 [0] NCCL INFO AllReduce\n 35.15 0.23 0.23 07gpu:10:11 [0] NCCL INFO AllReduce\n 30.33 0.27 0.27 0\n", want: []Row{whole}},
		{name: "a time that is none", text: head + " 8192 2048 float sum -1 nan 0.23 0.23 0 30.33 0.27 0.27 0\n",
			want: []Row{{Size: 8192, Count: 2048, Type: "float", RedOp: "sum", Out: &Result{Alg: gb(0.23), Bus: gb(0.23), Wrong: new(int64(0))}, In: ok(30.33, 0.27, 0.27)}},
			err:  `line 2: time "nan": "nan" is not a time`},
		{name: "something else", text: "hello\n", err: `line 1: "hello" is not nccl-tests output`},
		{name: "nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Read([]byte(tc.text))
			if text(err) != tc.err {
				t.Errorf("error %q, want %q", text(err), tc.err)
			}
			for i := range got.Rows {
				got.Rows[i].Line = 0
			}
			if d := cmp.Diff(tc.want, got.Rows); d != "" {
				t.Error(d)
			}
			if got.Problem != nil {
				t.Errorf("problem %+v", got.Problem)
			}
		})
	}
}

func TestRunsInARow(t *testing.T) {
	run := func(op string) string {
		return "# Collective test starting: " + op + "_perf\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 2 agg iters: 1 validation: 1\n" +
			"#  Rank  0 Group  0 Pid 10 on gpu1 device  0 [0000:01:00] X\n#  Rank  1 Group  0 Pid 11 on gpu2 device  0 [0000:01:00] X\n" + head + row8 + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5 \n"
	}
	got, err := Read([]byte(run("all_reduce") + run("reduce_scatter")))
	if err != nil || got.Problem != nil {
		t.Fatal(err, got.Problem)
	}
	if got.Op != "all_reduce" || len(got.Rows) != 2 || got.Rows[0].Op != "all_reduce" || got.Rows[1].Op != "reduce_scatter" || got.Ranks != 2 || got.Nodes != 2 {
		t.Errorf("%+v", got)
	}
}

// TestWithoutMPI reads what two processes print that were built without MPI: both are
// rank 0 of one. It is what issue 107 of nccl-tests shows.
func TestWithoutMPI(t *testing.T) {
	start := "# nThread 1 nGpus 1 minBytes 1310720000 maxBytes 1310720000 step: 1048576(bytes) warmup iters: 5 iters: 20 validation: 1\n#\n# Using devices\n"
	got, err := Read([]byte(start + start + "#   Rank  0 Pid   1320 on ip-172-31-20-228 device  0 [0x00] Tesla V100\n#   Rank  0 Pid   2066 on ip-172-31-22-230 device  0 [0x00] Tesla V100\n" +
		head + head + row8 + row8))
	if err != nil || got.Problem == nil || got.Problem.Kind != NoMPI || got.Ranks != 1 || len(got.Rows) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, _ := Read([]byte("#   Rank  0 Pid 1 on a device  0 [0x00] V\n#   Rank  0 Pid 2 on b device  0 [0x00] V\n")); got.Problem == nil || got.Problem.Kind != NoMPI {
		t.Errorf("%+v", got.Problem)
	}
}

// TestOtherHeads reads headers of other programs and without their marks.
func TestOtherHeads(t *testing.T) {
	got, err := Read([]byte(`nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
# NCCL Tests compiled with NCCL 1.0
rccl-tests: Version develop:83d38d9
# Using devices
#   Rank  0 on     node03 device  0 [0x00] Tesla P100-PCIE-16GB
RCCL version : 2.22.3-HEAD:abc
mpirun -np 2 /opt/rccl-tests/build/all_reduce_perf -b 8 -e 8G
`))
	want := Report{Op: "all_reduce", Version: "develop:83d38d9", NCCL: "2.22.3", GPU: "Tesla P100-PCIE-16GB", Threads: 1, GPUsPerThread: 8, Min: 8, Max: 128 * unit.MiB,
		Warmup: 5, Iterations: 20, Checked: new(true), Ranks: 8, Devices: []Device{{Host: "node03", Bus: "0x00", Name: "Tesla P100-PCIE-16GB"}}}
	if err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for code, want := range map[string]string{"22803": "2.28.3", "21805": "2.18.5", "2708": "2.7.8", "0": "", "x": "", "9999999": ""} {
		if got := versionOf(code); got != want {
			t.Errorf("versionOf(%s) = %q", code, got)
		}
	}
}

func TestWeftLines(t *testing.T) {
	got, err := Read([]byte(`[rank0]:W1103 warming up
gpu1:10:11 [0] NCCL INFO NCCL version 2.28.3+cuda13.0
{"weft":"collective","op":"all_reduce","bytes":1073741824,"seconds":[0.03,0.01,0.02],"ranks":2,"nodes":2,"nccl":"2.28.3","torch":"2.9.1","gpu":"NVIDIA GB10"}
[1,0]<stdout>:{"weft": "collective", "op": "all_gather_into_tensor", "bytes": 8, "seconds": [0.001, 0.003], "ranks": 2, "nodes": 2}
{"other": 1}
`))
	if err != nil || got.Problem != nil {
		t.Fatal(err, got.Problem)
	}
	want := Report{Op: "all_reduce", NCCL: "2.28.3", Torch: "2.9.1", GPU: "NVIDIA GB10", Ranks: 2, Nodes: 2, Rows: []Row{
		{Line: 3, Op: "all_reduce", Size: unit.GiB, Out: &Result{Time: 20 * time.Millisecond, Alg: 429496729600, Bus: 429496729600},
			Samples: []time.Duration{30 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond}},
		{Line: 4, Op: "all_gather_into_tensor", Size: 8, Out: &Result{Time: 2 * time.Millisecond, Alg: 32000, Bus: 16000},
			Samples: []time.Duration{time.Millisecond, 3 * time.Millisecond}},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for line, want := range map[string]string{
		`{"weft":"collective","op":"all_reduce","bytes":8,"seconds":[],"ranks":2,"nodes":1}`:   "line 1: 0 samples",
		`{"weft":"collective","op":"all_sum","bytes":8,"seconds":[1],"ranks":2,"nodes":1}`:     `line 1: operation "all_sum" is not known`,
		`{"weft":"collective","op":"all_reduce","bytes":8,"seconds":[-1],"ranks":2,"nodes":1}`: "line 1: -1 seconds is not a time",
		`{"weft":"collective","op":"all_reduce","bytes":8,"seconds":[1],"ranks":2,"nodes":3}`:  "line 1: 8 bytes over 2 ranks on 3 nodes",
		`{"weft":"collective","op":"all_reduce","bytes":8,`:                                    "line 1: a line of weft's script: unexpected end of JSON input",
	} {
		if got, err := Read([]byte(line)); text(err) != want || len(got.Rows) > 0 {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestTorchSentences(t *testing.T) {
	got, err := Read([]byte("\nEnvironment:\n- software: torch=2.9.1+cu130, cuda=13.0, nccl=(2, 27, 7)\n- hardware: x\n\nThe average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):\n\n| payload |    busbw   |    algbw   |\n| ------: | ---------: | ---------: |\n|   512iB |   1.44GBps |   0.82GBps |\n|  1.5MiB |   2.93GBps |   1.67GBps |\n|    big |   2.93GBps |   1.67GBps |\n"))
	if text(err) != `line 12: payload: "big" is not a size` {
		t.Error(err)
	}
	if got.Op != "all_reduce" || got.Ranks != 8 || got.Torch != "2.9.1+cu130" || got.NCCL != "2.27.7" || len(got.Rows) != 2 || got.Rows[0].Size != 512 || got.Rows[1].Size != 1536*unit.KiB || got.Rows[1].Out.Bus != gb(2.93) || got.Rows[1].Op != "all_reduce" {
		t.Errorf("%+v", got)
	}
	got, err = Read([]byte("The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 4 ranks):\n algbw: 204.6 GBps (1636.8 Gbps)\n busbw: 306.9 GBps (2455.2 Gbps)\n"))
	if err != nil || got.Ranks != 4 || len(got.Rows) != 1 || got.Rows[0].Size != 4e9 || got.Rows[0].Out.Alg != gb(204.6) || got.Rows[0].Out.Bus != gb(306.9) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = Read([]byte("The 0.5GiB payload bandwidth of all_reduce over 8 ranks (x):\n\n|    busbw   |    algbw   |\n| ---------: | ---------: |\n| 450.29GBps | 257.31GBps |\n"))
	if err != nil || len(got.Rows) != 1 || got.Rows[0].Size != 512*unit.MiB || got.Rows[0].Out.Alg != gb(257.31) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestReadJSON reads a file written after util.cu of nccl-tests.
func TestReadJSON(t *testing.T) {
	doc := `{"version":2,"start_time":"2025-11-02 10:11:12","args":["./build/all_reduce_perf","-J","x"],"env":["HOME=/"],"nccl_version":22803,
"config":{"nthreads":1,"ngpus":1,"minimum_bytes":8,"maximum_bytes":16,"step_factor":2,"warmup_iters":5,"iterations":20,"aggregated_iterations":1,"validation":1,"graph":0,"blocking_collectives":"false","parallel_init":"false",
"devices":[{"rank":0,"group":0,"pid":10,"hostname":"gpu1","device":0,"device_hex":"0000:01:00","device_info":"NVIDIA H200"},{"rank":1,"group":0,"pid":11,"hostname":"gpu2","device":0,"device_hex":"0000:01:00","device_info":"NVIDIA H200"}]},
"results":[{"size":8,"count":2,"type":"float","redop":"sum","root":"    -1","out_of_place":{"time":35.150000,"alg_bw":0.230000,"bus_bw":0.230000,"nwrong":0.000000},"in_place":{"time":30.330000,"alg_bw":0.270000,"bus_bw":0.270000,"nwrong":null},
"out_of_place_per_iter":{"min_us":30.1,"max_us":40.2,"p99_us":39.9},"actual_iterations":20,"experiment_name":"x"},
{"size":16,"count":4,"type":"float","redop":"sum","root":"     2","out_of_place":null,"in_place":{"cpu_time":"nan","alg_bw":0.27,"bus_bw":0.27,"nwrong":3}},
{"size":16,"count":4,"type":"float","redop":"sum","root":"     2","out_of_place":null,"in_place":{"cpu_time":5,"alg_bw":0.27,"bus_bw":0.27,"nwrong":3}}],
"out_of_bounds":{"count":3,"okay":"false"},"average_bus_bandwidth":{"bandwidth":0.25,"okay":"unchecked"},"errors":[""],"end_time":"x"}`
	got, err := ReadJSON([]byte(doc))
	if text(err) != `line 1: result 1: "NaN" is not a time` {
		t.Error(err)
	}
	out := ok(35.15, 0.23, 0.23)
	out.Min, out.Max, out.P99 = us(30.1), us(40.2), us(39.9)
	want := Report{Op: "all_reduce", NCCL: "2.28.3", GPU: "NVIDIA H200", Threads: 1, GPUsPerThread: 1, Min: 8, Max: 16, Warmup: 5, Iterations: 20, Checked: new(true), Ranks: 2, Nodes: 2,
		Devices: []Device{{0, 0, 10, "gpu1", 0, "0000:01:00", "NVIDIA H200"}, {1, 0, 11, "gpu2", 0, "0000:01:00", "NVIDIA H200"}},
		Rows: []Row{
			{Line: 1, Op: "all_reduce", Size: 8, Count: 2, Type: "float", RedOp: "sum", Out: out, In: &Result{Time: us(30.33), Alg: gb(0.27), Bus: gb(0.27)}},
			{Line: 3, Op: "all_reduce", Size: 16, Count: 4, Type: "float", RedOp: "sum", Root: new(2), In: &Result{Time: us(5), Alg: gb(0.27), Bus: gb(0.27), Wrong: new(int64(3))}},
		},
		OutOfBounds: new(3), AverageBus: new(gb(0.25)),
		Problem: &Problem{Kind: Corrupt, Line: 3, Said: "16 bytes: wrong results", Why: corrupt.why, Next: corrupt.next}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for in, want := range map[string]string{
		`{}`:  "the document has no args and results of nccl-tests",
		`[`:   "line 1: unexpected EOF",
		`nan`: "line 1: invalid character 'a' in literal null (expecting 'u')",
	} {
		if _, err := ReadJSON([]byte(in)); text(err) != want {
			t.Errorf("%s: %v", in, err)
		}
	}
}
