package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weft/internal/dump"
	"weft/internal/format"
	"weft/internal/history"
	"weft/internal/report"
	"weft/internal/watch/local/tree"
)

// agentEnv has the test's own program be the agent of weft watch --node, so that what it
// costs can be told from what the test costs.
const agentEnv = "WEFT_TEST_AGENT"

func TestMain(m *testing.M) {
	if root := os.Getenv(agentEnv); root != "" {
		agent(root)
		return
	}
	if os.Getenv(meterEnv) != "" {
		nodeMeter()
		return
	}
	os.Exit(m.Run())
}

// agent is weft watch --node, with every scrape a look.
func agent(root string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	w := New(Order{Nodes: []string{"n1"}, Source: "this machine", Every: 15 * time.Second, Open: Here(root), Age: 1})
	s := &Server{Watch: w, Fresh: w.Fresh}
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go s.Serve(ctx, l)
	w.Run(ctx)
}

// program is a process under measurement.
type program struct {
	cmd *exec.Cmd
	url string
}

func (p *program) end() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// cpu is the processor time that a process has used, of its threads to the nanosecond.
func (p *program) cpu(b *testing.B) time.Duration {
	b.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	var sum int64
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err == nil {
			sum += ns
		}
	}
	if sum == 0 {
		b.Skip("the kernel tells no processor time of threads")
	}
	return time.Duration(sum)
}

// scrape asks for metrics n times and returns the processor time of each, and how many
// lines there were.
func (p *program) scrape(b *testing.B, n int) (each time.Duration, lines int) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}} // neither packs
	one := func() int {
		r, err := client.Get(p.url)
		if err != nil {
			b.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			b.Fatalf("%s: %s %v", p.url, r.Status, err)
		}
		return strings.Count(string(text), "\n")
	}
	for range 5 {
		lines = one()
	}
	before := p.cpu(b)
	for range n {
		one()
	}
	return (p.cpu(b) - before) / time.Duration(n), lines
}

// BenchmarkFigureScrape: what a scrape of 8 ports with all counters costs, of weft watch
// --node and of node_exporter's infiniband collector that reads the same files.
func BenchmarkFigureScrape(b *testing.B) {
	exporter := tool(b, "prometheus-node-exporter")
	m, err := tree.Make(b.TempDir(), 8)
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	weft := &program{cmd: exec.Command(self)}
	weft.cmd.Env = append(os.Environ(), agentEnv+"="+string(m))
	out, err := weft.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	weft.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := weft.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer weft.end()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	weft.url = "http://" + strings.TrimSpace(line) + "/metrics"

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	peer := &program{url: "http://" + addr + "/metrics", cmd: exec.Command(exporter, "--web.listen-address="+addr, "--path.sysfs="+string(m)+"/sys", "--collector.disable-defaults", "--collector.infiniband", "--web.disable-exporter-metrics")}
	peer.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := peer.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer peer.end()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if r, err := http.Get(peer.url); err == nil {
			r.Body.Close()
			break
		} else if time.Now().After(end) {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		var ours, theirs time.Duration
		var lines, theirLines int
		const rounds, scrapes = 5, 60
		for range rounds { // in turn, so that what disturbs the machine disturbs both
			x, n := weft.scrape(b, scrapes)
			y, k := peer.scrape(b, scrapes)
			ours, theirs, lines, theirLines = ours+x/rounds, theirs+y/rounds, n, k
		}
		b.ReportMetric(float64(ours.Microseconds()), "weft-µs/scrape")
		b.ReportMetric(float64(theirs.Microseconds()), "node_exporter-µs/scrape")
		b.ReportMetric(float64(ours)/float64(theirs), "ratio")
		b.ReportMetric(float64(lines), "weft-lines")
		b.ReportMetric(float64(theirLines), "node_exporter-lines")
		if ratio := float64(ours) / float64(theirs); ratio > 0.5 {
			b.Errorf("a scrape costs %.2f of node_exporter's, want at most 0.5", ratio)
		}
	}
}

// moved is a node of a dump whose counters move: it answers with the bytes that a node's
// meter sends, so that reading them is part of the cost.
type moved struct {
	look history.Look
	step uint64
}

func (m *moved) Look(context.Context) (*history.Look, error) {
	m.step++
	l := m.look
	l.Ports = append([]history.PortLook(nil), l.Ports...)
	for i := range l.Ports {
		p := &l.Ports[i]
		p.Count.Values = append([]uint64(nil), p.Count.Values...)
		for k := range p.Count.Values {
			p.Count.Values[k] += m.step * uint64(k)
		}
		p.GIDd = m.step%6 == 1
	}
	b, err := json.Marshal(&l)
	if err != nil {
		return nil, err
	}
	look, _, err := history.ParseLook(b)
	return look, err
}
func (m *moved) Close() {}

// labNodes are so many nodes like those of a demo's cluster, each with 8 ports that have
// all counters of mlx5.
func labNodes(b testing.TB, n int) (names []string, open func(context.Context, string) (Source, error)) {
	b.Helper()
	text, err := os.ReadFile("../demo/clusters/kai-rack.dump")
	if err != nil {
		b.Fatal(err)
	}
	d, err := dump.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	var looks []history.Look
	for _, node := range format.Facts(d).Nodes {
		l := history.LookOf(node)
		for len(l.Ports) < 8 {
			p := l.Ports[0]
			p.Device = "mlx5_" + strconv.Itoa(len(l.Ports))
			p.Name = p.Device + "/1"
			l.Ports = append(l.Ports, p)
		}
		for i := range l.Ports {
			all := map[string]uint64{}
			for k, name := range append(append([]string(nil), tree.Counters...), tree.HWCounters...) {
				if !history.NotCounted(name) {
					all[name] = uint64(1_000_000 * k)
				}
			}
			l.Ports[i].Count = history.CountersOf(all)
		}
		looks = append(looks, *l)
	}
	of := map[string]history.Look{}
	for i := range n {
		name := fmt.Sprintf("lab%03d", i)
		names = append(names, name)
		of[name] = looks[i%len(looks)]
	}
	return names, func(_ context.Context, node string) (Source, error) { return &moved{look: of[node]}, nil }
}

// BenchmarkFigureWatch64: what watching 64 nodes costs, with Prometheus that scrapes every
// 15 s and a page that follows. The nodes' answers are made here too, and count.
func BenchmarkFigureWatch64(b *testing.B) {
	names, open := labNodes(b, 64)
	for b.Loop() {
		w := New(Order{Nodes: names, Source: "replayed", Every: 5 * time.Second, Open: open})
		s := &Server{Watch: w}
		l, err := s.Listen("127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		go s.Serve(ctx, l)
		url := "http://" + l.Addr().String()
		time.Sleep(6 * time.Second) // everybody was looked at
		first := paint(b, url)
		page, err := http.Get(url + "/events")
		if err != nil {
			b.Fatal(err)
		}
		go io.Copy(io.Discard, page.Body)
		before, start := used(), time.Now()
		for range 2 {
			time.Sleep(15 * time.Second)
			scrapeOnce(b, url)
		}
		share := (used() - before).Seconds() / time.Since(start).Seconds()
		page.Body.Close()
		cancel()
		<-done
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		live := w.Live()
		b.ReportMetric(100*share, "%-of-a-core")
		b.ReportMetric(float64(self("").Memory)/(1<<20), "MiB-resident")
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-heap")
		b.ReportMetric(float64(live.Totals.Series), "counters")
		b.ReportMetric(float64(first.Milliseconds()), "page-ms")
		if share > 0.05 || self("").Memory > 100<<20 {
			b.Errorf("%.1f %% of a core and %d MiB, want under 5 %% and 100 MiB", 100*share, self("").Memory>>20)
		}
	}
}

// paint is how long the whole page takes to arrive.
func paint(b *testing.B, url string) time.Duration {
	start := time.Now()
	r, err := http.Get(url + "/")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	if n, err := io.Copy(io.Discard, r.Body); err != nil || n < 1000 {
		b.Fatalf("a page of %d bytes: %v", n, err)
	}
	return time.Since(start)
}

func scrapeOnce(b *testing.B, url string) {
	r, err := http.Get(url + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		b.Fatal(err)
	}
}

func used() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLive: what one moment of 64 nodes costs.
func BenchmarkLive(b *testing.B) {
	names, open := labNodes(b, 64)
	t := history.New(history.Usual, "bench", time.Now(), 5*time.Second)
	now := time.Now()
	for range 2 {
		now = now.Add(5 * time.Second)
		for _, n := range names {
			src, _ := open(context.Background(), n)
			l, err := src.Look(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			t.Add(n, now, l)
		}
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		l := t.Live(now)
		buf = report.Metrics(buf[:0], &l, report.Self{})
	}
}
