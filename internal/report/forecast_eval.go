package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"weft/internal/forecast"
)

// ForecastEval is the answer of weft forecast eval.
type ForecastEval struct {
	Source string `json:"source"`
	forecast.Evaluation
}

// Text writes a line for each row, then the sums.
func (e ForecastEval) Text(w io.Writer, o Options) error {
	var b strings.Builder
	rows := [][]string{{"id", "group", "hardware", "model", "measured", "forecast", "error", "given", "ratio error", "limit"}}
	for _, r := range e.Rows {
		layout := layoutWords(forecast.Layout{TP: max(r.TP, 1), PP: max(r.PP, 1), Replicas: 1})
		hw := fmt.Sprintf("%d × %s, %s", max(r.Nodes, 1), r.Platform, layout)
		if r.Nodes > 1 && r.Transport != "" {
			hw += ", " + r.Transport
		}
		f, limit := perSecond(r.Forecast), r.Limit
		if r.Forecast == 0 {
			f, limit = "–", "no forecast: "+r.Why
		}
		given, measured := "", dash("")
		if r.Given > 0 {
			given = perSecond(r.Given)
		}
		if r.Tokens > 0 {
			measured = perSecond(r.Tokens)
		}
		rows = append(rows, []string{dash(r.ID), r.Group, hw, r.Model, measured, f, signedPercent(r.Error), given, signedPercent(r.Ratio), limit})
	}
	_ = Table(&b, rows)
	fmt.Fprintf(&b, "\n%s: %s", clean(e.Source), plural(len(e.Rows), "row"))
	if e.Missed > 0 {
		fmt.Fprintf(&b, ", %d without a forecast", e.Missed)
	}
	b.WriteString("\n")
	b.WriteString(errorLines(e.Evaluation))
	_, err := io.WriteString(w, b.String())
	return err
}

func errorLines(e forecast.Evaluation) string {
	line := func(what string, s forecast.Errors) string {
		if s.N == 0 {
			return fmt.Sprintf("%s: none to judge\n", what)
		}
		return fmt.Sprintf("%s: median %.1f %%, p90 %.1f %%, worst %.1f %% of %d\n", what, 100*s.Median, 100*s.P90, 100*s.Worst, s.N)
	}
	return line("absolute error", e.Absolute) + line("ratio error, given the group's first row", e.Ratio) + line("ratio error, forecast over forecast", e.Plain)
}

func signedPercent(f *float64) string {
	if f == nil || math.IsNaN(*f) {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100**f)
}

// ForecastFit is the answer of weft forecast fit.
type ForecastFit struct {
	Source  string              `json:"source"`
	Rows    int                 `json:"rows"`
	More    int                 `json:"more"` // rows that weft brings along
	Knobs   []FittedKnob        `json:"knobs"`
	Fitted  forecast.Constants  `json:"fitted"`
	Eval    forecast.Evaluation `json:"evaluation"` // of the file's rows with all that was fitted
	Left    []forecast.Left     `json:"left_out"`
	Without forecast.Evaluation `json:"without"` // of the file's rows, each fitted without its own source
	Low     float64             `json:"range_low"`
	High    float64             `json:"range_high"`
}

// FittedKnob is a constant with where it began and where it came to be.
type FittedKnob struct {
	forecast.Knob
	Value   float64 `json:"value"`
	Shipped float64 `json:"shipped"`
}

// Text writes the constants, the residuals and what leaving sources out does.
func (f ForecastFit) Text(w io.Writer, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "fitted to %s of %s and %d that weft brings along\n\n", plural(f.Rows, "row"), clean(f.Source), f.More)
	rows := [][]string{{"constant", "prior", "fitted", "shipped", "the prior is from"}}
	for _, k := range f.Knobs {
		rows = append(rows, []string{k.Name, short3(k.Prior), short3(k.Value), short3(k.Shipped), k.Why})
	}
	_ = Table(&b, rows)
	rows = [][]string{{"id", "group", "model", "measured", "forecast", "error", "ratio error", "error without its source"}}
	without := map[string]*float64{}
	for _, r := range f.Without.Rows {
		without[evalKey(r)] = r.Error
	}
	for _, r := range f.Eval.Rows {
		rows = append(rows, []string{r.ID, r.Group, r.Model, perSecond(r.Tokens), perSecond(r.Forecast), signedPercent(r.Error), signedPercent(r.Ratio), signedPercent(without[evalKey(r)])})
	}
	b.WriteString("\nresiduals\n")
	_ = Table(&b, rows)
	b.WriteString("\n" + errorLines(f.Eval))
	b.WriteString("\neach source left out of the fit that forecasts it\n")
	rows = [][]string{{"source", "of the file", "rows", "median", "p90", "ratio median", "the constant that moved most"}}
	for _, l := range f.Left {
		in := "no"
		if l.InFile {
			in = "yes"
		}
		ratio := ""
		if l.Eval.Ratio.N > 0 {
			ratio = fmt.Sprintf("%.1f %%", 100*l.Eval.Ratio.Median)
		}
		moved := ""
		if l.Strayed != "" {
			moved = fmt.Sprintf("%s × %.2f", l.Strayed, l.Moved)
		}
		rows = append(rows, []string{l.Origin, in, fmt.Sprint(len(l.Eval.Rows)), fmt.Sprintf("%.1f %%", 100*l.Eval.Absolute.Median), fmt.Sprintf("%.1f %%", 100*l.Eval.Absolute.P90), ratio, moved})
	}
	_ = Table(&b, rows)
	b.WriteString("\nrows of the file, none forecast with constants that saw its source\n" + errorLines(f.Without))
	fmt.Fprintf(&b, "\nof all rows so forecast, eight of ten measurements lay between %.2f and %.2f times the forecast\n", f.Low, f.High)
	_, err := io.WriteString(w, b.String())
	return err
}

func evalKey(r forecast.Judged) string { return fmt.Sprint(r.Line, " ", r.ID) }

func short3(f float64) string { return fmt.Sprintf("%.3g", f) }
