package lab_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/lab"
	"weft/internal/verbs"
)

// order and report are what the driver of internal/verbs (its test binary) reads and
// writes: see drive_test.go there.
type order struct {
	Do      string
	Device  string
	Port    int
	Options verbs.Options
	Peer    verbs.Peer
	For     time.Duration
	Count   int
	Argv    []string
}

type report struct {
	Error, Kind, Output string
	Peer                verbs.Peer
	Options             verbs.Options
	Flow                verbs.Flow
	Latency             verbs.Latency
	Took                time.Duration
}

// side is a driver in one machine.
type side struct {
	t       *testing.T
	node    string
	address string // of its rail
	enc     *json.Encoder
	dec     *json.Decoder
}

// tell sends an order; hear reads the next report.
func (s *side) tell(o order) {
	s.t.Helper()
	if err := s.enc.Encode(o); err != nil {
		s.t.Fatalf("%s: %v", s.node, err)
	}
}

func (s *side) hear() (r report) {
	s.t.Helper()
	if err := s.dec.Decode(&r); err != nil {
		s.t.Fatalf("%s: the driver ended: %v", s.node, err)
	}
	return r
}

func (s *side) do(o order) report {
	s.t.Helper()
	s.tell(o)
	r := s.hear()
	if r.Error != "" {
		s.t.Fatalf("%s: %s: %s\n%s", s.node, o.Do, r.Error, r.Output)
	}
	return r
}

// drivers builds the driver and starts it in the first two machines, as a person would
// over ssh.
func drivers(t *testing.T, l lab.Lab, s lab.State) (a, b *side) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "verbs.test")
	build := osexec.Command("go", "test", "-c", "-ldflags", "-s -w", "-o", bin, "weft/internal/verbs")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Dir = moduleDir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	return startDriver(t, l, s.Nodes[0].Name, bin), startDriver(t, l, s.Nodes[1].Name, bin)
}

func startDriver(t *testing.T, l lab.Lab, node, bin string) *side {
	t.Helper()
	argv, err := l.SSH(node)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := osexec.Command(argv[0], append(argv[1:], "cat >verbs.test && chmod +x verbs.test && ip -4 -o addr show dev rail0 | sed 's/.*inet //; s/[/].*//'")...)
	put.Stdin = f
	out, err := put.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", node, err, out)
	}
	cmd := osexec.Command(argv[0], append(argv[1:], "ulimit -l unlimited; WEFT_VERBS_DRIVE=1 ./verbs.test")...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	patience := time.AfterFunc(30*time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		patience.Stop()
		in.Close()
		io.Copy(io.Discard, from)
		cmd.Wait()
	})
	return &side{t, node, strings.TrimSpace(string(out)), json.NewEncoder(in), json.NewDecoder(from)}
}

// measure is one thing that both engines measure, with the same parameters.
type measure struct {
	op      verbs.Op
	latency bool
	wait    verbs.Wait
	count   int
}

func (m measure) String() string {
	return fmt.Sprintf("%s.%s %s", m.op, map[bool]string{false: "bw", true: "lat"}[m.latency], m.wait)
}

func (m measure) options(gid int) verbs.Options {
	o := verbs.Options{Op: m.op, Size: 65536, Depth: 128, Batch: 1, GID: gid, Inline: -1, Timeout: 18, Wait: m.wait}
	if m.latency {
		o.Size, o.Depth = 2, 1
	}
	return o
}

// byWeft measures with weft's engine: bits per second, or the median latency in seconds.
func (m measure) byWeft(a, b *side, gid int) float64 {
	connect(a, b, m.options(gid))
	defer func() { a.do(order{Do: "close"}); b.do(order{Do: "close"}) }()
	if m.latency {
		b.do(order{Do: "pong"})
		r := a.do(order{Do: "ping", Count: m.count})
		b.do(order{Do: "stop"})
		return r.Latency.Typical.Seconds()
	}
	if m.op == verbs.Send {
		b.do(order{Do: "receive"})
		defer b.do(order{Do: "stop"})
	}
	return float64(a.do(order{Do: "stream", Count: m.count}).Flow.Rate())
}

// connect makes a connection between two sides.
func connect(a, b *side, o verbs.Options) {
	open := order{Do: "open", Device: "rdma0", Port: 1, Options: o}
	a.tell(open)
	b.tell(open)
	pa, pb := a.hear(), b.hear()
	if pa.Error != "" || pb.Error != "" {
		a.t.Fatalf("open: %s %s", pa.Error, pb.Error)
	}
	a.tell(order{Do: "connect", Peer: pb.Peer})
	b.tell(order{Do: "connect", Peer: pa.Peer})
	if ra, rb := a.hear(), b.hear(); ra.Error != "" || rb.Error != "" {
		a.t.Fatalf("connect: %s %s", ra.Error, rb.Error)
	}
}

// byPerftest measures with perftest.
func (m measure) byPerftest(a, b *side, gid int) float64 {
	program, size := fmt.Sprintf("ib_%s_bw", m.op), "65536"
	if m.latency {
		program, size = fmt.Sprintf("ib_%s_lat", m.op), "2"
	}
	argv := []string{program, "-d", "rdma0", "-i", "1", "-x", strconv.Itoa(gid), "-s", size, "-n", strconv.Itoa(m.count), "-u", "18", "-F"}
	if !m.latency {
		argv = append(argv, "-t", "128", "--report_gbits")
	}
	if m.wait == verbs.Events {
		argv = append(argv, "-e")
	}
	for range 5 { // it gives up on its clock now and then, and starts too early
		b.tell(order{Do: "exec", Argv: argv, For: time.Minute})
		a.tell(order{Do: "exec", Argv: append(slices.Clone(argv), b.address), For: time.Minute})
		ra, rb := a.hear(), b.hear()
		if v, ok := m.read(ra.Output); ok {
			return v
		}
		a.t.Logf("perftest: %s %s\n%s", ra.Error, rb.Error, ra.Output)
	}
	a.t.Fatal("perftest did not measure in 5 tries")
	return 0
}

// read takes perftest's figure from its last line of numbers.
func (m measure) read(out string) (v float64, ok bool) {
	column, unit := 3, 1e9 // BW average in Gb/s
	if m.latency {
		column, unit = 4, 1e-6 // t_typical in µs
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) <= column || f[0] != "65536" && f[0] != "2" {
			continue
		}
		if x, err := strconv.ParseFloat(f[column], 64); err == nil && x > 0 {
			v, ok = x*unit, true
		}
	}
	return v, ok
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// ipv4GID is the index of the IPv4 address of rail0 among the GIDs of rdma0.
func ipv4GID(t *testing.T, l lab.Lab, node string) int {
	t.Helper()
	out := inside(t, l, node, `grep -l '0000:0000:0000:0000:0000:ffff:0a14' /sys/class/infiniband/rdma0/ports/1/gids/* | head -1`)
	n, err := strconv.Atoi(filepath.Base(strings.TrimSpace(out)))
	if err != nil {
		t.Fatalf("%s: no IPv4 GID: %q", node, out)
	}
	return n
}

// TestRealVerbs holds weft's engine to perftest, on the same machines in the same run, by
// medians of alternations.
func TestRealVerbs(t *testing.T) {
	l := place(t, true)
	s := up(t)
	a, b := drivers(t, l, s)
	gid := ipv4GID(t, l, a.node)
	measures := []measure{
		{verbs.Write, false, verbs.Poll, 400}, {verbs.Send, false, verbs.Poll, 400}, {verbs.Read, false, verbs.Poll, 400},
		{verbs.Write, true, verbs.Poll, 400}, {verbs.Send, true, verbs.Poll, 400}, {verbs.Read, true, verbs.Poll, 400},
		{verbs.Send, true, verbs.Events, 400}, {verbs.Read, true, verbs.Events, 400},
	}
	rounds := 12
	if n, err := strconv.Atoi(os.Getenv("WEFT_VERBS_ROUNDS")); err == nil {
		rounds = n
	}
	fmt.Printf("%-18s %12s %12s %8s %14s %14s\n", "medians of "+strconv.Itoa(rounds), "weft", "perftest", "ratio", "weft spread", "perftest")
	for _, m := range measures {
		var weft, perf []float64
		for i := range rounds {
			if i%2 == 0 {
				weft = append(weft, m.byWeft(a, b, gid))
				perf = append(perf, m.byPerftest(a, b, gid))
			} else {
				perf = append(perf, m.byPerftest(a, b, gid))
				weft = append(weft, m.byWeft(a, b, gid))
			}
		}
		ratio := median(weft) / median(perf)
		scale, unit := 1e9, "Gb/s"
		if m.latency {
			scale, unit = 1e-6, "µs"
		}
		fmt.Printf("%-18s %7.4g %4s %7.4g %4s %8.3f %6.3g–%-6.3g %6.3g–%-6.3g\n", m, median(weft)/scale, unit, median(perf)/scale, unit, ratio,
			slices.Min(weft)/scale, slices.Max(weft)/scale, slices.Min(perf)/scale, slices.Max(perf)/scale)
		if room := map[bool]float64{false: 0.05, true: 0.10}[m.latency]; ratio < 1-room || ratio > 1+room {
			t.Errorf("%s: weft's engine measured %.3f of what perftest did, want within %.0f %%", m, ratio, room*100)
		}
	}
}
