package verbs

import (
	"math"
	"slices"
	"time"
)

// Times are the latencies of single messages, in the order they were measured.
type Times []time.Duration

// Latency sums times up.
type Latency struct {
	Count   int           `json:"count"`
	Min     time.Duration `json:"min"`
	Typical time.Duration `json:"typical"` // the median
	Average time.Duration `json:"average"`
	P99     time.Duration `json:"p99"`
	P999    time.Duration `json:"p999"`
	Max     time.Duration `json:"max"`
}

// Latency sorts a copy: percentiles are times that were measured, not between two.
func (t Times) Latency() Latency {
	if len(t) == 0 {
		return Latency{}
	}
	s := slices.Sorted(slices.Values(t))
	var sum float64
	for _, d := range s {
		sum += float64(d)
	}
	return Latency{
		Count: len(s), Min: s[0], Typical: at(s, 0.5), Average: time.Duration(sum / float64(len(s))),
		P99: at(s, 0.99), P999: at(s, 0.999), Max: s[len(s)-1],
	}
}

// at is the smallest time that at least a share of all are not above.
func at(s []time.Duration, share float64) time.Duration {
	i := int(math.Ceil(share*float64(len(s)))) - 1
	return s[min(max(i, 0), len(s)-1)]
}
