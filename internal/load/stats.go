package load

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"weft/internal/fact"
	"weft/internal/forecast"
)

// Exact makes a distribution of few numbers.
func Exact(all []time.Duration) (t Times) {
	if len(all) == 0 {
		return t
	}
	sorted := slices.Sorted(slices.Values(all))
	sum := 0.0
	for _, d := range sorted {
		sum += float64(d)
	}
	n := len(sorted)
	return times(n, sum/float64(n), sorted[n-1], func(q float64) float64 { return float64(sorted[rank(n, q)-1]) })
}

// rank is which of n sorted numbers, from 1, is a percentile: the least that so many are
// not above.
func rank(n int, q float64) int {
	return min(max(int(math.Ceil(q*float64(n)-1e-9)), 1), n)
}

// times fills a distribution. p99 of fewer than a hundred numbers is their maximum by
// another name, so it is unknown; likewise the others.
func times(n int, mean float64, most time.Duration, at func(float64) float64) Times {
	ms := func(ns float64) fact.Val[forecast.Ms] { return fact.Some(forecast.Ms(ns / 1e6)) }
	t := Times{Count: n, Mean: ms(mean), P50: ms(at(0.5)), Max: ms(float64(most))}
	for _, p := range []struct {
		to    *fact.Val[forecast.Ms]
		q     float64
		least int
	}{{&t.P90, 0.9, 10}, {&t.P99, 0.99, 100}, {&t.P999, 0.999, 1000}} {
		if n >= p.least {
			*p.to = ms(at(p.q))
		}
	}
	return t
}

// Hist counts many times in little memory: 128 steps for each doubling, so that a
// percentile is right to 0.4 %. Its zero value is empty.
type Hist struct {
	n     int
	sum   float64
	max   time.Duration
	count [(longest - 6) * steps]uint32
}

const (
	steps   = 128
	longest = 42 // bits of nanoseconds: over an hour
)

// Add counts one.
func (h *Hist) Add(d time.Duration) {
	d = max(d, 0)
	h.n++
	h.sum += float64(d)
	h.max = max(h.max, d)
	h.count[slot(uint64(min(d, 1<<longest-1)))]++
}

// slot is the place of a number: the number itself below 256, then its first eight bits
// and how many there are behind them.
func slot(v uint64) int {
	shift := max(bits.Len64(v)-8, 0)
	return shift*steps + int(v>>shift)
}

// middle is the number in the middle of a slot.
func middle(i int) float64 {
	shift := max(i/steps-1, 0)
	low := uint64(i-shift*steps) << shift
	return float64(low) + float64(uint64(1)<<shift-1)/2
}

// Times is the distribution.
func (h *Hist) Times() (t Times) {
	if h.n == 0 {
		return t
	}
	return times(h.n, h.sum/float64(h.n), h.max, func(q float64) float64 {
		want, seen := rank(h.n, q), 0
		for i, c := range h.count {
			if seen += int(c); seen >= want {
				return min(middle(i), float64(h.max))
			}
		}
		return float64(h.max)
	})
}

// Tally gathers the samples of a level as they come. It is not safe for several
// goroutines at once.
type Tally struct {
	Asked int // tokens of each answer

	level                  Level
	first, perToken, whole []time.Duration
	gaps                   Hist
	start, end             time.Duration
	some                   bool
	byUsage, byChunks      int
	failures               map[Failure]int
}

// MaxSamples is how many requests one level may have: their times are kept.
const MaxSamples = 1 << 20

// maxWhys is how many different failures are told apart.
const maxWhys = 16

// Add takes one request.
func (t *Tally) Add(s Sample) {
	l := &t.level
	if s.Class == Interrupted {
		l.Unfinished++
		return
	}
	if !t.some || s.Start < t.start {
		t.start = s.Start
	}
	t.some = true
	t.end = max(t.end, s.End)
	if s.Class != "" {
		l.Failed++
		if t.failures == nil {
			t.failures = map[Failure]int{}
		}
		f := Failure{Class: s.Class, Why: s.Why}
		if t.failures[f] == 0 && len(t.failures) >= maxWhys {
			f.Why = "and in other ways"
		}
		t.failures[f]++
		return
	}
	l.OK++
	tokens := s.Tokens
	if tokens < 0 {
		tokens = s.Chunks
		t.byChunks++
	} else {
		t.byUsage++
	}
	l.Outputs += tokens
	l.Chunks += s.Chunks
	l.Prompts += max(s.Prompt, 0)
	l.Cached += s.Cached
	if tokens < t.Asked {
		l.Early++
	}
	if s.NoDone {
		l.NoDone++
	}
	t.whole = append(t.whole, s.End-s.Start)
	if s.Chunks > 0 {
		t.first = append(t.first, s.First-s.Start)
	}
	switch {
	case tokens < 2:
	case s.Last > s.First:
		t.perToken = append(t.perToken, (s.Last-s.First)/time.Duration(tokens-1))
	default:
		l.Gathered++
	}
	for _, d := range s.Gaps {
		t.gaps.Add(d)
	}
}

// OK and Failed are how many there are so far.
func (t *Tally) OK() int     { return t.level.OK }
func (t *Tally) Failed() int { return t.level.Failed }

// Level is what was gathered.
func (t *Tally) Level(concurrency, warm int, cpu time.Duration) Level {
	l := t.level
	l.Concurrency, l.Warm = concurrency, warm
	l.First, l.PerToken, l.Whole, l.Between = Exact(t.first), Exact(t.perToken), Exact(t.whole), t.gaps.Times()
	l.Seconds = (t.end - t.start).Seconds()
	if l.Seconds > 0 {
		l.ClientCPU = cpu.Seconds() / l.Seconds
		if l.OK > 0 {
			l.Requests = fact.Some(float64(l.OK) / l.Seconds)
			l.Tokens = fact.Some(float64(l.Outputs) / l.Seconds)
		}
	}
	if ms := l.PerToken.P50.Or(0); ms > 0 {
		l.Each = fact.Some(1000 / float64(ms))
	}
	switch {
	case t.byUsage > 0 && t.byChunks > 0:
		l.Counted = "both"
	case t.byUsage > 0:
		l.Counted = "usage"
	case t.byChunks > 0:
		l.Counted = "chunks"
	}
	l.Failures = []Failure{}
	for f, n := range t.failures {
		f.Count = n
		l.Failures = append(l.Failures, f)
	}
	slices.SortFunc(l.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Why, b.Why))
	})
	return l
}
