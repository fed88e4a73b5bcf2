package watch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/exec"
	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/report"
)

// The views. nodes, ports and counters lie under each other; tab goes to the others.
const (
	viewNodes = iota
	viewPings
	viewGPUs
	viewChecks
	viewDrift
	viewChanges
	views
	viewPorts    // of a node
	viewCounters // of a port
)

var viewNames = map[int]string{viewNodes: "nodes", viewPings: "pings", viewGPUs: "GPUs", viewChecks: "checks", viewDrift: "drift", viewChanges: "changes"}

// model is the screen: what is looked at, and where the person is.
type model struct {
	live   func() *history.Live
	now    *history.Live
	colour bool

	view       int
	node, port string
	at         map[string]int // the chosen row of every place
	filter     map[string]string
	typing     bool
	all        bool // counters that stand still, too
	wide, high int
	end        end
}

// end is how a screen was ended.
type end int

const (
	not end = iota
	quit
	interrupted
)

func newModel(live func() *history.Live, colour bool) *model {
	return &model{live: live, now: live(), colour: colour, at: map[string]int{}, filter: map[string]string{}}
}

// place is where the person is, as a key.
func (m *model) place() string { return fmt.Sprint(m.view, "/", m.node, "/", m.port) }

// key does what a key says.
func (m *model) key(word string) {
	if m.typing {
		m.letter(word)
		return
	}
	place := m.place()
	rows := len(m.table().rows)
	page := max(1, m.high-6)
	move := func(by int) { m.at[place] = max(0, min(rows-1, m.at[place]+by)) }
	switch word {
	case "q":
		m.end = quit
	case "ctrl+c":
		m.end = interrupted
	case "up", "k":
		move(-1)
	case "down", "j":
		move(1)
	case "pgup", "ctrl+b":
		move(-page)
	case "pgdown", "ctrl+f", " ":
		move(page)
	case "home", "g":
		move(-rows)
	case "end", "G":
		move(rows)
	case "/":
		m.typing = true
	case "a":
		m.all = !m.all
	case "tab", "shift+tab":
		by := 1
		if word != "tab" {
			by = views - 1
		}
		if m.view >= views {
			m.view = viewNodes
		}
		m.view, m.node, m.port = (m.view+by)%views, "", ""
	case "esc", "backspace", "left", "h":
		switch {
		case word == "esc" && m.filter[place] != "":
			m.filter[place] = ""
		case m.view == viewCounters:
			m.view, m.port = viewPorts, ""
		default:
			m.view, m.node = viewNodes, ""
		}
	case "enter", "right", "l":
		m.open()
	}
}

// letter is a key while a filter is typed.
func (m *model) letter(word string) {
	place := m.place()
	f := m.filter[place]
	switch word {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, f = false, ""
	case "ctrl+c":
		m.end = interrupted
	case "backspace":
		if r := []rune(f); len(r) > 0 {
			f = string(r[:len(r)-1])
		}
	default:
		if len([]rune(word)) == 1 && len(f) < 64 {
			f += word
		}
	}
	m.filter[place], m.at[place] = f, 0
}

// open goes into the chosen row: from a node to its ports, from a port to its counters.
func (m *model) open() {
	t, i := m.table(), m.at[m.place()]
	if i >= len(t.rows) || t.rows[i].key == "" {
		return
	}
	switch m.view {
	case viewNodes:
		m.view, m.node = viewPorts, t.rows[i].key
	case viewPorts:
		m.view, m.port = viewCounters, t.rows[i].key
	}
}

// row is one line of a table: its cells, how bad it is, and what it is about.
type row struct {
	level history.Level
	key   string
	cells []string
}

// table is what a view shows.
type table struct {
	title string
	head  []string
	rows  []row
}

// table makes the rows of where the person is, filtered.
func (m *model) table() table {
	var t table
	l := m.now
	switch m.view {
	case viewNodes:
		t = nodesTable(l)
	case viewPorts:
		t = portsTable(l, m.node)
	case viewCounters:
		t = countersTable(l, m.node, m.port, m.all)
	case viewPings:
		t.title = "pings: " + l.PingPlan
		t.fill(report.WatchPings(l), func(i int) history.Level { return l.Pings[i].Level })
	case viewGPUs:
		t.title = "GPUs"
		var levels []history.Level
		for _, n := range l.Nodes {
			for _, g := range n.GPUs {
				levels = append(levels, g.Level)
			}
		}
		t.fill(report.WatchGPUs(l), func(i int) history.Level { return levels[i] })
	case viewChecks:
		t = checksTable(l)
	case viewDrift:
		t = driftTable(l)
	case viewChanges:
		t = table{title: "changes, newest first", head: []string{"WHEN", "WHAT"}}
		for _, e := range l.Changes {
			t.rows = append(t.rows, row{e.Level, "", []string{e.When.Format("01-02 15:04:05"), e.Text}})
		}
	}
	if f := strings.ToLower(m.filter[m.place()]); f != "" {
		t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
			return !strings.Contains(strings.ToLower(string(r.level)+" "+strings.Join(r.cells, " ")), f)
		})
	}
	return t
}

// fill takes rows that report made; the first is the heading.
func (t *table) fill(rows [][]string, level func(i int) history.Level) {
	t.head = rows[0]
	for i, cells := range rows[1:] {
		t.rows = append(t.rows, row{level(i), "", cells})
	}
}

func nodesTable(l *history.Live) table {
	t := table{title: "nodes", head: []string{"NODE", "STATE", "PORTS UP", "SENT", "RECEIVED", "FLAPS", "ERRORS", "GPUS", "DRIFT", "NOTE"}}
	for _, n := range l.Nodes {
		up, flaps, errors := 0, 0, 0
		var sent, received float64
		note := n.Why
		for _, p := range n.Ports {
			if p.State == "ACTIVE" {
				up++
			}
			flaps += p.Flaps
			sent, received = sent+p.Sent.Or(0), received+p.Received.Or(0)
			for _, x := range p.Trouble {
				if x.Level == history.Fail {
					errors++
				}
			}
			if note == "" && (p.Level == history.Fail || p.Level == history.Warn) {
				note = p.Name + ": " + p.Why
			}
		}
		t.rows = append(t.rows, row{n.Level, n.Name, []string{n.Name, n.State, fmt.Sprintf("%d/%d", up, len(n.Ports)), report.Flow(fact.Some(sent)), report.Flow(fact.Some(received)),
			strconv.Itoa(flaps), strconv.Itoa(errors), strconv.Itoa(len(n.GPUs)), strconv.Itoa(len(n.Drift)), note}})
	}
	return t
}

func nodeOf(l *history.Live, name string) *history.LiveNode {
	for i := range l.Nodes {
		if l.Nodes[i].Name == name {
			return &l.Nodes[i]
		}
	}
	return nil
}

func portsTable(l *history.Live, node string) table {
	t := table{title: node, head: []string{"PORT", "STATE", "HEALTH", "RATE", "NETDEV", "MTU", "SENT", "RECEIVED", "USE", "FLAPS", "ERRORS", "NOTE"}}
	n := nodeOf(l, node)
	if n == nil {
		return t
	}
	for _, p := range n.Ports {
		t.rows = append(t.rows, row{p.Level, p.Name, report.PortRow(p)})
	}
	return t
}

func countersTable(l *history.Live, node, port string, all bool) table {
	t := table{title: node + " " + port, head: []string{"COUNTER", "VALUE", "RATE", "NOTE"}}
	n := nodeOf(l, node)
	if n == nil {
		return t
	}
	i := slices.IndexFunc(n.Ports, func(p history.LivePort) bool { return p.Name == port })
	if i < 0 {
		return t
	}
	p := n.Ports[i]
	trouble := map[string]history.LiveTrouble{}
	for _, x := range p.Trouble {
		trouble[x.Name] = x
	}
	still := 0
	for _, c := range p.Counters {
		r, known := c.Rate.Get()
		x, bad := trouble[c.Name]
		if !all && !bad && (!known || r == 0) && c.Value == 0 {
			still++
			continue
		}
		rate, level, note := "–", history.Pass, ""
		if known {
			rate = report.PerSecond(r)
		}
		if bad {
			level, note = x.Level, x.Why
		} else if d := history.CounterOf(c.Name); d != nil {
			note = d.Help
		}
		t.rows = append(t.rows, row{level, "", []string{c.Name, strconv.FormatUint(c.Value, 10), rate, note}})
	}
	if still > 0 {
		t.title += fmt.Sprintf(" (%d that are zero: press a)", still)
	}
	return t
}

func checksTable(l *history.Live) table {
	t := table{title: "checks", head: []string{"CHECK", "SUBJECT", "GOT", "WANT", "WHY"}}
	if l.Checks == nil {
		t.title = "checks: none yet"
		return t
	}
	t.title = fmt.Sprintf("checks of %s ago", history.Span(time.Duration(l.Checks.Age*float64(time.Second))))
	if l.Checks.Why != "" {
		t.title += "; no newer ones: " + l.Checks.Why
	}
	for _, f := range l.Checks.Findings {
		t.rows = append(t.rows, row{f.Level, "", []string{f.Check, strings.TrimSpace(f.Node + " " + f.Part), f.Got, f.Want, f.Why}})
	}
	return t
}

func driftTable(l *history.Live) table {
	t := table{title: "drift: no good state yet", head: []string{"NODE", "PART", "WHAT", "WAS", "IS", "SINCE"}}
	if l.Good == nil {
		return t
	}
	t.title = fmt.Sprintf("drift since %s: %s", l.Good.When.Format("2006-01-02 15:04"), l.Good.Why)
	for _, d := range l.Good.Drift {
		t.rows = append(t.rows, row{d.Level, "", []string{d.Node, d.Part, d.What, d.From, d.To, d.Since.Format("01-02 15:04:05")}})
	}
	return t
}

// View draws the screen.
func (m *model) View() string {
	l, t := m.now, m.table()
	var b strings.Builder
	head := fmt.Sprintf("weft watch  %s  %s", l.When.Format("15:04:05"), l.Summary)
	b.WriteString(report.PaintLevel(m.colour, l.Level, 0) + "  " + cut(head, m.wide-9) + "\n")
	var tabs []string
	for v := range views {
		name := viewNames[v]
		if v == m.view || v == viewNodes && m.view > views {
			name = "[" + name + "]"
		}
		tabs = append(tabs, name)
	}
	b.WriteString(cut(strings.Join(tabs, " ")+"   "+t.title, m.wide) + "\n\n")
	m.body(&b, t)
	b.WriteString(m.foot())
	return b.String()
}

// body draws the table around the chosen row.
func (m *model) body(b *strings.Builder, t table) {
	room := max(1, m.high-6)
	at := min(m.at[m.place()], max(0, len(t.rows)-1))
	from := max(0, min(at-room/2, len(t.rows)-room))
	shown := t.rows[from:min(len(t.rows), from+room)]
	widths := make([]int, len(t.head))
	measure := func(cells []string) {
		for i, c := range cells {
			if i < len(widths) {
				widths[i] = max(widths[i], min(width(exec.Sanitise(c)), 48))
			}
		}
	}
	measure(t.head)
	for _, r := range shown {
		measure(r.cells)
	}
	line := func(cells []string) string {
		var s strings.Builder
		for i, c := range cells {
			if i >= len(widths) {
				break
			}
			c = exec.Sanitise(strings.ReplaceAll(c, "\n", " "))
			if i < len(cells)-1 {
				c = cut(c, widths[i])
				c += strings.Repeat(" ", widths[i]-width(c)+2)
			}
			s.WriteString(c)
		}
		return s.String()
	}
	b.WriteString(cut("  "+fmt.Sprintf("%-8s", "")+line(t.head), m.wide) + "\n")
	for i, r := range shown {
		mark := "  "
		if from+i == at {
			mark = "> "
		}
		text := cut(line(r.cells), max(0, m.wide-10))
		if from+i == at && m.colour {
			text = "\x1b[1m" + text + "\x1b[0m"
		}
		b.WriteString(mark + report.PaintLevel(m.colour, r.level, 8) + text + "\n")
	}
	if len(t.rows) == 0 {
		b.WriteString("  nothing to show\n")
		shown = make([]row, 1)
	}
	b.WriteString(strings.Repeat("\n", max(0, room-len(shown))))
}

// foot says the keys.
func (m *model) foot() string {
	if f := m.filter[m.place()]; m.typing || f != "" {
		hint := "esc clears"
		if m.typing {
			hint = "enter keeps, esc clears"
		}
		return cut("/"+f+"   ("+hint+")", m.wide)
	}
	keys := "↑↓ choose  enter opens  esc back  tab next view  / filter  q quit"
	if m.view == viewCounters {
		keys = "↑↓ choose  esc back  a all counters  / filter  q quit"
	}
	return cut(keys, m.wide)
}

// width counts characters; a terminal that draws some of them wide cuts the line itself.
func width(s string) int { return len([]rune(s)) }

func cut(s string, most int) string {
	s = exec.Sanitise(s)
	r := []rune(s)
	switch {
	case most <= 0:
		return ""
	case len(r) > most:
		return string(r[:most-1]) + "…"
	}
	return s
}
