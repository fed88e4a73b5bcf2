// Package history says what changed between two looks at a cluster. Pure.
package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/fact"
)

// Change is one fact that differs.
type Change struct {
	Node string `json:"node"`
	Path string `json:"path"` // "ports/mlx5_0/1/state"
	From string `json:"from"` // "" when it was not there
	To   string `json:"to"`   // "" when it is not there any more
}

// moving are facts that move by themselves: they are measurements, not settings.
var moving = []string{"counters", "pause_prio", "power", "temp", "clock", "util", "uptime", "clock_skew", "skew_error", "neighbours", "throttle", "aer", "ssh_from", "kmsg", "flaps", "gaps"}

// Diff returns what changed from a to b, by node and path.
func Diff(a, b *fact.Cluster) []Change {
	var out []Change
	names := map[string]bool{}
	for _, c := range []*fact.Cluster{a, b} {
		for _, n := range c.Nodes {
			names[n.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := a.Node(name), b.Node(name)
		switch {
		case was == nil:
			out = append(out, Change{name, "node", "", "present"})
			continue
		case is == nil:
			out = append(out, Change{name, "node", "present", ""})
			continue
		}
		x, y := flat(was), flat(is)
		paths := maps.Clone(x)
		maps.Copy(paths, y)
		for _, p := range slices.Sorted(maps.Keys(paths)) {
			if x[p] != y[p] {
				out = append(out, Change{name, p, x[p], y[p]})
			}
		}
	}
	return out
}

// flat writes a node's facts as path → value. It goes through JSON, so that a fact
// added later is compared without a line here.
func flat(n *fact.Node) map[string]string {
	out := map[string]string{}
	b, err := json.Marshal(n)
	if err != nil {
		panic("facts cannot be written as JSON: " + err.Error()) // they are plain data
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		panic(err)
	}
	walk(out, "", v)
	return out
}

func walk(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if !slices.Contains(moving, k) {
				walk(out, strings.TrimPrefix(path+"/"+k, "/"), x)
			}
		}
	case []any:
		for i, x := range v {
			walk(out, path+"/"+name(x, i), x)
		}
	case nil:
	case string:
		out[path] = v
	default:
		out[path] = fmt.Sprint(v)
	}
}

// name identifies an element of a list by what it is called, so that one that
// comes or goes does not shift the others.
func name(v any, index int) string {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"name", "bdf", "path", "index", "dst", "netdev", "node", "module"} {
			if id, ok := v[key]; ok {
				return fmt.Sprint(id)
			}
		}
	case string:
		return v
	}
	return fmt.Sprint(index)
}
