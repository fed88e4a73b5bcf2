package forecast

import (
	"bufio"
	_ "embed" // the tables
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

//go:embed data/models.jsonl
var modelsFile string

// known is one row of the table of models.
type known struct {
	Name   string          `json:"name"`
	Aka    []string        `json:"aka"`
	Keeps  bool            `json:"keeps"`
	Source string          `json:"source"`
	Config json.RawMessage `json:"config"` // as a config.json would say it
	Total  float64         `json:"total_b"`
	Active float64         `json:"active_b"`
	Beside float64         `json:"beside_b"`
	Rough  *struct {
		Layers int `json:"layers"`
		Hidden int `json:"hidden"`
	} `json:"rough"` // no configuration is known, only these and the counts
	model Model
}

// models parses the table once. It is compiled in and tested: an error is a bug.
var models = sync.OnceValue(func() []known {
	var out []known
	lines := bufio.NewScanner(strings.NewReader(modelsFile))
	lines.Buffer(nil, MaxConfig)
	for n := 1; lines.Scan(); n++ {
		var k known
		err := json.Unmarshal(lines.Bytes(), &k)
		switch {
		case err != nil:
		case k.Rough != nil:
			k.model, err = Roughly(k.Name, k.Rough.Layers, k.Rough.Hidden, k.Total*1e9, k.Active*1e9)
		default:
			k.model, err = ParseConfig(k.Name, k.Config)
		}
		if err != nil {
			panic(fmt.Sprintf("data/models.jsonl:%d: %v", n, err))
		}
		k.model.Keeps, k.model.Source, k.model.Beside = k.Keeps, k.Source, k.model.Beside+k.Beside*1e9
		out = append(out, k)
	}
	return out
})

// ModelNames lists the models of the table.
func ModelNames() []string {
	var out []string
	for _, k := range models() {
		out = append(out, k.Name)
	}
	return out
}

// ModelByName finds a model by its name, however it is written; suffixes that say
// how it was tuned or packed ("-Instruct-FP8") do not matter. The model keeps the
// name that was asked for.
func ModelByName(name string) (Model, error) {
	want := fold(name)
	var all []string
	best, row := 0, -1
	for i, k := range models() {
		for _, n := range append([]string{k.Name}, k.Aka...) {
			all = append(all, n)
			if f := fold(n); len(f) > best && (f == want || strings.HasPrefix(want, f) && tail(want[len(f):])) {
				best, row = len(f), i
			}
		}
	}
	if row < 0 {
		return Model{}, &Unknown{"model", name, nearest(name, all)}
	}
	m := models()[row].model
	m.Name = name
	return m, nil
}

// tails are what may follow the name of a model without making it another one.
var tails = []string{
	"instruct", "thinking", "base", "chat", "it", "fp8", "nvfp4", "mxfp4", "awq", "gptq", "int4", "int8", "w4a16", "autoround",
	"gguf", "mlx", "bf16", "4bit", "8bit", "6bit", "3bit", "q4", "q8", "q40", "q4km", "q6k", "q80", "2507", "0528", "0324", "terminus", "dynamic", "ud", "qat", "hf", "text", "g32", "v1", "v2", "v3", "moe", "preview", "exp",
}

// tail reports whether all of s is such words.
func tail(s string) bool {
	for s != "" {
		cut := 0
		for _, t := range tails {
			if strings.HasPrefix(s, t) {
				cut = max(cut, len(t))
			}
		}
		if cut == 0 {
			return false
		}
		s = s[cut:]
	}
	return true
}

// Roughly makes a model of what is told of it when there is no configuration: how
// many layers, how wide, how many parameters in all and how many for one token.
//
// A mixture's active parameters are split by the middle of what the table holds: 55 %
// routed experts, the rest read for every token (gpt-oss 70 %, Qwen3 60 to 66 %,
// DeepSeek 55 %, hybrids of Qwen3.5 39 %).
func Roughly(name string, layers, hidden int, total, active float64) (Model, error) {
	if active <= 0 {
		active = total
	}
	switch {
	case total <= 0 && active <= 0:
		return Model{}, errors.New("neither a known model nor a number of parameters")
	case total < active:
		total = active
	}
	if total > 1e14 {
		return Model{}, fmt.Errorf("%g parameters: want at most 1e14", total)
	}
	if layers < 0 || layers > mostLayers || hidden < 0 || hidden > mostWidth {
		return Model{}, fmt.Errorf("%d layers of width %d: want at most %d and %d", layers, hidden, mostLayers, mostWidth)
	}
	m := Model{Name: name, Layers: layers, Hidden: hidden, Rough: "counts as stated: no configuration is known"}
	if m.Layers == 0 {
		m.Layers, m.Rough = 48, m.Rough+"; 48 layers assumed"
	}
	if m.Hidden == 0 {
		m.Hidden, m.Rough = 4096, m.Rough+"; width 4096 assumed"
	}
	m.Attn = []Attn{{Kind: "full", Count: m.Layers, KV: 2 * 8 * 128, KVHeads: 8, Work: 2 * float64(m.Hidden)}}
	const routed = 0.55
	if active > 0.9*total {
		m.FFN = FFN{Count: m.Layers, Params: total / float64(m.Layers)}
		return m, nil
	}
	n := float64(m.Layers)
	spread := (total - active*(1-routed)) / (active * routed) // experts there are for each one that is chosen
	const top = 8
	m.MoE = MoE{Count: m.Layers, TopK: top, Experts: max(top+1, int(top*spread+0.5)), Expert: active * routed / n / top, Shared: active * (1 - routed) / n}
	return m, nil
}
