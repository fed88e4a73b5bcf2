package platform

import (
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func TestMemoryRate(t *testing.T) {
	tests := []struct {
		name, arch string
		gib        int
		want       int64 // GB/s, 0 unknown
	}{
		{"NVIDIA H200", "Hopper", 140, 4800},
		{"NVIDIA GH200 480GB", "Hopper", 95, 0}, // not an H200
		{"NVIDIA H100 80GB HBM3", "Hopper", 80, 3350},
		{"NVIDIA H100 PCIe", "Hopper", 80, 0}, // other memory
		{"NVIDIA A100-SXM4-80GB", "Ampere", 80, 2039},
		{"NVIDIA A100-SXM4-40GB", "Ampere", 40, 1555},
		{"NVIDIA A100 80GB PCIe", "Ampere", 80, 0},
		{"Tesla T4", "Turing", 15, 300},
		{"NVIDIA GB10", "", 0, 273},
		{"AMD Radeon Graphics", "gfx1151", 64, 256},
		{"Tesla P100-PCIE-16GB", "Pascal", 16, 732},
		{"Tesla P100-PCIE-12GB", "Pascal", 12, 0},
		{"", "", 0, 0},
	}
	for _, tt := range tests {
		g := &fact.GPU{Name: tt.name, Arch: tt.arch}
		if tt.gib > 0 {
			g.Memory = fact.Some(unit.Size(tt.gib) * unit.GiB)
		}
		rate, source, ok := MemoryRate(g)
		if got := int64(rate / (8 * unit.Gbps)); got != tt.want || ok != (tt.want > 0) || ok && source == "" {
			t.Errorf("%q %s: got %d GB/s from %q, want %d", tt.name, tt.arch, got, source, tt.want)
		}
	}
}
