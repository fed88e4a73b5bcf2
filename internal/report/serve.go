package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"weft/internal/job"
)

// ServePlan is a launch that is only shown.
type ServePlan struct {
	*job.Launch
	Bars     []job.Bar `json:"bars"`
	Accepted []job.Bar `json:"accepted,omitempty"`
	Next     string    `json:"next"`
}

// Text writes everything out: layout, files, commands and their order.
func (s ServePlan) Text(w io.Writer, o Options) error {
	var b strings.Builder
	s.head(&b)
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "\n=== %s  %s, %s\n", clean(n.Node), n.Addr, plural(n.GPUs, "rank"))
		for _, f := range n.Files {
			fmt.Fprintf(&b, "\n--- %s  (mode %04o)\n", clean(f.Path), f.Mode)
			if f.Secret {
				fmt.Fprintf(&b, "(not shown: %s, from the file that you name)\n", strings.Join(s.Secrets, ", "))
				continue
			}
			b.WriteString(clean(strings.TrimRight(f.Text, "\n")) + "\n")
		}
		for _, p := range n.Parts {
			fmt.Fprintf(&b, "\n--- %s: %s\n    %s\n", clean(p.Role), "started with", clean(p.Start))
		}
	}
	b.WriteString("\norder\n")
	for i, x := range s.Order {
		at := "every node"
		if x.Node != "" {
			at = clean(x.Node)
		}
		fmt.Fprintf(&b, "%3d  %s: ", i+1, at)
		if x.Wait != nil {
			fmt.Fprintf(&b, "wait until %s, %s at most\n", clean(x.What), shortly(x.Wait.Within))
			continue
		}
		b.WriteString(clean(x.What) + "\n")
	}
	bars(&b, o, s.Bars, s.Accepted)
	b.WriteString("\nnothing was started")
	if s.Next != "" {
		b.WriteString("; next:\n    " + clean(s.Next))
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

// head is what is served, how, and what was foreseen.
func (s ServePlan) head(b *strings.Builder) { serveHead(b, s.Launch) }

func serveHead(b *strings.Builder, l *job.Launch) {
	with := l.Engine
	switch l.Executor {
	case "ray":
		with += " and Ray"
	case "own":
		with += ", its own executor"
	}
	fmt.Fprintf(b, "%s with %s on %s\n\n", clean(l.Model), with, plural(len(l.Nodes), "node"))
	var at []string
	for _, r := range l.Fit.Ranks {
		at = append(at, fmt.Sprintf("%s (%s)", clean(r.Node), plural(r.Count, "GPU")))
	}
	row := func(name, text string) { fmt.Fprintf(b, "%-9s %s\n", name, text) }
	row("layout", fmt.Sprintf("tp %d × pp %d over %s", l.Fit.TP, l.Fit.PP, strings.Join(at, ", ")))
	fits := fmt.Sprintf("%d tokens of context", l.Fit.Context)
	if l.Fit.Seqs > 0 {
		fits += fmt.Sprintf(", %s at once", plural(l.Fit.Seqs, "sequence"))
	}
	if l.Fit.Eager {
		fits += ", eager"
	} else {
		fits += ", graphs"
	}
	if l.Fit.Part > 0 {
		fits += fmt.Sprintf(", %.0f %% of a GPU's memory", 100*l.Fit.Part)
	}
	row("fits", fits)
	if needs := l.Fit.Needs(); needs != "" {
		row("memory", fmt.Sprintf("%s: %s", clean(l.Fit.Memory.Rank), needs))
		row("foreseen", fmt.Sprintf("%.1f tokens/s for one sequence (%.1f to %.1f), limited by %s", l.Fit.Each, l.Fit.Low, l.Fit.High, l.Fit.Limit))
	}
	how := l.Bare
	if l.Image != "" {
		how = fmt.Sprintf("%s in %s", clean(l.Image), l.Runtime)
	}
	row("runs", how+", "+map[string]string{"systemd": "as systemd services", "quadlet": "as quadlets", "run": "without systemd"}[l.Units])
	row("clients", "http://"+clean(l.Addr)+"/v1")
	for _, x := range l.Says {
		row("note", clean(x))
	}
}

// bars lists what stands in the way, folded by name.
func bars(b *strings.Builder, o Options, open, accepted []job.Bar) {
	if len(open) > 0 {
		b.WriteString("\nin the way\n")
		folded(b, open)
	}
	if len(accepted) > 0 {
		b.WriteString("\naccepted\n")
		folded(b, accepted)
	}
}

func folded(b *strings.Builder, all []job.Bar) {
	const most = 20
	for i, x := range all {
		if i == most {
			fmt.Fprintf(b, "  … and %d more\n", len(all)-most)
			return
		}
		at := ""
		if x.Node != "" && !strings.HasPrefix(x.What, x.Node) {
			at = clean(x.Node) + ": "
		}
		fmt.Fprintf(b, "  %-14s %s%s", x.Name, at, clean(x.What))
		if x.Why != "" {
			b.WriteString(": " + clean(x.Why))
		}
		b.WriteString("\n")
		if x.Next != "" {
			fmt.Fprintf(b, "  %-14s     %s\n", "", clean(x.Next))
		}
	}
}

// shortly writes a duration without what is zero: "2m", "40m".
func shortly(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
