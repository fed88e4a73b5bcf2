package compat

import (
	"regexp"
	"strings"
)

// Model is what the matrix needs to know of a model.
type Model struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`            // "dense", "moe"; "" not known
	Quant string `json:"quant,omitempty"` // of the checkpoint; "" when it is not said
	Fixed bool   `json:"-"`               // the checkpoint itself says Quant: another one contradicts it
	Why   string `json:"why"`             // what Kind and Quant were taken from
}

// Names that tell of experts: "A22B" active parameters, "8x7B".
var (
	activeParams = regexp.MustCompile(`(^|[-_])a[0-9]+(\.[0-9]+)?b($|[-_])`)
	timesParams  = regexp.MustCompile(`(^|[-_])[0-9]+x[0-9]+b($|[-_])`)
	ggufQuant    = regexp.MustCompile(`(^|[-_.:])i?q[2-8](_[0-9kmslx]+)+($|[-_.])`)
)

// quantWords are the parts of a checkpoint's name that say how it is quantised, the
// more telling first.
var quantWords = []struct{ word, quant string }{
	{"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"w4a16", "w4a16"}, {"w8a16", "w8a16"}, {"w8a8", "int8"}, {"awq", "awq"}, {"gptq", "gptq"},
	{"gguf", "gguf"}, {"bnb", "bitsandbytes"}, {"fp8", "fp8"}, {"fp4", "nvfp4"}, {"bf16", "bf16"}, {"fp16", "fp16"},
}

// FindModel tells a model by its name: "Qwen/Qwen3-235B-A22B-AWQ".
func (d *Data) FindModel(name string) (Model, error) {
	m := Model{Name: name}
	base := squash(name[strings.LastIndexByte(name, '/')+1:])
	if len(name) > maxName || base == "" {
		return m, d.unknownModel(name)
	}
	for _, w := range quantWords {
		if hasPart(base, w.word) {
			m.Quant, m.Fixed = w.quant, true
			break
		}
	}
	if m.Quant == "" && ggufQuant.MatchString(base) {
		m.Quant, m.Fixed = "gguf", true
	}
	var rule modelRule
	for _, r := range d.models {
		if at := strings.Index(base, r.match); at >= 0 && (at == 0 || base[at-1] == '-') && len(r.match) > len(rule.match) {
			rule = r
		}
	}
	switch {
	case activeParams.MatchString(base) || timesParams.MatchString(base):
		m.Kind, m.Why = "moe", "its name gives the active parameters"
	case rule.match != "":
		m.Kind, m.Why = rule.kind, "weft's table of models"
	default:
		return m, d.unknownModel(name)
	}
	if m.Quant == "" && rule.quant != "" {
		m.Quant = rule.quant
	}
	return m, nil
}

func (d *Data) unknownModel(name string) error {
	var names []string
	for _, r := range d.models {
		names = append(names, r.match)
	}
	return &UnknownName{"model", name, nearest(name[strings.LastIndexByte(name, '/')+1:], names)}
}

// hasPart reports whether a word stands in a name between dashes and dots, digits
// after it or not: "awq", "awq-4bit", "fp8-dynamic", "quantized.w4a16".
func hasPart(base, word string) bool {
	for _, part := range strings.FieldsFunc(base, func(r rune) bool { return r == '-' || r == '.' || r == '_' || r == ':' }) {
		if part == word || strings.HasPrefix(part, word) && strings.Trim(part[len(word):], "0123456789") == "" {
			return true
		}
	}
	return false
}

// squash makes model names comparable: lower case, dashes for all that separates.
func squash(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == ':':
			return r
		}
		return '-'
	}, s), "-")
}
