package trial

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestIntervalCoversTheMedian: of 2,000 sets drawn from noise of three shapes, the
// interval holds the true median in about 95 of 100.
func TestIntervalCoversTheMedian(t *testing.T) {
	shapes := map[string]func(r *rand.Rand) float64{
		"normal": func(r *rand.Rand) float64 { return 1e6 + 1e5*r.NormFloat64() },
		"skewed": func(r *rand.Rand) float64 { return 1e6 * math.Exp(0.3*r.NormFloat64()) },
		"tailed": func(r *rand.Rand) float64 {
			if r.IntN(10) == 0 {
				return 1e6 + 3e6*(r.Float64()-0.5)
			}
			return 1e6 + 1e5*r.NormFloat64()
		},
	}
	for name, draw := range shapes {
		for _, n := range []int{8, 21, 60} {
			r, in := rand.New(rand.NewPCG(1, uint64(n))), 0
			for range 2000 {
				var s []Amount
				for range n {
					s = append(s, Amount(draw(r)))
				}
				if _, low, high := Median(s); low <= 1e6 && 1e6 <= high {
					in++
				}
			}
			if share := float64(in) / 2000; share < 0.93 {
				t.Errorf("%s, %d samples: the median is inside %.1f %%, want 95", name, n, 100*share)
			}
		}
	}
}

func TestEnough(t *testing.T) {
	usual, _ := EffortByWord("usual")
	steady, wild := []Amount{}, []Amount{}
	for i := range 20 {
		steady = append(steady, 1000+Amount(i%3))
		wild = append(wild, 1000+Amount(i*100))
	}
	if !usual.Enough(steady) || usual.Enough(wild) || usual.Enough(steady[:3]) || usual.Enough(nil) {
		t.Error("steady samples are enough, wild ones and few ones are not")
	}
	if _, ok := EffortByWord("lazy"); ok {
		t.Error("an effort that is not there")
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []Amount
		want Amount
	}{{nil, 0}, {[]Amount{5}, 5}, {[]Amount{9, 1}, 5}, {[]Amount{3, 1, 2}, 2}, {[]Amount{4, 1, 3, 2}, 2}} {
		if got, low, high := Median(c.in); got != c.want || low > got || high < got {
			t.Errorf("Median(%v) = %d [%d %d], want %d", c.in, got, low, high, c.want)
		}
	}
}
