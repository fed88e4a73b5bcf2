package trial

import (
	"slices"
	"testing"

	"weft/internal/fact"
	"weft/internal/sample"
)

func TestPlugs(t *testing.T) {
	ib := plugs(made(sample.InfiniBand("i", 3)))
	for i, node := range []string{"i1", "i2", "i3"} {
		if got := ib[End{node, "mlx5_0/1"}]; got.leaf == "" || got.port != itoa(i+1) {
			t.Errorf("%s is plugged into %+v", node, got)
		}
	}
	c := made(sample.RoCE("n", 3))
	c.Nodes[0].Settings.LLDP = []fact.LLDP{{Netdev: "ens1f0np0", Chassis: "leaf7", Port: "swp3"}, {Netdev: "eno1", Chassis: "office", Port: "1"}}
	c.Nodes[1].Settings.LLDP = []fact.LLDP{{Netdev: "ens1f0np0", Chassis: "N3.example.org", Port: "ens1f0np0"}} // a cable to another node
	want := map[End]plug{{"n1", "mlx5_0/1"}: {"leaf7", "swp3"}}
	got := plugs(c)
	if len(got) != 1 || got[End{"n1", "mlx5_0/1"}] != want[End{"n1", "mlx5_0/1"}] {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Who is read from sends.
func TestReadsComeFromTheEndThatIsAsked(t *testing.T) {
	c := made(sample.RoCE("n", 4))
	cells := full(c, "rdma.read.bw", func(asks, answers End) float64 {
		if answers == (End{"n2", "mlx5_1/1"}) {
			return 120e9
		}
		return 191e9
	})
	if _, problems := Judge(c, cells); !slices.Equal(said(problems), []string{"port n2 mlx5_1/1 sending"}) {
		t.Errorf("got %q", said(problems))
	}
}

// A bad node, a bad switch and a bad rail are each one problem, not one for every port.
func TestTheSmallestExplanation(t *testing.T) {
	w := newWorld(5, 12, 2, 4, false)
	leaf := func(e End) string { return w.leafs[e.Node] }
	tests := []struct {
		name string
		bad  func(from, to End) bool
		want string
	}{
		{"node", func(from, to End) bool { return from.Node == "n07" || to.Node == "n07" }, "node n07"},
		{"what a node sends", func(from, to End) bool { return from.Node == "n07" }, "node n07 sending"},
		{"switch", func(from, to End) bool { return leaf(from) == "leaf2" || leaf(to) == "leaf2" }, "switch leaf2"},
		{"its links up", func(from, to End) bool { return (leaf(from) == "leaf2") != (leaf(to) == "leaf2") }, "switch leaf2"},
		{"what leaves it", func(from, to End) bool { return leaf(from) == "leaf2" && leaf(to) != "leaf2" }, "switch leaf2 sending"},
		{"between two", func(from, to End) bool {
			return leaf(from)+leaf(to) == "leaf1leaf3" || leaf(from)+leaf(to) == "leaf3leaf1"
		}, "switch leaf1, leaf3"},
		{"rail", func(from, to End) bool { return from.Port == "mlx5_1/1" }, "rail 10.1.0.0/16"},
		{"everything", func(from, to End) bool { return true }, "cluster"},
	}
	for _, tt := range tests {
		cells := full(w.c, "rdma.write.bw", func(from, to End) float64 {
			if tt.bad(from, to) {
				return 70e9
			}
			return 97e9
		})
		if _, problems := Judge(w.c, cells); !slices.Equal(said(problems), []string{tt.want}) {
			t.Errorf("%s: got %q, want %q", tt.name, said(problems), tt.want)
		}
	}
}
