package perftest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"weft/internal/fixture"
)

// sound is what holds of every report.
func sound(t *testing.T, r Report) {
	last := 0
	for _, row := range r.Rows {
		if row.Line < last || row.Size < 0 || row.Iterations < 0 || row.Average < 0 || row.Peak < 0 || row.MsgRate < 0 || row.Min < 0 || row.P999 < 0 {
			t.Errorf("row %+v after line %d", row, last)
		}
		last = row.Line
	}
	for _, p := range append(r.Warnings, ptr(r.Problem)...) {
		if p.Kind == "" || p.Line < 1 || p.Why == "" || len(p.Said) > maxSaid || !utf8.ValidString(p.Said) || strings.ContainsAny(p.Said, "\x1b\n") {
			t.Errorf("problem %+v", p)
		}
	}
	if len(r.Warnings) > maxWarnings {
		t.Errorf("%d warnings", len(r.Warnings))
	}
}

func ptr(p *Problem) []Problem {
	if p == nil {
		return nil
	}
	return []Problem{*p}
}

func FuzzRead(f *testing.F) {
	fixture.Seed(f, "perftest_*.txt", "lab/samples/*/ib_*.stdout", "lab/samples/*/err-*")
	f.Add([]byte(" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n#bytes #iterations t_avg[usec] tps average\n2 1 inf 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Read(b)
		sound(t, r)
		again, err2 := Read([]byte(string(b) + "\n\n"))
		if text(err) != text(err2) || len(again.Rows) != len(r.Rows) {
			t.Errorf("blank lines change %q to %q", text(err), text(err2))
		}
		ReadHelp(b)
		ReadVersion(b)
		if paths, err := ReadPaths(b); err == nil {
			for _, p := range paths {
				if p.Latency < 0 || p.Rate < 0 {
					t.Errorf("path %+v", p)
				}
			}
		}
	})
}

func FuzzReadJSON(f *testing.F) {
	fixture.Seed(f, "perftest_*.json", "lab/samples/*/ib_*.json")
	f.Add([]byte(`{results: {MsgSize: 65536, BW_peak: 1, BW_average: 3293.56, MsgRate: 0.052697,},}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ReadJSON(b)
		sound(t, r)
		if err != nil && !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("no line in %q", err)
		}
	})
}
