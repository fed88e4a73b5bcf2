package check

import (
	"testing"

	"weft/internal/format"
	"weft/internal/spec"
)

// A reader whose gaps node.read does not know would fail unseen: every file and
// command has a row in readNeeds, or its reader says that a gap is normal.
func TestEveryGapIsKnown(t *testing.T) {
	want := spec.Spec{Nodes: []spec.Node{
		{Name: "n1", Data: []spec.DataPort{{Port: "mlx5_0/1", Address: "10.1.0.1/24"}}},
		{Name: "n2", Data: []spec.DataPort{{Port: "mlx5_0/1", Address: "10.1.0.2/24"}}},
	}}
	asked := 0
	for _, r := range format.For(want, "n1") {
		if r.Name == "config" {
			continue // for weft plan alone: it says itself what it cannot edit
		}
		for _, f := range r.Files {
			for _, name := range f.Names {
				asked++
				if path := f.Dir + "/" + name; !f.Quiet && readNeed(path) == "" {
					t.Errorf("reader %s: no row of readNeeds has %s", r.Name, path)
				}
			}
		}
		for _, c := range r.Cmds {
			asked++
			if key := c.Key("eth2"); !c.Quiet && readNeed(key) == "" {
				t.Errorf("reader %s: no row of readNeeds has %s", r.Name, key)
			}
		}
	}
	if asked < 50 {
		t.Errorf("readers ask for %d things only", asked)
	}
}
