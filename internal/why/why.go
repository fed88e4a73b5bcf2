// Package why says where the time of a measured token went: what the forecast accounts
// for, what is set up wrongly, and what nobody can explain; then what would change it.
// Pure: a forecast's question, a measurement and evidence in, parts and changes out.
package why

import (
	"fmt"
	"math"
	"slices"

	"weft/internal/check"
	"weft/internal/forecast"
	"weft/internal/transport"
)

// Ask is a measurement and all that is known about how it came about.
type Ask struct {
	forecast.Ask         // what ran: TP and PP are set; Fabric is what carried it, as far as it is known
	Measured     float64 // tokens/s of one sequence

	Told   string             // who says what carried it: "--link 100g-tcp", "--proof last"; "" nobody
	Facts  *forecast.Fabric   // what the nodes have; nil when nobody looked
	Case   *check.Case        // the facts themselves; nil when nobody looked
	Log    *transport.Verdict // what NCCL's log says; nil when there is none
	Eager  string             // who says that kernels were launched one by one; "" nobody
	seen   []found            // see findings
	looked bool

	Quant string // as the person wrote it: "awq" is read like w4a16 and runs elsewhere
}

// What a number rests on, best first.
const (
	Measured  = "measured"  // here: a proof, a rehearsal, a log
	Derived   = "derived"   // computed from the model, the layout and rates that are stated
	Published = "published" // somebody else measured it
	Fitted    = "fitted"    // to published tokens/s: docs/forecast.md
	Assumed   = "assumed"   // nobody said otherwise
)

// The kinds of parts.
const (
	Token       = "token"            // it belongs to every token
	Wrong       = "misconfiguration" // it can be mended
	Unexplained = "unexplained"
)

// Part is one bar. The parts add up to Answer.Step.
type Part struct {
	Name  string      `json:"name"`
	Kind  string      `json:"kind"`
	Ms    forecast.Ms `json:"ms"`
	Why   string      `json:"why"`
	Basis string      `json:"basis,omitempty"`
	From  string      `json:"from,omitempty"` // what exactly it rests on
}

// Answer is where the time went and what would change it.
type Answer struct {
	Measured float64         `json:"measured"` // tokens/s of one sequence
	Step     forecast.Ms     `json:"step_ms"`  // how long a step took
	Tokens   float64         `json:"tokens"`   // of one sequence in a step: 1 without speculation
	Forecast float64         `json:"forecast"` // tokens/s of this as it ran, nothing else wrong
	Low      float64         `json:"low"`      // eight of ten measurements lay between
	High     float64         `json:"high"`
	Layout   forecast.Layout `json:"layout"`
	Fits     bool            `json:"fits"`
	Fabric   forecast.Fabric `json:"fabric"`           // what carried it
	Should   forecast.Fabric `json:"should"`           // what would have, were nothing wrong
	Digits   int             `json:"-"`                // of milliseconds that are told
	Parts    []Part          `json:"parts"`            //
	Causes   []Cause         `json:"causes"`           // what is wrong, with what it costs
	Suspects []Suspect       `json:"suspects"`         // what would explain the rest
	Changes  []Change        `json:"changes"`          // the best first
	Refused  []Refused       `json:"refused"`          // changes that cannot be, and why
	Drafts   *Drafts         `json:"drafts,omitempty"` // what speculation would need
	Verdict  []string        `json:"verdict"`          // in words
}

// Refused is a change that cannot be.
type Refused struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Bounds of a measurement: a token in ten minutes, and a hundred thousand each second.
const (
	least = 1.0 / 600
	most  = 100_000
)

// Answer explains a measurement.
func (a Ask) Answer() (Answer, error) {
	out := Answer{Causes: []Cause{}, Suspects: []Suspect{}, Changes: []Change{}, Refused: []Refused{}}
	if !(a.Measured >= least && a.Measured <= most) {
		return out, fmt.Errorf("%g tokens/s: want one in ten minutes to %d each second", a.Measured, most)
	}
	if err := a.setFabric(&out); err != nil {
		return out, err
	}
	if a.Eager != "" && a.Engine.Layer == "graph" {
		a.Engine.Eager = true
	}
	run, err := a.run(a.Ask, out.Fabric)
	if err != nil {
		return out, err
	}
	a.infer(&out, &run)
	healthy := a.Ask
	healthy.Engine.Eager = false
	base, err := a.run(healthy, out.Should)
	if err != nil {
		return out, err
	}
	w := run.Step
	out.Measured, out.Layout, out.Fits = a.Measured, run.Layout, run.Fits
	out.Forecast, out.Low, out.High = run.Each, run.Low, run.High
	out.Tokens = w.Tokens / float64(max(w.Streams, 1))
	step := 1000 * out.Tokens / a.Measured
	grain := 0.01
	out.Digits = 2
	if step < 10 {
		grain, out.Digits = 0.001, 3
	}
	round := func(ms float64) forecast.Ms { return forecast.Ms(math.Round(ms/grain) * grain) }
	out.Step = round(step)
	out.Parts = a.parts(base.Step, out.Should, round)
	out.Causes = append(out.Causes, a.causes(base.Step, run.Step, out)...)
	a.charge(&out, round)
	out.Suspects = append(out.Suspects, a.suspects(out, run)...)
	a.changes(&out, run)
	out.Verdict = a.verdict(out, run.Step)
	return out, nil
}

// run forecasts what is asked, in the one layout that it names.
func (a Ask) run(ask forecast.Ask, f forecast.Fabric) (forecast.Plan, error) {
	ask.Fabric = f
	ask.Sizes = []int{1} // the curve is not looked at
	answer, err := ask.Answer()
	if err != nil {
		return forecast.Plan{}, err
	}
	i := slices.IndexFunc(answer.Plans, func(p forecast.Plan) bool { return p.Layout.TP == ask.TP && p.Layout.PP == ask.PP })
	if i < 0 {
		return forecast.Plan{}, fmt.Errorf("tp %d, pp %d is no layout of these nodes", ask.TP, ask.PP)
	}
	return answer.Plans[i], nil
}

// many reports whether the layout reaches over nodes at all.
func (a Ask) many() bool {
	ranks := forecast.Spread(a.Nodes)
	n := min(len(ranks), a.TP*a.PP)
	return n > 0 && slices.ContainsFunc(ranks[:n], func(r forecast.Rank) bool { return r.Node != ranks[0].Node })
}

// parts are what every token takes, in the order of a token's way.
func (a Ask) parts(w forecast.Waterfall, f forecast.Fabric, round func(float64) forecast.Ms) []Part {
	ranks := forecast.Spread(a.Nodes)
	syncBasis, syncFrom := Fitted, "constants for "+f.Transport+" (docs/forecast.md)"
	if f.Transport == "oneshot" {
		syncBasis = Published
	}
	if f.Sync > 0 {
		syncBasis, syncFrom = Measured, f.Source
	}
	if !a.many() {
		syncBasis, syncFrom = Published, "small collectives inside a node (docs/forecast.md)"
	}
	wireBasis, wireFrom := Derived, f.Source
	if f.Gbps == 0 {
		wireBasis, wireFrom = Assumed, "the rate of the link is not known: taken as none"
	} else if a.Told == "" && a.Facts == nil {
		wireBasis = Assumed
	}
	hopBasis, hopFrom := Fitted, "hops of llama.cpp's RPC (docs/forecast.md)"
	if a.Engine.Hop != "rpc" {
		hopBasis, hopFrom = Assumed, "half a collective: no measurement of such a hop was found"
	}
	if f.Hop > 0 {
		hopBasis, hopFrom = Measured, f.Source
	}
	stated := fmt.Sprintf("%.0f GB/s of %s", float64(ranks[0].HW.Stated)/8e9, ranks[0].HW.Name)
	if slices.ContainsFunc(ranks, func(r forecast.Rank) bool { return r.HW.Stated != ranks[0].HW.Stated }) {
		stated = "data sheets of unlike nodes"
	}
	basis := map[string][2]string{
		"memory":    {Derived, stated},
		"bandwidth": {Fitted, "what decoding reaches of the stated bandwidth"},
		"experts":   {Fitted, "fused mixture kernels"},
		"uneven":    {Derived, "data sheets"},
		"compute":   {Derived, "data sheet, at 35 % of it"},
		"dispatch":  {Fitted, "microseconds for each layer"},
		"sync":      {syncBasis, syncFrom},
		"wire":      {wireBasis, wireFrom},
		"hops":      {hopBasis, hopFrom},
	}
	var out []Part
	for _, p := range w.Parts() {
		b := basis[p.Name]
		part := Part{Name: p.Name, Kind: Token, Ms: round(float64(p.Ms)), Why: p.Why, Basis: b[0], From: b[1]}
		if part.Ms == 0 {
			part.Basis, part.From = Derived, "it does not apply here"
			if p.Name == "wire" && w.Syncs > 0 {
				part.From = wireFrom
			}
		}
		out = append(out, part)
	}
	return out
}

// charge adds what is wrong, as far as it is known in milliseconds, and what is left.
// What is known as a bound alone is charged up to what is left.
func (a Ask) charge(out *Answer, round func(float64) forecast.Ms) {
	sum := forecast.Ms(0)
	for _, p := range out.Parts {
		sum += p.Ms
	}
	for i := range out.Causes {
		c := &out.Causes[i]
		ms := round(float64(c.Ms))
		if c.Bound {
			ms = round(float64(max(0, min(ms, out.Step-sum))))
		}
		c.Ms = ms
		if ms <= 0 {
			c.Ms = 0
			continue
		}
		sum += ms
		out.Parts = append(out.Parts, Part{Name: c.Check, Kind: Wrong, Ms: ms, Why: c.Got, Basis: c.Basis, From: c.How})
	}
	left := Part{Name: Unexplained, Kind: Unexplained, Ms: round(float64(out.Step - sum))}
	left.Why = "what neither the model nor a finding accounts for"
	if left.Ms < 0 {
		left.Why = "it is quicker than all of the above: they take less than forecast"
	}
	out.Parts = append(out.Parts, left)
}

// Left is what nobody can explain; below zero it was quicker than forecast.
func (out Answer) Left() forecast.Ms { return out.Parts[len(out.Parts)-1].Ms }

// Mended is what the misconfigurations cost together.
func (out Answer) Mended() (ms forecast.Ms) {
	for _, p := range out.Parts {
		if p.Kind == Wrong {
			ms += p.Ms
		}
	}
	return ms
}
