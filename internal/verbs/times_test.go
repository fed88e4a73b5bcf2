package verbs

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestLatency(t *testing.T) {
	var times Times
	for i := 1000; i >= 1; i-- {
		times = append(times, time.Duration(i))
	}
	want := Latency{Count: 1000, Min: 1, Typical: 500, Average: 500, P99: 990, P999: 999, Max: 1000}
	if got := times.Latency(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if times[0] != 1000 {
		t.Error("the times were sorted in place")
	}
	if got := (Times{7}).Latency(); got != (Latency{1, 7, 7, 7, 7, 7, 7}) {
		t.Errorf("of one time: %+v", got)
	}
	if got := (Times)(nil).Latency(); got != (Latency{}) {
		t.Errorf("of no times: %+v", got)
	}
}

// TestPercentile holds percentiles to their meaning: a time that was measured, with
// enough times at or below it and too few below it.
func TestPercentile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		s := make([]time.Duration, 1+r.IntN(2000))
		for i := range s {
			s[i] = time.Duration(r.IntN(500))
		}
		slices.Sort(s)
		for _, share := range []float64{0.5, 0.99, 0.999} {
			got := at(s, share)
			below, upTo := 0, 0
			for _, d := range s {
				if d < got {
					below++
				}
				if d <= got {
					upTo++
				}
			}
			if float64(upTo) < share*float64(len(s)) || float64(below) >= share*float64(len(s)) {
				t.Fatalf("%v of %d: %v, with %d below and %d up to it", share, len(s), got, below, upTo)
			}
		}
	}
}
