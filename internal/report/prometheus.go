package report

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weft/internal/fact"
	"weft/internal/history"
)

// MetricsType is the content type of the text exposition format.
const MetricsType = "text/plain; version=0.0.4; charset=utf-8"

// Metric is one family of weft's metrics.
type Metric struct {
	Name   string
	Type   string   // "gauge", "counter"
	Labels []string // in the order they are written
	Help   string
}

// Self is what the program that watches knows of itself.
type Self struct {
	Version string
	CPU     float64 // seconds of processor time used; 0: not known
	Memory  int64   // bytes resident; 0: not known
}

var (
	onNode     = []string{"node"}
	onPort     = []string{"node", "device", "port"}
	onPriority = []string{"node", "device", "port", "priority"}
	onPing     = []string{"kind", "from", "from_port", "to", "to_port"}
	onGPU      = []string{"node", "gpu", "bdf"}
)

// portCounters is the family of counters without a name of their own.
const portCounters = "weft_port_driver_events_total"

// MetricFamilies returns every family that weft watch writes, in the order it does.
func MetricFamilies() []Metric {
	all := slices.Clone(fixed)
	at := map[string]int{}
	for _, c := range history.Table {
		name := counterMetric(c)
		i, again := at[name]
		if !again {
			at[name] = len(all)
			all = append(all, Metric{name, "counter", onPort, c.Help + " Kernel: " + strings.ReplaceAll(c.Kernel, priority(c), "N") + "."})
		} else if word := strings.ReplaceAll(c.Kernel, priority(c), "N"); !strings.Contains(all[i].Help, word) { // another driver's word for it
			all[i].Help = strings.TrimSuffix(all[i].Help, ".") + ", " + word + "."
		}
		if c.Priority != "" {
			all[at[name]].Labels = onPriority
		}
	}
	return append(all, Metric{portCounters, "counter", append(slices.Clone(onPort), "counter"), "Counters that weft has no name for, by the name that the driver gives them."})
}

// priority is how a priority stands in the kernel's name.
func priority(c history.Counter) string {
	if c.Priority == "" {
		return "\x00" // in no name
	}
	return c.Priority
}

func counterMetric(c history.Counter) string { return "weft_port_" + c.Metric + "_total" }

// fixed are the families that are not counters of a port.
var fixed = []Metric{
	{"weft_build_info", "gauge", []string{"version"}, "The weft that is watching."},
	{"weft_watch_start_time_seconds", "gauge", nil, "When this watch began, in seconds since 1970."},
	{"weft_watch_interval_seconds", "gauge", nil, "How often each node is looked at."},
	{"weft_watch_looks_total", "counter", nil, "Looks at nodes that were answered."},
	{"weft_watch_looks_missed_total", "counter", nil, "Looks at nodes that were not answered."},
	{"weft_watch_looks_bad_total", "counter", nil, "Answers of nodes that made no sense."},
	{"weft_watch_series", "gauge", nil, "Counters of ports that are followed."},
	{"weft_watch_cpu_seconds_total", "counter", nil, "Processor time that this watch used."},
	{"weft_watch_memory_bytes", "gauge", nil, "Memory that this watch has resident."},
	{"weft_node_up", "gauge", onNode, "Whether the node answered lately: 1 or 0."},
	{"weft_node_level", "gauge", onNode, "How bad it is: 0 pass, 1 skip, 2 warn, 3 unknown, 4 fail."},
	{"weft_node_last_look_timestamp_seconds", "gauge", onNode, "When the node last answered."},
	{"weft_node_boots_total", "counter", onNode, "Times that the node was seen to boot."},
	{"weft_node_losses_total", "counter", onNode, "Times that the node was lost."},
	{"weft_port_info", "gauge", []string{"node", "device", "port", "netdev", "layer"}, "The port's interface and link layer."},
	{"weft_port_up", "gauge", onPort, "Whether the port is ACTIVE: 1 or 0; absent when that is not known."},
	{"weft_port_state_info", "gauge", []string{"node", "device", "port", "state", "phys"}, "The port's state in the kernel's words."},
	{"weft_port_health_info", "gauge", []string{"node", "device", "port", "health"}, "The port's state with its past: up, recovering, flapping, down, dropped, idle, unknown."},
	{"weft_port_level", "gauge", onPort, "How bad it is: 0 pass, 1 skip, 2 warn, 3 unknown, 4 fail."},
	{"weft_port_state_change_timestamp_seconds", "gauge", onPort, "When the port last went up or down, as far as it was watched."},
	{"weft_port_rate_bytes_per_second", "gauge", onPort, "What the port can carry in each direction."},
	{"weft_port_mtu_bytes", "gauge", onPort, "MTU of the port's interface; of InfiniBand the packet size in force."},
	{"weft_port_gids", "gauge", onPort, "Entries of the port's GID table."},
	{"weft_port_flaps_total", "counter", onPort, "Times that the port came back up."},
	{"weft_port_flaps_recent", "gauge", onPort, "Times that the port came back up within the last 12 hours."},
	{"weft_port_trouble", "gauge", []string{"node", "device", "port", "counter"}, "1 for a counter that grew more than it may, until ten minutes after."},
	{"weft_drift", "gauge", []string{"node", "part", "what"}, "1 for a setting that differs from the last good state."},
	{"weft_good_timestamp_seconds", "gauge", nil, "When the last good state was."},
	{"weft_ping_latency_seconds", "gauge", onPing, "One way, the median of the last try."},
	{"weft_ping_p99_seconds", "gauge", onPing, "One way, the 99th percentile of the last try."},
	{"weft_ping_loss_ratio", "gauge", onPing, "Share of the last tries, at most 32, that failed."},
	{"weft_ping_last_timestamp_seconds", "gauge", onPing, "When this pair was last tried."},
	{"weft_gpu_info", "gauge", []string{"node", "gpu", "bdf", "uuid", "name"}, "The GPU; uuid joins it with DCGM's exporter."},
	{"weft_gpu_utilization_ratio", "gauge", onGPU, "Share of time in which the GPU did something."},
	{"weft_gpu_memory_bytes", "gauge", onGPU, "The GPU's memory."},
	{"weft_gpu_memory_used_bytes", "gauge", onGPU, "The GPU's memory in use."},
	{"weft_gpu_power_watts", "gauge", onGPU, "What the GPU draws."},
	{"weft_gpu_temperature_celsius", "gauge", onGPU, "How hot the GPU is."},
	{"weft_gpu_clock_hertz", "gauge", onGPU, "The clock of the GPU's processors."},
	{"weft_gpu_throttled", "gauge", []string{"node", "gpu", "bdf", "reason"}, "1 for a reason that holds the GPU's clock down."},
	{"weft_check_results", "gauge", []string{"check", "level"}, "Answers of weft check, by check and level."},
	{"weft_check_finding", "gauge", []string{"check", "node", "part", "level"}, "1 for what fails, warns or is unknown; the worst 200."},
	{"weft_check_last_timestamp_seconds", "gauge", nil, "When weft check last ran."},
}

// expo writes the text exposition format: all samples of a family in one group, under its
// help and type.
type expo struct {
	b    []byte
	now  *Metric
	said bool // the head of now is written
}

func (e *expo) family(name string) {
	for i := range fixed {
		if fixed[i].Name == name {
			e.now, e.said = &fixed[i], false
			return
		}
	}
	panic("no such metric: " + name) // a mistake of this package, met by its first test
}

func (e *expo) head() {
	if e.said {
		return
	}
	e.said = true
	e.b = append(append(append(append(append(e.b, "# HELP "...), e.now.Name...), ' '), helpText.Replace(e.now.Help)...), '\n')
	e.b = append(append(append(append(append(e.b, "# TYPE "...), e.now.Name...), ' '), e.now.Type...), '\n')
}

var helpText = strings.NewReplacer("\\", `\\`, "\n", `\n`)

// add writes one sample; the labels are in the family's order.
func (e *expo) add(value float64, labels ...string) {
	e.head()
	e.b = append(e.b, e.now.Name...)
	if len(labels) > 0 {
		e.b = appendLabels(append(e.b, '{'), e.now.Labels, labels)
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, ' ')
	e.b = appendFloat(e.b, value)
	e.b = append(e.b, '\n')
}

// some writes a sample when its value is known.
func (e *expo) some(value fact.Val[float64], labels ...string) {
	if v, ok := value.Get(); ok {
		e.add(v, labels...)
	}
}

func appendFloat(b []byte, v float64) []byte {
	if v == float64(int64(v)) && v > -1e15 && v < 1e15 {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

func appendLabels(b []byte, names, values []string) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, names[i]...), '=', '"')
		b = append(appendLabel(b, v), '"')
	}
	return b
}

// appendLabel writes a text of a node so that it stays one label.
func appendLabel(b []byte, v string) []byte {
	plain := true
	for i := 0; i < len(v); i++ {
		if c := v[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return append(b, v...)
	}
	for _, r := range strings.ToValidUTF8(v, "\uFFFD") {
		switch r {
		case '"':
			b = append(b, '\\', '"')
		case '\\':
			b = append(b, '\\', '\\')
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

var levelNumbers = map[history.Level]float64{history.Pass: 0, history.Skip: 1, history.Warn: 2, history.Unknown: 3, history.Fail: 4}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func stamp(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }

// Metrics appends a moment in the text exposition format.
func Metrics(dst []byte, l *history.Live, self Self) []byte {
	e := &expo{b: dst}
	e.watch(l, self)
	e.nodes(l)
	e.ports(l)
	e.drift(l)
	e.pings(l)
	e.gpus(l)
	e.checks(l)
	e.counters(l)
	return e.b
}

func (e *expo) watch(l *history.Live, self Self) {
	e.family("weft_build_info")
	e.add(1, self.Version)
	e.family("weft_watch_start_time_seconds")
	e.add(stamp(l.Since))
	e.family("weft_watch_interval_seconds")
	e.add(l.Every)
	e.family("weft_watch_looks_total")
	e.add(float64(l.Figures.Looks))
	e.family("weft_watch_looks_missed_total")
	e.add(float64(l.Figures.Missed))
	e.family("weft_watch_looks_bad_total")
	e.add(float64(l.Figures.Bad))
	e.family("weft_watch_series")
	e.add(float64(l.Totals.Series))
	if self.CPU > 0 {
		e.family("weft_watch_cpu_seconds_total")
		e.add(self.CPU)
	}
	if self.Memory > 0 {
		e.family("weft_watch_memory_bytes")
		e.add(float64(self.Memory))
	}
}

func (e *expo) nodes(l *history.Live) {
	each := func(name string, f func(n *history.LiveNode)) {
		e.family(name)
		for i := range l.Nodes {
			f(&l.Nodes[i])
		}
	}
	each("weft_node_up", func(n *history.LiveNode) { e.add(truth(n.State == "answers"), n.Name) })
	each("weft_node_level", func(n *history.LiveNode) { e.add(levelNumbers[n.Level], n.Name) })
	each("weft_node_last_look_timestamp_seconds", func(n *history.LiveNode) {
		if !n.Seen.IsZero() {
			e.add(stamp(n.Seen), n.Name)
		}
	})
	each("weft_node_boots_total", func(n *history.LiveNode) { e.add(float64(n.Boots), n.Name) })
	each("weft_node_losses_total", func(n *history.LiveNode) { e.add(float64(n.LostAll), n.Name) })
}

func (e *expo) ports(l *history.Live) {
	each := func(name string, f func(n string, p *history.LivePort, num string)) {
		e.family(name)
		for i := range l.Nodes {
			for j := range l.Nodes[i].Ports {
				p := &l.Nodes[i].Ports[j]
				f(l.Nodes[i].Name, p, strconv.Itoa(p.Num))
			}
		}
	}
	type port = history.LivePort
	each("weft_port_info", func(n string, p *port, num string) { e.add(1, n, p.Device, num, p.Netdev, p.Layer) })
	each("weft_port_up", func(n string, p *port, num string) {
		if p.Health != history.HealthUnknown {
			e.add(truth(p.State == "ACTIVE"), n, p.Device, num)
		}
	})
	each("weft_port_state_info", func(n string, p *port, num string) {
		if p.Health != history.HealthUnknown {
			e.add(1, n, p.Device, num, p.State, p.Phys)
		}
	})
	each("weft_port_health_info", func(n string, p *port, num string) { e.add(1, n, p.Device, num, string(p.Health)) })
	each("weft_port_level", func(n string, p *port, num string) { e.add(levelNumbers[p.Level], n, p.Device, num) })
	each("weft_port_state_change_timestamp_seconds", func(n string, p *port, num string) {
		e.add(stamp(l.When)-p.For, n, p.Device, num)
	})
	each("weft_port_rate_bytes_per_second", func(n string, p *port, num string) {
		if r, ok := p.Rate.Get(); ok {
			e.add(float64(r)/8, n, p.Device, num)
		}
	})
	each("weft_port_mtu_bytes", func(n string, p *port, num string) {
		if m, ok := p.MTU.Get(); ok {
			e.add(float64(m), n, p.Device, num)
		}
	})
	each("weft_port_gids", func(n string, p *port, num string) { e.add(float64(p.GIDs), n, p.Device, num) })
	each("weft_port_flaps_total", func(n string, p *port, num string) { e.add(float64(p.FlapsAll), n, p.Device, num) })
	each("weft_port_flaps_recent", func(n string, p *port, num string) { e.add(float64(p.Flaps), n, p.Device, num) })
	each("weft_port_trouble", func(n string, p *port, num string) {
		for _, x := range p.Trouble {
			if x.Level == history.Fail {
				e.add(1, n, p.Device, num, x.Name)
			}
		}
	})
}

func (e *expo) drift(l *history.Live) {
	if l.Good == nil {
		return
	}
	e.family("weft_drift")
	seen := map[[3]string]bool{}
	for _, d := range l.Good.Drift {
		if key := [3]string{d.Node, d.Part, d.What}; !seen[key] {
			seen[key] = true
			e.add(1, d.Node, d.Part, d.What)
		}
	}
	e.family("weft_good_timestamp_seconds")
	e.add(stamp(l.Good.When))
}

func (e *expo) pings(l *history.Live) {
	each := func(name string, value func(p *history.LivePing) fact.Val[float64]) {
		e.family(name)
		for i := range l.Pings {
			p := &l.Pings[i]
			e.some(value(p), p.Kind, p.From, p.FromPort, p.To, p.ToPort)
		}
	}
	each("weft_ping_latency_seconds", func(p *history.LivePing) fact.Val[float64] { return p.Latency })
	each("weft_ping_p99_seconds", func(p *history.LivePing) fact.Val[float64] { return p.P99 })
	each("weft_ping_loss_ratio", func(p *history.LivePing) fact.Val[float64] {
		if p.Tries == 0 {
			return fact.Val[float64]{}
		}
		return fact.Some(p.Loss)
	})
	each("weft_ping_last_timestamp_seconds", func(p *history.LivePing) fact.Val[float64] { return fact.Some(stamp(p.When)) })
}

func (e *expo) gpus(l *history.Live) {
	type gpu = history.LiveGPU
	each := func(name string, f func(n, num string, g *gpu)) {
		e.family(name)
		for i := range l.Nodes {
			for j := range l.Nodes[i].GPUs {
				g := &l.Nodes[i].GPUs[j]
				f(l.Nodes[i].Name, strconv.Itoa(g.Index), g)
			}
		}
	}
	each("weft_gpu_info", func(n, num string, g *gpu) { e.add(1, n, num, g.BDF, g.UUID, g.Name) })
	each("weft_gpu_utilization_ratio", func(n, num string, g *gpu) { e.some(g.Use, n, num, g.BDF) })
	each("weft_gpu_memory_bytes", func(n, num string, g *gpu) {
		if m, ok := g.Memory.Get(); ok {
			e.add(float64(m), n, num, g.BDF)
		}
	})
	each("weft_gpu_memory_used_bytes", func(n, num string, g *gpu) {
		if m, ok := g.MemoryUse.Get(); ok {
			e.add(float64(m), n, num, g.BDF)
		}
	})
	each("weft_gpu_power_watts", func(n, num string, g *gpu) { e.some(g.Power, n, num, g.BDF) })
	each("weft_gpu_temperature_celsius", func(n, num string, g *gpu) { e.some(g.Temp, n, num, g.BDF) })
	each("weft_gpu_clock_hertz", func(n, num string, g *gpu) { e.some(g.Clock, n, num, g.BDF) })
	each("weft_gpu_throttled", func(n, num string, g *gpu) {
		for i, r := range g.Throttle {
			if !slices.Contains(g.Throttle[:i], r) {
				e.add(1, n, num, g.BDF, r)
			}
		}
	})
}

func (e *expo) checks(l *history.Live) {
	if l.Checks == nil || l.Checks.When.IsZero() {
		return
	}
	e.family("weft_check_results")
	for _, r := range l.Checks.Results {
		for _, level := range []history.Level{history.Pass, history.Skip, history.Warn, history.Unknown, history.Fail} {
			if n := r.Counts[level]; n > 0 {
				e.add(float64(n), r.Check, string(level))
			}
		}
	}
	e.family("weft_check_finding")
	seen := map[[4]string]bool{}
	for _, f := range l.Checks.Findings {
		if key := [4]string{f.Check, f.Node, f.Part, string(f.Level)}; !seen[key] {
			seen[key] = true
			e.add(1, f.Check, f.Node, f.Part, string(f.Level))
		}
	}
	e.family("weft_check_last_timestamp_seconds")
	e.add(stamp(l.Checks.When))
}

// counterFamilies are the families of counters, and which of them a counter of the kernel
// belongs to. Made once.
var counterFamilies, counterIndex = func() ([]Metric, map[string]int) {
	all := MetricFamilies()[len(fixed):]
	at, index := map[string]int{}, map[string]int{}
	for i, m := range all {
		at[m.Name] = i
	}
	for _, c := range history.Table {
		index[c.Kernel] = at[counterMetric(c)]
	}
	return all, index
}()

// counted is one sample of a counter.
type counted struct {
	port int // which of the ports
	c    *history.LiveCounter
	of   *history.Counter // nil: without a family of its own
}

func (e *expo) counters(l *history.Live) {
	var labels [][]byte // of the ports
	byFamily := make([][]counted, len(counterFamilies))
	other := len(counterFamilies) - 1
	for i := range l.Nodes {
		for j := range l.Nodes[i].Ports {
			p := &l.Nodes[i].Ports[j]
			if len(p.Counters) == 0 || p.Health == history.HealthUnknown {
				continue // a node that is lost counts nothing: old numbers would look like no traffic
			}
			for k := range p.Counters {
				c := &p.Counters[k]
				f, ok := counterIndex[c.Name]
				s := counted{len(labels), c, nil}
				if !ok {
					f = other
				} else if s.of = history.CounterOf(c.Name); twice(byFamily[f], s) {
					continue
				}
				byFamily[f] = append(byFamily[f], s)
			}
			labels = append(labels, appendLabels(nil, onPort, []string{l.Nodes[i].Name, p.Device, strconv.Itoa(p.Num)}))
		}
	}
	for f, samples := range byFamily {
		if len(samples) == 0 {
			continue
		}
		m := &counterFamilies[f]
		e.now, e.said = m, false
		e.head()
		for _, s := range samples {
			e.b = append(append(append(e.b, m.Name...), '{'), labels[s.port]...)
			switch {
			case s.of == nil:
				e.b = append(appendLabel(append(e.b, `,counter="`...), s.c.Name), '"')
			case s.of.Priority != "":
				e.b = append(append(append(e.b, `,priority="`...), s.of.Priority...), '"')
			}
			e.b = append(e.b, '}', ' ')
			switch {
			case s.of != nil && s.of.Parts > 1:
				e.b = appendFloat(e.b, float64(s.c.Value)/float64(s.of.Parts))
			case s.of != nil && s.of.Scale > 1:
				e.b = strconv.AppendUint(e.b, s.c.Value*s.of.Scale, 10)
			default:
				e.b = strconv.AppendUint(e.b, s.c.Value, 10)
			}
			e.b = append(e.b, '\n')
		}
	}
}

// twice reports whether a port has a sample already: drivers have several words for one
// thing, and no port has two drivers, unless its node lies.
func twice(family []counted, s counted) bool {
	for i := len(family) - 1; i >= 0 && family[i].port == s.port; i-- {
		if family[i].of.Priority == s.of.Priority {
			return true
		}
	}
	return false
}
