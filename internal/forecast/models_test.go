package forecast

import (
	"math"
	"testing"
)

// TestTableCounts holds every configuration of the table against the counts that
// its publisher states: a wrong width shows.
func TestTableCounts(t *testing.T) {
	for _, k := range models() {
		total, active := k.model.Total()/1e9, k.model.Active()/1e9
		if math.Abs(total/k.Total-1) > 0.03 {
			t.Errorf("%s: %.2f B derived, %.2f B stated", k.Name, total, k.Total)
		}
		// Publishers round the active count, and some leave embeddings out.
		if math.Abs(active/k.Active-1) > 0.20 && math.Abs(active-k.Active) > 1 {
			t.Errorf("%s: %.2f B active derived, %.2f B stated", k.Name, active, k.Active)
		}
		if k.Source == "" {
			t.Errorf("%s has no source", k.Name)
		}
	}
}
