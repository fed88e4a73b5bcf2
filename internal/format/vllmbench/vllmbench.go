// Package vllmbench reads what `vllm bench serve` and SGLang's bench_serving print, and
// what they save as JSON. Pure: bytes in, numbers and line-numbered errors out.
package vllmbench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// Result is one run. What was not printed is nil, or "".
type Result struct {
	Line        int // where it begins
	Backend     string
	Model       string
	Concurrency *float64 // requests at once, at most; nil: as many as there are
	OK, Failed  *float64 // requests
	Seconds     *float64
	Input       *float64 // tokens, of all prompts
	Output      *float64
	Requests    *float64 // each second
	Tokens      *float64 // of answers, each second
	First       Dist     // time to the first token
	PerToken    Dist     // of each request, without its first token
	Between     Dist     // tokens
	Whole       Dist     // a request
}

// Dist is a distribution in milliseconds.
type Dist struct{ Mean, P50, P90, P99, P999, Max *float64 }

// ErrNot says that a text holds no result.
var ErrNot = errors.New("no result of vllm bench serve or of sglang.bench_serving")

// maxResults bounds how many runs one file may have.
const maxResults = 1000

// most is more of anything than a benchmark has.
const most = 1e15

// Read reads all results of a text: what was printed, a JSON document or one on each line.
func Read(b []byte) ([]Result, error) {
	if t := bytes.TrimSpace(b); len(t) > 0 && t[0] == '{' {
		return readJSON(b)
	}
	var out []Result
	var r *Result
	var before *float64 // the concurrency, which older versions print above the table
	model := ""
	for num, line := range printed.Lines(b) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		switch {
		case strings.Contains(line, "Serving Benchmark Result"):
			if len(out) == maxResults {
				return nil, fmt.Errorf("line %d: more than %d results", num, maxResults)
			}
			out = append(out, Result{Line: num, Concurrency: before, Model: model})
			r, before, model = &out[len(out)-1], nil, ""
			continue
		case strings.HasPrefix(line, "Namespace("):
			model = argument(line, "model")
			if n, ok := number(argument(line, "max_concurrency")); ok && n >= 1 && n <= most {
				before = &n
			}
			continue
		case r != nil && strings.Trim(line, "=") == "":
			r = nil
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		name, value = key(name), strings.TrimSpace(value)
		if r == nil {
			if n, ok := number(value); ok && n >= 1 && n <= most && name == "maximum request concurrency" {
				before = &n
			}
			continue
		}
		if err := r.set(name, value); err != nil {
			return nil, fmt.Errorf("line %d: %w", num, err)
		}
	}
	return kept(out)
}

// kept drops tables without a number that says how fast.
func kept(all []Result) ([]Result, error) {
	var out []Result
	for _, r := range all {
		if r.Tokens != nil || r.PerToken.Mean != nil || r.PerToken.P50 != nil {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, ErrNot
	}
	return out, nil
}

// argument is one of Python's Namespace(…, model='x', max_concurrency=8, …).
func argument(line, name string) string {
	for _, before := range []string{"(", ", "} {
		if _, rest, ok := strings.Cut(line, before+name+"="); ok {
			if quote := strings.IndexAny(rest, `'"`); quote == 0 {
				text, _, _ := strings.Cut(rest[1:], rest[:1])
				return text
			}
			if end := strings.IndexAny(rest, ",)"); end >= 0 {
				return rest[:end]
			}
		}
	}
	return ""
}

// key is a name without its unit, folded: "Mean TTFT (ms)" is "mean ttft".
func key(s string) string {
	s, _, _ = strings.Cut(s, "(")
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}

// number reads a number that may be; "inf", "nan" and "not set" are none.
func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// fields are the names of a table.
func (r *Result) fields() map[string]**float64 {
	return map[string]**float64{
		"successful requests": &r.OK, "failed requests": &r.Failed, "benchmark duration": &r.Seconds,
		"maximum request concurrency": &r.Concurrency, "max request concurrency": &r.Concurrency,
		"total input tokens": &r.Input, "total generated tokens": &r.Output,
		"request throughput": &r.Requests, "output token throughput": &r.Tokens,
	}
}

// words are what the distributions are called.
func (r *Result) dists() map[string]*Dist {
	return map[string]*Dist{"ttft": &r.First, "tpot": &r.PerToken, "itl": &r.Between, "e2el": &r.Whole, "e2e latency": &r.Whole}
}

func (d *Dist) at(word string) **float64 {
	switch word {
	case "mean":
		return &d.Mean
	case "median", "p50":
		return &d.P50
	case "p90":
		return &d.P90
	case "p99":
		return &d.P99
	case "p99.9":
		return &d.P999
	case "max":
		return &d.Max
	}
	return nil
}

// set takes one line of a table. Names that are not known are left: versions add some.
func (r *Result) set(name, value string) error {
	if name == "backend" {
		r.Backend = value[:min(len(value), 60)]
		return nil
	}
	to := r.fields()[name]
	if word, of, ok := strings.Cut(name, " "); to == nil && ok {
		if d := r.dists()[of]; d != nil {
			to = d.at(word)
		}
	}
	if to == nil || *to != nil && name != "maximum request concurrency" {
		return nil
	}
	switch strings.ToLower(value) {
	case "", "nan", "inf", "none", "not set", "n/a":
		return nil
	}
	f, ok := number(value)
	if !ok || f < 0 || f > most {
		return fmt.Errorf("%s %q: want a number", name, value[:min(len(value), 40)])
	}
	*to = &f
	return nil
}

var distKey = regexp.MustCompile(`^(mean|median|max|p50|p90|p99|p99\.9)_(ttft|tpot|itl|e2el|e2e_latency)_ms$`)

// names are those of the JSON that --save-result and --output-file write.
func (r *Result) names() map[string]**float64 {
	return map[string]**float64{
		"completed": &r.OK, "failed": &r.Failed, "duration": &r.Seconds, "max_concurrency": &r.Concurrency,
		"total_input_tokens": &r.Input, "total_input": &r.Input, "total_output_tokens": &r.Output, "total_output": &r.Output,
		"request_throughput": &r.Requests, "output_throughput": &r.Tokens,
	}
}

func readJSON(b []byte) ([]Result, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	var out []Result
	for dec.More() {
		line := 1 + bytes.Count(b[:dec.InputOffset()], []byte("\n"))
		var doc map[string]json.RawMessage
		if err := dec.Decode(&doc); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if len(out) == maxResults {
			return nil, fmt.Errorf("line %d: more than %d results", line, maxResults)
		}
		r := Result{Line: line}
		to := r.names()
		for name, raw := range doc {
			at := to[name]
			if m := distKey.FindStringSubmatch(name); m != nil {
				at = r.dists()[strings.ReplaceAll(m[2], "_", " ")].at(m[1])
			}
			if at == nil {
				continue
			}
			var f *float64
			if err := json.Unmarshal(raw, &f); err != nil || f != nil && (*f < 0 || *f > most) {
				return nil, fmt.Errorf("line %d: %s: want a number", line, name)
			}
			if f != nil {
				*at = f
			}
		}
		r.Model, r.Backend = text(doc["model_id"]), text(doc["backend"])
		if r.Backend == "" {
			r.Backend = text(doc["endpoint_type"])
		}
		out = append(out, r)
	}
	return kept(out)
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s[:min(len(s), 200)]
}
