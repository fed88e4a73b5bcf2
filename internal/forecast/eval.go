package forecast

import (
	"math"
	"slices"
	"strings"
)

// Judged is one row with what was forecast of it.
type Judged struct {
	Row
	Forecast  float64   `json:"forecast"`      // tokens each second of one sequence; 0 when there is none
	Error     *float64  `json:"error"`         // forecast/measured - 1
	Given     float64   `json:"given"`         // forecast when the first of the group is known; 0 when it is not
	Ratio     *float64  `json:"ratio_error"`   // given/measured - 1
	Plain     *float64  `json:"plain_error"`   // of the ratio of two forecasts, nothing else used
	Waterfall Waterfall `json:"waterfall"`     // of the forecast
	Limit     string    `json:"limit"`         // what the time goes to
	Notes     []string  `json:"notes"`         // what had to be assumed
	Why       string    `json:"why,omitempty"` // why there is no forecast
}

// Errors sums up absolute errors.
type Errors struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Worst  float64 `json:"worst"`
}

// Evaluation is a file of measurements, forecast.
type Evaluation struct {
	Rows     []Judged `json:"rows"`
	Absolute Errors   `json:"absolute"`
	Ratio    Errors   `json:"ratio"`       // given the group's first row
	Plain    Errors   `json:"plain_ratio"` // forecast over forecast
	Missed   int      `json:"missed"`      // rows without a forecast
}

// Evaluate forecasts rows with the default constants.
func Evaluate(rows []Row) Evaluation { return Default.Evaluate(rows) }

// Evaluate forecasts rows with these constants, one after another: a case is not kept.
func (k Constants) Evaluate(rows []Row) Evaluation {
	e := Evaluation{Rows: make([]Judged, len(rows))}
	g := groups{}
	for i, r := range rows {
		e.Rows[i] = k.judge(g.ready(i, r), e.Rows)
	}
	e.sum()
	return e
}

// ready is a row that became a case, or why it did not.
type ready struct {
	row   Row
	c     Case
	notes []string
	err   error
	first int // of its group; -1 when it is the first or in none
}

// groups are the first rows of groups: which, and how wide their weights are.
type groups map[string]struct {
	at    int
	bits  float64
	model string
}

// ready makes a case of row i.
func (g groups) ready(i int, r Row) ready {
	p := ready{row: r, first: -1}
	head, later := g[r.Group]
	if later && r.Bits == 0 && r.Quant == "" && head.model == r.Model {
		r.Bits = head.bits // a group is one model, spread in several ways
	}
	p.c, p.notes, p.err = r.Case()
	if p.err == nil {
		p.err = p.c.check()
	}
	switch {
	case p.err != nil || r.Tokens == 0 || r.Group == "":
	case later:
		p.first = head.at
	default:
		head.at, head.bits, head.model = i, p.c.bits, r.Model
		g[r.Group] = head
	}
	return p
}

// prepare makes cases of rows once: a fit asks for them many times.
func prepare(rows []Row) []ready {
	g := groups{}
	out := make([]ready, len(rows))
	for i, r := range rows {
		out[i] = g.ready(i, r)
	}
	return out
}

// judge forecasts one row; those before it are judged already.
func (k Constants) judge(p ready, before []Judged) Judged {
	j := Judged{Row: p.row, Notes: p.notes}
	if p.err != nil {
		j.Why = p.err.Error()
		return j
	}
	w, err := k.Token(p.c)
	if err != nil {
		j.Why = err.Error()
		return j
	}
	j.Waterfall, j.Forecast, j.Limit = w, w.Each(), w.Limit()
	if p.row.Tokens > 0 {
		j.Error = ptr(j.Forecast/p.row.Tokens - 1)
	}
	if p.first >= 0 {
		f := &before[p.first]
		j.Plain = ptr(j.Forecast/f.Forecast/(p.row.Tokens/f.Tokens) - 1)
		j.Given = k.given(p.c, f)
		j.Ratio = ptr(j.Given/p.row.Tokens - 1)
	}
	return j
}

// given forecasts a case when the first of its group was measured. That measurement
// says how fast the ranks themselves are, so what is local is scaled with it; what is
// between the ranks is not in it and stays as the constants say:
// T(N) ≈ T(1)/N + 2·layers·t_sync(N).
func (k Constants) given(c Case, first *Judged) float64 {
	took := 1000 * first.Waterfall.Tokens / float64(first.Waterfall.Streams) / first.Tokens
	factor := (took - float64(first.Waterfall.Net())) / float64(first.Waterfall.Local())
	c.Local = math.Max(0.25, math.Min(4, factor)) // a wild first row does not make the others wild
	w, err := k.Token(c)
	if err != nil {
		return 0
	}
	return w.Each()
}

func ptr(f float64) *float64 { return &f }

func (e *Evaluation) sum() {
	var abs, ratio, plain []float64
	e.Missed = 0
	for _, r := range e.Rows {
		if r.Forecast == 0 {
			e.Missed++
		}
		abs, ratio, plain = magnitude(abs, r.Error), magnitude(ratio, r.Ratio), magnitude(plain, r.Plain)
	}
	e.Absolute, e.Ratio, e.Plain = summary(abs), summary(ratio), summary(plain)
}

func magnitude(all []float64, err *float64) []float64 {
	if err == nil {
		return all
	}
	return append(all, math.Abs(*err))
}

func summary(errors []float64) Errors {
	slices.Sort(errors)
	if len(errors) == 0 {
		return Errors{}
	}
	return Errors{N: len(errors), Median: quantile(errors, 0.5), P90: quantile(errors, 0.9), Worst: errors[len(errors)-1]}
}

// quantile of sorted numbers, linear between neighbours.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Origin is who published a row: the host of an address, the owner of a repository,
// or the words before the first bracket. Rows of one origin share habits and mistakes,
// so they are left out together.
func Origin(source string) string {
	s := strings.ToLower(strings.TrimSpace(source))
	for _, p := range []string{"https://", "http://"} {
		s = strings.TrimPrefix(s, p)
	}
	if i := strings.IndexAny(s, "(;,"); i > 0 {
		s = strings.TrimSpace(s[:i])
	}
	host, _, _ := strings.Cut(s, "/")
	return strings.TrimPrefix(host, "www.")
}
