package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"weft/internal/fact"
	"weft/internal/forecast"
	"weft/internal/load"
)

// Bench is the answer of weft serve bench.
type Bench struct {
	load.Bench
	Kept string `json:"kept"` // the file; "" when it was not kept
	Next string `json:"next"`
}

// Text writes it for a person.
func (r Bench) Text(w io.Writer, o Options) error {
	var b strings.Builder
	b.WriteString(r.title() + "\n\n")
	if len(r.Levels) == 0 {
		b.WriteString("nothing was measured\n")
	} else {
		r.rates(&b)
		b.WriteString("\n")
		r.times(&b)
	}
	r.failures(&b, o)
	r.verdicts(&b)
	b.WriteString("\n")
	for _, s := range r.Says {
		fmt.Fprintf(&b, "%s\n", wrap(clean(s), o.Width, 0))
	}
	if r.Cut {
		b.WriteString("interrupted: this is what was measured until then\n")
	}
	if r.Kept != "" {
		fmt.Fprintf(&b, "kept in %s\n", clean(r.Kept))
	}
	if r.Next != "" {
		b.WriteString("next:\n    " + clean(r.Next) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Bench) title() string {
	var words []string
	if r.URL != "" {
		words = append(words, r.URL)
	}
	words = append(words, dash(r.Model))
	if r.Source != "weft" {
		words = append(words, "measured by "+r.Source)
	}
	if r.API != "" {
		words = append(words, r.API)
	}
	if r.Prompt > 0 {
		words = append(words, fmt.Sprintf("prompts of %d tokens, answers of %d, seed %d", r.Prompt, r.Output, r.Seed))
	}
	return clean(strings.Join(words, ", "))
}

// rates is how much came out.
func (r Bench) rates(b *strings.Builder) {
	compared := false
	for _, l := range r.Levels {
		compared = compared || l.Forecast != nil
	}
	head := []string{"at once", "requests", "failed", "requests/s", "tokens/s", "of each"}
	if compared {
		head = append(head, "forecast of each")
	}
	rows := [][]string{head}
	for _, l := range r.Levels {
		row := []string{atOnce(l), strconv.Itoa(l.OK + l.Failed), strconv.Itoa(l.Failed), rate(l.Requests), rate(l.Tokens), rate(l.Each)}
		if f := l.Forecast; f != nil {
			row = append(row, fmt.Sprintf("%s (%s to %s)", perSecond(f.Each), perSecond(f.Low), perSecond(f.High)))
		}
		rows = append(rows, row)
	}
	_ = Table(b, rows) // a Builder takes everything
}

func atOnce(l load.Level) string {
	if l.Concurrency == 0 {
		return "–"
	}
	return strconv.Itoa(l.Concurrency)
}

func rate(v fact.Val[float64]) string {
	f, ok := v.Get()
	if !ok {
		return "–"
	}
	return perSecond(f)
}

// times is how long it took, in milliseconds.
func (r Bench) times(b *strings.Builder) {
	b.WriteString("milliseconds: the median of each, and what 99 of 100 stay below\n")
	rows := [][]string{{"at once", "first token", "p99", "a token", "p99", "between", "p99", "p99.9", "a request", "p99"}}
	for _, l := range r.Levels {
		row := []string{atOnce(l)}
		for i, t := range []load.Times{l.First, l.PerToken, l.Between, l.Whole} {
			row = append(row, middleOf(t), highOf(t, t.P99))
			if i == 2 { // only of these are there enough
				row = append(row, highOf(t, t.P999))
			}
		}
		rows = append(rows, row)
	}
	_ = Table(b, rows)
}

// middleOf is the median, or the mean where only that is known.
func middleOf(t load.Times) string {
	if ms, ok := t.P50.Get(); ok {
		return millis(ms)
	}
	if ms, ok := t.Mean.Get(); ok {
		return "mean " + millis(ms)
	}
	return "–"
}

// highOf is a percentile, or the highest where there are too few numbers for it.
func highOf(t load.Times, p fact.Val[forecast.Ms]) string {
	if ms, ok := p.Get(); ok {
		return millis(ms)
	}
	if ms, ok := t.Max.Get(); ok {
		return "max " + millis(ms)
	}
	return "–"
}

func millis(ms forecast.Ms) string {
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f", ms)
	case ms >= 1:
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.3f", ms)
}

// failures are folded over levels.
func (r Bench) failures(b *strings.Builder, o Options) {
	type sum struct {
		load.Failure
		at []string
	}
	var all []*sum
	for _, l := range r.Levels {
		for _, f := range l.Failures {
			var s *sum
			for _, have := range all {
				if have.Class == f.Class && have.Why == f.Why {
					s = have
				}
			}
			if s == nil {
				s = &sum{Failure: load.Failure{Class: f.Class, Why: f.Why}}
				all = append(all, s)
			}
			s.Count += f.Count
			s.at = append(s.at, atOnce(l))
		}
		if l.Unfinished > 0 {
			fmt.Fprintf(b, "\nnot over yet: %d (%s at once)\n", l.Unfinished, atOnce(l))
		}
	}
	if len(all) > 0 {
		b.WriteString("\n")
	}
	for _, f := range all {
		what := "requests"
		if f.Count == 1 {
			what = "request"
		}
		class := string(f.Class) + ": "
		if f.Class == load.Status {
			class = "" // the status says it
		}
		fmt.Fprintf(b, "failed  %s\n", wrap(clean(fmt.Sprintf("%d %s: %s%s (%s at once)", f.Count, what, class, f.Why, strings.Join(f.at, ", "))), o.Width, 8))
	}
}

// verdicts hold one sequence alone, and the most that came out, against the forecast.
func (r Bench) verdicts(b *strings.Builder) {
	for _, l := range r.Levels {
		f := l.Forecast
		each, ok := l.Each.Get()
		if f == nil || !ok || l.Concurrency != 1 {
			continue
		}
		what := map[string]string{"below": "less than", "above": "more than", "as forecast": "within"}[f.Verdict]
		fmt.Fprintf(b, "\none sequence alone: %s tokens/s, %s what was forecast for %s: %s to %s\n", perSecond(each), what, layoutWords(f.Layout), perSecond(f.Low), perSecond(f.High))
		if first, ok := l.First.P50.Get(); ok && f.First > 0 {
			fmt.Fprintf(b, "its first token: %s ms, forecast roughly %s ms\n", millis(first), millis(f.First))
		}
		if !f.Fits {
			b.WriteString("the forecast says that it does not fit: what it was told of the model or of the nodes is not what runs\n")
		}
	}
}
