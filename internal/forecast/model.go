package forecast

import (
	"fmt"
	"math"
)

// Model is an architecture: how many parameters of which kind there are, which of
// them a token reads, and what it leaves in the KV cache.
type Model struct {
	Name   string  `json:"name"`
	Type   string  `json:"type,omitempty"` // model_type of config.json
	Layers int     `json:"layers"`
	Hidden int     `json:"hidden"`
	Vocab  int     `json:"vocab"`
	Tied   bool    `json:"tied"` // the head is the embedding
	Attn   []Attn  `json:"attention"`
	FFN    FFN     `json:"ffn"`
	MoE    MoE     `json:"moe"`
	Beside float64 `json:"beside,omitempty"` // parameters that are looked up and not read whole: per-layer and n-gram embeddings
	Native string  `json:"native,omitempty"` // format of the published weights: "mxfp4", "fp8"
	Keeps  bool    `json:"keeps,omitempty"`  // quantised releases quantise the routed experts alone
	Rough  string  `json:"rough,omitempty"`  // why the counts are estimates; "" when they were derived
	Source string  `json:"source,omitempty"`
}

// Attn is a group of layers with the same kind of attention.
type Attn struct {
	Kind    string  `json:"kind"` // "full", "window", "latent" (MLA), "linear", "ssm", "none"
	Count   int     `json:"count"`
	Params  float64 `json:"params"`          // of one layer
	Whole   float64 `json:"whole"`           // of Params, those that every rank keeps: projections into a latent
	KV      float64 `json:"kv"`              // numbers kept for each token, of one layer
	KVHeads int     `json:"kv_heads"`        // 0: cannot be split over ranks
	Window  int     `json:"window"`          // tokens kept; 0 is all
	State   float64 `json:"state"`           // numbers kept for each sequence, of one layer
	Heads   int     `json:"heads"`           // what tensor parallelism must divide
	Work    float64 `json:"-"`               // multiplications for each token in the context, of one layer
	Indexed int     `json:"top_k,omitempty"` // tokens that sparse attention looks at; 0 is all
}

// FFN is the dense feed-forward layers.
type FFN struct {
	Count  int     `json:"count"`
	Params float64 `json:"params"` // of one layer
}

// MoE is the mixture-of-experts layers.
type MoE struct {
	Count   int     `json:"count"`
	Experts int     `json:"experts"`
	TopK    int     `json:"top_k"`
	Expert  float64 `json:"expert"` // parameters of one expert
	Shared  float64 `json:"shared"` // parameters beside the routed experts that every token reads, of one layer
	Router  float64 `json:"router"` // parameters of one layer
}

// Blocks is how many of a model's blocks mix tokens (attention, state space) and how many
// are feed-forward: as many as layers each, but in models that interleave them singly.
// After each of them tensor parallelism has an all-reduce.
func (m Model) Blocks() (mixers, forwards int) {
	for _, a := range m.Attn {
		if a.Kind != "none" {
			mixers += a.Count
		}
	}
	return mixers, m.FFN.Count + m.MoE.Count
}

// Parts is parameters by what quantisation does with them.
type Parts struct {
	Embed   float64 `json:"embed"`   // looked up: one row is read
	Head    float64 `json:"head"`    // the matrix to the vocabulary; 0 in memory when tied
	Linear  float64 `json:"linear"`  // attention, dense layers, shared experts
	Small   float64 `json:"small"`   // router and norms: kept in 16 bits
	Experts float64 `json:"experts"` // routed experts
	Beside  float64 `json:"beside"`
}

// split is the part of one of tp ranks: norms, routers and what projects into a latent
// are kept whole by each.
func (p Parts) split(tp int, whole float64) Parts {
	n := float64(tp)
	return Parts{Embed: p.Embed / n, Head: p.Head / n, Linear: (p.Linear-whole)/n + whole, Small: p.Small, Experts: p.Experts / n, Beside: p.Beside / n}
}

// scale takes a part of everything.
func (p Parts) scale(f float64) Parts {
	return Parts{p.Embed * f, p.Head * f, p.Linear * f, p.Small * f, p.Experts * f, p.Beside * f}
}

// Sum is all of them.
func (p Parts) Sum() float64 { return p.Embed + p.Head + p.Linear + p.Small + p.Experts + p.Beside }

// Stored is what the model keeps in memory.
func (m Model) Stored() Parts {
	p := Parts{Embed: float64(m.Vocab) * float64(m.Hidden), Beside: m.Beside}
	if !m.Tied {
		p.Head = p.Embed
	}
	for _, a := range m.Attn {
		p.Linear += float64(a.Count) * a.Params
	}
	p.Linear += float64(m.FFN.Count)*m.FFN.Params + float64(m.MoE.Count)*m.MoE.Shared
	p.Small = float64(m.MoE.Count)*m.MoE.Router + 2*float64(m.Layers)*float64(m.Hidden)
	p.Experts = float64(m.MoE.Count) * float64(m.MoE.Experts) * m.MoE.Expert
	return p
}

// whole is the parameters of attention that tensor parallelism does not split.
func (m Model) whole() float64 {
	sum := 0.0
	for _, a := range m.Attn {
		sum += float64(a.Count) * a.Whole
	}
	return sum
}

// Read is what a step with so many tokens reads: the head whole, of the embedding
// and what is looked up nothing worth counting, of the experts those that some token
// chose.
func (m Model) Read(tokens int) Parts {
	p := m.Stored()
	p.Head = float64(m.Vocab) * float64(m.Hidden)
	p.Embed, p.Beside = 0, 0
	p.Experts = float64(m.MoE.Count) * m.MoE.Expert * m.chosen(tokens)
	return p
}

// alike is how much less than freely tokens choose: so many tokens touch as many
// experts as tokens^alike free ones would. Of gpt-oss-120b's 128 experts 32 sequences
// touched about 41 (ggml-org/llama.cpp benches/dgx-spark.md: a step takes 5.9 times as
// long as for one); free ones would touch 82, with 0.8 it is 51.
const alike = 0.8

// chosen is how many experts of a layer a step touches: those that at least one of its
// tokens chose.
func (m Model) chosen(tokens int) float64 {
	if m.MoE.Experts == 0 {
		return 0
	}
	e, k := float64(m.MoE.Experts), float64(m.MoE.TopK)
	return e * (1 - math.Pow(1-k/e, math.Pow(float64(max(tokens, 1)), alike)))
}

// Total and Active are the parameters as publishers count them: all of them, and
// those that one token uses, the embedding included.
func (m Model) Total() float64 { return m.Stored().Sum() }

// Active is the parameters that one token uses.
func (m Model) Active() float64 {
	p := m.Read(1)
	p.Embed = m.Stored().Embed
	if m.Tied {
		p.Embed = 0
	}
	return p.Sum()
}

// KVNumbers is the numbers in the KV cache of one sequence with so many tokens.
func (m Model) KVNumbers(context int) (perToken, state float64) {
	for _, a := range m.Attn {
		n := context
		if a.Window > 0 {
			n = min(n, a.Window)
		}
		perToken += float64(a.Count) * a.KV * float64(n)
		state += float64(a.Count) * a.State
	}
	return perToken, state
}

// Divides says why tensor parallelism over so many ranks cannot be, or nil.
func (m Model) Divides(tp int) error {
	if tp <= 1 {
		return nil
	}
	for _, a := range m.Attn {
		switch {
		case a.Heads == 0:
		case a.Heads%tp != 0:
			return fmt.Errorf("tp %d does not divide the %d heads of %s: %s", tp, a.Heads, m.Name, factors(a.Heads, "tp may be"))
		case a.KVHeads > 0 && a.KVHeads%tp != 0 && tp%a.KVHeads != 0:
			return fmt.Errorf("tp %d and the %d KV heads of %s do not divide one another", tp, a.KVHeads, m.Name)
		}
	}
	return nil
}

// factors lists the divisors up to 64.
func factors(n int, before string) string {
	out := before
	sep := " "
	for d := 1; d <= min(n, 64); d++ {
		if n%d == 0 {
			out += fmt.Sprintf("%s%d", sep, d)
			sep = ", "
		}
	}
	return out
}
