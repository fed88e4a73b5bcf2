package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// port takes a look at one port and returns what changed.
func (t *Tracker) port(n *node, p *port, q *PortLook, at time.Time, booted bool) (events []Event) {
	events = t.state(n, p, q, at, booted)
	events = append(events, t.settings(n, p, q, at)...)
	counters := q.Count
	p.look = *q
	p.look.Count = Counters{}
	p.look.GIDs = nil
	events = append(events, t.count(n, p, counters, at, booted)...)
	return append(events, t.healed(n, p, at)...)
}

// state follows a port up and down. What the kernel counted between two looks counts too.
func (t *Tracker) state(n *node, p *port, q *PortLook, at time.Time, booted bool) (events []Event) {
	if q.State == "" {
		return nil // not read: nothing is known, and nothing changed
	}
	is := q.State == "ACTIVE"
	first := p.seen.IsZero()
	var downs uint64
	if !first && !booted {
		if was, ok := p.look.Carrier.Get(); ok {
			if now, ok := q.Carrier.Get(); ok {
				if by, anew := Grown(was, now, false); !anew {
					downs = by
				}
			}
		}
		if was, ok := p.value("link_downed"); ok {
			if now, ok := q.Count.Get("link_downed"); ok {
				if by, anew := Grown(was, now, false); !anew {
					downs = max(downs, by)
				}
			}
		}
	}
	was := p.up
	p.everUp = p.everUp || is
	p.seen = at
	switch {
	case first:
		p.up, p.since = is, at
	case booted: // a boot takes every port down, and is no flap
		if was != is {
			p.up, p.since = is, at
		}
	default:
		back := Returns(was, is, downs)
		hidden := back
		if is && !was {
			hidden--
		}
		p.times = keep(p.times, at, back)
		p.all += back
		if is && !was && at.Sub(p.since) >= t.rules.Drop {
			p.back = at
		}
		if was != is {
			span := at.Sub(p.since)
			p.up, p.since = is, at
			e := Event{Part: q.Name, What: "state", From: p.look.State, To: q.State, Level: Warn, Text: fmt.Sprintf("%s %s went from %s to %s", n.name, q.Name, word(p.look.State), q.State)}
			if is {
				e.Level, e.Text = Pass, fmt.Sprintf("%s %s is ACTIVE again after %s", n.name, q.Name, Span(span))
			}
			events = append(events, e)
		}
		if hidden > 0 {
			if is {
				p.since = at // it was down a moment ago
			}
			events = append(events, Event{Part: q.Name, What: "flap", Level: Warn, Text: fmt.Sprintf("%s %s went down and came back %s between two looks", n.name, q.Name, times(hidden))})
		}
	}
	return events
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// settings follows what somebody sets, and nobody should meanwhile.
func (t *Tracker) settings(n *node, p *port, q *PortLook, at time.Time) (events []Event) {
	known := !p.counted.IsZero() || len(p.set) > 0
	change := func(what, from, to string) {
		p.set[what] = at
		if known {
			events = append(events, Event{Part: q.Name, What: what, From: from, To: to, Level: Warn, Text: fmt.Sprintf("%s %s: %s was %s and is %s", n.name, q.Name, what, from, to)})
		}
	}
	was, wok := p.look.Rate.Get()
	is, iok := q.Rate.Get()
	switch {
	case !iok || q.State != "ACTIVE": // a port that is down shows some rate or other
		q.Rate = p.look.Rate
	case !wok:
		p.set["rate"] = at
	case was != is:
		change("rate", was.String(), is.String())
	}
	m, mok := p.look.MTU.Get()
	k, kok := q.MTU.Get()
	switch {
	case !kok:
		q.MTU = p.look.MTU
	case !mok:
		p.set["mtu"] = at
	case m != k:
		change("mtu", fmt.Sprint(m), fmt.Sprint(k))
	}
	if !q.GIDd {
		return events
	}
	switch {
	case p.set["gids"].IsZero():
		p.gids, p.set["gids"] = q.GIDs, at
	case slices.Equal(p.gids, q.GIDs):
		p.next = nil
	case p.next != nil && slices.Equal(p.next, q.GIDs): // seen twice: tables flicker while addresses change
		gone, came := listDiff(p.gids, q.GIDs)
		p.gids, p.next = q.GIDs, nil
		change("gids", gone, came)
	default:
		p.next = q.GIDs
		if p.next == nil {
			p.next = []string{}
		}
	}
	return events
}

// listDiff writes what is only in a, and what is only in b.
func listDiff(a, b []string) (onlyA, onlyB string) {
	only := func(x, y []string) string {
		var out []string
		for _, s := range x {
			if !slices.Contains(y, s) {
				out = append(out, s)
			}
		}
		switch {
		case len(out) == 0:
			return "nothing"
		case len(out) > 3:
			return fmt.Sprintf("%s and %d more", strings.Join(out[:3], ", "), len(out)-3)
		}
		return strings.Join(out, ", ")
	}
	return only(a, b), only(b, a)
}

// value is a counter as it was in the last look.
func (p *port) value(name string) (uint64, bool) {
	if p.list == nil {
		return 0, false
	}
	i, ok := slices.BinarySearch(p.list.names, name)
	if !ok {
		return 0, false
	}
	return p.values[i], true
}

// count makes rates of counters.
func (t *Tracker) count(n *node, p *port, c Counters, at time.Time, booted bool) (events []Event) {
	if len(c.Names) == 0 {
		for i := range p.rates {
			p.rates[i] = math.NaN()
		}
		p.sent, p.received = math.NaN(), math.NaN()
		return nil
	}
	known := p.list != nil
	if !known || !slices.Equal(p.list.names, c.Names) {
		if !t.take(n, p, c, &known) {
			return nil
		}
	}
	since := at.Sub(p.counted)
	anew := 0
	l := p.list
	trouble := l.trouble
	seconds := since.Seconds()
	for i, now := range c.Values {
		was := p.values[i]
		by, again := now-was, false
		if now < was || booted {
			by, again = Grown(was, now, booted)
		}
		if again {
			anew++
		}
		switch {
		case !known || since <= 0 || again:
			p.rates[i] = math.NaN()
		default:
			p.rates[i] = float64(by) / seconds
		}
		if len(trouble) > 0 && trouble[0] == i {
			trouble = trouble[1:]
			if known && since > 0 && !again {
				events = append(events, t.suffer(n, p, l.names[i], by, since, at)...)
			}
		}
		p.values[i] = now
	}
	p.sent, p.received = math.NaN(), math.NaN()
	if l.sent >= 0 {
		p.sent, p.received = p.rates[l.sent]*l.step, p.rates[l.received]*l.step
	}
	p.counted = at
	if anew > 0 && !booted {
		events = append(events, Event{Part: p.look.Name, What: "counters", Level: Pass, Text: fmt.Sprintf("%s %s: %d counters began anew", n.name, p.look.Name, anew)})
	}
	return events
}

// take takes a new list of counters over; values that were there stay.
func (t *Tracker) take(n *node, p *port, c Counters, known *bool) bool {
	room := MaxSeries - t.series
	if p.list != nil {
		room += len(p.list.names)
	}
	if len(c.Names) > room {
		t.Say(fmt.Sprintf("more than %d counters in all: those of %s %s are not followed", MaxSeries, n.name, p.look.Name))
		return false
	}
	old, oldValues := p.list, p.values
	if old != nil {
		t.series -= len(old.names)
	}
	t.series += len(c.Names)
	p.list = t.listOf(c.Names)
	p.values, p.rates = slices.Clone(c.Values), make([]float64, len(c.Values))
	if old == nil {
		return true
	}
	for i, name := range p.list.names { // a counter that is new starts with what it shows
		if j, ok := slices.BinarySearch(old.names, name); ok {
			p.values[i] = oldValues[j]
		}
	}
	for name := range p.grown {
		if _, ok := slices.BinarySearch(p.list.names, name); !ok {
			delete(p.grown, name)
		}
	}
	*known = true
	return true
}

// suffer follows a counter of trouble.
func (t *Tracker) suffer(n *node, p *port, name string, by uint64, since time.Duration, at time.Time) (events []Event) {
	g := p.grown[name]
	if g == nil && by == 0 {
		return nil
	}
	if g == nil {
		if p.grown == nil {
			p.grown = map[string]*growth{}
		}
		g = &growth{}
		p.grown[name] = g
	}
	bad := at.Before(g.Until)
	g.add(by, at)
	g.judge(t.rules, limitsOf[name], by, since, at)
	if now := at.Before(g.Until); now && !bad {
		events = append(events, Event{Part: p.look.Name, What: "errors", To: name, Level: Fail, Text: fmt.Sprintf("%s %s: %s", n.name, p.look.Name, g.text(name))})
	}
	return events
}

// text says what was too much.
func (g *growth) text(name string) string {
	if g.Max == 0 {
		return fmt.Sprintf("%s grew by %d: it should not grow at all", name, g.Grew)
	}
	return fmt.Sprintf("%s grew by %d in %s, more than it may", name, g.Grew, Span(time.Duration(g.Per*float64(time.Second))))
}

// past is what is known of a port for Rules.
func (t *Tracker) past(n *node, p *port, now time.Time) Past {
	fresh := !p.seen.IsZero() && n.state != "late" && n.state != "lost" && n.state != "waiting"
	return Past{Known: fresh, Up: p.up, EverUp: p.everUp, Since: p.since, Returns: p.times, Recovered: p.back}
}

// healed looks whether a port's health turned for the better or the worse.
func (t *Tracker) healed(n *node, p *port, now time.Time) (events []Event) {
	h := t.rules.Health(t.past(n, p, now), now)
	if h == HealthUnknown || h == p.health {
		return nil
	}
	was := p.health
	p.health = h
	name := p.look.Name
	switch {
	case h == HealthDropped:
		events = append(events, Event{Part: name, What: "state", From: string(was), To: string(h), Level: Fail, Text: fmt.Sprintf("%s %s has been %s for %s", n.name, name, word(p.look.State), Span(now.Sub(p.since)))})
	case h == HealthFlapping:
		events = append(events, Event{Part: name, What: "flap", From: string(was), To: string(h), Level: Fail,
			Text: fmt.Sprintf("%s %s is flapping: it came back %s within %s", n.name, name, times(Within(p.times, now, t.rules.Window)), Span(t.rules.Window))})
	case h == HealthUp && (was == HealthRecovering || was == HealthFlapping):
		events = append(events, Event{Part: name, What: "state", From: string(was), To: string(h), Level: Pass, Text: fmt.Sprintf("%s %s has settled: up for %s", n.name, name, Span(now.Sub(p.since)))})
	}
	return events
}
