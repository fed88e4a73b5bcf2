package nccltests

import (
	"strings"
	"testing"
	"unicode/utf8"

	"weft/internal/fixture"
)

// sound is what holds of every report.
func sound(t *testing.T, r Report) {
	if r.Ranks < 0 || r.Nodes < 0 || r.Nodes > max(r.Ranks, 1) {
		t.Errorf("%d nodes, %d ranks", r.Nodes, r.Ranks)
	}
	last := 0
	for _, row := range r.Rows {
		if row.Line < last || row.Size < 0 || row.Count < 0 || row.Out == nil && row.In == nil {
			t.Errorf("row %+v after line %d", row, last)
		}
		last = row.Line
		for _, v := range []*Result{row.Out, row.In} {
			if v != nil && (v.Time < 0 || v.Alg < 0 || v.Bus < 0 || v.Wrong != nil && *v.Wrong < 0) {
				t.Errorf("result %+v", v)
			}
			if v != nil && wrong(v) && r.Problem == nil {
				t.Error("wrong results and no problem")
			}
		}
	}
	all := r.Warnings
	if r.Problem != nil {
		all = append(all, *r.Problem)
	}
	for _, p := range all {
		if p.Kind == "" || p.Line < 0 || p.Why == "" || len(p.Said) > maxSaid || !utf8.ValidString(p.Said) || strings.ContainsAny(p.Said+p.Host, "\x1b\n") {
			t.Errorf("problem %+v", p)
		}
	}
}

func FuzzRead(f *testing.F) {
	fixture.Seed(f, "nccl-tests_*", "all_reduce_bench*")
	f.Add([]byte(head + row8 + "a: Test NCCL failure common.cu:1 'unhandled system error'\n"))
	f.Add([]byte(head + " 8192 2048 float sum -1 gpu1:10:11 [0] NCCL INFO x\n 35.15 0.23 0.23 0 30.33 0.27 0.27 7\n"))
	f.Add([]byte(`{"weft":"collective","op":"all_reduce","bytes":8,"seconds":[1,2],"ranks":2,"nodes":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Read(b)
		sound(t, r)
		again, err2 := Read([]byte("\n" + string(b) + "\n"))
		if (err == nil) != (err2 == nil) || len(again.Rows) != len(r.Rows) {
			t.Errorf("blank lines change %q to %q", text(err), text(err2))
		}
	})
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"args":["all_reduce_perf"],"nccl_version":22803,"config":{"devices":[{"rank":0}]},"results":[{"size":8,"out_of_place":{"time":"nan"},"in_place":{"time":1,"nwrong":2}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, _ := ReadJSON(b)
		for i := range r.Rows {
			if r.Rows[i].Out == nil && r.Rows[i].In == nil {
				r.Rows[i].Out = &Result{} // neither was measured
			}
		}
		sound(t, r)
	})
}

func FuzzBusBW(f *testing.F) {
	f.Add("all_reduce", int64(8), 0.5, 2)
	f.Fuzz(func(t *testing.T, op string, bytes int64, seconds float64, ranks int) {
		alg, bus, err := BusBW(op, bytes, seconds, ranks)
		if alg < 0 || bus < 0 || bus > 2*alg+1 || err != nil && (alg != 0 || bus != 0) {
			t.Errorf("BusBW(%q, %d, %g, %d) = %d, %d, %v", op, bytes, seconds, ranks, alg, bus, err)
		}
	})
}
