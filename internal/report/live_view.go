package report

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/trial"
	"weft/internal/unit"
)

// livePartIDs are the parts of the live page, in its order: elements part-sum, part-net, …
var livePartIDs = []string{"sum", "net", "ports", "pings", "checks", "drift", "events"}

// Bounds of what a page shows at once; it says how much more there is.
const (
	mostLiveRows   = 1024
	mostLiveEvents = 100
	mostLiveFinds  = 100
)

// livePage is a moment, ready for its template.
type livePage struct {
	Policy  string
	Title   string
	Live    history.Live
	Events  string
	Metrics string
	Facts   [][2]string
	Drawing *netDrawing
	Board   *board
	Ports   []livePortRow
	MoreP   int
	GPUs    []liveGPURow
	MoreG   int
	Open    *liveOpen
	Pings   []heatmap
	Chips   []chip
	Finds   []liveFind
	MoreF   int
	Drift   []liveDrift
	MoreD   int
	Changes []liveEvent
}

type livePortRow struct {
	Key, Class, Node, Port  string
	Says, Rate, Sent, Got   string
	Use                     float64 // of 100
	UseText, Flaps, Trouble string
	Why, Open               string
	IsNode                  bool
}

type liveGPURow struct {
	Class, Node, GPU, Use, Memory, Power, Temp, Clock, Why string
}

type liveOpen struct {
	Name     string
	Counters []liveCounterRow
	Found    bool
}

type liveCounterRow struct{ Name, Value, Rate string }

type liveFind struct {
	Class, Check, Where, Got, Want, Why string
	Fix                                 []string
	Key                                 string
}

type liveDrift struct{ Class, Where, What, From, To, Since string }

type liveEvent struct{ Class, When, Where, Text string }

func liveView(l history.Live, o LiveOptions) *livePage {
	l.Nodes = slices.Clone(l.Nodes)
	slices.SortStableFunc(l.Nodes, func(a, b history.LiveNode) int { return natural(a.Name, b.Name) })
	v := &livePage{Policy: LiveCSP(), Title: cmp.Or(o.Title, lastName(l.Source), "weft watch"), Live: l, Events: cmp.Or(o.Events, "events"), Metrics: o.Metrics}
	if o.Open != "" {
		v.Events += "?open=" + url.QueryEscape(o.Open)
	}
	t := l.Totals
	v.Facts = [][2]string{
		{"nodes", fmt.Sprintf("%d of %d answer", t.NodesUp, t.Nodes)}, {"RDMA ports", fmt.Sprintf("%d of %d up", t.PortsUp, t.Ports)},
		{"traffic", bits(t.Sent) + " sent, " + bits(t.Received) + " received"},
	}
	if l.Good != nil {
		v.Facts = append(v.Facts, [2]string{"drift", fmt.Sprintf("%s since %s (%s)", plural(len(l.Good.Drift), "setting"), clock(l.Good.When, l.When), l.Good.Why)})
	}
	v.Facts = append(v.Facts, [2]string{"RDMA ping", dash(l.PingPlan)})
	net := liveNet(l, o.Links)
	ports := 0
	for _, n := range net {
		ports += len(n.ports)
	}
	title := fmt.Sprintf("%s: %s and %s", v.Title, plural(len(net), "node"), plural(ports, "port"))
	if len(net) > mostDrawnNodes || ports > mostDrawnPorts {
		v.Board = boardOf(title, net)
	} else {
		v.Drawing = drawNet(title, net, o.Fabric, o.Direct)
	}
	v.rows(l, o.Open)
	v.Pings = livePings(l)
	v.found(l)
	v.drifted(l)
	for i, e := range l.Changes {
		if i == mostLiveEvents {
			break
		}
		v.Changes = append(v.Changes, liveEvent{cmp.Or(string(e.Level), "skip"), clock(e.When, l.When), strings.TrimSpace(e.Node + " " + e.Part), cmp.Or(e.Text, e.What+": "+e.From+" → "+e.To)})
	}
	return v
}

// bits writes bytes a second the way links are sold.
func bits(bytes float64) string {
	if !(bytes >= 0 && bytes < 1e15) {
		return "–"
	}
	return unit.Rate(8 * bytes).String()
}

func bitsOf(v fact.Val[float64]) string {
	if b, ok := v.Get(); ok {
		return bits(b)
	}
	return "–"
}

// clock writes a time of the day, and the day where it is not today's.
func clock(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "–"
	case t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly):
		return t.UTC().Format("15:04:05")
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// liveClass is how a port is drawn.
func liveClass(l history.Level) string {
	switch l {
	case history.Pass:
		return "up"
	case history.Warn:
		return "narrow"
	case history.Fail:
		return "down"
	case history.Skip:
		return "skip"
	}
	return "unknown"
}

// liveNet joins what is watched with the rails and switches of the last facts.
func liveNet(l history.Live, links []trial.Link) []netNode {
	at := make(map[trial.End]trial.Link, len(links))
	for _, x := range links {
		at[x.End] = x
	}
	var net []netNode
	for _, n := range l.Nodes {
		node := netNode{name: n.Name, note: n.State, class: word(n.Level)}
		if n.Why != "" {
			node.note += ": " + n.Why
		} else if len(n.GPUs) > 0 {
			node.note += ", " + plural(len(n.GPUs), "GPU")
		}
		for _, p := range n.Ports {
			x := at[trial.End{Node: n.Name, Port: p.Name}]
			if p.Level == history.Skip && x.Rail == "" {
				continue // nobody plugged it in
			}
			port := netPort{name: p.Name, class: liveClass(p.Level), rail: x.Rail, swtch: x.Switch, thick: thickOf(p.Rate.Or(0)), says: cmp.Or(p.Why, liveState(p))}
			if p.State == "ACTIVE" {
				port.rate = bits(max(p.Sent.Or(0), p.Received.Or(0)))
			}
			port.title = n.Name + " " + p.Name + ": " + liveState(p) + after("; ", p.Why) + "; sends " + bitsOf(p.Sent) + ", receives " + bitsOf(p.Received) + after("; rail ", x.Rail) + after("; plugged into ", x.Switch)
			node.ports = append(node.ports, port)
		}
		net = append(net, node)
	}
	return net
}

func liveState(p history.LivePort) string {
	s := cmp.Or(p.State, "not read")
	if r, ok := p.Rate.Get(); ok {
		s += ", " + r.String()
	}
	return s
}

func word(l history.Level) string { return cmp.Or(string(l), "unknown") }

// rows are the nodes, each followed by its ports.
func (v *livePage) rows(l history.Live, open string) {
	for _, n := range l.Nodes {
		if len(v.Ports) >= mostLiveRows {
			v.MoreP++
			continue
		}
		seen := "last answer " + clock(n.Seen, l.When)
		if n.Seen.IsZero() {
			seen = "no answer yet"
		}
		v.Ports = append(v.Ports, livePortRow{Key: n.Name, IsNode: true, Class: word(n.Level), Node: n.Name, Says: n.State + ", " + seen, Why: n.Why})
		for _, p := range n.Ports {
			key := n.Name + " " + p.Name
			r := livePortRow{Key: key, Class: word(p.Level), Node: n.Name, Port: p.Name, Says: cmp.Or(p.State, "not read") + after(", ", string(p.Health)), Sent: bitsOf(p.Sent), Got: bitsOf(p.Received), Rate: "–", UseText: "–", Flaps: fmt.Sprint(p.Flaps), Why: p.Why, Open: "?open=" + url.QueryEscape(key) + "#counters"}
			if rate, ok := p.Rate.Get(); ok {
				r.Rate = rate.String()
			}
			if use, ok := p.Use.Get(); ok && use >= 0 {
				r.Use, r.UseText = round(100*min(use, 1)), fmt.Sprintf("%.0f %%", 100*use)
			}
			var grew []string
			for _, t := range p.Trouble {
				grew = append(grew, fmt.Sprintf("%s +%d", t.Name, t.Grew))
			}
			r.Trouble = strings.Join(grew, ", ")
			v.Ports = append(v.Ports, r)
			if key == open {
				v.Open = &liveOpen{Name: key, Found: true, Counters: liveCounters(p)}
			}
		}
		for _, g := range n.GPUs {
			if len(v.GPUs) == mostLiveRows {
				v.MoreG++
				continue
			}
			v.GPUs = append(v.GPUs, liveGPU(n.Name, g))
		}
	}
	if open != "" && v.Open == nil {
		v.Open = &liveOpen{Name: open}
	}
}

func liveCounters(p history.LivePort) (rows []liveCounterRow) {
	for _, c := range p.Counters {
		rate := "–"
		if r, ok := c.Rate.Get(); ok {
			rate = strings.TrimSuffix(fmt.Sprintf("%.1f", r), ".0")
		}
		rows = append(rows, liveCounterRow{c.Name, fmt.Sprint(c.Value), rate})
	}
	return rows
}

func liveGPU(node string, g history.LiveGPU) liveGPURow {
	r := liveGPURow{Class: word(g.Level), Node: node, GPU: strings.TrimSpace(fmt.Sprintf("GPU%d %s", g.Index, g.Name)), Use: "–", Memory: "–", Power: "–", Temp: "–", Clock: "–", Why: strings.TrimPrefix(after("; ", g.Why)+after("; ", strings.Join(g.Throttle, ", ")), "; ")}
	if x, ok := g.Use.Get(); ok {
		r.Use = fmt.Sprintf("%.0f %%", 100*x)
	}
	if x, ok := g.Memory.Get(); ok {
		r.Memory = x.String()
		if used, ok := g.MemoryUse.Get(); ok {
			r.Memory = used.String() + " of " + r.Memory
		}
	}
	if x, ok := g.Power.Get(); ok {
		r.Power = fmt.Sprintf("%.0f W", x)
	}
	if x, ok := g.Temp.Get(); ok {
		r.Temp = fmt.Sprintf("%.0f °C", x)
	}
	if x, ok := g.Clock.Get(); ok {
		r.Clock = fmt.Sprintf("%.0f MHz", x/1e6)
	}
	return r
}

func (v *livePage) found(l history.Live) {
	if l.Checks == nil {
		return
	}
	for _, level := range []history.Level{history.Fail, history.Unknown, history.Warn, history.Pass, history.Skip} {
		if n := l.Checks.Counts[level]; n > 0 {
			v.Chips = append(v.Chips, chip{string(level), n})
		}
	}
	for i, f := range l.Checks.Findings {
		if i == mostLiveFinds {
			v.MoreF = len(l.Checks.Findings) - i
			break
		}
		where := cmp.Or(strings.TrimSpace(f.Node+" "+f.Part), "cluster")
		v.Finds = append(v.Finds, liveFind{word(f.Level), f.Check, where, f.Got, f.Want, f.Why, f.Fix, f.Check + " " + where})
	}
}

func (v *livePage) drifted(l history.Live) {
	if l.Good == nil {
		return
	}
	for i, d := range l.Good.Drift {
		if i == mostLiveFinds {
			v.MoreD = len(l.Good.Drift) - i
			break
		}
		v.Drift = append(v.Drift, liveDrift{word(d.Level), strings.TrimSpace(d.Node + " " + d.Part), d.What, cmp.Or(d.From, "(none)"), cmp.Or(d.To, "(none)"), clock(d.Since, l.When)})
	}
}

// livePings makes a heat map for each kind of ping.
func livePings(l history.Live) (list []heatmap) {
	type key struct{ from, to string }
	for _, kind := range []string{"rdma", "tcp"} {
		cells := map[key]history.LivePing{}
		var ends []string
		for _, p := range l.Pings {
			if p.Kind != kind {
				continue
			}
			k := key{p.From, p.To}
			if old, ok := cells[k]; !ok || worsePing(p, old) {
				cells[k] = p
			}
			for _, n := range []string{p.From, p.To} {
				if !slices.Contains(ends, n) {
					ends = append(ends, n)
				}
			}
		}
		if len(cells) == 0 {
			continue
		}
		slices.SortFunc(ends, natural)
		h := heatmap{Title: strings.ToUpper(kind) + ", one way in µs, from the row's node to the column's"}
		at := func(from, to string) (history.LivePing, bool) {
			p, ok := cells[key{from, to}]
			return p, ok && from != to
		}
		switch {
		case len(ends) <= mostHeatNumbers:
			for _, from := range ends {
				h.Head, h.Full = append(h.Head, fit(from, 92, 12)), append(h.Full, from)
				row := heatRow{Name: from}
				for _, to := range ends {
					cell := heatCell{Class: "self", Text: "·"}
					if p, ok := at(from, to); ok {
						cell = pingCell(p)
					}
					row.Cells = append(row.Cells, cell)
				}
				h.Rows = append(h.Rows, row)
			}
		case len(ends) <= mostHeatEnds:
			h.Map = imageOf(len(ends), func(y, x int) string {
				if p, ok := at(ends[y], ends[x]); ok {
					return pingCell(p).Class
				}
				return ""
			}, func(i int) string { return ends[i] })
			h.Map.Label = fmt.Sprintf("%s ping among %d nodes", kind, len(ends))
		default:
			h.TooBig = true
		}
		if h.Rows == nil {
			h.Worst = worstPings(cells)
		}
		list = append(list, h)
	}
	return list
}

func worsePing(a, b history.LivePing) bool {
	return a.Level.Worse(b.Level) == a.Level && a.Level != b.Level
}

func pingCell(p history.LivePing) heatCell {
	c := heatCell{Class: "h5", Title: fmt.Sprintf("%s %s → %s %s", p.From, p.FromPort, p.To, p.ToPort) + after("; ", p.Why)}
	lat, ok := p.Latency.Get()
	c.Text = "none"
	if ok {
		c.Text = fmt.Sprintf("%.1f", lat*1e6)
	}
	if p.Loss > 0 {
		c.Title += fmt.Sprintf("; %.0f %% of %d lost", 100*p.Loss, p.Tries)
	}
	switch p.Level {
	case history.Fail:
		c.Class, c.Text = "fail", c.Text+"!"
	case history.Warn:
		c.Class, c.Text = "warn", c.Text+"~"
	case history.Skip:
		c.Class = "skip"
	case history.Pass:
	default:
		c.Class = "none"
	}
	return c
}

func worstPings[K comparable](cells map[K]history.LivePing) (list []heatWorst) {
	var bad []history.LivePing
	for _, p := range cells {
		if p.Level == history.Fail || p.Level == history.Warn {
			bad = append(bad, p)
		}
	}
	slices.SortFunc(bad, func(a, b history.LivePing) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), -cmp.Compare(a.Loss, b.Loss), natural(a.From, b.From), natural(a.To, b.To))
	})
	for i, p := range bad {
		if i == mostWorst {
			return append(list, heatWorst{Pair: fmt.Sprintf("… and %d more", len(bad)-i)})
		}
		usual := ""
		if u, ok := p.Usual.Get(); ok {
			usual = fmt.Sprintf("%.1f µs", u*1e6)
		}
		c := pingCell(p)
		list = append(list, heatWorst{word(p.Level), p.From + " → " + p.To, c.Text, usual, p.Why})
	}
	return list
}
