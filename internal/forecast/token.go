package forecast

import (
	"errors"
	"fmt"
	"math"
)

// Waterfall is where the time of one step goes: with one sequence and no speculation
// a step is one token. The parts add up to Total.
type Waterfall struct {
	Ideal    Ms `json:"ideal_ms"`    // weights and cache at the stated bandwidth of the ranks
	Achieved Ms `json:"achieved_ms"` // more, because memory gives less than is stated
	Experts  Ms `json:"experts_ms"`  // more, because mixture kernels reach less again
	Uneven   Ms `json:"uneven_ms"`   // waiting for the slowest rank
	Compute  Ms `json:"compute_ms"`  // more, where arithmetic takes longer than memory
	Dispatch Ms `json:"dispatch_ms"` // layers: small kernels, gaps, host launches
	Sync     Ms `json:"sync_ms"`     // collectives: latency
	Wire     Ms `json:"wire_ms"`     // collectives: bytes on the link
	Hops     Ms `json:"hops_ms"`     // handing on between stages

	Syncs    int     `json:"syncs"`     // collectives in a step
	SyncEach float64 `json:"sync_us"`   // µs of one
	Message  float64 `json:"message_b"` // bytes of one
	Bytes    float64 `json:"read_b"`    // read by the busiest rank
	Tokens   float64 `json:"tokens"`    // that a step gives, all sequences together
	Streams  int     `json:"streams"`
}

// Part is one bar of the waterfall.
type Part struct {
	Name string `json:"name"`
	Ms   Ms     `json:"ms"`
	Why  string `json:"why"`
}

// Parts lists the bars in the order that they are drawn. Empty ones stay: 0 is an answer.
func (w Waterfall) Parts() []Part {
	return []Part{
		{"memory", w.Ideal, fmt.Sprintf("%.2f GB at the stated bandwidth", w.Bytes/1e9)},
		{"bandwidth", w.Achieved, "memory gives less than its maker states"},
		{"experts", w.Experts, "mixture kernels reach less with few tokens"},
		{"uneven", w.Uneven, "the slowest rank is waited for"},
		{"compute", w.Compute, "arithmetic takes longer than memory"},
		{"dispatch", w.Dispatch, "small kernels, gaps and launches of every layer"},
		{"sync", w.Sync, fmt.Sprintf("%d collectives of %.0f µs", w.Syncs, w.SyncEach)},
		{"wire", w.Wire, fmt.Sprintf("%d messages of %s on the link", w.Syncs, kib(w.Message))},
		{"hops", w.Hops, "handing on between stages"},
	}
}

func kib(b float64) string { return fmt.Sprintf("%.1f KiB", b/1024) }

// Local is the time within ranks, Net the time between them.
func (w Waterfall) Local() Ms {
	return w.Ideal + w.Achieved + w.Experts + w.Uneven + w.Compute + w.Dispatch
}

// Net is the time between ranks.
func (w Waterfall) Net() Ms { return w.Sync + w.Wire + w.Hops }

// Total is a step.
func (w Waterfall) Total() Ms { return w.Local() + w.Net() }

// Rate is tokens each second, all sequences together.
func (w Waterfall) Rate() float64 {
	if w.Total() <= 0 {
		return 0
	}
	return 1000 * w.Tokens / float64(w.Total())
}

// Each is tokens each second of one sequence.
func (w Waterfall) Each() float64 { return w.Rate() / float64(max(w.Streams, 1)) }

// Limit names what a step spends most of its time on.
func (w Waterfall) Limit() string {
	groups := []struct {
		name string
		ms   Ms
	}{
		{"memory bandwidth", w.Ideal + w.Achieved},
		{"mixture kernels", w.Experts},
		{"the slowest rank", w.Uneven},
		{"arithmetic", w.Compute},
		{"host dispatch", w.Dispatch},
		{"sync latency", w.Sync},
		{"link bandwidth", w.Wire},
		{"pipeline hops", w.Hops},
	}
	best := groups[0]
	for _, g := range groups[1:] {
		if g.ms > best.ms {
			best = g
		}
	}
	return best.name
}

// Token forecasts one step of a case with the default constants.
func Token(c Case) (Waterfall, error) { return Default.Token(c) }

// Token forecasts one step.
func (k Constants) Token(c Case) (Waterfall, error) {
	if err := c.check(); err != nil {
		return Waterfall{}, err
	}
	batch := max(c.Batch, 1)
	tokens := batch * (1 + c.Spec.Draft) // a step checks the drafts with the token
	w := Waterfall{Streams: batch, Tokens: float64(batch)}
	if c.Spec.On() {
		w.Tokens *= c.Spec.Accepted
	}
	split := c.Split()
	per := max(1, (batch+c.Layout.PP-1)/c.Layout.PP) * (1 + c.Spec.Draft) // stages work on different sequences
	for s := range c.Layout.PP {
		k.stage(&w, c, s, split[s], min(per, tokens))
	}
	w.Syncs = 0
	if c.Layout.TP > 1 {
		w.Syncs = c.Engine.syncs() * c.Model.Layers
		w.Message = float64(tokens) * float64(c.Model.Hidden) * 2
	}
	if f := c.Local; f > 0 {
		for _, p := range []*Ms{&w.Ideal, &w.Achieved, &w.Experts, &w.Uneven, &w.Compute, &w.Dispatch} {
			*p *= Ms(f)
		}
	}
	return w, nil
}

// stage adds the layers of one stage.
func (k Constants) stage(w *Waterfall, c Case, s, layers, tokens int) {
	ranks := c.Ranks[s*c.Layout.TP : (s+1)*c.Layout.TP]
	part := float64(layers) / float64(c.Model.Layers)
	read := c.Model.Read(tokens)
	stage := read.scale(part)
	stage.Head = 0
	if s == c.Layout.PP-1 {
		stage.Head = read.Head
	}
	tp := float64(c.Layout.TP)
	mine := stage.split(c.Layout.TP, c.whole()*part)
	weights := c.Format.Bytes(mine)
	experts := c.Format.Bytes(Parts{Experts: mine.Experts})
	kv := k.cache(c) * part
	var slow, mean, ideal, achieved, fused, compute float64
	for _, r := range ranks {
		bytes := weights + kv
		i := bytes / r.HW.bytesPerMs()
		a := i / k.achieved(r.HW) / c.Engine.kernels()
		f := experts / r.HW.bytesPerMs() / k.achieved(r.HW) / c.Engine.kernels() * (1/k.fused(c.Engine, r.HW) - 1)
		arithmetic := 0.0
		if r.HW.TFLOPS > 0 {
			flops := 2 * (read.Linear + read.Small + float64(c.Model.MoE.Count*c.Model.MoE.TopK)*c.Model.MoE.Expert) * part * float64(tokens) / tp
			arithmetic = flops / (r.HW.TFLOPS * 1e9 * prefillPart)
		}
		total := math.Max(a+f, arithmetic)
		mean += total / tp
		if total > slow {
			slow, ideal, achieved, fused, compute = total, i, a, f, math.Max(0, arithmetic-a-f)
		}
		w.Bytes = math.Max(w.Bytes, bytes)
	}
	// What the slowest rank takes longer than the mean is the price of an uneven group.
	uneven := slow - mean
	even := 1.0
	if slow > 0 {
		even = mean / slow
	}
	w.Ideal += Ms(ideal * even)
	w.Achieved += Ms((achieved - ideal) * even)
	w.Experts += Ms(fused * even)
	w.Compute += Ms(compute * even)
	w.Uneven += Ms(uneven)
	w.Dispatch += Ms(k.layer(c.Engine, ranks[0].HW) * float64(layers) / 1000)
	if c.Layout.TP > 1 {
		nodes, inside := spans(ranks)
		each := c.Fabric.sync(k, c, nodes, inside, ranks[0].HW)
		message := float64(tokens) * float64(c.Model.Hidden) * 2
		w.SyncEach = math.Max(w.SyncEach, each)
		n := float64(c.Engine.syncs() * layers)
		w.Sync += Ms(each * n / 1000)
		w.Wire += Ms(c.Fabric.wire(message, nodes) * n / 1000)
	}
	if s > 0 {
		last := c.Ranks[s*c.Layout.TP-1]
		if last.Node != ranks[0].Node {
			w.Hops += Ms(c.Fabric.hop(k, c) / 1000)
		} else {
			w.Hops += Ms(insidePCIe / 1000)
		}
	}
}

// whole is the parameters that tensor parallelism leaves whole on every rank.
func (c Case) whole() float64 {
	if c.Engine.Experts {
		return c.Model.Stored().Linear
	}
	return c.Model.whole()
}

// cache is the bytes of the KV cache that one rank reads in a step, for all layers.
func (k Constants) cache(c Case) float64 {
	bytes := 0.0
	batch := float64(max(c.Batch, 1))
	for _, a := range c.Model.Attn {
		n := c.Context
		if a.Window > 0 {
			n = min(n, a.Window)
		}
		if a.Indexed > 0 {
			n = min(n, a.Indexed)
		}
		bytes += float64(a.Count) * (a.KV*float64(n)*c.Format.KV/8*share(a, c.Layout.TP) + a.State*2/float64(c.Layout.TP)) * batch
	}
	return bytes
}

// share is the part of a layer's cache that one of tp ranks holds: heads are spread,
// and kept twice where there are fewer of them than ranks; a latent is kept by all.
func share(a Attn, tp int) float64 {
	if tp <= 1 {
		return 1
	}
	if a.KVHeads == 0 {
		return 1
	}
	return 1 / float64(min(tp, a.KVHeads))
}

// spans counts the nodes of ranks and the most ranks on one of them.
func spans(ranks []Rank) (nodes, inside int) {
	count := map[string]int{}
	for _, r := range ranks {
		count[r.Node]++
		inside = max(inside, count[r.Node])
	}
	return len(count), inside
}

// Split is the layers of each stage: as the layout says, else even, the first stages
// taking what is left over.
func (c Case) Split() []int {
	if len(c.Layout.Layers) == c.Layout.PP {
		return c.Layout.Layers
	}
	out := make([]int, c.Layout.PP)
	for i := range out {
		out[i] = c.Model.Layers / c.Layout.PP
		if i < c.Model.Layers%c.Layout.PP {
			out[i]++
		}
	}
	return out
}

// Bounds of a case.
const (
	mostBatch   = 1 << 16
	mostContext = 1 << 27
)

// check says what cannot be about a case.
func (c Case) check() error {
	l := c.Layout
	sum := 0
	for _, n := range l.Layers {
		if n < 0 {
			return fmt.Errorf("a stage of %d layers", n)
		}
		sum += n
	}
	switch {
	case c.Model.Layers < 1:
		return errors.New("a model without layers")
	case l.TP < 1 || l.PP < 1:
		return fmt.Errorf("tp %d, pp %d: want at least 1", l.TP, l.PP)
	case l.PP > c.Model.Layers:
		return fmt.Errorf("pp %d: %s has %d layers", l.PP, c.Model.Name, c.Model.Layers)
	case len(c.Ranks) < l.Ranks():
		return fmt.Errorf("tp %d × pp %d takes %d ranks: there are %d", l.TP, l.PP, l.Ranks(), len(c.Ranks))
	case l.Layers != nil && (len(l.Layers) != l.PP || sum != c.Model.Layers):
		return fmt.Errorf("split %v: want %d numbers that add up to %d layers", l.Layers, l.PP, c.Model.Layers)
	case c.Batch < 0 || c.Batch > mostBatch:
		return fmt.Errorf("batch %d: want 1 to %d", c.Batch, mostBatch)
	case c.Context < 0 || c.Context > mostContext:
		return fmt.Errorf("context %d: want 0 to %d", c.Context, mostContext)
	case c.Spec.On() && (c.Spec.Accepted < 1 || c.Spec.Accepted > float64(c.Spec.Draft+1)):
		return fmt.Errorf("%g tokens accepted of a step with %d drafts: want 1 to %d", c.Spec.Accepted, c.Spec.Draft, c.Spec.Draft+1)
	case c.Spec.Draft < 0 || c.Spec.Draft > 64:
		return fmt.Errorf("%d drafts: want 0 to 64", c.Spec.Draft)
	}
	for _, r := range c.Ranks[:l.Ranks()] {
		if r.HW.Stated <= 0 {
			return fmt.Errorf("%s: no memory bandwidth is known for %s", r.Node, r.HW.Name)
		}
	}
	return nil
}

// prefillPart is the part of stated arithmetic that engines reach with long prompts:
// between 0.26 (Spark, ggml-org/llama.cpp benches/dgx-spark.md: qwen2 7B Q8_0, 2276
// tokens/s of prompt, 32 TFLOPS of 125) and 0.9 (GeForce 4090, XiongjieDai/
// GPU-Benchmarks-on-LLM-Inference: 8B F16). A time to the first token is a
// rough figure for it.
const prefillPart = 0.35
