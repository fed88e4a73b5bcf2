package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"weft/internal/forecast"
	"weft/internal/why"
)

// Why is the answer of weft why.
type Why struct {
	Model   forecast.Model  `json:"model"`
	Format  forecast.Format `json:"format"`
	Engine  forecast.Engine `json:"engine"`
	Nodes   []forecast.Node `json:"nodes"`
	Batch   int             `json:"batch"`
	Context int             `json:"context"`
	Spec    forecast.Spec   `json:"speculation"`
	why.Answer
	Says []string `json:"says"` // what was taken from where, and what was assumed
	Next string   `json:"next"`
}

// title is what ran.
func (r Why) title() string {
	s := fmt.Sprintf("%s in %s on %s, %s, %s", clean(r.Model.Name), r.Format.Name, hardwareWords(r.Nodes), r.Engine.Name, layoutWords(forecast.Layout{TP: r.Layout.TP, PP: r.Layout.PP, Layers: r.Layout.Layers, Replicas: 1}))
	if len(r.Nodes) > 1 && r.Layout.TP*r.Layout.PP > 1 {
		s += ", " + r.Fabric.String()
	}
	return s
}

func (r Why) ms(ms forecast.Ms) string { return fmt.Sprintf("%.*f ms", r.Digits, ms) }

// Text writes it for a person.
func (r Why) Text(w io.Writer, o Options) error {
	var b strings.Builder
	b.WriteString(r.title() + "\n")
	what := "token"
	if r.Spec.On() {
		what = fmt.Sprintf("step of %.2f tokens", r.Tokens)
	} else if r.Batch > 1 {
		what = "step"
	}
	fmt.Fprintf(&b, "%s tokens/s measured: %s a %s\n", perSecond(r.Measured), r.ms(r.Step), what)
	for _, s := range r.Verdict {
		fmt.Fprintf(&b, "%s\n", clean(s))
	}
	r.waterfall(&b, what, o)
	r.causes(&b)
	r.suspects(&b)
	r.changes(&b)
	b.WriteString("\n")
	for _, s := range r.Says {
		fmt.Fprintf(&b, "%s\n", clean(s))
	}
	if r.Next != "" {
		fmt.Fprintf(&b, "next:\n    %s\n", clean(r.Next))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// span is where a bar begins and ends, in parts of the whole width.
type span struct{ from, to float64 }

// spans places the bars behind each other. What was quicker than forecast goes back.
func (r Why) spans() (list []span) {
	at, top := 0.0, float64(r.Step)
	for _, p := range r.Parts {
		at += float64(p.Ms)
		top = max(top, at)
	}
	at = 0
	for _, p := range r.Parts {
		next := at + float64(p.Ms)
		list = append(list, span{max(0, min(at, next)) / top, max(0, max(at, next)) / top})
		at = next
	}
	return list
}

// waterfall draws the parts.
func (r Why) waterfall(b *strings.Builder, what string, o Options) {
	width := 30
	if o.Width > 120 {
		width = 44
	}
	rows := [][]string{{"one " + what, "ms", "", "rests on", "what"}}
	for i, s := range r.spans() {
		p := r.Parts[i]
		if p.Ms == 0 && p.Kind == why.Token {
			continue
		}
		rests := p.Basis
		if rests == "" {
			rests = "–"
		}
		text := p.Why
		if p.From != "" && p.Kind == why.Token && (p.Basis != why.Fitted || p.Name == "sync" || p.Name == "hops") {
			text += "; " + p.From
		}
		rows = append(rows, []string{"  " + p.Name, fmt.Sprintf("%8.*f", r.Digits, p.Ms), bar(s, width, p), rests, text})
	}
	rows = append(rows, []string{"  measured", fmt.Sprintf("%8.*f", r.Digits, r.Step)})
	b.WriteString("\n")
	_ = Table(b, rows) // a Builder takes everything
}

// bar draws a span in cells: full ones for what every token takes, shaded ones for what
// is wrong, light ones for what is unexplained, so that it reads without colour.
func bar(s span, width int, p why.Part) string {
	from, to := int(math.Round(s.from*float64(width))), int(math.Round(s.to*float64(width)))
	if to == from && p.Ms != 0 {
		if from == width {
			from--
		}
		return strings.Repeat(" ", from) + "▏"
	}
	cell := map[string]string{why.Token: "█", why.Wrong: "▓", why.Unexplained: "░"}[p.Kind]
	return strings.Repeat(" ", from) + strings.Repeat(cell, to-from)
}

// causes are what is wrong.
func (r Why) causes(b *strings.Builder) {
	if len(r.Causes) == 0 {
		return
	}
	b.WriteString("\nset up wrongly\n")
	for _, c := range r.Causes {
		cost := r.ms(c.Ms) + ": "
		if c.Ms == 0 {
			cost = "" // how it is said tells: nothing, counted above, not quantified
		}
		where := ""
		if c.On != "" {
			where = " on " + clean(c.On)
		}
		fmt.Fprintf(b, "  %-8s %s%s: %s\n           %s%s\n", c.Status, clean(c.Check), where, clean(c.Got), cost, clean(c.How))
		if len(c.Fix) > 0 {
			fmt.Fprintf(b, "           fix: %s\n", clean(c.Fix[0]))
		}
	}
}

func (r Why) suspects(b *strings.Builder) {
	if len(r.Suspects) == 0 {
		return
	}
	b.WriteString("\nwould explain what is left, if it were so\n")
	for _, s := range r.Suspects {
		fmt.Fprintf(b, "  %s: %s more; look at %s\n", clean(s.What), r.ms(s.Ms), clean(s.Look))
	}
}

// changes are what would help, and what would not.
func (r Why) changes(b *strings.Builder) {
	for _, group := range []struct{ effect, head string }{
		{why.Quicker, "would make it quicker, each alone"}, {why.Same, "would make no difference"}, {why.Slower, "would make it slower"},
	} {
		var rows [][]string
		for _, c := range r.Changes {
			if c.Effect != group.effect {
				continue
			}
			rows = append(rows, []string{"  " + c.What, perSecond(c.Rate) + " tokens/s", fmt.Sprintf("%.2f×", c.Times), c.How})
		}
		if len(rows) > 0 {
			b.WriteString("\n" + group.head + "\n")
			_ = Table(b, rows)
		}
	}
	if r.Drafts != nil {
		fmt.Fprintf(b, "\nspeculative decoding with %d drafts: a step takes %s, the drafter's own time not counted, so it is quicker when more than %.2f tokens come out of a step; how many do depends on the text\n", r.Drafts.Draft, r.ms(r.Drafts.Step), r.Drafts.Even)
	}
	for _, x := range r.Refused {
		fmt.Fprintf(b, "cannot be: %s: %s\n", clean(x.What), clean(x.Why))
	}
	if len(r.Changes) > 0 {
		b.WriteString("such changes were forecast within 5 % in half of the cases and within 21 % in nine of ten (docs/forecast.md)\n")
	}
}
