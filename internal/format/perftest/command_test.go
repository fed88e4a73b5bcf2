package perftest

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/unit"
)

// help is what a real program printed. 4.4, 4.5 and 25.01 are Debian's packages.
func help(t *testing.T, name string) []byte {
	b, err := os.ReadFile("testdata/help-" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReadHelp(t *testing.T) {
	for _, tc := range []struct {
		file     string
		has, not string
	}{
		{"4.4-ib_write_bw", "ib-dev= ib-port= gid-index= size= iters= tx-depth= mtu= qp= sl= report_gbits bidirectional tclass= CPU-freq rdma_cm",
			"out_json out_json_file events use_cuda use_rocm ipv6-addr"},
		{"4.5-ib_write_bw", "report_gbits out_json out_json_file=", "events use_cuda ipv6-addr"},
		{"25.01-ib_write_bw", "report_gbits out_json out_json_file= ipv6-addr", "events use_cuda"},
		{"25.01-ib_send_lat", "events out_json out_json_file=", "report_gbits bidirectional use_cuda"},
	} {
		offer := ReadHelp(help(t, tc.file))
		for _, o := range strings.Fields(tc.has) {
			name, value := strings.CutSuffix(o, "=")
			if takes, ok := offer[name]; !ok || takes != value {
				t.Errorf("%s: %s: takes a value %v, offered %v", tc.file, o, takes, ok)
			}
		}
		for _, o := range strings.Fields(tc.not) {
			if _, ok := offer[o]; ok {
				t.Errorf("%s offers %s", tc.file, o)
			}
		}
	}
	if got := ReadHelp([]byte("sh: 1: ib_write_bw: not found\n")); len(got) != 0 || got == nil {
		t.Errorf("no help offers %v", got)
	}
}

func TestReadVersion(t *testing.T) {
	for in, want := range map[string]string{"Version: 6.24\n": "6.24", "Version: 5.96": "5.96", "Version: x": "", "": ""} {
		got, ok := ReadVersion([]byte(in))
		if ok != (want != "") || ok && got != want {
			t.Errorf("ReadVersion(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestCommand(t *testing.T) {
	bw := Options{
		Test: "ib_write_bw", Device: "mlx5_0", Port: 1, GIDIndex: new(3), TCPPort: 18600, Size: 64 * unit.KiB, Iterations: 5000,
		TXDepth: 128, MTU: 4096, QPs: 2, JSON: "/tmp/weft.json",
	}
	client := bw
	client.Host = "10.0.0.2"
	timed := client
	timed.Iterations, timed.Duration, timed.Bidirectional, timed.JSON, timed.TClass, timed.SL = 0, 5*time.Second, true, "", 96, 3
	lat := Options{Test: "ib_send_lat", Device: "mlx5_0", GIDIndex: new(0), Size: 2, Events: true, CM: true, Host: "fe80::1%eth0", IPv6: true}
	old := client
	old.Offer = ReadHelp(help(t, "4.4-ib_write_bw"))
	gpu := Options{Test: "ib_write_bw", Device: "mlx5_0", GPU: &GPU{Kind: "cuda", Number: 1, DMABuf: true}}
	first := Options{Test: "ib_write_bw", GPU: &GPU{Kind: "cuda"}, Offer: Offer{"use_cuda": false, "report_gbits": false}}
	amd := Options{Test: "ib_write_lat", GPU: &GPU{Kind: "rocm", Number: 2, DMABuf: true}, JSON: "x", Offer: ReadHelp([]byte("--use_rocm=<id>\n--use_rocm_dmabuf\n"))}
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{bw, "ib_write_bw -d mlx5_0 -i 1 -x 3 -p 18600 -s 65536 -n 5000 -t 128 -m 4096 -q 2 -F --report_gbits --out_json --out_json_file=/tmp/weft.json"},
		{client, "ib_write_bw -d mlx5_0 -i 1 -x 3 -p 18600 -s 65536 -n 5000 -t 128 -m 4096 -q 2 -F --report_gbits --out_json --out_json_file=/tmp/weft.json 10.0.0.2"},
		{timed, "ib_write_bw -d mlx5_0 -i 1 -x 3 -p 18600 -s 65536 -D 5 -t 128 -m 4096 -q 2 -S 3 --tclass=96 -b -F --report_gbits 10.0.0.2"},
		{lat, "ib_send_lat -d mlx5_0 -x 0 -R -s 2 -e -F --ipv6-addr fe80::1%eth0"},
		{old, "ib_write_bw -d mlx5_0 -i 1 -x 3 -p 18600 -s 65536 -n 5000 -t 128 -m 4096 -q 2 -F --report_gbits 10.0.0.2"},
		{gpu, "ib_write_bw -d mlx5_0 -F --report_gbits --use_cuda=1 --use_cuda_dmabuf"},
		{first, "ib_write_bw -F --report_gbits --use_cuda"},
		{amd, "ib_write_lat -F --use_rocm=2 --use_rocm_dmabuf"},
	} {
		if got := strings.Join(Command(tc.o), " "); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
		if err := tc.o.Check(); err != nil {
			t.Errorf("%s: %v", tc.want, err)
		}
	}
}

func TestCheck(t *testing.T) {
	noGPU := ReadHelp(help(t, "25.01-ib_write_bw"))
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{Options{Test: "ib_atomic_bw"}, `"ib_atomic_bw" is not a test of perftest that weft runs`},
		{Options{Test: "ib_write_bw", Events: true}, "ib_write_bw cannot wait for events: nothing completes at the side that is written to"},
		{Options{Test: "ib_send_bw", Events: true, Duration: time.Second}, "ib_send_bw cannot wait for events in a run by duration"},
		{Options{Test: "ib_send_lat", Bidirectional: true}, "ib_send_lat has one direction at a time"},
		{Options{Test: "ib_send_lat", QPs: 2}, "ib_send_lat has one queue pair"},
		{Options{Test: "ib_send_bw", MTU: 3000}, "MTU 3000 is not 256, 512, 1024, 2048 or 4096"},
		{Options{Test: "ib_send_bw", MTU: 8192}, "MTU 8192 is not 256, 512, 1024, 2048 or 4096"},
		{Options{Test: "ib_send_bw", Duration: time.Millisecond}, "duration 1ms is not whole seconds"},
		{Options{Test: "ib_send_bw", Duration: time.Second, Iterations: 5}, "ib_send_bw is run by duration or by iterations, not by both"},
		{Options{Test: "ib_send_bw", Iterations: 4}, "number of iterations 4 is not between 5 and 100000000"},
		{Options{Test: "ib_send_bw", GIDIndex: new(65)}, "GID index 65 is not between 0 and 64"},
		{Options{Test: "ib_send_bw", TCPPort: 65536}, "TCP port 65536 is not between 1 and 65535"},
		{Options{Test: "ib_send_bw", Size: 2 * unit.GiB}, "size 2147483648 is not between 1 and 2147483647"},
		{Options{Test: "ib_send_bw", Host: "--use_cuda"}, `host "--use_cuda", device "": a name may not begin with a dash`},
		{Options{Test: "ib_write_lat", GPU: &GPU{Kind: "cuda"}}, "ib_write_lat cannot poll the memory of a CUDA GPU; ib_send_lat and ib_read_lat need not"},
		{Options{Test: "ib_write_bw", GPU: &GPU{Kind: "cuda"}, Offer: noGPU}, "ib_write_bw was built without --use_cuda"},
		{Options{Test: "ib_write_bw", GPU: &GPU{Kind: "cuda", Number: 1}, Offer: Offer{"use_cuda": false}}, "ib_write_bw is old: its --use_cuda takes the first GPU, not number 1"},
		{Options{Test: "ib_write_bw", GPU: &GPU{Kind: "rocm", DMABuf: true}, Offer: Offer{"use_rocm": true}}, "ib_write_bw was built without --use_rocm_dmabuf"},
		{Options{Test: "ib_write_bw", GPU: &GPU{Kind: "tpu"}}, "tpu 0 is no GPU"},
	} {
		if err := tc.o.Check(); text(err) != tc.want {
			t.Errorf("got %q, want %q", text(err), tc.want)
		}
	}
}

// TestRealPerftest gives command lines to the programs that are installed here. A device
// that is not there lets them come no further than their own reading of the options.
func TestRealPerftest(t *testing.T) {
	tried := 0
	for _, test := range Tests {
		path, err := exec.LookPath(test)
		if err != nil {
			continue
		}
		tried++
		run := func(argv []string) []byte {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			b, _ := exec.CommandContext(ctx, path, argv[1:]...).CombinedOutput()
			return b
		}
		offer := ReadHelp(run([]string{test, "--help"}))
		if _, ok := ReadVersion(run([]string{test, "--version"})); !ok || len(offer) < 10 {
			t.Fatalf("%s: version %v, %d options", test, ok, len(offer))
		}
		latency := strings.HasSuffix(test, "_lat")
		base := Options{
			Test: test, Device: "weft_nosuch", Port: 1, GIDIndex: new(1), TCPPort: 18600, Size: 4096, TXDepth: 64, MTU: 1024,
			SL: 3, TClass: 96, JSON: t.TempDir() + "/out.json", Offer: offer,
		}
		counted, timed, waiting := base, base, base
		counted.Iterations, counted.CM, counted.Bidirectional = 100, true, !latency
		timed.Duration, timed.Host, timed.IPv6 = 2*time.Second, "localhost", true
		if !latency {
			timed.QPs = 4
		}
		waiting.Iterations, waiting.Events = 100, true
		for _, o := range []Options{counted, timed, waiting} {
			if err := o.Check(); err != nil {
				if !o.Events {
					t.Error(err)
				}
				continue
			}
			got, err := Read(run(Command(o)))
			if err != nil || got.Problem == nil || !slices.Contains([]Kind{NoDevice, NoDevices}, got.Problem.Kind) {
				t.Errorf("%s: %+v, %v", Command(o), got.Problem, err)
			}
		}
		// What Check refuses, the program does too.
		refused := waiting
		refused.Duration, refused.Iterations = 2*time.Second, 0
		got, err := Read(run(Command(refused)))
		if err != nil || refused.Check() == nil || got.Problem == nil || got.Problem.Kind != BadOption {
			t.Errorf("%s: %+v, %v", Command(refused), got.Problem, err)
		}
	}
	if tried == 0 {
		t.Skip("perftest is not installed")
	}
}
