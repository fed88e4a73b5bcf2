package design

import "testing"

// BenchmarkFigure1024 is one design of 1,024 nodes with 8 GPUs.
func BenchmarkFigure1024(b *testing.B) {
	for b.Loop() {
		d, err := Make(Ask{Nodes: 1024, GPUs: 8, Workload: "pretrain"})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(d.Cables)), "cables")
	}
}
