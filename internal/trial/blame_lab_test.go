package trial

import (
	"fmt"
	"slices"
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

// The lab: four nodes, one rail of Soft-RoCE, one thing wrong at a time, all three trials,
// the noise that its machines have. What is bad is named, node and port, and nothing else.
func TestLabFaultsAreNamed(t *testing.T) {
	kinds := []struct {
		name string
		make func(w *world, e End)
		way  string
	}{
		{"healthy", func(w *world, e End) {}, ""},
		{"slowed by a rate", func(w *world, e End) {
			w.faults = []ill{{hits: sends(e), times: 2 + 2*w.Float64()}}
		}, sending},
		{"slowed by a rate that facts know", func(w *world, e End) {
			n := w.c.Node(e.Node)
			n.Netdev(n.Port(e.Port).Netdev).Qdiscs = []fact.Qdisc{{Kind: "netem", Rate: fact.Some(100 * unit.Mbps)}}
			w.faults = []ill{{hits: sends(e), times: 2 + 2*w.Float64()}}
		}, sending},
		{"slowed by a delay", func(w *world, e End) {
			w.faults = []ill{{hits: touches(Nanoseconds, e), times: 3 + 4*w.Float64()}, {hits: sends(e), times: 1 + w.Float64()}, {hits: receives(e), times: 1 + 0.3*w.Float64()}}
		}, "any"},
		{"lossy", func(w *world, e End) {
			w.faults = []ill{{hits: receives(e), times: 1.7 + 2*w.Float64(), loss: 30}}
		}, receiving},
		{"MTU 1500", func(w *world, e End) {
			n := w.c.Node(e.Node)
			p := n.Port(e.Port)
			p.ActiveMTU = fact.Some(1024)
			n.Netdev(p.Netdev).MTU = fact.Some(1500)
			w.faults = []ill{{hits: touches(BitsPerSecond, e), times: 1.4 + w.Float64()}, {hits: touches(Bytes, e), times: 1, mtu: 1500}}
		}, "any"},
	}
	seeds := 500
	if testing.Short() {
		seeds = 100
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			wrong, accused := 0, 0
			for seed := range uint64(seeds) {
				w := newWorld(seed, 4, 1, 0, true)
				w.noise, w.tests = 0.10, 3
				e := w.anyEnd()
				k.make(w, e)
				_, problems := w.prove("path.mtu", "rdma.write.bw", "rdma.write.lat")
				var want []string
				if len(w.faults) > 0 {
					want = []string{"port " + e.String()}
				}
				var got []string
				for _, p := range problems {
					got = append(got, fmt.Sprintf("%s %v", p.Kind, p.At[0]))
					if k.way != "any" && p.Way != k.way && p.Kind == "port" {
						got[len(got)-1] += " " + p.Way
					}
				}
				if !slices.Equal(got, want) {
					if wrong++; wrong <= 3 {
						t.Errorf("seed %d: got %q, want %q %s", seed, said(problems), want, k.way)
					}
				}
				for _, p := range problems {
					if !slices.Contains(p.At, e) || len(w.faults) == 0 {
						accused++
					}
				}
			}
			if wrong > 0 || accused > 0 {
				t.Errorf("%d of %d wrong, %d times somebody healthy accused", wrong, seeds, accused)
			}
		})
	}
}
