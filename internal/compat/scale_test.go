package compat

import (
	"fmt"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/spec"
)

// TestManyNodes: four thousand nodes are judged while a person waits.
func TestManyNodes(t *testing.T) {
	var nodes []*fact.Node
	for i := range 4096 {
		n := &fact.Node{Name: fmt.Sprintf("gpu%04d", i), Host: fact.Host{Distro: "ubuntu", Version: "24.04", Kernel: "6.8.0-31-generic"}}
		for range 8 {
			n.GPUs = append(n.GPUs, &fact.GPU{Vendor: "NVIDIA", Name: "NVIDIA H100 80GB HBM3"})
			n.PCI = append(n.PCI, &fact.PCI{BDF: fmt.Sprint(len(n.PCI)), Vendor: 0x15b3, Device: 0x1021})
		}
		nodes = append(nodes, n)
	}
	start := time.Now()
	r := Matrix().Cluster(nodes, spec.Workload{Model: "DeepSeek-R1", Quant: "fp8", MoE: true, Features: []string{"gpudirect"}})
	if r.Verdict != Yes || r.Cells[0].Nodes != "gpu[0000-4095]" {
		t.Errorf("%s, %+v", r.Verdict, r.Cells[0])
	}
	t.Logf("%d nodes in %v", len(nodes), time.Since(start))
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
