package forecast

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// MaxConfig is the largest config.json that is read. Published ones stay under
// 100 KiB; block lists of searched architectures are the longest.
const MaxConfig = 4 << 20

// Bounds of what a config.json may say: far above anything published, and small
// enough that no product overflows.
const (
	mostLayers = 2000
	mostWidth  = 1 << 22 // hidden, ffn, vocabulary
	mostCount  = 1 << 16 // heads, experts
	mostList   = 10_000
)

// fields is a decoded config.json: the text model's own section over the rest.
type fields struct {
	text []byte
	top  map[string]any // the whole document
	own  map[string]any // text_config and its like; nil when flat
	err  error          // the first thing wrong
}

// sections are where multimodal configurations keep the language model.
var sections = []string{"text_config", "language_config", "llm_config", "language_model", "text", "thinker_config", "model_config"}

func readFields(b []byte) (*fields, error) {
	if len(b) > MaxConfig {
		return nil, fmt.Errorf("larger than %d bytes: not a config.json", MaxConfig)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	f := &fields{text: b}
	if err := dec.Decode(&f.top); err != nil {
		return nil, f.at(err, dec.InputOffset())
	}
	if f.top == nil {
		return nil, errors.New("null: want an object")
	}
	f.own = f.top
	for depth := 0; depth < 3; depth++ { // thinker_config holds a text_config
		inner := nested(f.own)
		if inner == nil {
			break
		}
		f.own = inner
	}
	f.own = flat(f.own)
	return f, nil
}

// flat takes in what DBRX keeps apart: how its attention and its experts are.
func flat(m map[string]any) map[string]any {
	out := m
	for _, part := range []string{"attn_config", "ffn_config"} {
		if inner, ok := m[part].(map[string]any); ok {
			out = maps.Clone(out)
			for k, v := range inner {
				if _, ok := m[k]; !ok {
					out[k] = v
				}
			}
		}
	}
	return out
}

func nested(m map[string]any) map[string]any {
	if _, ok := m["num_hidden_layers"]; ok {
		if _, ok := m["text_config"]; !ok {
			return nil
		}
	}
	for _, s := range sections {
		if inner, ok := m[s].(map[string]any); ok {
			return inner
		}
	}
	return nil
}

// at says where in the text an error is.
func (f *fields) at(err error, offset int64) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	offset = max(0, min(offset, int64(len(f.text))))
	before := f.text[:offset]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := int(offset) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Errorf("line %d column %d: %w", line, max(column, 1), err)
}

// wrong keeps the first complaint, with the line of the key.
func (f *fields) wrong(key, format string, args ...any) {
	if f.err != nil {
		return
	}
	line := 0
	if i := bytes.Index(f.text, []byte(`"`+key+`"`)); i >= 0 {
		line = 1 + bytes.Count(f.text[:i], []byte("\n"))
	}
	f.err = fmt.Errorf("line %d: %s: %s", line, key, fmt.Sprintf(format, args...))
}

// get finds the first key that is there and not null, in the text section and then
// in the whole.
func (f *fields) get(keys ...string) (v any, key string) {
	for _, m := range []map[string]any{f.own, f.top} {
		for _, k := range keys {
			if v := m[k]; v != nil {
				return v, k
			}
		}
	}
	return nil, ""
}

// int reads a number of at least 0 and at most most; ok is false when no key is there.
func (f *fields) int(most int, keys ...string) (n int, ok bool) {
	v, key := f.get(keys...)
	if key == "" {
		return 0, false
	}
	return f.number(v, key, most)
}

func (f *fields) number(v any, key string, most int) (int, bool) {
	switch v := v.(type) {
	case json.Number:
		x, err := v.Float64()
		switch {
		case err != nil || x < 0 || x > float64(most):
			f.wrong(key, "%s: want 0 to %d", v, most)
		case x != float64(int64(x)):
			f.wrong(key, "%s is not a whole number", v)
		default:
			return int(x), true
		}
	case []any: // one for each layer: their mean is what counts
		sum := 0
		for i, e := range v {
			if i == mostList {
				f.wrong(key, "more than %d entries", mostList)
				return 0, false
			}
			n, ok := f.number(e, key, most)
			if !ok {
				return 0, false
			}
			sum += n
		}
		if len(v) > 0 {
			return sum / len(v), true
		}
	default:
		f.wrong(key, "%v is not a number", shorten(v))
	}
	return 0, false
}

// or is int with a default.
func (f *fields) or(def, most int, keys ...string) int {
	if n, ok := f.int(most, keys...); ok {
		return n
	}
	return def
}

// need is int for what there must be, at least 1.
func (f *fields) need(most int, keys ...string) int {
	n, ok := f.int(most, keys...)
	switch {
	case !ok && f.err == nil:
		f.err = fmt.Errorf("no %s in it: not the configuration of a language model", strings.Join(keys, ", "))
	case ok && n < 1:
		_, key := f.get(keys...)
		f.wrong(key, "%d: want at least 1", n)
	}
	return n
}

func (f *fields) bool(def bool, keys ...string) bool {
	if v, _ := f.get(keys...); v != nil {
		if b, ok := v.(bool); ok {
			return b
		}
	}
	return def
}

func (f *fields) string(keys ...string) string {
	v, _ := f.get(keys...)
	s, _ := v.(string)
	return s
}

// list returns an array, bounded.
func (f *fields) list(keys ...string) []any {
	v, key := f.get(keys...)
	l, _ := v.([]any)
	if len(l) > mostList {
		f.wrong(key, "more than %d entries", mostList)
		return nil
	}
	return l
}

// sub returns an object as fields of its own.
func (f *fields) sub(keys ...string) *fields {
	v, _ := f.get(keys...)
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	return &fields{text: f.text, top: m, own: m}
}

func shorten(v any) string {
	s := fmt.Sprint(v)
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return s
}
