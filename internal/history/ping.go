package history

import (
	"fmt"
	"slices"
	"time"

	"weft/internal/fact"
)

// Bounds and limits of pings.
const (
	MaxPings = 40_000 // pairs that are kept
	tries    = 32     // of which each keeps the outcome
	medians  = 16     // and the latencies of so many

	// slower than this many times what is usual is slow: ClusterKit's limit for a bad
	// pair against the best one (research/anchors.md, table D).
	slower = 2.1
	// as often in a row, because one slow try is nothing
	slowAgain = 3
	// and by at least this: half a scheduler tick of a busy machine is no fault of a link
	slowFloor = 50e-6
)

// Ping is the outcome of one try.
type Ping struct {
	Kind             string // "rdma", "tcp"
	From, To         string // nodes
	FromPort, ToPort string
	When             time.Time
	Latency, P99     float64 // seconds; 0 when it failed
	Failed           string  // why it failed; "" when it worked
	Skipped          string  // why it was not tried: no fault of the pair
}

type pingKey struct{ kind, from, fromPort, to, toPort string }

type ping struct {
	when      time.Time
	outcomes  uint32 // newest in bit 0; 1 is lost
	tries     int
	last, p99 float64
	medians   []float64 // a ring
	head      int
	slow      int
	why       string
	skipped   bool
	level     Level
}

// Ping takes the outcome of one try.
func (t *Tracker) Ping(o Ping) []Event {
	key := pingKey{o.Kind, o.From, o.FromPort, o.To, o.ToPort}
	p := t.pings[key]
	if p == nil {
		if len(t.pings) >= MaxPings {
			t.Say(fmt.Sprintf("more than %d pairs of ports: pings of the rest are not kept", MaxPings))
			return nil
		}
		p = &ping{level: Pass}
		t.pings[key] = p
	}
	p.when, p.skipped = o.When, o.Skipped != ""
	if p.skipped {
		p.why = short(o.Skipped)
		return nil
	}
	p.outcomes <<= 1
	p.tries = min(p.tries+1, tries)
	p.why = ""
	if o.Failed != "" {
		p.outcomes |= 1
		p.why = short(o.Failed)
	} else {
		usual, known := p.usual()
		if known && o.Latency > slower*usual && o.Latency > usual+slowFloor {
			p.slow++
		} else {
			p.slow = 0
		}
		p.last, p.p99 = o.Latency, o.P99
		if p.slow == 0 || p.slow > 2*medians { // what stays slow for long is usual
			p.learn(o.Latency)
		}
	}
	was := p.level
	p.level = p.judge()
	if p.level == was || p.level == Warn && was == Pass && o.Failed != "" {
		return nil // one lost try is shown, and not told
	}
	e := Event{What: "ping", Part: o.FromPort, From: o.From, To: o.To, Level: p.level}
	path := fmt.Sprintf("%s %s → %s %s: %s ping", o.From, o.FromPort, o.To, o.ToPort, o.Kind)
	switch p.level {
	case Fail:
		e.Text = fmt.Sprintf("%s lost: %s", path, p.why)
	case Warn:
		usual, _ := p.usual()
		e.Text = fmt.Sprintf("%s takes %s, usually %s", path, Micros(p.last), Micros(usual))
		if p.slow < slowAgain {
			e.Text = fmt.Sprintf("%s works again, and lost %.0f %% of the last %d", path, 100*p.loss(), p.tries)
		}
	default:
		e.Text = fmt.Sprintf("%s is as usual: %s", path, Micros(p.last))
	}
	return t.tell(o.From, o.When, []Event{e})
}

func (p *ping) learn(latency float64) {
	if len(p.medians) < medians {
		p.medians = append(p.medians, latency)
		return
	}
	p.medians[p.head] = latency
	p.head = (p.head + 1) % medians
}

func (p *ping) usual() (float64, bool) {
	if len(p.medians) < 4 {
		return 0, false
	}
	var s [medians]float64
	n := copy(s[:], p.medians)
	slices.Sort(s[:n])
	return s[n/2], true
}

func (p *ping) loss() float64 {
	n := 0
	for i := range p.tries {
		if p.outcomes>>i&1 == 1 {
			n++
		}
	}
	if p.tries == 0 {
		return 0
	}
	return float64(n) / float64(p.tries)
}

// judge: two lost in a row, or the first two of it, are no accident; what was lost once
// among the last tries is worth a look.
func (p *ping) judge() Level {
	switch {
	case p.tries == 0:
		return Unknown
	case p.outcomes&3 == 3, p.tries == 1 && p.outcomes&1 == 1:
		return Fail
	case p.slow >= slowAgain, p.outcomes&0xff != 0:
		return Warn
	}
	return Pass
}

// Micros writes a latency: "2.4 µs", "1.20 ms".
func Micros(seconds float64) string {
	switch {
	case seconds >= 1:
		return fmt.Sprintf("%.2f s", seconds)
	case seconds >= 1e-3:
		return fmt.Sprintf("%.2f ms", seconds*1e3)
	}
	return fmt.Sprintf("%.1f µs", seconds*1e6)
}

// live writes a ping down.
func (p *ping) live(k pingKey, now time.Time) LivePing {
	l := LivePing{Kind: k.kind, From: k.from, To: k.to, FromPort: k.fromPort, ToPort: k.toPort, When: p.when, Age: max(0, now.Sub(p.when).Seconds()),
		Tries: p.tries, Loss: p.loss(), Level: p.level, Why: p.why}
	if p.tries == 0 {
		l.Level = Unknown
	}
	if p.skipped {
		l.Level = Skip
	}
	if p.last > 0 && p.outcomes&1 == 0 {
		l.Latency, l.P99 = fact.Some(p.last), fact.Some(p.p99)
	}
	if u, ok := p.usual(); ok {
		l.Usual = fact.Some(u)
		if l.Level == Warn && l.Why == "" && p.slow >= slowAgain {
			l.Why = fmt.Sprintf("takes %s, usually %s", Micros(p.last), Micros(u))
		}
	}
	if l.Level == Warn && l.Why == "" {
		l.Why = fmt.Sprintf("lost %.0f %% of the last %d", 100*p.loss(), p.tries)
	}
	return l
}
