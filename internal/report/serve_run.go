package report

import (
	"fmt"
	"io"
	"strings"

	"weft/internal/format/englog"
	"weft/internal/job"
	"weft/internal/transport"
)

// ServeHead writes what is served, how, and what was foreseen.
func ServeHead(b *strings.Builder, l *job.Launch) { serveHead(b, l) }

// ServeBarred is a launch that was not started, because something stands in the way.
type ServeBarred struct {
	*job.Launch
	Bars     []job.Bar `json:"bars"`
	Accepted []job.Bar `json:"accepted,omitempty"`
	Accept   string    `json:"accept"` // the command that accepts what may be
	Next     string    `json:"next"`
}

// Text writes it for a person.
func (s ServeBarred) Text(w io.Writer, o Options) error {
	var b strings.Builder
	serveHead(&b, s.Launch)
	bars(&b, o, s.Bars, s.Accepted)
	b.WriteString("\nnothing was started; next:\n    " + clean(s.Next) + "\n")
	if s.Accept != s.Next && len(job.Acceptable(s.Bars)) > 0 {
		b.WriteString("what may be accepted, by name:\n    " + clean(s.Accept) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Served is what became of a launch.
type Served struct {
	*job.Launch
	OK       bool          `json:"ok"`
	Started  float64       `json:"-"`
	Seconds  float64       `json:"seconds"`
	Proof    *ServeProof   `json:"proof,omitempty"`
	Noticed  []Noticed     `json:"noticed,omitempty"`
	Failure  *ServeFailure `json:"failure,omitempty"`
	Down     []ServeDown   `json:"down,omitempty"`
	Kept     bool          `json:"kept,omitempty"` // what failed was left for a look
	LogFile  string        `json:"log_file,omitempty"`
	Accepted []job.Bar     `json:"accepted,omitempty"`
	Next     string        `json:"next"`
}

// ServeProof is what shows whether RDMA carries the model.
type ServeProof struct {
	Expected bool               `json:"expected"`
	RDMA     bool               `json:"rdma"`
	Log      *transport.Verdict `json:"nccl,omitempty"`
	Counters *job.Carried       `json:"counters,omitempty"`
	Tokens   int                `json:"tokens"`
	Seconds  float64            `json:"seconds"`
	Says     []string           `json:"says,omitempty"`
}

// Noticed is a line of a part that means something.
type Noticed struct {
	Node string `json:"node"`
	Part string `json:"part"`
	englog.Event
}

// ServeFailure is why a launch did not become a service.
type ServeFailure struct {
	ID   string   `json:"id"`
	Node string   `json:"node,omitempty"`
	Part string   `json:"part,omitempty"`
	What string   `json:"what"`
	Why  string   `json:"why,omitempty"`
	Do   string   `json:"do,omitempty"`
	Line string   `json:"line,omitempty"`
	Last []string `json:"last,omitempty"`
	Also []string `json:"also,omitempty"`
}

// ServeDown is what became of a node when a launch was taken away.
type ServeDown struct {
	Node    string   `json:"node"`
	Stopped []string `json:"stopped,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Left    []string `json:"left,omitempty"`
	Failed  string   `json:"failed,omitempty"`
}

// Text writes it for a person.
func (s Served) Text(w io.Writer, o Options) error {
	var b strings.Builder
	if s.Failure != nil {
		s.failed(&b)
	} else {
		serveHead(&b, s.Launch)
		fmt.Fprintf(&b, "\nit serves after %.0f s\n", s.Seconds)
		if s.Proof != nil {
			s.Proof.text(&b)
		}
		for _, n := range s.Noticed {
			fmt.Fprintf(&b, "%-7s %s: %s: %s\n", n.Kind, clean(n.Node), clean(n.What), clean(n.Why))
		}
	}
	if s.Next != "" {
		b.WriteString("next:\n    " + clean(s.Next) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// failed says what happened, why, what to do, and what is left.
func (s Served) failed(b *strings.Builder) {
	f := s.Failure
	at := clean(f.Node)
	if f.Part != "" {
		at += " " + clean(f.Part)
	}
	fmt.Fprintf(b, "fail  %s  %s: %s\n", f.ID, at, clean(f.What))
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "      %-4s %s\n", name, clean(text))
		}
	}
	row("why", f.Why)
	row("do", f.Do)
	for _, x := range f.Also {
		row("also", x)
	}
	row("line", f.Line)
	if len(f.Last) > 0 {
		const most = 8
		fmt.Fprintf(b, "\nits last lines\n")
		for _, line := range f.Last[max(0, len(f.Last)-most):] {
			fmt.Fprintf(b, "  %s\n", shorten(clean(line), 200))
		}
	}
	b.WriteString("\n")
	if s.LogFile != "" {
		fmt.Fprintf(b, "more of what was said: %s\n", clean(s.LogFile))
	}
	if s.Kept {
		b.WriteString("what was started is left for a look\n")
		return
	}
	gone(b, s.Down)
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// gone says what became of nodes; when all is well, in one line.
func gone(b *strings.Builder, all []ServeDown) {
	clean1 := true
	for _, d := range all {
		if d.Failed != "" {
			fmt.Fprintf(b, "fail  %s could not be asked: %s\n", clean(d.Node), clean(d.Failed))
			clean1 = false
		}
		for _, x := range d.Left {
			fmt.Fprintf(b, "left  %s: %s\n", clean(d.Node), clean(x))
			clean1 = false
		}
	}
	if clean1 && len(all) > 0 {
		parts, files := 0, 0
		for _, d := range all {
			parts += len(d.Stopped)
			files += len(d.Removed)
		}
		fmt.Fprintf(b, "nothing is left on %s: %s stopped, %s removed\n", plural(len(all), "node"), plural(parts, "part"), plural(files, "file"))
	}
}

// text says what carried the tokens.
func (p ServeProof) text(b *strings.Builder) {
	word := "pass"
	switch {
	case !p.Expected:
		word = "skip"
	case !p.RDMA:
		word = "fail"
	}
	fmt.Fprintf(b, "%s  RDMA carries it: ", word)
	switch {
	case p.RDMA:
		b.WriteString("yes")
	case p.Expected:
		b.WriteString("no")
	default:
		b.WriteString("not expected")
	}
	b.WriteString("\n")
	if p.Log != nil {
		fmt.Fprintf(b, "      NCCL's log: between nodes %s", dash(clean(p.Log.Between)))
		if p.Log.Direct != "" {
			fmt.Fprintf(b, ", GPUDirect %s", p.Log.Direct)
		}
		b.WriteString("\n")
		for _, f := range p.Log.Findings {
			if s := f.Status.String(); s == "fail" || s == "warn" {
				fmt.Fprintf(b, "      %s %s: %s: %s\n", s, f.ID, clean(f.Got), clean(f.Why))
			}
		}
	}
	if p.Counters != nil {
		fmt.Fprintf(b, "      counters: %s (%d tokens in %.1f s)\n", clean(p.Counters.Why), p.Tokens, p.Seconds)
		for _, n := range p.Counters.Nodes {
			for _, m := range n.RDMA {
				unit := "bytes"
				if m.Packets {
					unit = "packets"
				}
				fmt.Fprintf(b, "      %s %s: %d %s sent, %d received\n", clean(n.Node), clean(m.Port), m.Sent, unit, m.Received)
			}
		}
	}
	for _, x := range p.Says {
		fmt.Fprintf(b, "      %s\n", clean(x))
	}
}

// ServeGone is the answer of weft serve down.
type ServeGone struct {
	Name string      `json:"name"`
	Down []ServeDown `json:"down"`
	Next string      `json:"next,omitempty"`
}

// Text writes it for a person.
func (s ServeGone) Text(w io.Writer, o Options) error {
	var b strings.Builder
	gone(&b, s.Down)
	if s.Next != "" {
		b.WriteString("next:\n    " + clean(s.Next) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ServeStatus is the answer of weft serve status.
type ServeStatus struct {
	*job.Launch
	Parts  []ServePart `json:"parts"`
	Ray    string      `json:"ray,omitempty"`
	RayOK  bool        `json:"ray_ok"`
	Health string      `json:"health"`
	Serves bool        `json:"serves"`
	Next   string      `json:"next"`
}

// ServePart is one part of it.
type ServePart struct {
	Node     string         `json:"node"`
	Part     string         `json:"part"`
	Role     string         `json:"role"`
	Active   string         `json:"active"`
	Sub      string         `json:"sub,omitempty"`
	Restarts int            `json:"restarts"`
	Exit     int            `json:"exit"`
	Gone     bool           `json:"gone,omitempty"`
	Why      string         `json:"why,omitempty"`
	Said     string         `json:"said,omitempty"`
	Bad      []englog.Event `json:"bad,omitempty"`
}

func (p ServePart) state() string {
	switch {
	case p.Why != "":
		return "unknown"
	case p.Gone:
		return "gone"
	}
	s := p.Active
	if p.Sub != "" && p.Sub != "running" && p.Sub != p.Active {
		s += " (" + p.Sub + ")"
	}
	if p.Active == "failed" {
		s += fmt.Sprintf(", status %d", p.Exit)
	}
	return s
}

// Text writes it for a person.
func (s ServeStatus) Text(w io.Writer, o Options) error {
	var b strings.Builder
	word := "does not serve"
	if s.Serves {
		word = "serves"
	}
	fmt.Fprintf(&b, "%s %s %s on %s: %s\n\n", clean(s.Name), word, clean(s.Model), clean(s.Addr), clean(s.Health))
	rows := [][]string{{"NODE", "PART", "STATE", "RESTARTS", "SAID"}}
	for _, p := range s.Parts {
		rows = append(rows, []string{p.Node, p.Role, p.state(), fmt.Sprint(p.Restarts), shorten(p.Said, 60)})
	}
	if err := Table(&b, rows); err != nil {
		return err
	}
	if s.Ray != "" {
		fmt.Fprintf(&b, "\n%s\n", clean(s.Ray))
	}
	for _, p := range s.Parts {
		if p.Why != "" {
			fmt.Fprintf(&b, "\nunknown  %s: %s\n", clean(p.Node), clean(p.Why))
		}
		if e, ok := englog.Worst(p.Bad); ok {
			fmt.Fprintf(&b, "\nfail  %s  %s %s: %s\n      why  %s\n      do   %s\n", e.ID, clean(p.Node), clean(p.Role), clean(e.What), clean(e.Why), clean(e.Do))
		}
	}
	b.WriteString("\nnext:\n    " + clean(s.Next) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}
