package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"weft/internal/forecast"
)

// Forecast is the answer of weft forecast.
type Forecast struct {
	Model   forecast.Model  `json:"model"`
	Format  forecast.Format `json:"format"`
	Engine  forecast.Engine `json:"engine"`
	Fabric  forecast.Fabric `json:"fabric"`
	Nodes   []forecast.Node `json:"nodes"`
	Total   float64         `json:"parameters"`
	Active  float64         `json:"active_parameters"` // that a token reads
	Bytes   float64         `json:"read_b"`            // for one token, by all ranks together
	Batch   int             `json:"batch"`
	Context int             `json:"context"`
	Prompt  int             `json:"prompt"`
	Spec    forecast.Spec   `json:"speculation"`
	forecast.Answer
	WhatIf string           `json:"what_if,omitempty"`
	If     *forecast.Answer `json:"if,omitempty"` // the answer with the change
	Says   []string         `json:"says"`         // what was taken from where, and what was assumed
	Next   string           `json:"next"`
}

// Text writes it for a person.
func (f Forecast) Text(w io.Writer, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s on %s, %s", clean(f.Model.Name), f.Format.Name, hardwareWords(f.Nodes), f.Engine.Name)
	if len(f.Nodes) > 1 {
		fmt.Fprintf(&b, ", %s", f.Fabric)
	}
	fmt.Fprintf(&b, "\n%s parameters, of which a token reads %s: %s\n\n", billions(f.Total), billions(f.Active), readBytes(f.Bytes))
	f.plans(&b, f.Answer)
	if f.If != nil {
		fmt.Fprintf(&b, "\nwhat if %s\n\n", clean(f.WhatIf))
		f.plans(&b, *f.If)
		b.WriteString("\n" + change(f.Plans[0], f.If.Plans[0]) + "\n")
	}
	if len(f.Plans) > 0 && f.Plans[0].Fits {
		f.step(&b, f.Plans[0])
	}
	f.curves(&b, o)
	for i, r := range f.Refused {
		if i == 3 {
			fmt.Fprintf(&b, "… and %d layouts more that cannot be: --json\n", len(f.Refused)-i)
			break
		}
		fmt.Fprintf(&b, "left out: %s: %s\n", layoutWords(r.Layout), clean(r.Why))
	}
	for _, s := range f.Says {
		fmt.Fprintf(&b, "%s\n", clean(s))
	}
	if f.Next != "" {
		b.WriteString("next:\n    " + clean(f.Next) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// change compares the best layouts before and after.
func change(was, now forecast.Plan) string {
	switch {
	case !was.Fits && !now.Fits:
		return "neither fits"
	case !was.Fits:
		return "then it fits: " + perSecond(now.Each) + " tokens/s"
	case !now.Fits:
		return "then it fits no more"
	}
	return fmt.Sprintf("the best layout goes from %s to %s tokens/s: %+.0f %%", perSecond(was.Each), perSecond(now.Each), 100*(now.Each/was.Each-1))
}

// maxLayouts is how many layouts a person is shown.
const maxLayouts = 16

// plans is the table of layouts.
func (f Forecast) plans(b *strings.Builder, a forecast.Answer) {
	rows := [][]string{{"layout", "tokens/s", "range", "first token", "a rank holds", "limit"}}
	for i, p := range a.Plans {
		if i == maxLayouts {
			break
		}
		tokens := perSecond(p.Each)
		if p.Best > 1.02*p.Each {
			tokens += " to " + perSecond(p.Best)
		}
		if f.Batch > 1 || p.Layout.Replicas > 1 {
			tokens += " each, " + perSecond(p.Rate) + " in all"
		}
		ran := perSecond(p.Low) + " to " + perSecond(p.High)
		if !p.Fits {
			tokens, ran = "does not fit", "–"
		}
		rows = append(rows, []string{layoutWords(p.Layout), tokens, ran, firstToken(p.First), heldBy(p.Memory), p.Limit})
	}
	_ = Table(b, rows) // a Builder takes everything
	if n := len(a.Plans) - maxLayouts; n > 0 {
		fmt.Fprintf(b, "… and %d layouts more: --json\n", n)
	}
	for _, p := range a.Plans {
		if p.Better != nil {
			fmt.Fprintf(b, "%s with %s layers a stage would reach %s tokens/s\n", layoutWords(p.Layout), plusJoined(p.Better), perSecond(p.BetterS))
		}
	}
}

// step is the waterfall of one step of a layout.
func (f Forecast) step(b *strings.Builder, p forecast.Plan) {
	what := "one token"
	if f.Spec.On() {
		what = fmt.Sprintf("one step of %d drafts, %.2f tokens accepted", f.Spec.Draft, f.Spec.Accepted)
	} else if f.Batch > 1 {
		what = fmt.Sprintf("one step of %d tokens", p.Step.Streams)
	}
	fmt.Fprintf(b, "\n%s with %s: %.1f ms\n", what, layoutWords(p.Layout), p.Step.Total())
	rows := [][]string{}
	for _, part := range p.Step.Parts() {
		if part.Ms < 0.005 {
			continue
		}
		rows = append(rows, []string{"  " + part.Name, fmt.Sprintf("%.2f ms", part.Ms), barOf(float64(part.Ms/p.Step.Total()), 24), part.Why})
	}
	_ = Table(b, rows)
	if f.Spec.On() {
		fmt.Fprintf(b, "  %.1f ms a step, %.2f tokens of it: %s tokens/s; without speculation a step gives one token\n", p.Step.Total(), f.Spec.Accepted, perSecond(p.Each))
	}
}

// curves are the bars over nodes, and what they mean.
func (f Forecast) curves(b *strings.Builder, o Options) {
	if len(f.Curves) == 0 || len(f.Curves[0].Points) < 2 {
		return
	}
	most := 0.0
	for _, c := range f.Curves {
		for _, p := range c.Points {
			most = max(most, p.Each)
		}
	}
	width := 20
	if o.Width > 110 {
		width = 32
	}
	head := []string{"nodes"}
	for _, c := range f.Curves {
		head = append(head, c.Link)
	}
	rows := [][]string{head}
	for i, p := range f.Curves[0].Points {
		row := []string{strconv.Itoa(p.Nodes)}
		for _, c := range f.Curves {
			row = append(row, curvePoint(c.Points[i], most, width))
		}
		rows = append(rows, row)
	}
	b.WriteString("\n")
	_ = Table(b, rows)
	for _, c := range f.Curves {
		fmt.Fprintf(b, "over %s: %s\n", c.Link, c.Says)
	}
	b.WriteString("\n")
}

func curvePoint(p forecast.Point, most float64, width int) string {
	if p.Each == 0 {
		return "does not fit"
	}
	how := ""
	if p.TP*p.PP > 1 {
		how = "  " + layoutWords(forecast.Layout{TP: p.TP, PP: p.PP, Replicas: 1})
	}
	return barOf(p.Each/most, width) + " " + perSecond(p.Each) + how
}

// barOf draws a part of width cells, with eighths.
func barOf(part float64, width int) string {
	eighths := int(part*float64(width)*8 + 0.5)
	eighths = max(0, min(eighths, width*8))
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return s + strings.Repeat(" ", width-utf8.RuneCountInString(s))
}

// layoutWords is a layout as people say it.
func layoutWords(l forecast.Layout) string {
	var words []string
	if l.TP > 1 {
		words = append(words, fmt.Sprintf("tp %d", l.TP))
	}
	if l.PP > 1 {
		s := fmt.Sprintf("pp %d", l.PP)
		if l.Layers != nil {
			s += " (" + plusJoined(l.Layers) + ")"
		}
		words = append(words, s)
	}
	if len(words) == 0 {
		words = append(words, "one rank")
	}
	if l.Replicas > 1 {
		words = append(words, fmt.Sprintf("%d replicas", l.Replicas))
	}
	return strings.Join(words, ", ")
}

func plusJoined(n []int) string {
	var words []string
	for _, v := range n {
		words = append(words, strconv.Itoa(v))
	}
	return strings.Join(words, "+")
}

// hardwareWords folds nodes: "2 × gb10 and 1 × rtx-pro-6000".
func hardwareWords(nodes []forecast.Node) string {
	var kinds []string
	count := map[string]int{}
	for _, n := range nodes {
		k := clean(n.HW.Name)
		if n.GPUs > 1 {
			k = fmt.Sprintf("%d %s", n.GPUs, k)
		}
		if count[k] == 0 {
			kinds = append(kinds, k)
		}
		count[k]++
	}
	var words []string
	for _, k := range kinds {
		words = append(words, fmt.Sprintf("%d × %s", count[k], k))
	}
	return strings.Join(words, " and ")
}

func heldBy(m forecast.Memory) string {
	return fmt.Sprintf("%s of %s (%s weights, %s cache, %s engine)", m.Need(), m.Usable, m.Weights, m.KV, m.Runtime)
}

// perSecond is tokens each second with three digits at most.
func perSecond(f float64) string {
	switch {
	case f >= 100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

func firstToken(ms forecast.Ms) string {
	switch s := float64(ms) / 1000; {
	case s == 0:
		return "–"
	case s < 0.1:
		return fmt.Sprintf("%.0f ms", ms)
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	default:
		return fmt.Sprintf("%.0f s", s)
	}
}

func billions(f float64) string { return three(f/1e9) + " B" }

func readBytes(f float64) string { return three(f/1e9) + " GB" }

// three is a number of three digits, or more where they stand before the point.
func three(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}
