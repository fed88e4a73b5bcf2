package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"weft/internal/fact"
)

// Live writes one moment down. It shares nothing with the tracker that changes later.
func (t *Tracker) Live(now time.Time) Live {
	l := Live{When: now, Since: t.since, Every: t.every.Seconds(), Source: t.source, PingPlan: t.plan, Said: slices.Clone(t.said), Figures: t.figures,
		Level: Pass, Nodes: make([]LiveNode, 0, len(t.nodes)), Totals: LiveTotals{Nodes: len(t.nodes), Series: t.series, Levels: map[Level]int{}}}
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.live(t.nodes[name], now)
		l.count(&n)
		l.Nodes = append(l.Nodes, n)
	}
	l.Pings = make([]LivePing, 0, len(t.pings))
	for k, p := range t.pings {
		l.Pings = append(l.Pings, p.live(k, now))
		l.Level = l.Level.Worse(l.Pings[len(l.Pings)-1].Level)
	}
	slices.SortFunc(l.Pings, func(a, b LivePing) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.FromPort, b.FromPort), cmp.Compare(a.ToPort, b.ToPort))
	})
	if t.checks != nil {
		c := *t.checks
		c.Age = max(0, now.Sub(c.When).Seconds())
		l.Checks = &c
		for _, f := range c.Findings {
			l.Level = l.Level.Worse(f.Level)
			i, ok := slices.BinarySearchFunc(l.Nodes, f.Node, func(n LiveNode, name string) int { return strings.Compare(n.Name, name) })
			if !ok || f.Level == Unknown {
				continue
			}
			n := &l.Nodes[i]
			if n.Level = n.Level.Worse(f.Level); n.Why == "" { // the worst comes first
				n.Why = fmt.Sprintf("%s: %s", f.Check, strings.TrimSpace(f.Part+" "+f.Got))
			}
		}
	}
	if t.good != nil {
		g := *t.good
		for i := range l.Nodes {
			g.Drift = append(g.Drift, l.Nodes[i].Drift...)
		}
		g.Drift = append(g.Drift, t.facts...)
		l.Good = &g
	}
	l.Changes = make([]Event, 0, len(t.changes))
	for i := range t.changes { // newest first
		l.Changes = append(l.Changes, t.changes[(t.head+len(t.changes)-1-i)%len(t.changes)])
	}
	if l.Level == Skip {
		l.Level = Pass
	}
	if l.Totals.Ports == 0 && l.Level == Pass { // judging nothing is not passing
		l.Level = Unknown
	}
	l.Summary = l.summary()
	return l
}

// count adds a node to the totals.
func (l *Live) count(n *LiveNode) {
	l.Level = l.Level.Worse(n.Level)
	if n.State == "answers" {
		l.Totals.NodesUp++
	}
	l.Totals.GPUs += len(n.GPUs)
	for i := range n.Ports {
		p := &n.Ports[i]
		l.Totals.Ports++
		l.Totals.Levels[p.Level]++
		if p.State == "ACTIVE" && p.Health != HealthUnknown {
			l.Totals.PortsUp++
		}
		l.Totals.Sent += p.Sent.Or(0)
		l.Totals.Received += p.Received.Or(0)
	}
}

// summary is the moment in one sentence.
func (l *Live) summary() string {
	s := fmt.Sprintf("%d of %d nodes answer, %d of %d ports are up", l.Totals.NodesUp, l.Totals.Nodes, l.Totals.PortsUp, l.Totals.Ports)
	if l.Totals.Ports == 0 {
		s = fmt.Sprintf("%d of %d nodes answer, no RDMA port was seen", l.Totals.NodesUp, l.Totals.Nodes)
	}
	if n := l.Totals.Levels[Fail]; n > 0 {
		s += fmt.Sprintf(", %d bad", n)
	}
	lost := 0
	for _, p := range l.Pings {
		if p.Level == Fail {
			lost++
		}
	}
	if lost > 0 {
		s += fmt.Sprintf(", %d pairs lose pings", lost)
	}
	if l.Good != nil && len(l.Good.Drift) > 0 {
		s += fmt.Sprintf(", %d settings drifted", len(l.Good.Drift))
	}
	if l.Checks != nil && l.Checks.Counts[Fail] > 0 {
		s += fmt.Sprintf(", %d checks fail", l.Checks.Counts[Fail])
	}
	return s
}

var nodeLevels = map[string]Level{"answers": Pass, "late": Unknown, "waiting": Unknown, "lost": Fail}

func (t *Tracker) live(n *node, now time.Time) LiveNode {
	l := LiveNode{Name: n.name, Level: nodeLevels[n.state], State: n.state, Why: n.why, Seen: n.seen, Boots: n.boots, LostAll: n.losses,
		Lost: Within(n.lost, now, t.rules.Window), Ports: make([]LivePort, 0, len(n.ports))}
	if !n.seen.IsZero() {
		l.Age = max(0, now.Sub(n.seen).Seconds())
	}
	if l.Lost >= t.rules.Flaps {
		l.Level = Fail
		if l.Why == "" {
			l.Why = fmt.Sprintf("it was lost %s within %s", times(l.Lost), Span(t.rules.Window))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.ports)) {
		p := t.livePort(n, n.ports[name], now)
		l.Drift = append(l.Drift, p.Drift...)
		if n.state == "answers" { // of a node that is lost its ports say nothing more
			l.Level = l.Level.Worse(p.Level)
		}
		l.Ports = append(l.Ports, p)
	}
	for _, g := range n.gpus {
		q := liveGPU(g)
		l.Level = l.Level.Worse(q.Level)
		l.GPUs = append(l.GPUs, q)
	}
	if n.ngpus >= 0 && n.asked && len(n.gpus) != n.ngpus && n.state == "answers" {
		d := Drift{Node: n.name, What: "gpus", From: fmt.Sprint(n.ngpus), To: fmt.Sprint(len(n.gpus)), Since: n.seen, Level: Warn}
		if len(n.gpus) < n.ngpus {
			d.Level = Fail
		}
		l.Drift = append(l.Drift, d)
	}
	for _, d := range l.Drift {
		l.Level = l.Level.Worse(d.Level)
	}
	if l.Level == Skip {
		l.Level = Pass
	}
	return l
}

func (t *Tracker) livePort(n *node, p *port, now time.Time) LivePort {
	l := LivePort{Name: p.look.Name, Device: p.look.Device, Num: p.look.Num, Netdev: p.look.Netdev, Layer: p.look.Layer, State: p.look.State, Phys: p.look.Phys,
		For: max(0, now.Sub(p.since).Seconds()), Rate: p.look.Rate, MTU: p.look.MTU, GIDs: len(p.gids),
		Health: t.rules.Health(t.past(n, p, now), now), Flaps: Within(p.times, now, t.rules.Window), FlapsAll: p.all, Drift: n.drift(p.look.Name, p)}
	l.Level = healthLevels[l.Health]
	l.Why = t.healthWhy(n, p, l, now)
	if n.state == "answers" {
		l.Sent, l.Received = known(p.sent), known(p.received)
	}
	if r, ok := l.Rate.Get(); ok && r > 0 && l.Sent.Known() {
		l.Use = fact.Some(min(1, 8*max(l.Sent.Or(0), l.Received.Or(0))/float64(r)))
	}
	for _, name := range slices.Sorted(maps.Keys(p.grown)) {
		if x, ok := t.liveTrouble(p, name, now); ok {
			l.Trouble = append(l.Trouble, x)
			if x.Level == Fail && l.Level != Unknown {
				l.Level = Fail
				if l.Why == "" {
					l.Why = x.Why
				}
			}
		}
	}
	slices.SortStableFunc(l.Trouble, func(a, b LiveTrouble) int { return cmp.Compare(b.Level.rank(), a.Level.rank()) })
	for _, d := range l.Drift {
		if l.Level = l.Level.Worse(d.Level); l.Why == "" {
			l.Why = fmt.Sprintf("%s was %s and is %s", d.What, d.From, d.To)
		}
	}
	if p.list != nil {
		l.Counters = make([]LiveCounter, len(p.values))
		for i, v := range p.values {
			l.Counters[i] = LiveCounter{Name: p.list.names[i], Value: v, Rate: known(p.rates[i])}
		}
	}
	return l
}

func (t *Tracker) healthWhy(n *node, p *port, l LivePort, now time.Time) string {
	switch l.Health {
	case HealthUnknown:
		if n.state != "answers" {
			return "its node does not answer"
		}
		return "its state could not be read"
	case HealthIdle:
		return "never seen up"
	case HealthDown, HealthDropped:
		return fmt.Sprintf("%s for %s", word(l.State), Span(now.Sub(p.since)))
	case HealthFlapping:
		return fmt.Sprintf("came back %s within %s", times(l.Flaps), Span(t.rules.Window))
	case HealthRecovering:
		return fmt.Sprintf("up again for %s after a drop", Span(now.Sub(p.back)))
	}
	return ""
}

func (t *Tracker) liveTrouble(p *port, name string, now time.Time) (LiveTrouble, bool) {
	g := p.grown[name]
	copied := *g // turning it is not for a reader to do
	x := LiveTrouble{Name: name, Grew: copied.hour(now), Per: time.Hour.Seconds(), Level: Pass, Last: g.Last}
	if p.list != nil {
		if i, ok := slices.BinarySearch(p.list.names, name); ok {
			x.Rate = known(p.rates[i]).Or(0)
		}
	}
	x.Why = fmt.Sprintf("%s grew by %d within an hour", name, x.Grew)
	if now.Before(g.Until) {
		x.Level, x.Grew, x.Per, x.Limit, x.Why = Fail, g.Grew, g.Per, g.Max, g.text(name)
	}
	return x, x.Level == Fail || x.Grew > 0
}

// hot are the reasons of a clock held down that are no good sign. That power or the
// application limits it is how it should be.
var hot = []string{"hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown"}

func liveGPU(g GPULook) LiveGPU {
	l := LiveGPU{Index: g.Index, BDF: g.BDF, UUID: g.UUID, Name: g.Name, Use: g.Use, Memory: g.Memory, MemoryUse: g.MemoryUse,
		Power: g.Power, Temp: g.Temp, Clock: g.Clock, Throttle: g.Throttle, Level: Pass}
	for _, r := range g.Throttle {
		if slices.Contains(hot, r) {
			l.Level, l.Why = Warn, "held down: "+r
		}
	}
	return l
}

var nan = math.NaN()

// known makes a fact of a number; NaN is unknown.
func known(f float64) fact.Val[float64] {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fact.Val[float64]{}
	}
	return fact.Some(f)
}
