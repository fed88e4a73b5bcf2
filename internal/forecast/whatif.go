package forecast

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// whatKeys are what may be changed.
var whatKeys = []string{"link", "nodes", "tp", "pp", "quant", "engine", "batch", "context", "hardware"}

// WhatIf is a change to an ask, as a person writes it: "link=tcp,nodes=4".
type WhatIf struct {
	Text string
	set  map[string]string
	keys []string // in order
}

// ParseWhatIf reads key=value pairs with commas between. A key twice, or two that
// cannot both be, is an error: nothing is chosen silently.
func ParseWhatIf(s string) (WhatIf, error) {
	w := WhatIf{Text: s, set: map[string]string{}}
	for i, part := range strings.Split(s, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch {
		case !ok || value == "":
			return w, fmt.Errorf("part %d, %s: want key=value, of %s", i+1, quoted(part), strings.Join(whatKeys, ", "))
		case !slices.Contains(whatKeys, key):
			return w, fmt.Errorf("part %d: %w", i+1, &Unknown{"key", key, nearest(key, whatKeys)})
		}
		if had, twice := w.set[key]; twice {
			return w, fmt.Errorf("part %d: %s is %s and %s at once", i+1, key, had, value)
		}
		w.set[key] = value
		w.keys = append(w.keys, key)
	}
	n := w.set["nodes"]
	if n == "1" && w.set["link"] != "" {
		return w, fmt.Errorf("nodes=1 has no link: leave link=%s away", w.set["link"])
	}
	if w.set["hardware"] != "" && n != "" {
		return w, fmt.Errorf("hardware=%s says how many nodes there are: leave nodes=%s away", w.set["hardware"], n)
	}
	return w, nil
}

// Apply makes the changed ask.
func (w WhatIf) Apply(a Ask) (Ask, error) {
	var err error
	number := func(key string, most int) int {
		n, e := strconv.Atoi(w.set[key])
		if e != nil || n < 1 || n > most {
			err = fmt.Errorf("%s=%s: want 1 to %d", key, w.set[key], most)
		}
		return n
	}
	quant := a.Format.Name
	for _, key := range w.keys {
		switch key {
		case "link":
			var f Fabric
			if f, err = ParseLink(w.set[key]); err == nil {
				if f.Gbps == 0 {
					f.Gbps = a.Fabric.Gbps
				}
				a.Fabric = f
			}
		case "nodes":
			a.Nodes = Resize(a.Nodes, number(key, mostNodes))
		case "hardware":
			a.Nodes, err = ParseHardware(strings.ReplaceAll(w.set[key], ";", "+"))
		case "tp":
			a.TP = number(key, mostNodes)
		case "pp":
			a.PP = number(key, mostNodes)
		case "batch":
			a.Batch = number(key, mostBatch)
		case "context":
			a.Context = number(key, mostContext)
		case "engine":
			a.Engine, err = EngineByName(w.set[key], "")
		case "quant":
			quant = w.set[key]
		}
		if err != nil {
			return a, err
		}
	}
	if w.set["quant"] != "" || w.set["engine"] != "" {
		kv := a.Format.KV
		if a.Format, err = FormatOf(strings.TrimSuffix(quant, " bits"), a.Model, a.Engine); err != nil {
			return a, err
		}
		a.Format.KV = kv
	}
	if ranks := len(Spread(a.Nodes)); a.TP > 0 && a.PP > 0 && a.TP*a.PP > ranks {
		return a, fmt.Errorf("tp %d × pp %d takes %d ranks: there are %d", a.TP, a.PP, a.TP*a.PP, ranks)
	}
	return a, nil
}

// Resize makes it so many nodes: fewer, or more like the last.
func Resize(nodes []Node, n int) []Node {
	out := make([]Node, 0, min(n, mostNodes))
	for i := range min(n, mostNodes) {
		if i < len(nodes) {
			out = append(out, nodes[i])
			continue
		}
		more := nodes[len(nodes)-1]
		more.Name = fmt.Sprintf("more%d", i-len(nodes)+1)
		out = append(out, more)
	}
	return out
}
