package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/unit"
)

// WatchLine writes one change as one line: when, how bad, what.
func WatchLine(w io.Writer, e history.Event, o Options) error {
	_, err := fmt.Fprintf(w, "%s  %s  %s\n", e.When.Format(time.RFC3339), PaintLevel(o.Colour, e.Level, 7), clean(strings.ReplaceAll(e.Text, "\n", " ")))
	return err
}

// PaintLevel spells a level, padded, and repeats it in colour where that is welcome.
func PaintLevel(colour bool, l history.Level, width int) string {
	var s check.Status
	if s.UnmarshalText([]byte(l)) != nil {
		return fmt.Sprintf("%-*s", width, clean(string(l)))
	}
	return paint(colour, s) + strings.Repeat(" ", max(0, width-7)) // paint pads to seven
}

// WatchText writes a moment whole: what is wrong first, then every port.
func WatchText(w io.Writer, l *history.Live, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", PaintLevel(o.Colour, l.Level, 0), clean(l.Summary))
	for _, n := range l.Nodes {
		if n.State != "answers" {
			fmt.Fprintf(&b, "%s  %s\n", PaintLevel(o.Colour, n.Level, 7), clean(nodeLine(n)))
		}
	}
	for _, n := range l.Nodes {
		for _, p := range n.Ports {
			if p.Level == history.Fail || p.Level == history.Warn {
				fmt.Fprintf(&b, "%s  %s\n", PaintLevel(o.Colour, p.Level, 7), clean(fmt.Sprintf("%s %s: %s", n.Name, p.Name, p.Why)))
			}
		}
	}
	for _, p := range l.Pings {
		if p.Level == history.Fail || p.Level == history.Warn {
			fmt.Fprintf(&b, "%s  %s\n", PaintLevel(o.Colour, p.Level, 7), clean(fmt.Sprintf("%s %s → %s %s: %s ping: %s", p.From, p.FromPort, p.To, p.ToPort, p.Kind, p.Why)))
		}
	}
	if l.Good != nil {
		for _, d := range l.Good.Drift {
			fmt.Fprintf(&b, "%s  %s\n", PaintLevel(o.Colour, d.Level, 7), clean(fmt.Sprintf("%s: %s was %s and is %s, since %s", strings.TrimSpace(d.Node+" "+d.Part), d.What, dash(d.From), dash(d.To), d.Since.Format(time.RFC3339))))
		}
	}
	if l.Checks != nil {
		for _, f := range l.Checks.Findings {
			fmt.Fprintf(&b, "%s  %s\n", PaintLevel(o.Colour, f.Level, 7), clean(fmt.Sprintf("%s  %s: %s", f.Check, orCluster(f.Node, f.Part), strings.Join(slices.DeleteFunc([]string{f.Got, f.Why}, func(s string) bool { return s == "" }), ": "))))
		}
		if l.Checks.Why != "" {
			fmt.Fprintf(&b, "%s  %s\n", PaintLevel(o.Colour, history.Unknown, 7), clean("weft check: "+l.Checks.Why))
		}
	}
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if err := Table(w, WatchPorts(l)); err != nil {
		return err
	}
	if rows := WatchPings(l); len(rows) > 1 {
		fmt.Fprintln(w)
		if err := Table(w, rows); err != nil {
			return err
		}
	}
	if rows := WatchGPUs(l); len(rows) > 1 {
		fmt.Fprintln(w)
		if err := Table(w, rows); err != nil {
			return err
		}
	}
	var tail strings.Builder
	tail.WriteString("\n")
	fmt.Fprintf(&tail, "pings: %s\n", dash(clean(l.PingPlan)))
	if l.Good != nil {
		fmt.Fprintf(&tail, "drift is counted from %s: %s\n", l.Good.When.Format(time.RFC3339), clean(l.Good.Why))
	}
	for _, s := range l.Said {
		fmt.Fprintf(&tail, "note: %s\n", clean(s))
	}
	_, err := io.WriteString(w, tail.String())
	return err
}

func orCluster(node, part string) string {
	if node == "" {
		return "cluster"
	}
	return strings.TrimSpace(node + " " + part)
}

func nodeLine(n history.LiveNode) string {
	s := n.Name + ": " + n.State
	if n.Why != "" {
		s += ": " + n.Why
	}
	return s
}

// WatchPorts is one row for each port.
func WatchPorts(l *history.Live) [][]string {
	rows := [][]string{{"NODE", "PORT", "STATE", "HEALTH", "RATE", "NETDEV", "MTU", "SENT", "RECEIVED", "USE", "FLAPS", "ERRORS", "NOTE"}}
	for _, n := range l.Nodes {
		if len(n.Ports) == 0 {
			rows = append(rows, []string{n.Name, "–", n.State, "", "", "", "", "", "", "", "", "", n.Why})
		}
		for _, p := range n.Ports {
			rows = append(rows, append([]string{n.Name}, PortRow(p)...))
		}
	}
	return rows
}

// PortRow is a port without its node: name, state, health, rate, netdev, MTU, sent,
// received, use, flaps, errors, note.
func PortRow(p history.LivePort) []string {
	use := "–"
	if u, ok := p.Use.Get(); ok {
		use = fmt.Sprintf("%.0f %%", 100*u)
	}
	mtu := ""
	if m, ok := p.MTU.Get(); ok {
		mtu = strconv.Itoa(m)
	}
	rate := ""
	if r, ok := p.Rate.Get(); ok {
		rate = r.String()
	}
	errors := ""
	if len(p.Trouble) > 0 {
		t := p.Trouble[0]
		if errors = fmt.Sprintf("%s %s", t.Name, PerSecond(t.Rate)); t.Rate == 0 {
			errors = fmt.Sprintf("%s +%d", t.Name, t.Grew)
		}
	}
	if n := len(p.Trouble); n > 1 {
		errors += fmt.Sprintf(" and %d more", n-1)
	}
	return []string{p.Name, dash(p.State), string(p.Health), dash(rate), dash(p.Netdev), dash(mtu), Flow(p.Sent), Flow(p.Received), use, strconv.Itoa(p.Flaps), dash(errors), p.Why}
}

// Flow writes bytes a second as the bits a second that ports are sold by.
func Flow(v fact.Val[float64]) string {
	f, ok := v.Get()
	if !ok {
		return "–"
	}
	return unit.Rate(8 * f).String()
}

// PerSecond writes how often something happens.
func PerSecond(f float64) string {
	switch {
	case f >= 1e9:
		return fmt.Sprintf("%.2fG/s", f/1e9)
	case f >= 1e6:
		return fmt.Sprintf("%.2fM/s", f/1e6)
	case f >= 1e3:
		return fmt.Sprintf("%.2fk/s", f/1e3)
	case f == 0:
		return "0/s"
	}
	return fmt.Sprintf("%.3g/s", f)
}

// WatchPings is one row for each pair and kind.
func WatchPings(l *history.Live) [][]string {
	rows := [][]string{{"PING", "FROM", "TO", "LATENCY", "P99", "USUAL", "LOST", "AGE", "NOTE"}}
	micros := func(v fact.Val[float64]) string {
		if f, ok := v.Get(); ok {
			return history.Micros(f)
		}
		return "–"
	}
	for _, p := range l.Pings {
		rows = append(rows, []string{p.Kind, p.From + " " + p.FromPort, p.To + " " + p.ToPort, micros(p.Latency), micros(p.P99), micros(p.Usual),
			fmt.Sprintf("%.0f %% of %d", 100*p.Loss, p.Tries), history.Span(time.Duration(p.Age * float64(time.Second))), p.Why})
	}
	return rows
}

// WatchGPUs is one row for each GPU.
func WatchGPUs(l *history.Live) [][]string {
	rows := [][]string{{"NODE", "GPU", "NAME", "USE", "MEMORY", "POWER", "TEMP", "CLOCK", "NOTE"}}
	for _, n := range l.Nodes {
		for _, g := range n.GPUs {
			rows = append(rows, append([]string{n.Name}, GPURow(g)...))
		}
	}
	return rows
}

// GPURow is a GPU without its node.
func GPURow(g history.LiveGPU) []string {
	word := func(v fact.Val[float64], format string, scale float64) string {
		f, ok := v.Get()
		if !ok {
			return "–"
		}
		return fmt.Sprintf(format, f*scale)
	}
	memory := "–"
	if m, ok := g.Memory.Get(); ok {
		memory = m.String()
		if u, ok := g.MemoryUse.Get(); ok {
			memory = u.String() + " of " + memory
		}
	}
	return []string{fmt.Sprintf("%d %s", g.Index, g.BDF), dash(g.Name), word(g.Use, "%.0f %%", 100), memory, word(g.Power, "%.0f W", 1), word(g.Temp, "%.0f °C", 1), word(g.Clock, "%.0f MHz", 1e-6), g.Why}
}
