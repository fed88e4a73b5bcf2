package trial

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkFigureJudgeProof judges all pairs of 1,024 nodes, in both directions, with a bad
// port and a bad pair among them: about a million cells.
func BenchmarkFigureJudgeProof(b *testing.B) {
	w := newWorld(1, 1024, 1, 32, false)
	bad, x, y := w.ends[0][700], w.ends[0][3], w.ends[0][900]
	w.faults = []ill{{hits: sends(bad), times: 1.5}, {hits: func(t Trial, from, to End) bool { return from == x && to == y || from == y && to == x }, times: 2}}
	w.noise, w.odd = 0.005, 0
	t, _ := ByID("rdma.write.bw")
	var cells []Cell
	for i, from := range w.ends[0] {
		for k, to := range w.ends[0] {
			if i != k {
				c := w.run(t, Pair{from, to})
				c = c.Again(w.run(t, Pair{from, to}))
				c.Samples = nil
				cells = append(cells, c)
			}
		}
	}
	want := fmt.Sprintf("[pair %s, %s port %s sending]", x, y, bad)
	for b.Loop() {
		start := time.Now()
		_, problems := Judge(w.c, cells)
		b.ReportMetric(time.Since(start).Seconds(), "s/Mcells")
		if got := fmt.Sprint(said(problems)); got != want {
			b.Fatalf("got %s, want %s", got, want)
		}
	}
	b.ReportMetric(float64(len(cells)), "cells")
}
