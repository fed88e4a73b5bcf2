package compat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a config.json, which may be anything at all.
const (
	MaxConfig   = 1 << 20
	maxNesting  = 64
	maxExperts  = 1 << 20
	maxTextSeen = 100
)

// ConfigModel reads what the matrix needs from a Hugging Face config.json: whether
// the model is a mixture of experts, and how it is quantised.
func (d *Data) ConfigModel(name string, b []byte) (Model, error) {
	m := Model{Name: name, Why: "config.json"}
	switch {
	case len(b) > MaxConfig:
		return m, fmt.Errorf("larger than %d bytes", MaxConfig)
	case !utf8.Valid(b):
		return m, errors.New("not UTF-8")
	}
	if err := nesting(b); err != nil {
		return m, err
	}
	var top map[string]any
	if err := json.Unmarshal(b, &top); err != nil {
		return m, located(b, err)
	}
	if len(top) == 0 {
		return m, errors.New("1:1: an empty object is no config.json")
	}
	if _, hf := top["model_type"]; !hf && top["architectures"] == nil && top["text_config"] == nil {
		return m, errors.New(`1:1: neither "model_type" nor "architectures": not a config.json of a model`)
	}
	inner := []map[string]any{top}
	for _, key := range []string{"text_config", "llm_config", "language_config"} {
		if sub, ok := top[key].(map[string]any); ok {
			inner = append(inner, sub)
		}
	}
	m.Kind = "dense"
	for _, c := range inner {
		n, err := experts(c)
		if err != nil {
			return m, err
		}
		if n > 1 {
			m.Kind = "moe"
		}
	}
	for _, c := range inner {
		for _, key := range []string{"quantization_config", "compression_config"} {
			if q, ok := c[key].(map[string]any); ok && m.Quant == "" {
				m.Quant, m.Fixed = quantOfConfig(q), true
				if m.Quant == "" {
					return m, fmt.Errorf("%s: weft does not know quant_method %q", key, text(q["quant_method"]))
				}
			}
		}
	}
	for _, c := range inner {
		for _, key := range []string{"dtype", "torch_dtype"} {
			if t := text(c[key]); m.Quant == "" && (t == "bfloat16" || t == "float16") {
				m.Quant = map[string]string{"bfloat16": "bf16", "float16": "fp16"}[t]
			}
		}
	}
	return m, nil
}

// expertKeys are what makers call the number of experts.
var expertKeys = []string{"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_moe_experts"}

func experts(c map[string]any) (int, error) {
	most := 0
	for _, key := range expertKeys {
		switch v := c[key].(type) {
		case nil:
		case float64:
			if v < 0 || v > maxExperts || v != float64(int(v)) {
				return 0, fmt.Errorf("%s is %v, which is no number of experts", key, v)
			}
			most = max(most, int(v))
		default:
			return 0, fmt.Errorf("%s is not a number", key)
		}
	}
	return most, nil
}

// quantOfConfig names the quantisation of a checkpoint; "" when it is none that weft
// knows.
func quantOfConfig(q map[string]any) string {
	bits := 4
	for _, key := range []string{"bits", "w_bit"} {
		if n, ok := q[key].(float64); ok {
			bits = int(max(0, min(n, 64)))
		}
	}
	switch method := strings.ToLower(text(q["quant_method"])); method {
	case "awq":
		return byBits(bits, "awq")
	case "gptq":
		return byBits(bits, "gptq")
	case "auto-round", "autoround", "intel/auto-round":
		switch packing := text(q["packing_format"]); {
		case strings.Contains(packing, "awq"):
			return byBits(bits, "awq")
		case strings.Contains(packing, "gptq"):
			return byBits(bits, "gptq")
		}
		return byBits(bits, "w4a16")
	case "fp8", "fbgemm_fp8":
		return "fp8"
	case "mxfp4":
		return "mxfp4"
	case "bitsandbytes":
		return "bitsandbytes"
	case "gguf":
		return "gguf"
	case "compressed-tensors", "sparseml":
		return compressed(q, bits)
	case "modelopt", "modelopt_fp4", "modelopt_fp8", "quark", "":
		return byAlgorithm(strings.ToLower(text(q["quant_algo"]) + " " + method))
	}
	return ""
}

func byBits(bits int, four string) string {
	switch bits {
	case 4:
		return four
	case 8:
		return "w8a16"
	}
	return ""
}

// byAlgorithm reads Model Optimizer's words.
func byAlgorithm(algo string) string {
	for _, w := range []struct{ word, quant string }{{"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"w4a16_awq", "awq"}, {"fp4", "nvfp4"}, {"fp8", "fp8"}, {"int8", "int8"}, {"w4a16", "w4a16"}} {
		if strings.Contains(algo, w.word) {
			return w.quant
		}
	}
	return ""
}

// compressed reads compressed-tensors: its format, and the bits and type of the
// weights and activations of its first group.
func compressed(q map[string]any, bits int) string {
	weights, activations := scheme(q)
	if n, ok := weights["num_bits"].(float64); ok {
		bits = int(max(0, min(n, 64)))
	}
	switch format := text(q["format"]); {
	case strings.HasPrefix(format, "nvfp4"):
		return "nvfp4"
	case strings.HasPrefix(format, "mxfp4"):
		return "mxfp4"
	case text(weights["type"]) == "float" && bits == 8:
		return "fp8"
	case text(weights["type"]) == "float" && bits == 4:
		return "nvfp4"
	case bits == 8 && activations != nil:
		return "int8"
	case format == "float-quantized":
		return "fp8"
	case format == "int-quantized":
		return "int8"
	}
	return byBits(bits, "w4a16")
}

// scheme returns the weights and activations of the first group, by name so that
// the answer does not depend on the order of a map.
func scheme(q map[string]any) (weights, activations map[string]any) {
	groups, _ := q["config_groups"].(map[string]any)
	first := ""
	for name := range groups {
		if first == "" || name < first {
			first = name
		}
	}
	group, _ := groups[first].(map[string]any)
	weights, _ = group["weights"].(map[string]any)
	activations, _ = group["input_activations"].(map[string]any)
	return weights, activations
}

// text is a JSON string, cut to what a message can bear; "" for all else.
func text(v any) string {
	s, _ := v.(string)
	if len(s) > maxTextSeen {
		s = strings.ToValidUTF8(s[:maxTextSeen], "")
	}
	return s
}

// nesting guards the decoder's recursion.
func nesting(b []byte) error {
	depth, quoted, escaped := 0, false, false
	for i, c := range b {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return fmt.Errorf("%s: nested deeper than %d", position(b, i), maxNesting)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// located puts line and column before what is wrong with JSON.
func located(b []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s: %w", position(b, int(syntax.Offset)-1), err)
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %s where an object should be", position(b, int(kind.Offset)-1), kind.Value)
	}
	return err
}

func position(b []byte, at int) string {
	at = max(0, min(at, len(b)))
	line := 1 + strings.Count(string(b[:at]), "\n")
	column := at - strings.LastIndexByte(string(b[:at]), '\n')
	return fmt.Sprintf("%d:%d", line, column)
}
