package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/compat"
	"weft/internal/forecast"
)

// Change is something to do, and the tokens/s that it should give. Each is alone: gains
// do not add up.
type Change struct {
	What   string  `json:"what"`
	Rate   float64 `json:"rate"`  // tokens/s of one sequence
	Times  float64 `json:"times"` // of what was measured
	Effect string  `json:"effect"`
	How    string  `json:"how"`
	If     string  `json:"what_if,omitempty"` // for weft forecast
	Known  string  `json:"works,omitempty"`   // whether it runs: "yes", "partly", "unknown"; "" was not asked
}

// Effects, by what a person would notice.
const (
	Quicker = "quicker"
	Same    = "no difference"
	Slower  = "slower"

	noticed = 0.02
)

// Drafts is what speculative decoding would need to be worth it: how many tokens are
// accepted is a property of the text, and weft does not guess it.
type Drafts struct {
	Draft int         `json:"draft"`
	Step  forecast.Ms `json:"step_ms"`    // with drafts
	Even  float64     `json:"break_even"` // tokens of a step above which it is quicker
}

// drafts is how many tokens a step guesses, in the sentence about speculation.
const drafts = 3

// scale says how the measurement changes the forecast of something else: the time
// within ranks by a factor, what is between them as forecast, what is wrong stays.
// Where that cannot be (less was measured than the network alone should take), all of
// it by one factor. Both ways are validated: docs/forecast.md.
type scale struct {
	local, all float64
	stay       forecast.Ms
}

func (a *Ask) scale(out *Answer, run forecast.Plan) scale {
	s := scale{all: float64(out.Step / run.Step.Total())}
	for _, c := range out.Causes {
		if c.Ms > 0 && c.Check != "eager" && c.Check != "tcp" && c.Check != "nccl.socket" {
			s.stay += c.Ms
		}
	}
	s.local = float64((out.Step - run.Step.Net() - s.stay) / run.Step.Local())
	if s.local < 0.3 || s.local > 3 {
		s.local = 0
	}
	return s
}

func (s scale) step(w forecast.Waterfall) forecast.Ms {
	if s.local == 0 {
		return w.Total() * forecast.Ms(s.all)
	}
	return w.Local()*forecast.Ms(s.local) + w.Net() + s.stay
}

// tokens is tokens/s of one sequence.
func (s scale) tokens(w forecast.Waterfall) float64 {
	return 1000 * w.Tokens / float64(max(w.Streams, 1)) / float64(s.step(w))
}

// try is one change to try.
type try struct {
	what, how, whatIf, known string
	ask                      forecast.Ask
	fabric                   forecast.Fabric
	quiet                    bool // not worth a line when it cannot be
	other                    bool // another engine: what was measured says nothing about its kernels
}

// changes tries all that could be changed and sorts them.
func (a *Ask) changes(out *Answer, run forecast.Plan) {
	s := a.scale(out, run)
	for _, c := range out.Causes {
		if c.Ms > 0 && c.Check != "eager" && c.Check != "tcp" && c.Check != "nccl.socket" {
			how := "weft explain " + c.Check
			if len(c.Fix) > 0 {
				how = c.Fix[0]
			}
			out.add(Change{What: "mend " + c.Check + on(c.On), Rate: 1000 * out.Tokens / float64(out.Step-c.Ms), How: how})
		}
	}
	for _, t := range a.tries(out) {
		p, err := a.run(t.ask, t.fabric)
		switch {
		case err != nil && !t.quiet:
			out.Refused = append(out.Refused, Refused{t.what, err.Error()})
		case err != nil:
		case !p.Fits && out.Fits:
			out.Refused = append(out.Refused, Refused{t.what, fmt.Sprintf("a rank would hold %v of %v", p.Memory.Need(), p.Memory.Usable)})
		case t.other:
			out.add(Change{What: t.what, Rate: out.Measured * p.Each / run.Each, How: t.how + "; another engine: by the ratio of both forecasts", If: t.whatIf})
		default:
			out.add(Change{What: t.what, Rate: s.tokens(p.Step), How: t.how, If: t.whatIf, Known: t.known})
		}
	}
	slices.SortStableFunc(out.Changes, func(x, y Change) int { return cmp.Compare(y.Rate, x.Rate) })
	a.drafts(out, run, s)
}

func on(where string) string {
	if where == "" {
		return ""
	}
	return " on " + where
}

func (out *Answer) add(c Change) {
	c.Times = c.Rate / out.Measured
	switch {
	case c.Times > 1+noticed:
		c.Effect = Quicker
	case c.Times < 1-noticed:
		c.Effect = Slower
	default:
		c.Effect = Same
	}
	out.Changes = append(out.Changes, c)
}

// tries lists what could be changed.
func (a *Ask) tries(out *Answer) (list []try) {
	if a.many() {
		list = append(list, a.linkTries(out)...)
	}
	if a.Engine.Eager {
		ask := a.Ask
		ask.Engine.Eager = false
		list = append(list, try{what: "graphs instead of eager mode", how: "start the engine without --enforce-eager", whatIf: "engine=vllm", ask: ask, fabric: out.Fabric})
	}
	list = append(list, a.layoutTries(out)...)
	return append(list, a.quantTries(out)...)
}

// linkTries: another way between nodes, and the same way with more bandwidth, which is
// what people buy first.
func (a *Ask) linkTries(out *Answer) (list []try) {
	ran := out.Fabric
	if ran.Transport == "tcp" && a.Engine.Sync != "dllama" {
		f := forecast.Fabric{Transport: "rdma", Gbps: ran.Gbps, Source: "what if"}
		how := "cards and drivers that do RDMA on every node, of one kind; weft check, weft plan"
		what := "RDMA instead of TCP"
		if a.Engine.Hop == "rpc" {
			how = "a build of llama.cpp whose RPC speaks it; measured with wkljohn/llama.cpp-strix-halo-RCCL-RDMA"
		}
		if out.Should.Transport == "rdma" {
			f, how = out.Should, "the nodes have it: "+a.mend(out)
		}
		list = append(list, try{what: what, how: how, whatIf: "link=rdma", ask: a.Ask, fabric: f})
	}
	spark := !slices.ContainsFunc(a.Nodes, func(n forecast.Node) bool { return n.HW.Name != "gb10" })
	if ran.Transport == "rdma" && spark && a.TP > 1 && len(a.Nodes) <= 4 && a.Engine.Sync == "nccl" {
		f := forecast.Fabric{Transport: "oneshot", Gbps: ran.Gbps, Source: "published"}
		list = append(list, try{what: "one-shot all-reduce instead of NCCL's ring", how: "exists for two to four Sparks outside of NCCL: christopherowen/dgx-spark-networking, local-inference-lab/b12x pull 295", whatIf: "link=oneshot", ask: a.Ask, fabric: f})
	}
	if ran.Gbps > 0 {
		f := ran
		f.Gbps *= 4
		list = append(list, try{what: fmt.Sprintf("four times the bandwidth (%s)", f), how: "the messages of a token are small: latency counts", whatIf: "link=" + f.String(), ask: a.Ask, fabric: f})
	}
	return list
}

// mend says what to do about sockets.
func (a *Ask) mend(out *Answer) string {
	if b := a.blockers(); len(b) > 0 {
		return "mend " + checksOf(b) + "; weft plan"
	}
	for _, c := range out.Causes {
		if c.Check == "nccl.socket" && len(c.Fix) > 0 {
			return c.Fix[0]
		}
	}
	return "weft nccl LOG says why it was not taken"
}

// layoutTries: split layers instead of handing them on, the other way round, fewer and
// more nodes.
func (a *Ask) layoutTries(out *Answer) (list []try) {
	ranks := len(forecast.Spread(a.Nodes))
	add := func(what, how, whatIf string, ask forecast.Ask, quiet bool) {
		list = append(list, try{what: what, how: how, whatIf: whatIf, ask: ask, fabric: out.Fabric, quiet: quiet, other: ask.Engine.Name != a.Engine.Name})
	}
	if a.PP > 1 {
		ask := a.Ask
		ask.TP, ask.PP, ask.Split = a.TP*a.PP, 1, nil
		what, how := fmt.Sprintf("tensor parallel (tp %d) instead of pipeline", ask.TP), "every node then reads its part of every layer at the same time"
		whatIf := fmt.Sprintf("tp=%d,pp=1", ask.TP)
		if a.Engine.Near && a.many() {
			if e, f, ok := a.tensorEngine(); ok {
				ask.Engine, ask.Format = e, f
				what += ", " + e.Name + " in " + f.Name
				whatIf = "engine=" + e.Name + ",quant=" + f.Name + "," + whatIf
			}
		}
		add(what, how, whatIf, ask, false)
	}
	if a.TP > 1 && a.PP == 1 && a.many() {
		ask := a.Ask
		ask.TP, ask.PP = 1, a.TP
		add(fmt.Sprintf("pipeline (pp %d) instead of tensor parallel", ask.PP), "layers are handed on: a token still reads all of them one after another", fmt.Sprintf("tp=1,pp=%d", ask.PP), ask, true)
		if e, err := forecast.EngineByName("llama.cpp", ""); err == nil && a.Engine.Name != e.Name && a.Engine.Weights == "hf" {
			if f, err := forecast.FormatOf(ggufLike(a.Format), a.Model, e); err == nil {
				ask.Engine, ask.Format = e, f
				add(fmt.Sprintf("llama.cpp over RPC in %s (pp %d)", f.Name, ask.PP), "it fits larger models; each node more is one step more", fmt.Sprintf("engine=llama.cpp,quant=%s,tp=1,pp=%d", f.Name, ask.PP), ask, true)
			}
		}
	}
	perNode := a.Nodes[0].GPUs
	for n := len(a.Nodes) / 2; n >= 1; n /= 2 {
		if ask, ok := a.resized(n, perNode); ok {
			add(fmt.Sprintf("%d %s instead of %d", n, plural(n, "node"), len(a.Nodes)), "fewer nodes wait for each other; the others serve other people", fmt.Sprintf("nodes=%d", n), ask, true)
		}
	}
	if ask, ok := a.resized(2*len(a.Nodes), perNode); ok && ranks <= 1024 {
		what := fmt.Sprintf("%d nodes instead of %d", 2*len(a.Nodes), len(a.Nodes))
		if !a.many() {
			what += ", over " + out.Fabric.String()
		}
		add(what, "more of the same", fmt.Sprintf("nodes=%d", 2*len(a.Nodes)), ask, true)
	}
	return list
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// resized is the same way of splitting over another number of nodes.
func (a *Ask) resized(n, perNode int) (forecast.Ask, bool) {
	ask := a.Ask
	ask.Nodes, ask.Split = forecast.Resize(a.Nodes, n), nil
	ranks := n * perNode
	switch {
	case slices.ContainsFunc(a.Nodes, func(x forecast.Node) bool { return x.GPUs != perNode }):
		return ask, false
	case a.PP == 1 && !a.Engine.Near:
		ask.TP = ranks
	case a.TP == 1:
		ask.PP = ranks
	case ranks%a.TP == 0:
		ask.PP = ranks / a.TP
	default:
		return ask, false
	}
	return ask, ask.TP*ask.PP == ranks && ask.PP <= a.Model.Layers
}

// tensorEngine is vLLM, in the format nearest to a GGUF file's, where it runs.
func (a *Ask) tensorEngine() (forecast.Engine, forecast.Format, bool) {
	e, err := forecast.EngineByName("vllm", "")
	kind := a.Nodes[0].HW.Kind
	if err != nil || kind != "cuda" && kind != "rdna" && kind != "cdna" {
		return e, forecast.Format{}, false
	}
	name := "bf16"
	switch {
	case a.Model.Native == "mxfp4":
		name = "mxfp4"
	case a.Format.Experts < 6:
		name = "w4a16"
	case a.Format.Experts < 12:
		name = "fp8"
		if answer, _ := a.works("fp8", e); answer == compat.No {
			name = "int8"
		}
	}
	f, err := forecast.FormatOf(name, a.Model, e)
	if answer, _ := a.works(name, e); answer == compat.No {
		return e, f, false
	}
	return e, f, err == nil
}

// ggufLike is the GGUF format with about as many bits.
func ggufLike(f forecast.Format) string {
	switch {
	case f.Experts > 12:
		return "bf16"
	case f.Experts > 7:
		return "q8_0"
	}
	return "q4_k_m"
}

// quantTries: narrower formats that the engine reads.
func (a *Ask) quantTries(out *Answer) (list []try) {
	names := map[string][]string{
		"hf":   {"fp8", "int8", "nvfp4", "w4a16"},
		"gguf": {"q8_0", "q6_k", "q4_k_m"},
		"mlx":  {"mlx-8", "mlx-6", "mlx-4"},
	}[a.Engine.Weights]
	if a.Model.Native == "mxfp4" && a.Engine.Weights == "hf" {
		return nil // its experts are published so and not converted
	}
	now := a.Format.Bytes(a.Model.Read(1))
	for _, name := range names {
		f, err := forecast.FormatOf(name, a.Model, a.Engine)
		if err != nil || f.Bytes(a.Model.Read(1)) > 0.95*now {
			continue
		}
		ask := a.Ask
		ask.Format = f
		ask.Format.KV = a.Format.KV
		answer, why := a.works(name, a.Engine)
		if answer == compat.No {
			out.Refused = append(out.Refused, Refused{name + " instead of " + a.Format.Name, why})
			continue
		}
		how := "fewer bytes for each token, a little less exact"
		if why != "" {
			how += "; " + why
		}
		list = append(list, try{what: name + " instead of " + a.Format.Name, how: how, whatIf: "quant=" + name, known: answer, ask: ask, fabric: out.Fabric})
	}
	return list
}

// works asks the matrix of compat on every kind of GPU; "" where it was never asked.
func (a *Ask) works(quant string, e forecast.Engine) (answer, why string) {
	d := compat.Matrix()
	engine := e.Name
	if strings.HasPrefix(engine, "vllm") {
		engine = "vllm"
	}
	id, err := d.FindEngine(engine)
	if err != nil {
		return "", ""
	}
	q, err := d.FindQuant(quant)
	if err != nil {
		return "", ""
	}
	kind := "dense"
	if a.Model.MoE.Count > 0 {
		kind = "moe"
	}
	asked := map[string]bool{}
	for _, n := range a.Nodes {
		name := n.HW.Name
		if name == "strix-halo" {
			name = "gfx1151"
		}
		if asked[name] {
			continue
		}
		asked[name] = true
		gpus, err := d.FindGPU(name)
		if err != nil || len(gpus) != 1 {
			continue
		}
		cell := d.QuantOf(gpus[0], q, id, kind)
		if answer == "" || compat.Better(answer, cell.Answer) {
			answer, why = cell.Answer, cell.How
			if cell.Answer == compat.Unknown {
				why = "nobody told weft whether it runs on " + gpus[0]
			}
			if cell.Answer == compat.No && cell.Instead != "" {
				why += "; take " + cell.Instead
			}
		}
	}
	return answer, why
}

// drafts works out what speculation must accept to be worth it.
func (a *Ask) drafts(out *Answer, run forecast.Plan, s scale) {
	if a.Spec.On() {
		return
	}
	ask := a.Ask
	ask.Spec = forecast.Spec{Draft: drafts, Accepted: 1}
	p, err := a.run(ask, out.Fabric)
	if err != nil {
		return
	}
	out.Drafts = &Drafts{Draft: drafts, Step: s.step(p.Step), Even: float64(s.step(p.Step) / s.step(run.Step))}
}
