package rehearsal

import (
	"testing"

	"weft/internal/forecast"
)

func TestRehearsal(t *testing.T) {
	r, err := Parse([]byte(`{"kind":"rehearsal","id":"r1","transport":"rdma","nodes":["a","b"],"syncs":[{"bytes":8192,"nodes":4,"micros":{"median":30}},{"bytes":65536,"nodes":2,"micros":{"median":40}},{"bytes":16384,"nodes":2,"micros":{"median":20}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	f, ok := r.Apply(forecast.Fabric{Transport: "rdma"}, 7168, 2)
	if !ok || f.Sync != 20 || f.Nodes != 2 {
		t.Errorf("among 2 nodes: %+v, %v", f, ok)
	}
	if f, ok := r.Apply(forecast.Fabric{Transport: "rdma"}, 7168, 8); !ok || f.Sync != 30 {
		t.Errorf("among 8 nodes the nearest is of another number: %+v, %v", f, ok)
	}
	if _, ok := r.Apply(forecast.Fabric{Transport: "tcp"}, 7168, 2); ok {
		t.Error("RDMA is taken for TCP")
	}
	if _, ok := r.Apply(forecast.Fabric{Transport: "rdma"}, 1<<20, 2); ok {
		t.Error("a small message is taken for a large one")
	}
	for _, bad := range []string{``, `{}`, `{"kind":"proof"}`, `{"kind":"rehearsal","syncs":[{"bytes":-1}]}`, `{"kind":"rehearsal","syncs":[{"micros":{"median":-3}}]}`, `{"kind":"rehearsal","syncs":3}`} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s is taken for a rehearsal", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"kind":"rehearsal","transport":"rdma","syncs":[{"bytes":8192,"nodes":2,"micros":{"median":30,"p99":31}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err != nil {
			return
		}
		for _, transport := range []string{"rdma", "tcp", ""} {
			if got, ok := r.Apply(forecast.Fabric{Transport: transport}, 4096, 2); ok && !(got.Sync > 0 && got.Sync <= 1e6 && got.Nodes > 1) {
				t.Errorf("%s: %+v", b, got)
			}
		}
	})
}
