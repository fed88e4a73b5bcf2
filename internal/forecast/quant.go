package forecast

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Format is how many bits a parameter takes, by what it is for: quantisation leaves
// some of a model as it was.
type Format struct {
	Name    string  `json:"name"`
	Experts float64 `json:"experts"` // bits, scales and zero points included
	Linear  float64 `json:"linear"`  // attention, dense layers, shared experts
	Head    float64 `json:"head"`
	Embed   float64 `json:"embed"`
	Small   float64 `json:"small"` // router, norms
	KV      float64 `json:"kv"`
	Why     string  `json:"why,omitempty"`
}

// Bytes is how many bytes parameters take.
func (f Format) Bytes(p Parts) float64 {
	return (p.Experts*f.Experts + p.Linear*f.Linear + p.Head*f.Head + (p.Embed+p.Beside)*f.Embed + p.Small*f.Small) / 8
}

// quant is a format that people name. Bits are what a parameter takes with its
// scales: 4 bits with a 16-bit scale and a 4-bit zero for each 128 take 4.16 (GPTQ,
// AWQ, W4A16); with an 8-bit scale for each 16, 4.5 (NVFP4), for each 32, 4.25
// (MXFP4); MLX keeps a 16-bit scale and bias for each 64. GGUF figures are averages
// of whole files, as llama.cpp's quantize prints them.
type quant struct {
	name  string
	bits  float64
	as    string // "gguf", "mlx", "16", "fp8", "w4": what stays wider, see shape
	alias string
}

var quants = []quant{
	{"bf16", 16, "16", "fp16 f16 float16 bfloat16 16"},
	{"fp8", 8, "w", "f8 w8a8-fp8 fp8-dynamic mxfp8"},
	{"int8", 8.125, "w", "w8a8 w8a16"},
	{"w4a16", 4.16, "w", "awq gptq int4 gptq-int4 awq-4bit autoround w4 4-bit"},
	{"nvfp4", 4.5, "experts", "fp4 w4a4"},
	{"mxfp4", 4.25, "experts", ""},
	{"mlx-3", 3.5, "all", "mlx-3bit 3bit"},
	{"mlx-4", 4.5, "all", "mlx-4bit 4bit"},
	{"mlx-6", 6.5, "all", "mlx-6bit 6bit"},
	{"mlx-8", 8.5, "all", "mlx-8bit 8bit"},
	{"q8_0", 8.5, "gguf", "q8 q80 q8-k-xl ud-q8-k-xl"},
	{"q6_k", 6.56, "gguf", "q6 q6-k-xl ud-q6-k-xl"},
	{"q5_k_m", 5.69, "gguf", "q5 q5-k ud-q5-k-xl"},
	{"q4_k_m", 4.85, "gguf", "q4 q4-k ud-q4-k-m"},
	{"q4_k_xl", 4.6, "gguf", "ud-q4-k-xl"},
	{"q4_0", 4.55, "gguf", "q40"},
	{"iq4_xs", 4.46, "gguf", ""},
	{"q3_k_m", 3.91, "gguf", "q3 ud-q3-k-xl q3-k-xl"},
	{"q2_k", 3.0, "gguf", "q2 ud-q2-k-xl q2-k-xl iq2-m"},
}

// QuantNames lists the formats.
func QuantNames() []string {
	var out []string
	for _, q := range quants {
		out = append(out, q.name)
	}
	return out
}

const (
	q8 = 8.5 // GGUF's Q8_0: 8 bits and a 16-bit scale for each 32

	// wide is what GGUF files of mixtures keep beside the routed experts: between plain
	// K-quants (Q5_K, Q6_K) and dynamic ones (Q8_0).
	wide = 7
)

// FormatOf is the format that a person named, for a model in an engine: a name, or
// average bits for each parameter ("4.5"). "" is as the model is published.
func FormatOf(name string, m Model, e Engine) (Format, error) {
	if name == "" {
		name = firstOf(m.Native, "bf16")
	}
	want := strings.NewReplacer("_", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
	for _, q := range quants {
		if want != strings.ReplaceAll(q.name, "_", "-") && !hasField(q.alias, want) {
			continue
		}
		f := shape(q, m, e)
		f.Name = q.name
		return f, nil
	}
	if bits, err := strconv.ParseFloat(strings.TrimSuffix(want, "bit"), 64); err == nil {
		if !(bits >= 1 && bits <= 32) {
			return Format{}, fmt.Errorf("quantisation %s: want 1 to 32 bits for each parameter", quoted(name))
		}
		return Average(bits, m, e), nil
	}
	return Format{}, &Unknown{"quantisation", name, nearest(name, QuantNames())}
}

func hasField(s, word string) bool {
	for _, f := range strings.Fields(s) {
		if f == word {
			return true
		}
	}
	return false
}

// shape says what stays wider.
func shape(q quant, m Model, e Engine) Format {
	f := Format{Experts: q.bits, Linear: q.bits, Head: 16, Embed: 16, Small: 16, KV: 16}
	switch q.as {
	case "all":
		f.Head, f.Embed, f.Why = q.bits, q.bits, "MLX quantises every matrix alike"
	case "w":
		f.Why = "embeddings, head, router and norms stay in 16 bits"
		if m.Keeps {
			f.Linear, f.Why = 16, "releases of this model quantise the routed experts alone"
		}
	case "experts":
		f.Why = "embeddings, head, router and norms stay in 16 bits"
		if m.MoE.Count > 0 {
			f.Linear, f.Why = 16, "the routed experts alone are quantised, the rest stays in 16 bits"
			if e.Weights == "gguf" {
				f.Linear, f.Head, f.Embed, f.Why = q8, q8, q8, "GGUF files of it keep the rest in Q8_0"
			}
		}
	case "gguf":
		f.Head = max(q.bits, 6.56) // llama.cpp gives output.weight Q6_K or better
		f.Embed = f.Head
		f.Why = "a GGUF file's average; the head in Q6_K or better"
		if m.MoE.Count > 0 && q.bits < wide {
			f.Linear, f.Head, f.Embed = wide, wide, wide
			f.Why = "routed experts as named; attention, shared experts and head, a small part of the file, kept at 7 bits"
		}
	}
	return f
}

// Average is the format of weights of which only the average is known. What the
// engine's own files do with it decides what is wider.
func Average(bits float64, m Model, e Engine) Format {
	name := strconv.FormatFloat(bits, 'g', 3, 64) + " bits"
	q := quant{name, bits, "w", ""}
	switch {
	case bits > 12:
		q.as = "16"
	case e.Weights == "mlx", e.Weights == "flat":
		q.as = "all"
	case e.Weights == "gguf":
		q.as = "gguf"
	}
	f := shape(q, m, e)
	f.Name = name
	if m.Native == "mxfp4" && bits < 6 {
		f = nativeMXFP4(f, bits, m, e)
	}
	return f
}

// nativeMXFP4 is a model whose experts are published in MXFP4 and never converted:
// what the average has above it is what the rest is wider.
func nativeMXFP4(f Format, bits float64, m Model, e Engine) Format {
	const mx = 4.25
	s := m.Stored()
	rest := s.Sum() - s.Experts
	left := (bits*s.Sum() - mx*s.Experts) / max(rest, 1)
	left = math.Max(mx, math.Min(16, left))
	f.Why = "experts in MXFP4 as published; the rest as the average leaves it"
	if e.Weights == "gguf" {
		left = math.Max(left, q8)
		f.Why += ", Q8_0 at least as GGUF files of it have it"
	}
	f.Experts, f.Linear, f.Head, f.Embed = mx, left, left, left
	return f
}

// Fitting is the average that people run a model with when nothing else is told:
// the widest of the engine's usual formats that leaves a quarter of the memory.
func Fitting(m Model, e Engine, room float64) float64 {
	usual := []float64{16, 8, 4.5}
	if e.Weights == "gguf" || e.Weights == "mlx" || e.Weights == "flat" {
		usual = []float64{8.5, 4.8}
	}
	for _, b := range usual {
		if Average(b, m, e).Bytes(m.Stored()) < 0.75*room {
			return b
		}
	}
	return usual[len(usual)-1]
}
