package trial

import (
	"math"
	"slices"

	"weft/internal/fact"
)

// Effort is how exact a number must be, and how long it may take.
type Effort struct {
	Word    string
	Within  float64 // the confidence interval may be this part of the value
	Seconds float64 // and no run takes longer than this
	Tests   int     // how often suspects are tested again at most: Suspects ends it earlier
}

// Efforts are the efforts a person can ask for.
var Efforts = []Effort{
	{"quick", 0.10, 0.4, 4},
	{"usual", 0.05, 1, 5},
	{"thorough", 0.02, 10, 6},
}

// EffortByWord returns the effort of that name.
func EffortByWord(word string) (Effort, bool) {
	for _, e := range Efforts {
		if e.Word == word {
			return e, true
		}
	}
	return Effort{}, false
}

// fewest is how many samples an interval needs to mean anything: with fewer than six the
// smallest and the largest do not enclose the median 95 times of 100.
const fewest = 8

// Enough reports whether the samples tell their median closely enough.
func (e Effort) Enough(samples []Amount) bool {
	if len(samples) < fewest {
		return false
	}
	got, low, high := Median(samples)
	return float64(high-low) <= e.Within*float64(got)
}

// Median returns the median of samples and its 95 % confidence interval, which needs no
// shape of the noise: the samples 0.98·√n places below and above the middle (the binomial
// distribution of how many lie below the median, 1.96·√(n/4)).
func Median(samples []Amount) (median, low, high Amount) {
	if len(samples) == 0 {
		return 0, 0, 0
	}
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	median = s[n/2]
	if n%2 == 0 {
		median = s[n/2-1] + (s[n/2]-s[n/2-1])/2
	}
	half := 0.98 * math.Sqrt(float64(n))
	lo := max(0, int(math.Floor(float64(n)/2-half)))
	hi := min(n-1, int(math.Ceil(float64(n)/2+half)))
	return median, s[lo], s[hi]
}

// Filled is the cell with its number and interval, from its samples.
func (c Cell) Filled() Cell {
	if len(c.Samples) == 0 {
		return c
	}
	got, low, high := Median(c.Samples)
	c.Got, c.Low, c.High = fact.Some(got), low, high
	return c
}

// Again is the cell after another run of the same trial. Of two runs the better one
// counts: what is wrong with a link is wrong every time, what disturbs it is not. Runs
// keeps what each gave.
func (c Cell) Again(more Cell) Cell {
	tests, runs := c.Tests+more.Tests, append(slices.Clip(c.runs()), more.runs()...)
	unit := BitsPerSecond
	if t, ok := ByID(c.Trial); ok {
		unit = t.Unit
	}
	was, had := c.Got.Get()
	is, has := more.Got.Get()
	if has && (!had || unit.More() == (is > was)) {
		more.Round = c.Round
		c = more
	}
	c.Tests, c.Runs = tests, runs
	return c
}

func (c Cell) runs() []Amount {
	if got, ok := c.Got.Get(); ok && c.Runs == nil {
		return []Amount{got}
	}
	return c.Runs
}
