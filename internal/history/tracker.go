package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"weft/internal/fact"
	"weft/internal/unit"
)

// Bounds of what a tracker keeps, however long it runs and whatever nodes say.
const (
	MaxSeries   = 500_000 // counters of all nodes
	MaxChanges  = 500     // the last changes
	MaxFindings = 200
	maxTimes    = 256 // flaps of a port that are kept: of more, the newest
	maxSaid     = 50
	maxLists    = 256 // different lists of counter names
)

// Tracker follows a cluster from look to look. It is not for use by several goroutines at
// a time. Time is an argument everywhere.
type Tracker struct {
	rules   Rules
	source  string
	since   time.Time
	every   time.Duration
	nodes   map[string]*node
	lists   []*list
	series  int
	pings   map[pingKey]*ping
	plan    string
	checks  *LiveChecks
	good    *Good
	facts   []Drift // drift of whole facts, as weft check saw it last
	changes []Event // a ring
	head    int
	said    []string
	figures LiveFigures
}

// New begins to follow. every is how often each node is looked at.
func New(rules Rules, source string, start time.Time, every time.Duration) *Tracker {
	return &Tracker{rules: rules, source: source, since: start, every: every, nodes: map[string]*node{}, pings: map[pingKey]*ping{}}
}

// list is the counters that ports of one kind have. Ports share it.
type list struct {
	names          []string
	trouble        []int // which of them tell of trouble
	sent, received int   // which of them count bytes; -1: none
	step           float64
}

type node struct {
	name   string
	boot   string
	boots  int
	seen   time.Time
	why    string // of the last look that was missed since seen
	state  string
	lost   []time.Time
	losses int
	ports  map[string]*port
	gpus   []GPULook
	asked  bool // gpus is an answer
	gone   bool // set while state is lost, so that it is said once
	goods  map[string]goodPort
	ngpus  int // GPUs in the good state; -1: not known
	good   time.Time
}

type port struct {
	look   PortLook // without counters
	first  time.Time
	seen   time.Time // when its state was last read
	up     bool
	everUp bool
	since  time.Time
	times  []time.Time // returns to ACTIVE
	all    int
	back   time.Time // when it came back after a drop
	health Health
	gids   []string
	next   []string             // a GID table that was seen once: it counts when it is seen again
	set    map[string]time.Time // when rate, mtu and gids were first seen as they are

	list           *list
	values         []uint64
	rates          []float64 // NaN: unknown
	counted        time.Time
	sent, received float64 // NaN: unknown
	grown          map[string]*growth
}

// goodPort is what of a port should stay as it is.
type goodPort struct {
	Up   bool                `json:"up"`
	Rate fact.Val[unit.Rate] `json:"rate"`
	MTU  fact.Val[int]       `json:"mtu"`
	GIDs []string            `json:"gids,omitempty"`
}

// Expect names nodes before their first answer.
func (t *Tracker) Expect(names ...string) {
	for _, name := range names {
		t.node(name)
	}
}

func (t *Tracker) node(name string) *node {
	n := t.nodes[name]
	if n == nil {
		n = &node{name: name, ports: map[string]*port{}, state: "waiting", ngpus: -1}
		t.nodes[name] = n
	}
	return n
}

// Say notes that something was left out, once.
func (t *Tracker) Say(said ...string) {
	for _, s := range said {
		if !slices.Contains(t.said, s) && len(t.said) < maxSaid {
			t.said = append(t.said, s)
		}
	}
}

// Plan notes how pings are planned, or why there are none.
func (t *Tracker) Plan(text string) { t.plan = text }

// Add takes a look at a node and returns what changed. The look is the tracker's from
// then on, but for its counters, which are copied.
func (t *Tracker) Add(name string, at time.Time, l *Look) (events []Event) {
	n := t.node(name)
	t.figures.Looks++
	booted := n.boot != "" && l.Boot != "" && n.boot != l.Boot
	if booted {
		n.boots++
		events = append(events, Event{What: "node", Level: Warn, Text: fmt.Sprintf("%s booted: its counters began anew", name)})
	}
	switch {
	case n.state == "lost" && !n.seen.IsZero():
		events = append(events, Event{What: "node", From: "lost", To: "answers", Level: Pass, Text: fmt.Sprintf("%s answers again after %s", name, Span(at.Sub(n.seen)))})
	case n.seen.IsZero():
		events = append(events, Event{What: "node", From: n.state, To: "answers", Level: Pass, Text: fmt.Sprintf("%s answers: %d RDMA ports, %d GPUs", name, len(l.Ports), len(l.GPUs))})
	}
	if l.Boot != "" {
		n.boot = l.Boot
	}
	n.seen, n.why, n.state, n.gone = at, "", "answers", false
	here := make(map[string]bool, len(l.Ports))
	for i := range l.Ports {
		q := &l.Ports[i]
		here[q.Name] = true
		p := n.ports[q.Name]
		if p == nil {
			if len(n.ports) >= MaxPorts && !t.forget(n) {
				t.Say(fmt.Sprintf("%s has more than %d ports: the rest is not watched", name, MaxPorts))
				continue
			}
			p = &port{first: at, since: at, sent: math.NaN(), received: math.NaN(), set: map[string]time.Time{}}
			n.ports[q.Name] = p
			if !n.good.IsZero() {
				events = append(events, Event{Part: q.Name, What: "state", To: q.State, Level: Pass, Text: fmt.Sprintf("%s %s is new: %s", name, q.Name, word(q.State))})
			}
		}
		events = append(events, t.port(n, p, q, at, booted)...)
	}
	for _, key := range slices.Sorted(maps.Keys(n.ports)) {
		if p := n.ports[key]; !here[key] && p.look.State != "gone" {
			gone := p.look
			gone.State, gone.Phys, gone.Count, gone.GIDd = "gone", "", Counters{}, false
			events = append(events, t.port(n, p, &gone, at, booted)...)
		}
	}
	if l.GPUd {
		if was, is := len(n.gpus), len(l.GPUs); was != is && was > 0 {
			events = append(events, Event{What: "gpu", From: fmt.Sprint(was), To: fmt.Sprint(is), Level: Fail, Text: fmt.Sprintf("%s shows %d GPUs, and had %d", name, is, was)})
		}
		n.gpus, n.asked = l.GPUs, true
		if n.ngpus < 0 && !n.good.IsZero() { // GPUs answer later than ports
			n.ngpus = len(n.gpus)
		}
	}
	if n.good.IsZero() {
		n.keepGood(at)
		if t.good == nil {
			t.good = &Good{When: at, Why: "the first look of this watch"}
		}
	}
	return t.tell(name, at, events)
}

// forget makes room for a port: of those that are gone, the one that is it for longest.
func (t *Tracker) forget(n *node) bool {
	oldest := ""
	for key, p := range n.ports {
		if p.look.State == "gone" && (oldest == "" || p.since.Before(n.ports[oldest].since) || p.since.Equal(n.ports[oldest].since) && key < oldest) {
			oldest = key
		}
	}
	if oldest != "" {
		t.release(n.ports[oldest])
		delete(n.ports, oldest)
	}
	return oldest != ""
}

// forgetAfter is how long a port is remembered that is gone and no part of the good state.
const forgetAfter = 24 * time.Hour

// release gives back the room of a port's counters.
func (t *Tracker) release(p *port) {
	if p.list != nil {
		t.series -= len(p.list.names)
	}
}

// Miss notes that a node did not answer, or not with sense.
func (t *Tracker) Miss(name string, at time.Time, why string, rubbish bool) []Event {
	n := t.node(name)
	t.figures.Missed++
	if rubbish {
		t.figures.Bad++
	}
	var events []Event
	why = short(why)
	if n.why == "" {
		events = append(events, Event{What: "node", Level: Warn, Text: fmt.Sprintf("%s: no answer: %s", name, why)})
	}
	n.why = why
	events = t.tell(name, at, events)
	return append(events, t.review(n, at)...)
}

// Tick notes that time passed: what is down becomes dropped, who is silent becomes lost.
func (t *Tracker) Tick(now time.Time) (events []Event) {
	for _, name := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[name]
		events = append(events, t.review(n, now)...)
		for _, key := range slices.Sorted(maps.Keys(n.ports)) {
			p := n.ports[key]
			if _, good := n.goods[key]; p.look.State == "gone" && !good && now.Sub(p.since) > forgetAfter {
				t.release(p)
				delete(n.ports, key)
				continue
			}
			events = append(events, t.tell(name, now, t.healed(n, p, now))...)
		}
	}
	return events
}

// review is what the age of a node's last answer says.
func (t *Tracker) review(n *node, now time.Time) []Event {
	var events []Event
	age := now.Sub(n.seen)
	switch {
	case n.seen.IsZero() && n.why != "", !n.seen.IsZero() && age >= t.rules.Lost:
		n.state = "lost"
	case !n.seen.IsZero() && age > time.Duration(t.rules.Late*float64(t.every)):
		n.state = "late"
	}
	if n.state == "lost" && !n.gone {
		n.gone = true
		n.lost = keep(n.lost, now, 1)
		n.losses++
		text := fmt.Sprintf("%s is lost: %s", n.name, orWord(n.why, "it does not answer"))
		if !n.seen.IsZero() {
			text = fmt.Sprintf("%s is lost: it last answered %s ago: %s", n.name, Span(age), orWord(n.why, "no reason is known"))
		}
		events = append(events, Event{What: "node", From: "answers", To: "lost", Level: Fail, Text: text})
	}
	return t.tell(n.name, now, events)
}

// tell completes events and keeps the last of them.
func (t *Tracker) tell(name string, at time.Time, events []Event) []Event {
	for i := range events {
		e := &events[i]
		e.When = at
		if e.Node == "" {
			e.Node = name
		}
		if len(t.changes) < MaxChanges {
			t.changes = append(t.changes, *e)
		} else {
			t.changes[t.head] = *e
			t.head = (t.head + 1) % MaxChanges
		}
	}
	return events
}

// keep adds a time, so often, to a bounded list.
func keep(times []time.Time, at time.Time, often int) []time.Time {
	often = min(often, maxTimes)
	if over := len(times) + often - maxTimes; over > 0 {
		times = slices.Delete(times, 0, over)
	}
	for range often {
		times = append(times, at)
	}
	return times
}

func word(state string) string { return orWord(state, "unknown") }

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Span writes a time the way people say it: "45 s", "12 min", "3 h", "2 d".
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// listOf returns the shared list of names, so that ports of one kind hold it once.
func (t *Tracker) listOf(names []string) *list {
	for _, l := range t.lists {
		if slices.Equal(l.names, names) {
			return l
		}
	}
	own := make([]string, len(names))
	for i, s := range names {
		own[i] = strings.Clone(s)
	}
	l := &list{names: own, sent: -1, received: -1}
	for i, name := range own {
		if c := CounterOf(name); c != nil && c.Trouble {
			l.trouble = append(l.trouble, i)
		}
	}
	for _, c := range carriers {
		i, a := slices.BinarySearch(own, c.sent)
		j, b := slices.BinarySearch(own, c.received)
		if a && b {
			l.sent, l.received, l.step = i, j, c.step
			break
		}
	}
	if len(t.lists) < maxLists { // a node that invents names does not fill memory
		t.lists = append(t.lists, l)
	}
	return l
}
