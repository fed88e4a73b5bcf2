package verbs

import (
	"testing"
	"time"

	"weft/internal/unit"
)

// TestMeterKeepsWithinItsRoom marks far more samples than there is room for: they stay
// in order, spread over the whole time, and nothing is allocated.
func TestMeterKeepsWithinItsRoom(t *testing.T) {
	m := newMeter(time.Millisecond)
	at := time.Duration(0)
	if n := testing.AllocsPerRun(1, func() {
		for range 50 * maxSamples {
			at += time.Millisecond
			m.mark(at, int64(at))
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if len(m.samples) > maxSamples || len(m.samples) < maxSamples/2 {
		t.Fatalf("%d samples", len(m.samples))
	}
	gap := time.Duration(0)
	last := time.Duration(0)
	for _, s := range m.samples {
		if s.At <= last || s.Bytes != int64(s.At) {
			t.Fatalf("sample %v after %v", s, last)
		}
		gap = max(gap, s.At-last)
		last = s.At
	}
	if gap > 2*m.every || at-last > m.every {
		t.Errorf("gaps of %v, the last sample at %v of %v", gap, last, at)
	}
}

func TestRates(t *testing.T) {
	f := Flow{Bytes: 3e6, Took: 2 * time.Second, Samples: []Sample{{time.Second, 1e6}, {2 * time.Second, 3e6}}}
	if got := f.Rate(); got != 12*unit.Mbps {
		t.Errorf("rate %v", got)
	}
	if got := f.Rates(); len(got) != 2 || got[0] != 8*unit.Mbps || got[1] != 16*unit.Mbps {
		t.Errorf("rates %v", got)
	}
	if got := (Flow{Bytes: 5}).Rate(); got != 0 {
		t.Errorf("rate of no time is %v", got)
	}
}
