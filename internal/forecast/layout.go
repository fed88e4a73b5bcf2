package forecast

import (
	"fmt"
	"math"
	"slices"

	"weft/internal/unit"
)

// Ask is what a person wants to know: a model on nodes, every layout that fits.
type Ask struct {
	Model   Model
	Format  Format
	Engine  Engine
	Nodes   []Node
	Fabric  Fabric
	TP, PP  int   // only this; 0 is any
	Split   []int // layers of each stage; nil: as the engine does
	Batch   int
	Context int
	Prompt  int
	Spec    Spec
	Sizes   []int // numbers of nodes of the curve; nil is 1, 2, 4, 8 and what there is
}

// Memory is what one rank must hold.
type Memory struct {
	Weights unit.Size `json:"weights"`
	KV      unit.Size `json:"kv"`
	Runtime unit.Size `json:"runtime"` // engine, graphs, buffers: assumed
	Usable  unit.Size `json:"usable"`
	Rank    string    `json:"rank"` // the fullest: node and number
}

// Need is all of it.
func (m Memory) Need() unit.Size { return m.Weights + m.KV + m.Runtime }

// Fits reports whether there is room.
func (m Memory) Fits() bool { return m.Need() <= m.Usable }

// Plan is one layout with its forecast.
type Plan struct {
	Layout  Layout    `json:"layout"`
	Nodes   int       `json:"nodes"`
	Fits    bool      `json:"fits"`
	Memory  Memory    `json:"memory"` // of the fullest rank
	Rate    float64   `json:"rate"`   // tokens each second of all sequences and replicas
	Each    float64   `json:"each"`   // of one sequence, on the slowest replica
	Best    float64   `json:"best"`   // on the fastest replica
	Low     float64   `json:"low"`    // of each: eight of ten measurements lay between
	High    float64   `json:"high"`
	First   Ms        `json:"ttft_ms"` // time to the first token; rough
	Limit   string    `json:"limit"`
	Step    Waterfall `json:"step"`
	Better  []int     `json:"better_split,omitempty"` // layers of each stage that would be quicker
	BetterS float64   `json:"better_rate,omitempty"`
}

// Refused is a layout that cannot be.
type Refused struct {
	Layout Layout `json:"layout"`
	Why    string `json:"why"`
}

// Point is one number of nodes on the curve.
type Point struct {
	Nodes int     `json:"nodes"`
	Each  float64 `json:"each"` // 0: it does not fit
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	TP    int     `json:"tp"`
	PP    int     `json:"pp"`
	Limit string  `json:"limit"`
}

// Curve is tokens each second over the number of nodes, for one link.
type Curve struct {
	Link   string  `json:"link"`
	Points []Point `json:"points"`
	Says   string  `json:"says"` // in words
}

// Answer is a forecast.
type Answer struct {
	Plans   []Plan    `json:"plans"`
	Refused []Refused `json:"refused,omitempty"`
	Curves  []Curve   `json:"curves"`
}

// Low and High are how far the middle eight of ten measurements lay from forecasts
// whose constants were fitted without their source (weft forecast fit prints it).
const (
	rangeLow  = 0.79
	rangeHigh = 1.15
)

// Answer forecasts every layout that the ask allows.
func (a Ask) Answer() (Answer, error) {
	var out Answer
	ranks := Spread(a.Nodes)
	for _, l := range a.layouts(len(ranks)) {
		why := a.impossible(l)
		if why == nil {
			p, err := a.plan(l, ranks)
			if err == nil {
				out.Plans = append(out.Plans, p)
				continue
			}
			why = err
		}
		if (a.TP > 0 && l.TP == a.TP || a.PP > 0 && l.PP == a.PP) && len(out.Plans) == 0 && a.TP*a.PP > 0 {
			return out, why // it was asked for by name
		}
		out.Refused = append(out.Refused, Refused{l, why.Error()})
	}
	if len(out.Plans) == 0 {
		if len(out.Refused) > 0 {
			return out, fmt.Errorf("%s", out.Refused[0].Why)
		}
		return out, fmt.Errorf("no layout of %d ranks has tp %d and pp %d", len(ranks), a.TP, a.PP)
	}
	slices.SortStableFunc(out.Plans, func(x, y Plan) int { // those that fit first, the quickest for one person first
		switch {
		case x.Fits != y.Fits:
			if x.Fits {
				return -1
			}
			return 1
		case x.Each != y.Each:
			return int(math.Copysign(1, y.Each-x.Each))
		}
		return x.Layout.Ranks() - y.Layout.Ranks()
	})
	out.Curves = a.curves()
	return out, nil
}

// layouts are the ways to use all ranks, or as many as TP and PP say: tp and pp
// products that divide the number of ranks, the rest replicas.
func (a Ask) layouts(ranks int) []Layout {
	var out []Layout
	for tp := 1; tp <= ranks; tp++ {
		for pp := 1; tp*pp <= ranks; pp++ {
			if a.TP > 0 && tp != a.TP || a.PP > 0 && pp != a.PP || ranks%(tp*pp) != 0 && (a.TP == 0 || a.PP == 0) {
				continue
			}
			l := Layout{TP: tp, PP: pp, Replicas: max(1, ranks/(tp*pp))}
			if len(a.Split) == pp {
				l.Layers = a.Split
			}
			out = append(out, l)
		}
	}
	if len(out) == 0 && a.TP+a.PP > 0 { // asked for more than there is: let it be refused in words
		out = append(out, Layout{TP: max(a.TP, 1), PP: max(a.PP, 1), Replicas: 1})
	}
	return out
}

func (a Ask) impossible(l Layout) error {
	if !a.Engine.Can(l) {
		return fmt.Errorf("%s does not split that way: tp %d, pp %d", a.Engine.Name, l.TP, l.PP)
	}
	if a.Engine.Near {
		for _, n := range a.Nodes {
			if l.TP > n.GPUs {
				return fmt.Errorf("%s joins nodes by handing layers on: tp %d is more than the %d GPUs of a node", a.Engine.Name, l.TP, n.GPUs)
			}
		}
	}
	return a.Model.Divides(l.TP)
}

func (a Ask) caseOf(l Layout, ranks []Rank) Case {
	return Case{Model: a.Model, Format: a.Format, Engine: a.Engine, Ranks: ranks, Layout: l, Fabric: a.Fabric,
		Batch: max(1, (max(a.Batch, 1)+l.Replicas-1)/max(l.Replicas, 1)), Context: a.Context, Prompt: a.Prompt, Spec: a.Spec}
}

// plan forecasts one layout. Replicas of unlike nodes are unlike: the slowest is told.
func (a Ask) plan(l Layout, ranks []Rank) (Plan, error) {
	p := Plan{Layout: l, Fits: true}
	used := map[string]bool{}
	differ := slices.ContainsFunc(ranks, func(r Rank) bool { return !r.HW.same(ranks[0].HW) })
	for i := range l.Replicas {
		if i > 0 && !differ { // replicas of alike nodes are alike
			p.Rate *= float64(l.Replicas)
			break
		}
		mine := ranks[min(i*l.Ranks(), len(ranks)):]
		c := a.caseOf(l, mine)
		if l.Layers == nil && l.PP > 1 && len(mine) >= l.Ranks() {
			c.Layout.Layers = a.usualSplit(c)
		}
		w, err := Token(c)
		if err != nil {
			return p, err
		}
		if differ || i == 0 {
			for _, r := range mine[:l.Ranks()] {
				used[r.Node] = true
			}
		}
		mem := c.Memory()
		p.Rate += w.Rate()
		p.Best = math.Max(p.Best, w.Each())
		if i == 0 || w.Each() < p.Each {
			p.Each, p.Step, p.Layout.Layers, p.First, p.Limit = w.Each(), w, c.Layout.Layers, c.First(), w.Limit()
			if best, s := quicker(c); s > w.Each()*1.03 {
				p.Better, p.BetterS = best, s
			}
		}
		if i == 0 || mem.Usable-mem.Need() < p.Memory.Usable-p.Memory.Need() {
			p.Memory = mem
		}
	}
	p.Fits = p.Memory.Fits()
	p.Nodes = len(used)
	if !differ && l.Replicas > 1 {
		p.Nodes, _ = spans(ranks[:min(len(ranks), l.Ranks()*l.Replicas)])
	}
	p.Low, p.High = p.Each*rangeLow, p.Each*rangeHigh
	if !p.Fits {
		p.Limit = "capacity"
	}
	return p, nil
}

// usualSplit is how engines share layers: llama.cpp by the memory of each device,
// the others evenly. Alike devices get nil, which is even.
func (a Ask) usualSplit(c Case) []int {
	if a.Engine.Weights != "gguf" {
		return nil
	}
	var rooms []float64
	for s := range c.Layout.PP {
		rooms = append(rooms, float64(c.Ranks[s*c.Layout.TP].HW.Usable))
	}
	if slices.Max(rooms) == slices.Min(rooms) {
		return nil
	}
	return share1(rooms, c.Model.Layers)
}

// share1 spreads n over parts in proportion, each at least one, the largest remainders first.
func share1(parts []float64, n int) []int {
	sum := 0.0
	for _, p := range parts {
		sum += p
	}
	out := make([]int, len(parts))
	type rest struct {
		i int
		f float64
	}
	var rests []rest
	left := n
	for i, p := range parts {
		exact := p / sum * float64(n)
		out[i] = max(1, int(exact))
		left -= out[i]
		rests = append(rests, rest{i, exact - math.Floor(exact)})
	}
	slices.SortStableFunc(rests, func(a, b rest) int { return int(math.Copysign(1, b.f-a.f)) })
	for i := 0; left > 0; i++ {
		out[rests[i%len(rests)].i]++
		left--
	}
	for i := 0; left < 0; i++ {
		if j := rests[len(rests)-1-i%len(rests)].i; out[j] > 1 {
			out[j]--
			left++
		}
	}
	return out
}

// quicker is the split of layers over unlike stages that one sequence is quickest
// with: the fastest stage takes as many as fit, each of the others one at least.
func quicker(c Case) ([]int, float64) {
	if c.Layout.PP < 2 {
		return nil, 0
	}
	order := make([]int, c.Layout.PP)
	for i := range order {
		order[i] = i
	}
	speed := func(s int) float64 {
		slow := math.Inf(1)
		for _, r := range c.Ranks[s*c.Layout.TP : (s+1)*c.Layout.TP] {
			slow = math.Min(slow, float64(r.HW.Stated)*Default.achieved(r.HW))
		}
		return slow
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, speed(b)-speed(a))) })
	if speed(order[0]) == speed(order[len(order)-1]) {
		return nil, 0
	}
	split := make([]int, c.Layout.PP)
	left := c.Model.Layers
	for i, s := range order {
		others := c.Layout.PP - 1 - i
		split[s] = max(1, min(left-others, c.holds(s)))
		left -= split[s]
	}
	if left > 0 {
		return nil, 0 // does not fit anyhow
	}
	c.Layout.Layers = split
	w, err := Token(c)
	if err != nil {
		return nil, 0
	}
	return split, w.Each()
}

// holds is how many layers a stage has room for.
func (c Case) holds(s int) int {
	lo, hi := 0, c.Model.Layers
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if c.stageMemory(s, mid).Fits() {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// Memory is what the fullest rank of a case must hold.
func (c Case) Memory() Memory {
	var worst Memory
	for s, n := range c.Split() {
		m := c.stageMemory(s, n)
		if s == 0 || m.Usable-m.Need() < worst.Usable-worst.Need() {
			worst = m
		}
	}
	return worst
}

// stageMemory is what the fullest rank of a stage with so many layers must hold.
func (c Case) stageMemory(s, layers int) Memory {
	part := float64(layers) / float64(c.Model.Layers)
	all := c.Model.Stored()
	p := all.scale(part)
	p.Embed, p.Beside, p.Head = 0, 0, 0
	if s == 0 {
		p.Embed, p.Beside = all.Embed, all.Beside
	}
	if s == c.Layout.PP-1 {
		p.Head = all.Head
		if c.Model.Tied && s > 0 {
			p.Head = all.Embed // a copy: the first stage has the other
		}
	}
	m := Memory{Weights: unit.Size(c.Format.Bytes(p.split(c.Layout.TP, c.whole()*part)))}
	batch := float64(max(c.Batch, 1))
	for _, a := range c.Model.Attn {
		n := c.Context
		if a.Window > 0 {
			n = min(n, a.Window)
		}
		m.KV += unit.Size(part * float64(a.Count) * batch * (a.KV*float64(n)*c.Format.KV/8*share(a, c.Layout.TP) + a.State*2/float64(c.Layout.TP)))
	}
	m.Runtime = unit.Size(c.Engine.Runtime * float64(unit.GiB))
	for i, r := range c.Ranks[s*c.Layout.TP : (s+1)*c.Layout.TP] {
		if i == 0 || r.HW.Usable < m.Usable {
			m.Usable, m.Rank = r.HW.Usable, fmt.Sprintf("%s rank %d", r.Node, s*c.Layout.TP+i)
		}
	}
	return m
}

// First is about how long a prompt takes until its first token: its arithmetic at the
// part of the stated rate that engines reach, but not less than reading the weights
// once, and the bytes of its collectives.
func (c Case) First() Ms {
	if c.Prompt < 1 {
		return 0
	}
	split := c.Split()
	total := 0.0
	for s, layers := range split {
		part := float64(layers) / float64(c.Model.Layers)
		ranks := c.Ranks[s*c.Layout.TP : (s+1)*c.Layout.TP]
		active := c.Model.Read(1)
		flops := 2 * (active.Linear + active.Small + active.Experts) * part * float64(c.Prompt)
		for _, a := range c.Model.Attn {
			n := c.Prompt
			if a.Window > 0 {
				n = min(n, a.Window)
			}
			flops += 2 * part * float64(a.Count) * a.Work * float64(c.Prompt) * float64(n) / 2
		}
		read := c.Format.Bytes(c.Model.Read(c.Prompt).scale(part).split(c.Layout.TP, c.whole()*part))
		slow := 0.0
		for _, r := range ranks {
			t := read / r.HW.bytesPerMs() / Default.achieved(r.HW)
			if r.HW.TFLOPS > 0 {
				t = math.Max(t, flops/float64(c.Layout.TP)/(r.HW.TFLOPS*1e9*prefillPart))
			}
			slow = math.Max(slow, t)
		}
		total += slow
		if c.Layout.TP > 1 {
			nodes, inside := spans(ranks)
			message := float64(c.Prompt) * float64(c.Model.Hidden) * 2
			each := c.Fabric.sync(Default, c, nodes, inside, ranks[0].HW) + c.Fabric.wire(message, nodes)
			total += each * 2 * float64(layers) / 1000
		}
		if s > 0 {
			total += c.Fabric.hop(Default, c) / 1000
		}
	}
	return Ms(total)
}
