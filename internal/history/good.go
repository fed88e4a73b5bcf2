package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// keepGood takes a node as it is for its good state.
func (n *node) keepGood(at time.Time) {
	n.goods = make(map[string]goodPort, len(n.ports))
	for name, p := range n.ports {
		if p.look.State != "gone" {
			n.goods[name] = goodPort{Up: p.up, Rate: p.look.Rate, MTU: p.look.MTU, GIDs: p.gids}
		}
	}
	n.good, n.ngpus = at, -1
	if n.asked {
		n.ngpus = len(n.gpus)
	}
}

// ForgetGood has the next look of every node be its good state.
func (t *Tracker) ForgetGood() {
	t.good = nil
	for _, n := range t.nodes {
		n.goods, n.good, n.ngpus = nil, time.Time{}, -1
	}
}

// Checked takes what weft check said: findings by level, and what differs from the last
// good facts. When nothing failed and nothing was unknown, the state at that moment is the
// new good one: every node that answers is then taken as it is.
func (t *Tracker) Checked(c LiveChecks, drift []Change) []Event {
	was := t.checks
	slices.SortStableFunc(c.Findings, func(a, b LiveFinding) int {
		return cmp.Or(cmp.Compare(b.Level.rank(), a.Level.rank()), cmp.Compare(a.Check, b.Check), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Part, b.Part))
	})
	var events []Event
	if was != nil && !was.When.IsZero() { // later on only what is new
		events = checkEvents(was.Findings, c.Findings)
	} else {
		worst := Pass
		var counts []string
		for i := range levels {
			if l := levels[len(levels)-1-i]; c.Counts[l] > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", c.Counts[l], l))
				worst = worst.Worse(l)
			}
		}
		if worst == Skip {
			worst = Pass
		}
		events = []Event{{What: "check", To: string(worst), Level: worst, Text: "weft check: " + orWord(strings.Join(counts, ", "), "nothing was judged")}}
	}
	if n := len(c.Findings); n > MaxFindings {
		c.Findings = c.Findings[:MaxFindings]
		t.Say(fmt.Sprintf("%d findings, of which the worst %d are shown", n, MaxFindings))
	}
	t.checks = &c
	t.facts = nil
	if c.Why == "" && c.Counts[Fail] == 0 && c.Counts[Unknown] == 0 && c.Counts[Pass] > 0 {
		t.good = &Good{When: c.When, Why: "weft check found nothing that fails"}
		for _, n := range t.nodes {
			if n.state == "answers" {
				n.keepGood(c.When)
			}
		}
	} else {
		for _, d := range drift[:min(len(drift), MaxFindings)] {
			t.facts = append(t.facts, Drift{Node: d.Node, What: d.Path, From: short(d.From), To: short(d.To), Since: c.When, Level: Warn})
		}
	}
	return t.tell("", c.When, events)
}

// Unchecked notes that there is no newer answer of weft check, and why.
func (t *Tracker) Unchecked(why string) {
	if t.checks == nil {
		t.checks = &LiveChecks{Counts: map[Level]int{}}
	}
	t.checks.Why = short(why)
}

// checkEvents tells which findings are new and which are gone.
func checkEvents(was, is []LiveFinding) (events []Event) {
	type key struct{ check, node, part string }
	before := map[key]Level{}
	for _, f := range was {
		before[key{f.Check, f.Node, f.Part}] = f.Level
	}
	for _, f := range is {
		k := key{f.Check, f.Node, f.Part}
		if before[k] != f.Level {
			subject := strings.TrimSpace(f.Node + " " + f.Part)
			events = append(events, Event{Node: f.Node, Part: f.Part, What: "check", From: string(before[k]), To: string(f.Level), Level: f.Level,
				Text: fmt.Sprintf("%s %s %s: %s", f.Level, f.Check, orWord(subject, "cluster"), orWord(f.Got, f.Why))})
		}
		delete(before, k)
	}
	for _, k := range slices.SortedFunc(maps.Keys(before), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.check, b.check), cmp.Compare(a.node, b.node), cmp.Compare(a.part, b.part))
	}) {
		subject := strings.TrimSpace(k.node + " " + k.part)
		events = append(events, Event{Node: k.node, Part: k.part, What: "check", From: string(before[k]), To: string(Pass), Level: Pass, Text: fmt.Sprintf("%s %s is right again", k.check, orWord(subject, "cluster"))})
	}
	return events
}

// drift is what of a port differs from the good state.
func (n *node) drift(name string, p *port) (out []Drift) {
	good, ok := n.goods[name]
	if !ok || p == nil {
		return nil
	}
	add := func(what, from, to string, since time.Time, level Level) {
		out = append(out, Drift{Node: n.name, Part: name, What: what, From: from, To: to, Since: since, Level: level})
	}
	if good.Up && !p.up {
		add("state", "ACTIVE", word(p.look.State), p.since, Fail)
	}
	g, gok := good.Rate.Get()
	r, rok := p.look.Rate.Get()
	if gok && rok && g != r && p.up {
		add("rate", g.String(), r.String(), p.set["rate"], Warn)
	}
	m, mok := good.MTU.Get()
	k, kok := p.look.MTU.Get()
	if mok && kok && m != k {
		add("mtu", fmt.Sprint(m), fmt.Sprint(k), p.set["mtu"], Warn)
	}
	if good.GIDs != nil && !slices.Equal(good.GIDs, p.gids) {
		gone, came := listDiff(good.GIDs, p.gids)
		add("gids", gone, came, p.set["gids"], Warn)
	}
	return out
}
