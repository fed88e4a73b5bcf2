package load

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/forecast"
)

const ms = time.Millisecond

func TestExact(t *testing.T) {
	var all []time.Duration
	for i := range 1000 {
		all = append(all, time.Duration(1000-i)*ms)
	}
	got := Exact(all)
	for _, c := range []struct {
		name string
		v    fact.Val[forecast.Ms]
		want forecast.Ms
	}{{"mean", got.Mean, 500.5}, {"p50", got.P50, 500}, {"p90", got.P90, 900}, {"p99", got.P99, 990}, {"p99.9", got.P999, 999}, {"max", got.Max, 1000}} {
		if v, ok := c.v.Get(); !ok || math.Abs(float64(v-c.want)) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, v, c.want)
		}
	}
	if few := Exact(all[:99]); few.P99.Known() || !few.P90.Known() || !few.Max.Known() {
		t.Errorf("99 numbers: %+v", few)
	}
	if one := Exact(all[:1]); one.P90.Known() || one.P50.Or(0) != 1000 {
		t.Errorf("one number: %+v", one)
	}
	if none := Exact(nil); none.Count != 0 || none.P50.Known() || none.Mean.Known() || none.Max.Known() {
		t.Errorf("none: %+v", none)
	}
}

// A histogram says what the numbers say, to 0.4 %.
func TestHist(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, spread := range []float64{1, 5, 9} {
		var h Hist
		var all []time.Duration
		for range 20_000 {
			d := time.Duration(math.Exp(r.NormFloat64()*spread/4 + spread + 8))
			all = append(all, d)
			h.Add(d)
		}
		want, got := Exact(all), h.Times()
		if got.Count != want.Count || got.Max != want.Max {
			t.Errorf("%+v, want %+v", got, want)
		}
		for i, p := range [][2]fact.Val[forecast.Ms]{{got.P50, want.P50}, {got.P90, want.P90}, {got.P99, want.P99}, {got.P999, want.P999}, {got.Mean, want.Mean}} {
			if a, b := float64(p[0].Or(0)), float64(p[1].Or(-1)); math.Abs(a/b-1) > 0.004 {
				t.Errorf("spread %v, number %d: %v, want %v", spread, i, a, b)
			}
		}
	}
}

// Slots are in the order of numbers, without a hole, to the longest.
func TestSlots(t *testing.T) {
	last := -1
	for v := uint64(0); v < 1<<longest; v += 1 + v/300 {
		i := slot(v)
		if i < last || i > last+1 {
			t.Fatalf("%d: slot %d after %d", v, i, last)
		}
		if m := middle(i); math.Abs(m-float64(v)) > float64(v)/steps/2+0.5 {
			t.Fatalf("%d: the middle of its slot is %v", v, m)
		}
		last = i
	}
	var h Hist
	h.Add(1<<62 - 1)
	h.Add(-5)
	if last := slot(1<<longest - 1); last != len(h.count)-1 || h.n != 2 {
		t.Errorf("the last slot is %d of %d", last, len(h.count))
	}
}

func TestTally(t *testing.T) {
	tally := Tally{Asked: 11}
	for i := range 4 {
		at := time.Duration(i) * 100 * ms
		tally.Add(Sample{Start: at, First: at + 20*ms, Last: at + 70*ms, End: at + 75*ms, Chunks: 6, Tokens: 11, Prompt: 50, Cached: 16, Gaps: []time.Duration{10 * ms, 10 * ms, 10 * ms, 10 * ms, 10 * ms}})
	}
	tally.Add(Sample{Start: 400 * ms, End: 500 * ms, Class: Broken, Why: "x", Chunks: 3, Tokens: 3, Gaps: []time.Duration{time.Hour}})
	tally.Add(Sample{Start: 500 * ms, End: 900 * ms, Class: Interrupted})
	l := tally.Level(2, 3, 50*ms)
	if l.OK != 4 || l.Failed != 1 || l.Unfinished != 1 || l.Concurrency != 2 || l.Warm != 3 || l.Outputs != 44 || l.Prompts != 200 || l.Cached != 64 || l.Chunks != 24 || l.Counted != "usage" || l.Early != 0 {
		t.Errorf("%+v", l)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"seconds", l.Seconds, 0.5}, {"requests/s", l.Requests.Or(0), 8}, {"tokens/s", l.Tokens.Or(0), 88}, {"of each", l.Each.Or(0), 200},
		{"first", float64(l.First.P50.Or(0)), 20}, {"a token", float64(l.PerToken.P50.Or(0)), 5}, {"whole", float64(l.Whole.P50.Or(0)), 75},
		{"between", float64(l.Between.Mean.Or(0)), 10}, {"cpu", l.ClientCPU, 0.1},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if n, ok := l.Context(); !ok || n != 55 {
		t.Errorf("context %d", n)
	}
}

// Failures of all kinds stay few, and none is lost.
func TestManyFailures(t *testing.T) {
	var tally Tally
	for i := range 1000 {
		tally.Add(Sample{Class: Status, Why: strings.Repeat("x", i%100), End: ms})
	}
	l := tally.Level(1, 0, 0)
	sum := 0
	for _, f := range l.Failures {
		sum += f.Count
	}
	if len(l.Failures) > maxWhys+1 || sum != 1000 || l.Failed != 1000 || l.Tokens.Known() || l.Each.Known() {
		t.Errorf("%d kinds of %d: %+v", len(l.Failures), sum, l)
	}
}

// No number: no rate, no percentile, and JSON that says null.
func TestEmptyLevel(t *testing.T) {
	b, err := json.Marshal((&Tally{}).Level(1, 0, 0))
	if err != nil || !strings.Contains(string(b), `"tokens_s":null`) || !strings.Contains(string(b), `"p50_ms":null`) || !strings.Contains(string(b), `"failures":[]`) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestPrompts(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(3) {
		for i := range uint64(500) {
			p := Prompt(seed, i, 40)
			head := strings.Join(strings.Fields(p)[:4], " ")
			if seen[head] {
				t.Errorf("seed %d, prompt %d begins like another: %q", seed, i, head)
			}
			seen[head] = true
			if p != Prompt(seed, i, 40) {
				t.Fatal("the same seed gives another prompt")
			}
		}
	}
	if n := len(strings.Fields(strings.TrimSuffix(Prompt(1, 1, 1000), task))); n != 1000 {
		t.Errorf("%d words, want 1000", n)
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(words)))
	if len(sorted) != len(words) || len(words) < 512 {
		t.Errorf("%d words, %d of them different", len(words), len(sorted))
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ want, w1, t1, w2, t2, words int }{
		{512, 128, 139, 512, 523, 501},  // a template of 11
		{512, 128, 199, 512, 739, 351},  // 1.4 tokens a word
		{4, 8, 40, 16, 48, 1},           // less than the template has
		{512, 128, 128, 512, 128, 512},  // it counts rubbish
		{512, 128, 0, 512, 900000, 512}, // likewise
	} {
		if got := Words(c.want, c.w1, c.t1, c.w2, c.t2); got < c.words-1 || got > c.words+1 {
			t.Errorf("%+v: %d words", c, got)
		}
	}
}

// The forecast of a level is that of its batch, context and layout.
func TestExpect(t *testing.T) {
	m, err := forecast.ModelByName("gpt-oss-120b")
	if err != nil {
		t.Fatal(err)
	}
	e, err := forecast.EngineByName("vllm", "")
	if err != nil {
		t.Fatal(err)
	}
	format, err := forecast.FormatOf("", m, e)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := forecast.ParseHardware("2x gb10")
	if err != nil {
		t.Fatal(err)
	}
	ask := forecast.Ask{Model: m, Engine: e, Format: format, Nodes: nodes, Fabric: forecast.Fabric{Transport: "rdma", Gbps: 100}, TP: 2, PP: 1}
	alone := Level{Concurrency: 1, OK: 4, Prompts: 2048, Outputs: 512, Each: fact.Some(1.0)}
	many := alone
	many.Concurrency = 8
	for _, l := range []*Level{&alone, &many} {
		if err := l.Expect(ask); err != nil {
			t.Fatal(err)
		}
	}
	f := alone.Forecast
	if f.Context != 576 || f.Batch != 1 || f.Layout.TP != 2 || f.Verdict != "below" || !f.Fits || !(f.Low < f.Each && f.Each < f.High) || f.First <= 0 {
		t.Errorf("%+v", f)
	}
	if many.Forecast.Each >= f.Each || many.Forecast.Rate <= f.Rate {
		t.Errorf("eight at once: %+v, alone %+v", many.Forecast, f)
	}
	for each, want := range map[float64]string{f.Each: "as forecast", f.High * 1.1: "above"} {
		alone.Each = fact.Some(each)
		if err := alone.Expect(ask); err != nil || alone.Forecast.Verdict != want {
			t.Errorf("%v tokens/s: %v, %v", each, alone.Forecast, err)
		}
	}
	alone.Each = fact.Val[float64]{}
	if err := alone.Expect(ask); err != nil || alone.Forecast.Verdict != "unknown" {
		t.Errorf("nothing measured: %v", alone.Forecast)
	}
	ask.TP = 3
	if err := alone.Expect(ask); err == nil || alone.Forecast != nil {
		t.Error("a layout that cannot be has a forecast")
	}
	unknown := Level{}
	if err := unknown.Expect(ask); err == nil {
		t.Error("a level without a number of requests at once has a forecast")
	}
}

func TestNotes(t *testing.T) {
	good := Level{Concurrency: 1, OK: 4, Prompts: 400, Outputs: 40, Chunks: 40, Counted: "usage"}
	b := Bench{Prompt: 100, Output: 10, Levels: []Level{good, good}}
	if says := b.Notes(); len(says) != 0 {
		t.Errorf("nothing odd: %q", says)
	}
	for _, c := range []struct {
		change func(*Level)
		want   string
	}{
		{func(l *Level) { l.Counted = "chunks" }, "counted from chunks"},
		{func(l *Level) { l.Chunks = 10 }, "a chunk holds 1.6 tokens: the times between are between chunks (2 at once)"},
		{func(l *Level) { l.Early, l.Outputs = 2, 20 }, "2 of 8 answers ended before 10 tokens: they had 7 on average"},
		{func(l *Level) { l.Prompts = 800 }, "prompts had 150 tokens, where 100 were asked for"},
		{func(l *Level) { l.Cached = 200 }, "25 % of the prompts came from the prefix cache"},
		{func(l *Level) { l.Gathered = 3 }, "all tokens of 3 of 8 answers came at once"},
		{func(l *Level) { l.NoDone = 1 }, "1 streams ended without [DONE]"},
		{func(l *Level) { l.ClientCPU = 0.9 }, "weft itself took most of a core"},
	} {
		odd := good
		odd.Concurrency = 2
		c.change(&odd)
		b.Levels[1] = odd
		if says := b.Notes(); len(says) != 1 || !strings.Contains(says[0], c.want) {
			t.Errorf("%q, want %q", says, c.want)
		}
	}
}

// What was kept is read again; rubbish is not.
func FuzzParse(f *testing.F) {
	b, err := json.Marshal(Bench{ID: "20261115-130501", Levels: []Level{{Concurrency: 1, Each: fact.Some(3.0)}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"schema":1,"kind":"bench",` + string(b[1:])))
	f.Add([]byte(`{"kind":"proof"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Parse(b)
		if (got == nil) == (err == nil) {
			t.Fatal("neither a bench nor an error")
		}
		if got != nil {
			if l, ok := got.Alone(); ok && !(l.Each.Or(0) > 0) {
				t.Fatal("a rate that is none")
			}
			got.Notes()
		}
	})
}
