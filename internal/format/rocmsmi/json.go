package rocmsmi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ParseROCm reads `rocm-smi … --json`. A document that ends early leaves an
// error beside what was read.
func ParseROCm(b []byte) (Report, error) {
	var r Report
	var values map[string]string
	errs, err := walk(b, func(path []string, v string) error {
		if len(path) != 2 {
			return nil
		}
		if path[0] == "system" {
			if path[1] == "Driver version" && !absent(v) {
				r.Driver = v
			}
			return r.Topo.between(path[1], v)
		}
		num, ok := strings.CutPrefix(path[0], "card")
		index, err := strconv.Atoi(num)
		if !ok || err != nil {
			return nil
		}
		if n := len(r.GPUs); n == 0 || *r.GPUs[n-1].Index != index {
			r.GPUs = append(r.GPUs, GPU{Index: &index})
			values = map[string]string{}
		}
		// "Card series" became "Card Series", so that case is no name.
		return put(rocmFields, &r.GPUs[len(r.GPUs)-1], values, strings.ToLower(path[1]), v)
	})
	if err == nil && r.GPUs == nil && r.Driver == "" {
		err = errors.New("no cards")
	}
	if r.Topo.Weight != nil || r.Topo.Hops != nil || r.Topo.Link != nil {
		for _, g := range r.GPUs {
			r.Topo.Names = append(r.Topo.Names, fmt.Sprintf("GPU%d", *g.Index))
		}
	}
	return r, errors.Join(append(errs, err)...)
}

// ParseAMD reads `amd-smi static --json` and `amd-smi metric --json`, the
// list of older releases and the gpu_data of newer ones, or a part of one
// GPU's object as somebody pasted it.
func ParseAMD(b []byte) (Report, error) {
	var (
		r      Report
		values map[string]string // of the current GPU, a value and its unit apart
		at     = "none"          // the current element of the list
	)
	errs, err := walk(b, func(path []string, v string) error {
		if path[0] == "gpu_data" {
			path = path[1:]
		}
		here := ""
		if len(path) > 1 && isIndex(path[0]) {
			here, path = path[0], path[1:]
		}
		if len(path) == 0 {
			return nil
		}
		if here != at {
			at = here
			r.GPUs = append(r.GPUs, GPU{})
			values = map[string]string{}
		}
		name := strings.Join(path, "/")
		if name == "driver/version" && !absent(v) {
			r.Driver = v
		}
		return put(amdFields, &r.GPUs[len(r.GPUs)-1], values, name, v)
	})
	if err == nil && r.GPUs == nil {
		err = errors.New("no GPUs")
	}
	return r, errors.Join(append(errs, err)...)
}

func isIndex(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// walk calls f with every value that is no object or list, and the keys and
// list positions that lead to it. It returns what f complained about, with
// lines, and what ended the document early.
func walk(b []byte, f func(path []string, v string) error) (errs []error, end error) {
	start, doc := document(b)
	if doc == nil {
		return nil, fmt.Errorf("no JSON: %.120q", strings.TrimSpace(string(b)))
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	line := func() int {
		return start + bytes.Count(doc[:min(int(dec.InputOffset()), len(doc))], []byte("\n"))
	}
	type level struct {
		list bool
		next int    // position in a list
		key  string // in an object, "" while one is awaited
	}
	var open []level
	var path []string
	for {
		t, err := dec.Token()
		if err == io.EOF && len(open) == 0 {
			return errs, nil
		}
		if err != nil {
			return errs, fmt.Errorf("line %d: document ends early", line())
		}
		var top *level
		if len(open) > 0 {
			top = &open[len(open)-1]
		}
		if d, ok := t.(json.Delim); ok && (d == '}' || d == ']') {
			open = open[:len(open)-1]
			if len(open) == 0 {
				return errs, nil // what follows the document is not it
			}
			open[len(open)-1].key = ""
			path = path[:len(path)-1]
			continue
		}
		if top != nil && !top.list && top.key == "" {
			key, _ := t.(string)
			top.key = "=" + key // never empty, whatever the key
			path = append(path, key)
			continue
		}
		if top != nil && top.list {
			path = append(path, strconv.Itoa(top.next))
			top.next++
		}
		if d, ok := t.(json.Delim); ok {
			open = append(open, level{list: d == '['})
			continue
		}
		if top == nil {
			return errs, fmt.Errorf("line %d: no object", line())
		}
		if err := f(path, fmt.Sprint(t)); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", line(), err))
		}
		path = path[:len(path)-1]
		top.key = ""
	}
}

// document finds the JSON among comments and warnings before it and tells
// its first line. A document that begins with a key lost its braces.
func document(b []byte) (line int, doc []byte) {
	rest := b
	for line = 1; ; line++ {
		t := bytes.TrimLeft(rest, " \t\r")
		first, after, more := bytes.Cut(t, []byte("\n"))
		first = bytes.TrimSpace(first)
		switch {
		case len(first) == 0:
		case first[0] == '{':
			return line, t
		case first[0] == '[' && (len(first) == 1 || first[1] == '{' || first[1] == ']'):
			return line, t // "[WARNING]" is no list
		case first[0] == '"':
			return line, append([]byte("{"), t...)
		}
		if !more {
			return 0, nil
		}
		rest = after
	}
}
