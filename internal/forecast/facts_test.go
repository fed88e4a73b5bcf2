package forecast

import (
	"strings"
	"testing"

	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/sample"
	"weft/internal/trial"
	"weft/internal/unit"
)

// TestFromFacts: hardware and link of clusters as weft sees them.
func TestFromFacts(t *testing.T) {
	for name, c := range map[string]*sample.Cluster{"gb10 rdma 200": sample.Sparks("s"), "strix-halo rdma 100": sample.Strix("h", 3)} {
		facts := format.Facts(c.Dump())
		nodes, f, says, err := FromFacts(&facts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := strings.Fields(name)
		for _, n := range nodes {
			if n.HW.Name != want[0] || n.GPUs != 1 || n.HW.Usable < 60*unit.GiB {
				t.Errorf("%s: %+v", name, n)
			}
		}
		if f.Transport != want[1] || f.Gbps <= 0 {
			t.Errorf("%s: %+v %v", name, f, says)
		}
	}
}

func TestFactsThatLack(t *testing.T) {
	gpu := func(name string, mem unit.Size) *fact.GPU {
		g := &fact.GPU{Name: name, Vendor: "NVIDIA"}
		if mem > 0 {
			g.Memory = fact.Some(mem)
		}
		return g
	}
	c := &fact.Cluster{Nodes: []*fact.Node{
		{Name: "a", GPUs: []*fact.GPU{gpu("NVIDIA GeForce RTX 4090", 24*unit.GiB), gpu("NVIDIA GeForce RTX 4090", 24*unit.GiB), gpu("AMD Raphael", 0)}},
		{Name: "b", Down: "no route to host"},
	}}
	nodes, f, says, err := FromFacts(c)
	if err != nil || len(nodes) != 1 || nodes[0].GPUs != 2 || nodes[0].HW.Name != "rtx-4090" {
		t.Errorf("%+v, %v", nodes, err)
	}
	if f.Transport != "tcp" || len(says) != 2 {
		t.Errorf("%+v, %q", f, says)
	}
	for want, n := range map[string]*fact.Node{
		"no GPU was found":                  {Name: "n"},
		`hardware "NVIDIA X1" is not known`: {Name: "n", GPUs: []*fact.GPU{gpu("NVIDIA X1", 0)}},
	} {
		if _, _, _, err := FromFacts(&fact.Cluster{Nodes: []*fact.Node{n}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, _, _, err := FromFacts(&fact.Cluster{}); err == nil {
		t.Error("a cluster of nobody was forecast")
	}
}

// TestProofSync: the small all-reduce of a proof is used, and said.
func TestProofSync(t *testing.T) {
	p := &trial.Proof{ID: "20261115-130501", Cells: []trial.Cell{{Trial: "nccl.allreduce", Collective: &trial.Collective{Nodes: 2, Ranks: 2, Rows: []trial.CollectiveRow{
		{Bytes: 1024, Seconds: []float64{20e-6}},
		{Bytes: 16384, Seconds: []float64{31e-6, 33e-6, 90e-6}},
		{Bytes: 1 << 30, Seconds: []float64{0.1}},
	}}}}}
	f, ok := Fabric{Transport: "rdma"}.Measured(p, 8192)
	if !ok || f.Sync < 32 || f.Sync > 34 || f.Nodes != 2 || !strings.Contains(f.Source, "20261115-130501") {
		t.Errorf("%v %+v", ok, f)
	}
	if _, ok := (Fabric{}).Measured(p, 1<<20); ok {
		t.Error("a message of 1 MiB is not small")
	}
	if _, ok := (Fabric{}).Measured(&trial.Proof{}, 100); ok {
		t.Error("an empty proof measured something")
	}
}
