package forecast

import (
	"math"
	"strings"
	"testing"

	"weft/internal/unit"
)

// oneCase is a case that forecasts, for tests to change one thing of.
func oneCase(t testing.TB, model, quant, engine, hw string, tp, pp int) Case {
	t.Helper()
	m, err := ModelByName(model)
	if err != nil {
		t.Fatal(err)
	}
	e, err := EngineByName(engine, "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := FormatOf(quant, m, e)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := ParseHardware(hw)
	if err != nil {
		t.Fatal(err)
	}
	return Case{Model: m, Format: f, Engine: e, Ranks: Spread(nodes), Layout: Layout{TP: tp, PP: pp, Replicas: 1}, Fabric: Fabric{Transport: "rdma", Gbps: 100}, Context: 512, Prompt: 1024}
}

func token(t testing.TB, c Case) Waterfall {
	t.Helper()
	w, err := Token(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestParts: the bars add up to the total, none is negative.
func TestParts(t *testing.T) {
	for _, c := range []Case{
		oneCase(t, "gpt-oss-120b", "mxfp4", "vllm", "2x gb10", 2, 1),
		oneCase(t, "Qwen3.6-27B", "q6_k", "llama.cpp", "4x strix-halo", 1, 4),
		oneCase(t, "DeepSeek-R1", "mlx-4", "exo", "4x m3-ultra", 4, 1),
		oneCase(t, "Llama-3.1-70B", "fp8", "vllm", "gb10 + rtx-pro-6000", 2, 1),
	} {
		w := token(t, c)
		sum := Ms(0)
		for _, p := range w.Parts() {
			if p.Ms < 0 || math.IsNaN(float64(p.Ms)) {
				t.Errorf("%s: %s is %g ms", c.Model.Name, p.Name, p.Ms)
			}
			sum += p.Ms
		}
		if math.Abs(float64(sum-w.Total())) > 1e-9 || math.Abs(float64(w.Local()+w.Net()-sum)) > 1e-9 {
			t.Errorf("%s: parts %g, total %g", c.Model.Name, sum, w.Total())
		}
	}
}

// TestMonotone: what must not make it slower, does not; what must not make it faster,
// does not. For every model and engine of the tables.
func TestMonotone(t *testing.T) {
	for _, name := range ModelNames() {
		for _, engine := range []string{"vllm", "llama.cpp", "exo"} {
			c := oneCase(t, name, "4.5", engine, "2x gb10", 2, 1)
			base := token(t, c).Each()
			slower := func(what string, d Case) {
				if got := token(t, d).Each(); got > base*1.000001 {
					t.Errorf("%s, %s: %s: %.3f is more than %.3f", name, engine, what, got, base)
				}
			}
			faster := func(what string, d Case) {
				if got := token(t, d).Each(); got < base*0.999999 {
					t.Errorf("%s, %s: %s: %.3f is less than %.3f", name, engine, what, got, base)
				}
			}
			d := c
			d.Ranks = append([]Rank{}, c.Ranks...)
			for i := range d.Ranks {
				d.Ranks[i].HW.Stated *= 2
			}
			faster("twice the memory bandwidth", d)
			d.Ranks[1].HW.Stated = c.Ranks[1].HW.Stated
			faster("twice the bandwidth of one rank", d)
			d.Ranks[1].HW.Stated = c.Ranks[1].HW.Stated / 2
			slower("half the bandwidth of one rank", d)
			d = c
			d.Fabric.Transport = "tcp"
			slower("TCP in place of RDMA", d)
			d = c
			d.Fabric.Gbps = 1
			slower("a slower link", d)
			d = c
			d.Fabric.Transport = "oneshot"
			faster("one-shot collectives", d)
			d = c
			d.Context = 100_000
			slower("a longer context", d)
			d = c
			d.Batch = 8
			slower("one of eight sequences", d)
			if all := token(t, d); all.Rate() < base*0.999999 {
				t.Errorf("%s, %s: eight sequences together: %.3f is less than %.3f", name, engine, all.Rate(), base)
			}
			d = c
			d.Format = Average(8.5, c.Model, c.Engine)
			slower("wider weights", d)
			d = c
			d.Engine.Eager = true
			slower("eager", d)
		}
	}
}

// TestSyncGrows: twice the layers wait twice as often, and more nodes wait longer.
func TestSyncGrows(t *testing.T) {
	c := oneCase(t, "Llama-3.1-70B", "fp8", "vllm", "8x gb10", 2, 1)
	w := token(t, c)
	if w.Syncs != 160 || math.Abs(float64(w.Sync)-160*w.SyncEach/1000) > 1e-9 {
		t.Errorf("%d syncs of %g µs are %g ms", w.Syncs, w.SyncEach, w.Sync)
	}
	d := c
	d.Model.Layers *= 2
	for i := range d.Model.Attn {
		d.Model.Attn = append([]Attn{}, d.Model.Attn...)
		d.Model.Attn[i].Count *= 2
	}
	d.Model.FFN.Count *= 2
	if got := token(t, d); math.Abs(float64(got.Sync/w.Sync)-2) > 1e-9 {
		t.Errorf("twice the layers: %g ms of sync, before %g", got.Sync, w.Sync)
	}
	last := 0.0
	for _, tp := range []int{2, 4, 8} {
		c.Layout.TP = tp
		if got := token(t, c).SyncEach; got <= last {
			t.Errorf("tp %d: %g µs is not more than %g", tp, got, last)
		} else {
			last = got
		}
	}
}

// TestHopsAdd: a pipeline reads what one rank would, and adds its hops: it is never
// quicker than one rank (seed 003).
func TestHopsAdd(t *testing.T) {
	one := token(t, oneCase(t, "Qwen3.6-27B", "q6_k", "llama.cpp", "strix-halo", 1, 1))
	for _, pp := range []int{2, 3, 4} {
		c := oneCase(t, "Qwen3.6-27B", "q6_k", "llama.cpp", "4x strix-halo", 1, pp)
		c.Fabric.Transport = "tcp"
		w := token(t, c)
		want := float64(one.Local()) + float64(pp-1)*Default.HopTCP/1000
		if math.Abs(float64(w.Total())-want) > 1e-6*want {
			t.Errorf("pp %d: %g ms, want %g", pp, w.Total(), want)
		}
	}
}

// TestMeasuredSync: what was measured is used, among the nodes that it was measured
// among, and carried on to more.
func TestMeasuredSync(t *testing.T) {
	c := oneCase(t, "Llama-3.1-70B", "fp8", "vllm", "8x gb10", 4, 1)
	c.Fabric.Sync, c.Fabric.Nodes = 30, 4
	if got := token(t, c).SyncEach; got != 30 {
		t.Errorf("%g µs, want the 30 that were measured", got)
	}
	c.Layout.TP = 8
	if got := token(t, c).SyncEach; got != 30+Default.RDMAMore {
		t.Errorf("among twice as many: %g µs", got)
	}
}

// TestSpeculation: a step takes longer than a token and gives Accepted of them; both
// are told.
func TestSpeculation(t *testing.T) {
	c := oneCase(t, "Qwen3.5-122B-A10B", "w4a16", "vllm", "gb10", 1, 1)
	plain := token(t, c)
	c.Spec = Spec{Draft: 3, Accepted: 2.6}
	w := token(t, c)
	if w.Total() <= plain.Total() {
		t.Errorf("a step of four tokens takes %g ms, one token %g: a mixture reads more experts for four", w.Total(), plain.Total())
	}
	if got, want := w.Each(), 2.6*1000/float64(w.Total()); math.Abs(got-want) > 1e-9 {
		t.Errorf("%g tokens/s, want ms/step × accepted = %g", got, want)
	}
	for _, bad := range []Spec{{3, 0.5}, {3, 4.5}, {-1, 2}, {99, 2}} {
		c.Spec = bad
		if _, err := Token(c); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// TestRefuse: cases that cannot be are errors, not numbers.
func TestRefuse(t *testing.T) {
	good := oneCase(t, "Llama-3.1-8B", "bf16", "vllm", "2x gb10", 2, 1)
	for want, change := range map[string]func(*Case){
		"takes 4 ranks: there are 2":  func(c *Case) { c.Layout.TP = 4 },
		"want at least 1":             func(c *Case) { c.Layout.TP = 0 },
		"has 32 layers":               func(c *Case) { c.Layout = Layout{TP: 1, PP: 33, Replicas: 1} },
		"batch -1":                    func(c *Case) { c.Batch = -1 },
		"context -5":                  func(c *Case) { c.Context = -5 },
		"add up to 32 layers":         func(c *Case) { c.Layout = Layout{TP: 1, PP: 2, Replicas: 1, Layers: []int{30, 1}} },
		"no memory bandwidth":         func(c *Case) { c.Ranks = []Rank{{}, {}} },
		"a model without layers":      func(c *Case) { c.Model = Model{} },
		"a stage of -1 layers":        func(c *Case) { c.Layout = Layout{TP: 1, PP: 2, Replicas: 1, Layers: []int{33, -1}} },
		"batch 100000: want 1":        func(c *Case) { c.Batch = 100000 },
		"takes 2000000 ranks: there":  func(c *Case) { c.Layout = Layout{TP: 1000000, PP: 2, Replicas: 1} },
		"context 1000000000: want 0 ": func(c *Case) { c.Context = 1e9 },
	} {
		c := good
		change(&c)
		if _, err := Token(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestMemoryByHand holds the accounting against sums done by hand.
func TestMemoryByHand(t *testing.T) {
	tests := []struct {
		name        string
		c           Case
		weights, kv float64 // bytes
	}{
		// Llama 3.1 8B in 16 bits over two: a layer has q and o 4096×4096 each, k and v
		// 4096×1024 each, three matrices of 4096×14336 and two norms of 4096; 32 of them;
		// embedding and head 128256×4096. Norms are kept by both ranks.
		{"Llama-3.1-8B bf16 tp 2", oneCase(t, "Llama-3.1-8B", "bf16", "vllm", "2x gb10", 2, 1),
			2 * ((32*(2*4096*4096+2*4096*1024+3*4096*14336)+2*128256*4096)/2 + 32*2*4096),
			512 * 32 * 2 * 8 * 128 * 2 / 2},
		// Qwen3-30B-A3B in FP8 on one: experts and attention in 8 bits, embedding, head,
		// router and norms in 16. 48 layers: q and o 2048×4096, k and v 2048×512, 128
		// experts of three times 2048×768, a router of 2048×128.
		{"Qwen3-30B-A3B fp8", oneCase(t, "Qwen3-30B-A3B", "fp8", "vllm", "gb10", 1, 1),
			48*(2*2048*4096+2*2048*512+128*3*2048*768) + 2*(2*151936*2048+48*(2048*128+2*2048)),
			512 * 48 * 2 * 4 * 128 * 2},
		// DeepSeek R1 with 4.16 bits over four: a latent of 512+64 numbers for each token
		// and layer, held by every rank; the projections into the latents are not split.
		{"DeepSeek-R1 w4a16 tp 4", oneCase(t, "DeepSeek-R1", "w4a16", "vllm", "4x strix-halo", 4, 1),
			4.16/8*((61*(1536*128*192+512*128*256+128*128*7168)+3*3*7168*18432+58*3*7168*2048+58*256*3*7168*2048)/4.+61*(7168*1536+7168*576)) +
				2*(2*129280*7168/4+58*7168*256+61*2*7168),
			512 * 61 * 576 * 2},
	}
	for _, tt := range tests {
		m := tt.c.Memory()
		if math.Abs(float64(m.Weights)-tt.weights) > 64 || math.Abs(float64(m.KV)-tt.kv) > 64 {
			t.Errorf("%s: weights %d and cache %d, by hand %.0f and %.0f", tt.name, m.Weights, m.KV, tt.weights, tt.kv)
		}
		if m.Need() != m.Weights+m.KV+m.Runtime {
			t.Errorf("%s: parts do not add up", tt.name)
		}
	}
	// Windows keep no more than their width: of gpt-oss's 36 layers 18 keep 128 tokens.
	c := oneCase(t, "gpt-oss-120b", "mxfp4", "vllm", "gb10", 1, 1)
	c.Context = 10_000
	if got, want := c.Memory().KV, unit.Size(18*(10_000+128)*2*8*64*2); got != want {
		t.Errorf("gpt-oss cache: %d, by hand %d", got, want)
	}
	// A KV head cannot be halved: four ranks of a model with two heads keep each twice.
	c = oneCase(t, "Qwen3.5-122B-A10B", "w4a16", "vllm", "4x gb10", 4, 1)
	c.Context = 10_000
	d := c
	d.Layout.TP, d.Ranks = 2, c.Ranks[:2]
	perToken := unit.Size(12 * 2 * 2 * 256 * 2 / 2 * 10_000)
	if a, b := c.Memory().KV, d.Memory().KV; a < perToken || b < perToken || a > b {
		t.Errorf("cache with tp 4 %d, tp 2 %d, attention alone %d", a, b, perToken)
	}
}

// TestPublishedShape holds relations that were measured apart from tokens/s.
func TestPublishedShape(t *testing.T) {
	// Spark, gpt-oss-120b in llama.cpp: 59.0 tokens/s, 41.4 with 32k in the cache
	// (ggml-org/llama.cpp benches/dgx-spark.md): 0.70 of it.
	c := oneCase(t, "gpt-oss-120b", "4.34", "llama.cpp", "gb10", 1, 1)
	short := token(t, c).Each()
	c.Context = 32768
	if got := token(t, c).Each() / short; math.Abs(got/0.70-1) > 0.15 {
		t.Errorf("at 32k %.2f of the speed, measured 0.70", got)
	}
	// The same model, 32 sequences: 312.6 tokens/s of 57.3 for one: 5.5 times.
	c.Context = 528
	c.Batch = 32
	if got := token(t, c).Rate() / short; got < 3.5 || got > 8 {
		t.Errorf("32 sequences: %.1f times as much together, measured 5.5", got)
	}
}
