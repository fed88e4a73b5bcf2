package report

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/unit"
)

// hostile are names that a node may give to anything.
var hostile = []string{`<script>alert(1)</script>`, "a\"b\\c\nd", "\x1b[31mred\x1b[0m", "\xff\xfe", "ü→", "", strings.Repeat("x", 100)}

// everything is a moment in which every family has a sample.
func everything(names ...string) *history.Live {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	l := &history.Live{When: now, Since: now.Add(-time.Hour), Every: 5, Source: "test", Totals: history.LiveTotals{Series: 3},
		Good:   &history.Good{When: now, Drift: []history.Drift{{Node: names[0], Part: "x", What: "mtu"}, {Node: names[0], Part: "x", What: "mtu"}}},
		Checks: &history.LiveChecks{When: now, Results: []history.LiveResult{{Check: "port.up", Counts: map[history.Level]int{history.Pass: 3, history.Fail: 1}}}, Findings: []history.LiveFinding{{Check: "port.up", Node: names[0], Part: "p", Level: history.Fail}, {Check: "port.up", Node: names[0], Part: "p", Level: history.Fail}}}}
	for i, name := range names {
		n := history.LiveNode{Name: name, State: "answers", Seen: now, Boots: i, LostAll: i}
		p := history.LivePort{Name: name + "/1", Device: name, Num: 1, Netdev: name, Layer: "Ethernet", State: "ACTIVE", Phys: name, Health: history.HealthUp, Level: history.Pass,
			Rate: fact.Some(100 * unit.Gbps), MTU: fact.Some(9000), Trouble: []history.LiveTrouble{{Name: "symbol_error", Level: history.Fail}}}
		for _, c := range history.Table {
			p.Counters = append(p.Counters, history.LiveCounter{Name: c.Kernel, Value: 1<<62 + 1})
		}
		for _, odd := range hostile {
			p.Counters = append(p.Counters, history.LiveCounter{Name: "odd" + odd, Value: 7})
		}
		n.Ports = append(n.Ports, p)
		n.GPUs = append(n.GPUs, history.LiveGPU{BDF: name, UUID: name, Name: name, Use: fact.Some(0.5), Memory: fact.Some(unit.GiB), MemoryUse: fact.Some(unit.MiB), Power: fact.Some(1.5), Temp: fact.Some(40.0), Clock: fact.Some(1e9), Throttle: []string{name, name}})
		l.Nodes = append(l.Nodes, n)
		l.Pings = append(l.Pings, history.LivePing{Kind: "rdma", From: name, To: name, FromPort: name, ToPort: name, When: now, Tries: 3, Loss: 1.0 / 3, Latency: fact.Some(2e-6), P99: fact.Some(3e-6)})
	}
	return l
}

var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$`)

// families reads an exposition and holds it against its rules: one group for each family,
// head first, no series twice.
func families(t testing.TB, text []byte) map[string]int {
	t.Helper()
	count, seen, now := map[string]int{}, map[string]bool{}, ""
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			now, _, _ = strings.Cut(rest, " ")
			if _, again := count[now]; again {
				t.Errorf("line %d: the family %s comes again", i+1, now)
			}
			count[now] = 0
			continue
		}
		if strings.HasPrefix(line, "# TYPE "+now+" ") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || m[1] != now {
			t.Errorf("line %d is no sample of %s: %q", i+1, now, line)
			continue
		}
		if seen[m[1]+m[2]] {
			t.Errorf("line %d: twice: %s%s", i+1, m[1], m[2])
		}
		seen[m[1]+m[2]] = true
		count[now]++
	}
	return count
}

func TestMetrics(t *testing.T) {
	text := Metrics(nil, everything("n1", "n2"), Self{Version: "1", CPU: 1.25, Memory: 4096})
	got := families(t, text)
	for _, m := range MetricFamilies() {
		if got[m.Name] == 0 {
			t.Errorf("%s has no sample", m.Name)
		}
		delete(got, m.Name)
		if (m.Type == "counter") != strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%s is a %s", m.Name, m.Type)
		}
	}
	for name := range got {
		t.Errorf("%s is in no list", name)
	}
	for _, want := range []string{
		"weft_port_rate_bytes_per_second{node=\"n1\",device=\"n1\",port=\"1\"} 12500000000\n", "weft_watch_cpu_seconds_total 1.25\n",
		fmt.Sprintf("weft_port_transmit_packets_total{node=\"n1\",device=\"n1\",port=\"1\"} %d\n", uint64(1<<62+1)),
		"weft_ping_latency_seconds{kind=\"rdma\",from=\"n1\",from_port=\"n1\",to=\"n1\",to_port=\"n1\"} 2e-06\n",
		"weft_port_pause_frames_received_total{node=\"n1\",device=\"n1\",port=\"1\",priority=\"3\"} ",
		fmt.Sprintf("weft_port_pause_received_seconds_total{node=\"n1\",device=\"n1\",port=\"1\",priority=\"0\"} %v\n", float64(1<<62+1)/1e6),
		"weft_port_driver_events_total{node=\"n1\",device=\"n1\",port=\"1\",counter=\"odda\\\"b\\\\c\\nd\"} 7\n",
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("not there: %s", want)
		}
	}
}

func TestMetricsOfHostileNames(t *testing.T) {
	families(t, Metrics(nil, everything(hostile...), Self{Version: hostile[1]}))
}

func TestMetricsByPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	for _, l := range []*history.Live{everything("n1", "n2"), everything(hostile...), {}} {
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(Metrics(nil, l, Self{Version: "1", CPU: 1, Memory: 1}))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestTenThousandSeries: many series are written quickly, and whole.
func TestTenThousandSeries(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("n%03d", i))
	}
	l := everything(names...)
	start := time.Now()
	text := Metrics(nil, l, Self{})
	took := time.Since(start)
	n := 0
	for _, k := range families(t, text) {
		n += k
	}
	t.Logf("%d series, %d bytes in %v", n, len(text), took)
	if n < 10_000 || took > 2*time.Second {
		t.Errorf("%d series in %v", n, took)
	}
}

func TestNamesOfCounters(t *testing.T) {
	kernel, metric := map[string]bool{}, map[string]bool{}
	for _, c := range history.Table {
		if kernel[c.Kernel] || metric[c.Metric] && c.Priority == "" {
			t.Errorf("%s, %s: twice", c.Kernel, c.Metric)
		}
		kernel[c.Kernel], metric[c.Metric] = true, true
		if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(c.Metric) || !strings.HasSuffix(c.Help, ".") {
			t.Errorf("%s: %q, %q", c.Kernel, c.Metric, c.Help)
		}
	}
	for _, l := range history.Limits {
		if c := history.CounterOf(l.Counter); c == nil || !c.Trouble {
			t.Errorf("%s has a limit and tells of no trouble", l.Counter)
		}
	}
}

// TestMetricsPage holds docs/metrics.md against the list; WEFT_UPDATE=1 writes it anew.
func TestMetricsPage(t *testing.T) {
	const path = "../../docs/metrics.md"
	var b strings.Builder
	b.WriteString(metricsHead)
	for i, m := range MetricFamilies() {
		if i == len(fixed) {
			b.WriteString(metricsCounters)
		}
		labels := slices.Clone(m.Labels)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, strings.Join(labels, ", "), m.Help)
	}
	if os.Getenv("WEFT_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is not what weft exports: WEFT_UPDATE=1 go test -run MetricsPage ./internal/report", path)
	}
}

const metricsHead = `# Metrics of weft watch

` + "`weft watch --listen`" + ` and ` + "`weft watch --node --listen`" + ` write these at ` + "`/metrics`" + `; docs/watch.md tells how
to scrape them. This page is made from the program's own list, and a test holds the two
together.

Names follow Prometheus' advice: base units (seconds, bytes, ratios from 0 to 1), ` + "`_total`" + `
for what only grows. A sample that is not known is not there: a port whose node does not
answer has no ` + "`weft_port_up`" + ` and no counters, so that silence is never read as zero.

| metric | type | labels | what it is |
|---|---|---|---|
`

const metricsCounters = `
## Counters of ports

Every counter that the kernel has for a port, under one name for what it means. A counter
that is in no list here is in ` + "`" + portCounters + "`" + `, by the name that its driver gives it.

| metric | type | labels | what it is |
|---|---|---|---|
`

func BenchmarkMetrics(b *testing.B) {
	l := everything("n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8")
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = Metrics(buf[:0], l, Self{})
	}
}
