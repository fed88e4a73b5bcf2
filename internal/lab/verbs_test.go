package lab_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
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
	// Both engines run inside of it, and give way to the kernel, which does the card's work
	// on the same processor.
	cmd := osexec.Command(argv[0], append(argv[1:], "ulimit -l unlimited; WEFT_VERBS_DRIVE=1 exec nice -n 19 ./verbs.test")...)
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
	if m.latency { // perftest's latencies travel inline, its bandwidths do not
		o.Size, o.Depth, o.Inline = 2, 1, 0
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
		argv = append(argv, "-t", "128")
	}
	if m.wait == verbs.Events {
		argv = append(argv, "-e")
	}
	for range 5 { // it gives up on its clock now and then
		b.do(order{Do: "exec", Argv: argv})
		b.do(order{Do: "listening", Count: 18515, For: 30 * time.Second})
		a.do(order{Do: "exec", Argv: append(slices.Clone(argv), b.address)})
		a.tell(order{Do: "wait"})
		b.tell(order{Do: "wait"})
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
	column, unit := 3, float64(8<<20) // BW average in what it calls MB/s
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

// sure is where the ratio of two medians lies, 19 times of 20, by drawing the same number
// of rounds from those that there were, again and again: the lab is noisy.
func sure(weft, perf []float64) (low, high float64) {
	r := rand.New(rand.NewPCG(5, 5))
	ratios := make([]float64, 2000)
	a, b := make([]float64, len(weft)), make([]float64, len(weft))
	for i := range ratios {
		for k := range a {
			n := r.IntN(len(weft))
			a[k], b[k] = weft[n], perf[n]
		}
		ratios[i] = median(a) / median(b)
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/40], ratios[len(ratios)-len(ratios)/40-1]
}

// TestRealVerbsAgree holds weft's engine to perftest, on the same machines in the same
// run, by medians of alternations, with the same parameters and the same way to wait:
// events, except for writes, of which perftest has none. It fails when the two certainly
// differ by more than they may.
func TestRealVerbsAgree(t *testing.T) {
	l := place(t, true)
	s := up(t)
	a, b := drivers(t, l, s)
	gid := ipv4GID(t, l, a.node)
	rounds := 12
	if n, err := strconv.Atoi(os.Getenv("WEFT_VERBS_ROUNDS")); err == nil && n > 1 {
		rounds = n
	}
	fmt.Printf("%-18s %12s %12s %7s %15s %15s %15s\n", fmt.Sprintf("medians of %d", rounds), "weft", "perftest", "ratio", "19 times of 20", "weft", "perftest")
	for _, m := range []measure{
		{verbs.Write, false, verbs.Poll, 300}, {verbs.Send, false, verbs.Events, 300}, {verbs.Read, false, verbs.Events, 300},
		{verbs.Write, true, verbs.Poll, 300}, {verbs.Send, true, verbs.Events, 300}, {verbs.Read, true, verbs.Events, 300}, {verbs.Read, true, verbs.Poll, 300},
	} {
		var weft, perf []float64
		for i := range rounds {
			if i%2 == 0 {
				weft = append(weft, m.byWeft(a, b, gid))
			}
			perf = append(perf, m.byPerftest(a, b, gid))
			if i%2 == 1 {
				weft = append(weft, m.byWeft(a, b, gid))
			}
		}
		compare(t, m, weft, perf)
	}
}

func compare(t *testing.T, m measure, weft, perf []float64) {
	scale, unit, room := 1e6, "Mb/s", 0.05
	if m.latency {
		scale, unit, room = 1e-6, "µs", 0.10
	}
	span := func(v []float64) string {
		return fmt.Sprintf("%.0f to %.0f", slices.Min(v)/scale, slices.Max(v)/scale)
	}
	low, high := sure(weft, perf)
	fmt.Printf("%-18s %7.0f %4s %7.0f %4s %7.3f %15s %15s %15s\n", m, median(weft)/scale, unit, median(perf)/scale, unit,
		median(weft)/median(perf), fmt.Sprintf("%.2f to %.2f", low, high), span(weft), span(perf))
	if high < 1-room || low > 1+room {
		t.Errorf("%s: weft's engine measured %.3f of what perftest did, want within %.0f %%", m, median(weft)/median(perf), room*100)
	}
}

// TestRealVerbs measures everything that weft's engine can, and has it fail in every way
// that a lab has.
func TestRealVerbs(t *testing.T) {
	l := place(t, false)
	s := up(t)
	a, b := drivers(t, l, s)
	gid := ipv4GID(t, l, a.node)
	for _, op := range []verbs.Op{verbs.Write, verbs.Send, verbs.Read} {
		for _, wait := range []verbs.Wait{verbs.Poll, verbs.Events} {
			t.Run(fmt.Sprintf("%s %s", op, wait), func(t *testing.T) { everyMeasure(t, a, b, verbs.Options{Op: op, Wait: wait, GID: gid}) })
		}
	}
	t.Run("set-up", func(t *testing.T) { setUp(t, a, b, gid) })
	t.Run("trouble", func(t *testing.T) { trouble(t, l, a, b, gid) })
}

// everyMeasure runs bandwidth one way and both ways, and latency, over one connection each.
func everyMeasure(t *testing.T, a, b *side, o verbs.Options) {
	connect(a, b, o)
	if o.Op == verbs.Send {
		b.do(order{Do: "receive"})
	}
	flow := a.do(order{Do: "stream", For: 300 * time.Millisecond}).Flow
	received := int64(0)
	if o.Op == verbs.Send {
		if received = b.do(order{Do: "stop"}).Flow.Bytes; received != flow.Bytes {
			t.Errorf("%d bytes were sent, %d received", flow.Bytes, received)
		}
	}
	if flow.Bytes == 0 || flow.Took < 300*time.Millisecond || flow.Took > 3*time.Second || len(flow.Samples) == 0 {
		t.Errorf("one way: %+v", flow)
	}

	connect(a, b, o)
	a.do(order{Do: "both", For: 300 * time.Millisecond})
	b.do(order{Do: "both", For: 300 * time.Millisecond})
	there, back := a.do(order{Do: "wait"}).Flow, b.do(order{Do: "wait"}).Flow
	if there.Bytes == 0 || back.Bytes == 0 {
		t.Errorf("both ways: %+v and %+v", there, back)
	}

	o.Size = 2
	connect(a, b, o)
	b.do(order{Do: "pong"})
	times := a.do(order{Do: "ping", Count: 50}).Latency
	again := a.do(order{Do: "ping", For: 100 * time.Millisecond}).Latency
	b.do(order{Do: "stop"})
	if times.Count != 50 || times.Min <= 0 || times.Min > times.Typical || times.Typical > times.P99 || times.P99 > times.Max || again.Count == 0 {
		t.Errorf("latency: %+v, then %+v", times, again)
	}
	fmt.Printf("%-5s %-6s %12v %12v there %12v back %10v typical\n", o.Op, o.Wait, flow.Rate(), there.Rate(), back.Rate(), times.Typical)
	a.do(order{Do: "close"})
	b.do(order{Do: "close"})
}

// setUp times what a connection costs, from nothing to the first answer. The device stays
// open from one to the next, as it does between the pairs of a matrix.
func setUp(t *testing.T, a, b *side, gid int) {
	var whole, local []float64
	for range 10 {
		start := time.Now()
		open := order{Do: "open", Device: "rdma0", Port: 1, Options: verbs.Options{Op: verbs.Send, Size: 2, GID: gid}}
		a.tell(open)
		b.tell(open)
		ra, rb := a.hear(), b.hear()
		a.tell(order{Do: "connect", Peer: rb.Peer})
		b.tell(order{Do: "connect", Peer: ra.Peer})
		ca, cb := a.hear(), b.hear()
		b.do(order{Do: "pong"})
		a.do(order{Do: "ping", Count: 1})
		whole = append(whole, time.Since(start).Seconds()*1e3)
		local = append(local, max(ra.Took, rb.Took).Seconds()*1e3+max(ca.Took, cb.Took).Seconds()*1e3)
		b.do(order{Do: "stop"})
	}
	fmt.Printf("set-up: %.1f ms from the first word to the first answer, over ssh; %.1f ms of it in the machines (medians of %d)\n", median(whole), median(local), len(whole))
}

// trouble is what may be wrong, and what the engine must say.
func trouble(t *testing.T, l lab.Lab, a, b *side, gid int) {
	o := verbs.Options{Op: verbs.Send, Size: 4096, GID: gid, Timeout: 14, Retry: 2, Stall: 3 * time.Second}
	want := func(what string, s *side, r report, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(r.Error, w) {
				t.Errorf("%s: %s says %q, want %q in it", what, s.node, r.Error, w)
			}
		}
		fmt.Printf("%-18s %.1f s  %s\n", what, r.Took.Seconds(), r.Error)
	}
	try := func(s *side, o order) report { s.tell(o); return s.hear() }

	connect(a, b, o)
	b.do(order{Do: "close"})
	want("the peer is gone", a, try(a, order{Do: "ping", Count: 10}), "retry", "the peer or its port is gone")

	o.Op = verbs.Write
	connect(a, b, o)
	inside(t, l, b.node, "nft add table inet weft_test; nft add chain inet weft_test in '{ type filter hook input priority 0; }'; nft add rule inet weft_test in udp dport 4791 drop")
	want("firewall", a, try(a, order{Do: "stream", For: time.Second}), "retry", "4791/udp")
	inside(t, l, b.node, "nft delete table inet weft_test")

	connect(a, b, o)
	b.do(order{Do: "pong"}) // and nobody pings
	want("told to stop", b, try(b, order{Do: "stop"}))
	if r := try(a, order{Do: "ping", Count: 1}); r.Kind != "stall" || r.Took > 10*time.Second {
		t.Errorf("nobody answers: %+v", r)
	} else {
		want("nobody answers", a, r, "no message for 3s")
	}

	connect(a, b, o)
	b.do(order{Do: "pong"})
	b.do(order{Do: "close"}) // in the middle of a run
	want("closed meanwhile", b, try(b, order{Do: "stop"}))
	b.do(order{Do: "close"})

	bad := func(what string, o order, words ...string) { t.Helper(); want(what, a, try(a, o), words...) }
	a.do(order{Do: "close"})
	bad("no such device", order{Do: "open", Device: "mlx5_7", Port: 1, Options: o}, "mlx5_7: no such RDMA device; there is rdma0")
	bad("no such port", order{Do: "open", Device: "rdma0", Port: 2, Options: o}, "no such port; it has 1")
	empty := o
	empty.GID = 9
	bad("empty GID", order{Do: "open", Device: "rdma0", Port: 1, Options: empty}, "GID 9: ")
	a.do(order{Do: "close"})
	inside(t, l, a.node, "chmod 600 /dev/infiniband/uverbs*")
	bad("permissions", order{Do: "open", Device: "rdma0", Port: 1, Options: o}, "permission denied", "/dev/infiniband/uverbs0")
	inside(t, l, a.node, "chmod 666 /dev/infiniband/uverbs*; ip link set rail0 down; sleep 1")
	bad("port is down", order{Do: "open", Device: "rdma0", Port: 1, Options: o}, "rdma0/1: the port is not active")
	inside(t, l, a.node, "ip link set rail0 up; sleep 2")
	freshTrouble(t, l, a, o)
}

// freshTrouble is what a driver meets when it starts.
func freshTrouble(t *testing.T, l lab.Lab, a *side, o verbs.Options) {
	o.Size = 1 << 20
	argv, err := l.SSH(a.node)
	if err != nil {
		t.Fatal(err)
	}
	const lib = "/usr/lib/x86_64-linux-gnu/"
	for _, c := range []struct{ what, before, shell, after, want string }{
		{"memlock", "true", "ulimit -l 64; ", "true", "RLIMIT_MEMLOCK is 64 KiB"},
		{"no driver", "mv /etc/libibverbs.d /etc/libibverbs.off", "", "mv /etc/libibverbs.off /etc/libibverbs.d", "ibverbs-providers"},
		{"no library", "mv " + lib + "libibverbs.so.1 " + lib + "libibverbs.off", "", "mv " + lib + "libibverbs.off " + lib + "libibverbs.so.1", "apt install libibverbs1 ibverbs-providers"},
	} {
		inside(t, l, a.node, c.before)
		cmd := osexec.Command(argv[0], append(argv[1:], c.shell+"WEFT_VERBS_DRIVE=1 ./verbs.test")...)
		line, _ := json.Marshal(order{Do: "open", Device: "rdma0", Port: 1, Options: o})
		cmd.Stdin = strings.NewReader(string(line))
		out, err := cmd.Output()
		inside(t, l, a.node, c.after)
		var r report
		if json.Unmarshal(out, &r); !strings.Contains(r.Error, c.want) {
			t.Errorf("%s: %v, %q, want %q", c.what, err, out, c.want)
		}
		fmt.Printf("%-18s        %s\n", c.what, r.Error)
	}
}
