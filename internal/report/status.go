package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
)

// Status is the answer of weft status.
type Status struct {
	Name     string         `json:"name"`
	Source   string         `json:"source"`
	Nodes    int            `json:"nodes"`
	Answered int            `json:"answered"`
	Ports    int            `json:"ports"` // data ports
	PortsUp  int            `json:"ports_up"`
	Rates    []string       `json:"rates"` // of the data ports that are up, each once
	Layers   []string       `json:"layers"`
	GPUs     []string       `json:"gpus"` // "8 × NVIDIA H100"
	Counts   map[string]int `json:"counts"`
	Worst    []Fold         `json:"worst"` // the loudest findings
	More     int            `json:"more"`  // how many more there are
	Next     string         `json:"next"`
}

// worstShown is how many findings fit on one screen beside the rest.
const worstShown = 8

// StatusOf sums up a judged case.
func StatusOf(c *check.Case, r Findings) Status {
	s := Status{Name: c.Want.Name, Source: r.Source, Nodes: len(c.Nodes), Answered: len(c.Up()), Counts: r.Counts, Next: r.Next}
	for _, pa := range c.DataPorts() {
		s.Ports++
		if !pa.Port.Up() {
			continue
		}
		s.PortsUp++
		if rate, ok := pa.Port.Rate.Get(); ok && !slices.Contains(s.Rates, rate.String()) {
			s.Rates = append(s.Rates, rate.String())
		}
		if !slices.Contains(s.Layers, layer(pa.Port)) {
			s.Layers = append(s.Layers, layer(pa.Port))
		}
	}
	all := &fact.Node{}
	for _, n := range c.Nodes {
		all.GPUs = append(all.GPUs, n.GPUs...)
	}
	if list := gpuList(all); list != "" {
		s.GPUs = strings.Split(list, ", ")
	}
	for _, f := range FoldAll(r.Findings) {
		if !loud(f.Status) {
			continue
		}
		if len(s.Worst) < worstShown {
			s.Worst = append(s.Worst, f)
		} else {
			s.More++
		}
	}
	return s
}

// layer is what a port speaks, in one word.
func layer(p *fact.Port) string {
	switch {
	case p.IB():
		return "InfiniBand"
	case p.IWARP():
		return "iWARP"
	}
	return "RoCE"
}

// Text writes the screen.
func (s Status) Text(w io.Writer, o Options) error {
	var b strings.Builder
	name := s.Name
	if name == "" {
		name = s.Source
	}
	fmt.Fprintf(&b, "%s\n\n", name)
	fmt.Fprintf(&b, "  nodes  %d of %d answered\n", s.Answered, s.Nodes)
	ports := "none in use"
	if s.Ports > 0 {
		ports = fmt.Sprintf("%d of %d up", s.PortsUp, s.Ports)
		if len(s.Layers) > 0 {
			ports += ": " + strings.Join(s.Layers, ", ")
		}
		if len(s.Rates) > 0 {
			ports += ", " + strings.Join(s.Rates, ", ")
		}
	}
	fmt.Fprintf(&b, "  rdma   %s\n", ports)
	fmt.Fprintf(&b, "  gpus   %s\n", dash(strings.Join(s.GPUs, ", ")))
	fmt.Fprintf(&b, "  checks %s\n", counts(s.Counts))
	if len(s.Worst) > 0 {
		b.WriteString("\n")
	}
	width := 0
	for _, f := range s.Worst {
		width = max(width, len(f.Check))
	}
	for _, f := range s.Worst {
		text := f.Subjects + sentence(check.Finding{Got: f.Got, Want: f.Want, Why: shortWhy(f.Finding)})
		fmt.Fprintf(&b, "  %s  %-*s  %s\n", paint(o.Colour, f.Status), width, f.Check, wrap(clean(text), o.Width, 13+width))
	}
	if s.More > 0 {
		fmt.Fprintf(&b, "  … and %d more: weft check\n", s.More)
	}
	if s.Next != "" {
		fmt.Fprintf(&b, "\nnext:\n    %s\n", s.Next)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shortWhy keeps the why only where nothing else says what is wrong.
func shortWhy(f check.Finding) string {
	if f.Got != "" {
		return ""
	}
	return f.Why
}
