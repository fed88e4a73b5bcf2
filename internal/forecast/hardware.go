package forecast

import (
	_ "embed" // the table
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"weft/internal/unit"
)

//go:embed data/hardware.csv
var hardwareFile string

// Hardware is one GPU, or the processor where that computes, and its memory.
type Hardware struct {
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`      // "cuda", "rdna", "cdna", "metal", "ultra", "xe", "cpu": whose kernels run on it
	Stated   unit.Rate `json:"bandwidth"` // of its memory, as its maker states it
	Memory   unit.Size `json:"memory"`
	Usable   unit.Size `json:"usable"`   // by weights and cache
	TFLOPS   float64   `json:"tflops16"` // dense, 16 bits, as stated; 0 unknown
	Inside   string    `json:"inside"`   // between the GPUs of one node: "nvlink", "pcie"
	Achieved float64   `json:"achieved"` // part of the stated bandwidth that engines reach; 0: as its kind does
	Source   string    `json:"source"`
	aka      []string
}

// GBs is bytes each millisecond at the stated bandwidth.
func (h Hardware) bytesPerMs() float64 { return float64(h.Stated) / 8 / 1000 }

var hardware = sync.OnceValue(func() []Hardware {
	rows, err := csv.NewReader(strings.NewReader(hardwareFile)).ReadAll()
	if err != nil {
		panic("data/hardware.csv: " + err.Error())
	}
	var out []Hardware
	for n, r := range rows[1:] {
		num := func(i int) float64 {
			f, err := strconv.ParseFloat(r[i], 64)
			if err != nil {
				panic(fmt.Sprintf("data/hardware.csv row %d: %v", n+2, err))
			}
			return f
		}
		out = append(out, Hardware{
			Name: r[0], aka: strings.Split(r[1], ";"), Kind: r[2], Stated: unit.Rate(num(3) * 8 * float64(unit.Gbps)),
			Memory: unit.Size(num(4) * float64(unit.GiB)), Usable: unit.Size(num(5) * float64(unit.GiB)),
			TFLOPS: num(6), Inside: r[7], Source: r[8],
		})
	}
	return out
})

// HardwareNames lists the table.
func HardwareNames() []string {
	var out []string
	for _, h := range hardware() {
		out = append(out, h.Name)
	}
	return out
}

// HardwareByName finds hardware by a name of it, or by a longer text that holds one
// ("NVIDIA GeForce RTX 4090 Laptop GPU" is the 4090's). The longest name wins.
func HardwareByName(name string) (Hardware, error) {
	want, best, row := fold(name), 0, -1
	var all []string
	for i, h := range hardware() {
		for _, n := range append([]string{h.Name}, h.aka...) {
			if n == "" {
				continue
			}
			all = append(all, n)
			f := fold(n)
			switch {
			case f == want:
				return hardware()[i], nil
			case len(f) > best && len(f) > 3 && strings.Contains(want, f):
				best, row = len(f), i
			}
		}
	}
	if row < 0 {
		return Hardware{}, &Unknown{"hardware", name, nearest(name, all)}
	}
	return hardware()[row], nil
}

// Node is one machine: some GPUs of one kind.
type Node struct {
	Name string   `json:"name"`
	HW   Hardware `json:"hardware"`
	GPUs int      `json:"gpus"`
}

// same reports whether two are alike in what a forecast uses.
func (h Hardware) same(o Hardware) bool {
	return h.Kind == o.Kind && h.Stated == o.Stated && h.Usable == o.Usable && h.TFLOPS == o.TFLOPS && h.Inside == o.Inside && h.Achieved == o.Achieved
}

// speed is what a node's GPUs read together.
func (n Node) speed() float64 {
	return float64(n.GPUs) * float64(n.HW.Stated) * Default.achieved(n.HW)
}

// mostNodes bounds what a person may ask for.
const mostNodes = 4096

// ParseHardware reads "2x gb10", "gb10 + rtx-pro-6000", "4x 8*h100" (four nodes of
// eight), "2x 273GB/s:119GiB". Nodes are named n1, n2 …
func ParseHardware(s string) ([]Node, error) {
	var out []Node
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '+' || r == ',' }) {
		part = strings.TrimSpace(part)
		nodes, rest := times(part, "x")
		gpus, rest := times(rest, "*")
		hw, err := oneHardware(rest)
		if err != nil {
			return nil, err
		}
		if nodes < 1 || gpus < 1 || nodes > mostNodes || gpus > 64 || len(out)+nodes > mostNodes {
			return nil, fmt.Errorf("%s: want 1 to %d nodes of 1 to 64 GPUs", quoted(part), mostNodes)
		}
		for range nodes {
			out = append(out, Node{Name: fmt.Sprintf("n%d", len(out)+1), HW: hw, GPUs: gpus})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s names no hardware: want something like \"2x gb10\"", quoted(s))
	}
	return out, nil
}

// times cuts "2x gb10" into 2 and "gb10"; without a number it is 1.
func times(s, by string) (int, string) {
	before, after, ok := strings.Cut(s, by)
	if by == "x" && !ok {
		before, after, ok = strings.Cut(s, "×")
	}
	n, err := strconv.Atoi(strings.TrimSpace(before))
	if !ok || err != nil {
		return 1, strings.TrimSpace(s)
	}
	return n, strings.TrimSpace(after)
}

// oneHardware is a name, or a bandwidth and a size: "273GB/s:119GiB".
func oneHardware(s string) (Hardware, error) {
	rate, size, ok := strings.Cut(strings.ToLower(s), ":")
	gbs, isRate := strings.CutSuffix(strings.TrimSpace(rate), "gb/s")
	if !ok || !isRate {
		return HardwareByName(s)
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(gbs), 64)
	gib, err2 := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(size), "ib"), "g")), 64)
	if err != nil || err2 != nil || !(f > 0 && f < 1e6 && gib > 0 && gib < 1e6) {
		return Hardware{}, fmt.Errorf("%s: want a memory bandwidth and a size, like 273GB/s:119GiB", quoted(s))
	}
	mem := unit.Size(gib * float64(unit.GiB))
	return Hardware{Name: s, Kind: "cuda", Stated: unit.Rate(f * 8 * float64(unit.Gbps)), Memory: mem, Usable: mem, Source: "as given"}, nil
}

// Spread numbers the ranks of nodes: all GPUs of the first, then of the second.
func Spread(nodes []Node) []Rank {
	var out []Rank
	for _, n := range nodes {
		for range n.GPUs {
			out = append(out, Rank{Node: n.Name, HW: n.HW})
		}
	}
	return out
}
