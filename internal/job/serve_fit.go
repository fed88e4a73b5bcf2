package job

import (
	"fmt"
	"math"
	"strings"

	"weft/internal/check"
	"weft/internal/forecast"
	"weft/internal/unit"
)

// Fit is how a model is laid over the nodes, and what fits into their memory then.
type Fit struct {
	TP      int       `json:"tp"`
	PP      int       `json:"pp"`
	Ranks   []RanksAt `json:"ranks"`
	Context int       `json:"context"` // tokens of a sequence
	Seqs    int       `json:"seqs"`    // sequences at once
	Eager   bool      `json:"eager"`   // kernels are launched one by one instead of as graphs
	Part    float64   `json:"part"`    // of a GPU's memory that the engine may take; 0: the engine's own default

	Forecast bool            `json:"forecast"` // whether it was forecast; else it is as told
	Memory   forecast.Memory `json:"memory"`   // of the fullest rank
	Each     float64         `json:"each"`     // tokens/s of one sequence
	Low      float64         `json:"low"`
	High     float64         `json:"high"`
	Limit    string          `json:"limit,omitempty"`
	Hidden   int             `json:"hidden"` // numbers that a token is, between layers; 0 unknown
	Layers   int             `json:"layers"`
	Weights  string          `json:"weights,omitempty"` // format: "fp8"
}

// RanksAt is how many ranks a node has.
type RanksAt struct {
	Node  string `json:"node"`
	Count int    `json:"count"`
}

const (
	usualContext = 32768 // asked for first: long enough for most documents
	leastContext = 2048  // less is of little use
	mostSeqs     = 256   // vLLM's own default of --max-num-seqs
	wantedSeqs   = 4     // a context is halved rather than that fewer people can ask at once
)

// fit decides the layout. Where nothing is known of the model or of a GPU, it is as told,
// and told it must be.
func (l *Launch) fit(c *check.Case, o *Order) error {
	ask, why := o.ask(c)
	if why != "" {
		return l.asTold(c, o, why)
	}
	f, says, err := foresee(ask, o)
	if err != nil {
		return err
	}
	l.Fit = f
	l.Says = append(l.Says, says...)
	return nil
}

// ask makes a question for the forecast; why says what is not known.
func (o *Order) ask(c *check.Case) (ask forecast.Ask, why string) {
	if o.Known == nil {
		return ask, "nothing is known of the model " + o.Model
	}
	name := o.Engine
	if name == "llamacpp-rpc" {
		name = "llama.cpp"
	}
	ask = forecast.Ask{Model: *o.Known, TP: o.TP, PP: o.PP, Batch: 1}
	var err error
	if ask.Engine, err = forecast.EngineByName(name, ""); err != nil {
		return ask, err.Error()
	}
	if ask.Format, err = forecast.FormatOf(quantOf(o, ask.Model, ask.Engine), ask.Model, ask.Engine); err != nil {
		return ask, err.Error()
	}
	if o.KV == "fp8" {
		ask.Format.KV = 8
	}
	ask.Nodes, ask.Fabric, _, err = forecast.FromFacts(&c.Cluster)
	if err != nil {
		return ask, err.Error()
	}
	return ask, ""
}

// quantOf reads how the weights are stored from the model's name: "…-AWQ", "…-FP8".
func quantOf(o *Order, m forecast.Model, e forecast.Engine) string {
	if o.Quant != "" {
		return o.Quant
	}
	base := strings.ToLower(o.Model[strings.LastIndexByte(strings.TrimRight(o.Model, "/"), '/')+1:])
	base = strings.TrimSuffix(base, ".gguf")
	for _, word := range []string{"nvfp4", "mxfp4", "w4a16", "awq", "gptq", "autoround", "int4", "fp8", "w8a8", "int8", "bf16"} {
		if strings.Contains(base, word) {
			return word
		}
	}
	if e.Weights == "gguf" {
		for _, q := range forecast.QuantNames() {
			if strings.Contains(strings.ReplaceAll(base, "-", "_"), q) && strings.HasPrefix(q, "q") || strings.Contains(base, "iq4_xs") && q == "iq4_xs" {
				return q
			}
		}
		if m.Native == "" {
			return "q4_k_m"
		}
	}
	return ""
}

// foresee takes the layout that is quickest for one person among those that fit, graphs
// before eager, and as much context and as many sequences as there is room for.
func foresee(ask forecast.Ask, o *Order) (f Fit, says []string, err error) {
	modes := []bool{false, true}
	switch {
	case o.Eager == "yes":
		modes = []bool{true}
	case o.Eager == "no", o.Engine != "vllm":
		modes = []bool{false}
	}
	var tooMuch error
	for _, eager := range modes {
		a := ask
		if eager {
			if a.Engine, err = forecast.EngineByName("vllm-eager", ""); err != nil {
				return f, nil, err
			}
		}
		contexts := []int{o.Context}
		if o.Context == 0 {
			contexts = nil
			for n := usualContext; n >= leastContext; n /= 2 {
				contexts = append(contexts, n)
			}
		}
		for i, n := range contexts {
			a.Context = n
			answer, err := a.Answer()
			if err != nil {
				return f, nil, err
			}
			p, ok := quickest(answer.Plans)
			if !ok {
				tooMuch = tooLarge(answer.Plans[0], o)
				continue
			}
			seqs := room(p)
			if o.Context == 0 && seqs < wantedSeqs && i < len(contexts)-1 && o.Seqs == 0 {
				continue
			}
			if o.Seqs > 0 {
				if seqs < o.Seqs && o.Context == 0 && i < len(contexts)-1 {
					continue
				}
				if seqs < o.Seqs {
					says = append(says, fmt.Sprintf("%d sequences of %d tokens do not all fit at once (%d do): the engine makes the others wait", o.Seqs, n, seqs))
				}
				seqs = o.Seqs
			}
			f = fitOf(ask, p, n, seqs, eager)
			if eager && o.Eager != "yes" {
				says = append(says, "without graphs (--enforce-eager), because they would not fit; that is slower")
			}
			return f, append(says, left(p, ask)...), nil
		}
	}
	return f, nil, tooMuch
}

// quickest is the first plan that fits: the forecast has them in that order.
func quickest(plans []forecast.Plan) (forecast.Plan, bool) {
	for _, p := range plans {
		if p.Fits {
			return p, true
		}
	}
	return forecast.Plan{}, false
}

func tooLarge(p forecast.Plan, o *Order) error {
	return fmt.Errorf("%s does not fit: %s would hold %s of weights, %s of KV cache and %s for the engine, and has %s; more nodes, or a smaller quantisation (weft forecast --model %s)",
		o.Model, p.Memory.Rank, p.Memory.Weights, p.Memory.KV, p.Memory.Runtime, p.Memory.Usable, o.Model)
}

// room is how many sequences of that context fit.
func room(p forecast.Plan) int {
	if p.Memory.KV <= 0 {
		return mostSeqs
	}
	free := p.Memory.Usable - p.Memory.Weights - p.Memory.Runtime
	return max(1, min(mostSeqs, int(float64(free)/float64(p.Memory.KV))))
}

func fitOf(ask forecast.Ask, p forecast.Plan, context, seqs int, eager bool) Fit {
	f := Fit{
		TP: p.Layout.TP, PP: p.Layout.PP, Context: context, Seqs: seqs, Eager: eager, Forecast: true, Memory: p.Memory,
		Each: p.Each, Low: p.Low, High: p.High, Limit: p.Limit, Hidden: ask.Model.Hidden, Layers: ask.Model.Layers, Weights: ask.Format.Name,
	}
	f.Part = 1
	shared := false
	var least unit.Size
	left := p.Layout.Ranks()
	for _, n := range ask.Nodes {
		k := min(left, n.GPUs)
		if k == 0 {
			break
		}
		f.Ranks = append(f.Ranks, RanksAt{n.Name, k})
		left -= k
		shared = shared || unified(n.HW)
		if n.HW.Memory > 0 {
			f.Part = math.Min(f.Part, float64(n.HW.Usable)/float64(n.HW.Memory))
		}
		if least == 0 || n.HW.Memory < least {
			least = n.HW.Memory
		}
	}
	f.Part = math.Min(mostPart, f.Part)
	if shared && least > 0 { // no more than it needs, for it is taken from the operating system
		need := float64(p.Memory.Weights+p.Memory.Runtime+unit.Size(min(seqs, wantedSeqs))*p.Memory.KV) / float64(least)
		f.Part = math.Min(f.Part, math.Max(sharedPart, need+0.02))
	}
	f.Part = math.Floor(f.Part*100) / 100
	if least > 0 && p.Memory.KV > 0 {
		free := f.Part*float64(least) - float64(p.Memory.Weights) - float64(p.Memory.Runtime)
		f.Seqs = max(1, min(seqs, int(free/float64(p.Memory.KV))))
	}
	return f
}

const (
	mostPart   = 0.92 // vLLM's default is 0.9; what a forecast calls usable is about 0.94 of a card
	sharedPart = 0.80 // of a memory that the processor uses too: what guides for DGX Spark give at most to begin with
)

// unified reports whether a GPU has no memory of its own.
func unified(h forecast.Hardware) bool {
	return h.Name == "gb10" || h.Name == "strix-halo" || h.Name == "jetson-thor" || h.Kind == "metal" || h.Kind == "ultra"
}

// left says what of the nodes is not used.
func left(p forecast.Plan, ask forecast.Ask) (says []string) {
	all := len(forecast.Spread(ask.Nodes))
	if unused := all - p.Layout.Ranks(); unused > 0 {
		says = append(says, fmt.Sprintf("it is quickest on %d of the %d GPUs: %d stay free", p.Layout.Ranks(), all, unused))
	}
	return says
}

// asTold lays the ranks evenly over the nodes, without knowing whether they fit.
func (l *Launch) asTold(c *check.Case, o *Order, why string) error {
	up := c.Up()
	if len(up) == 0 {
		return fmt.Errorf("no node answered")
	}
	tp, pp := max(o.TP, 1), max(o.PP, 1)
	if o.TP == 0 && o.PP == 0 || o.Context == 0 {
		return fmt.Errorf("what fits cannot be foreseen, because %s: say it yourself with --tp (and --pp) and --context, or name a config.json with --model-config", why)
	}
	ranks := tp * pp
	switch {
	case ranks < len(up):
		up = up[:ranks]
	case ranks%len(up) != 0:
		return fmt.Errorf("tp %d × pp %d are %d ranks, which %d nodes cannot share evenly: name fewer with -n", tp, pp, ranks, len(up))
	}
	l.Fit = Fit{TP: tp, PP: pp, Context: o.Context, Seqs: o.Seqs, Eager: o.Eager == "yes"}
	for _, n := range up {
		l.Fit.Ranks = append(l.Fit.Ranks, RanksAt{n.Name, ranks / len(up)})
	}
	if o.Known != nil {
		l.Fit.Hidden, l.Fit.Layers = o.Known.Hidden, o.Known.Layers
	}
	l.Says = append(l.Says, "nobody foresaw whether this fits, because "+why)
	return nil
}

// Needs is what the fullest rank holds, in words; "" when that is not known.
func (f Fit) Needs() string {
	if !f.Forecast {
		return ""
	}
	free := f.Memory.Usable - f.Memory.Weights - f.Memory.Runtime
	return fmt.Sprintf("%s of weights, %s for the engine, %s for the KV cache of %s", f.Memory.Weights, f.Memory.Runtime, unit.Size(max(free, 0)), f.Memory.Usable)
}
