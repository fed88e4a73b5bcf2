package topo

import (
	"slices"
	"testing"

	"weft/internal/fact"
	"weft/internal/unit"
)

func link(gts float64, width int) fact.Link { return fact.Link{GTs: gts, Width: width} }

// strix is the NIC of seed 000: an x8 card in a slot of four lanes. The slot says
// what it can do at its root port.
func strix() *fact.Node {
	return &fact.Node{PCI: []*fact.PCI{
		{BDF: "0000:c3:00.0", Up: "0000:00:02.5", Host: "pci0000:00", Cur: link(8, 4), Max: link(8, 8)},
		{BDF: "0000:00:02.5", Host: "pci0000:00", Cur: link(8, 4), Max: link(16, 4)},
	}}
}

// switched has a NIC below two PCIe switches: endpoint, downstream port, upstream
// port, twice, root port.
func switched() *fact.Node {
	return &fact.Node{PCI: []*fact.PCI{
		{BDF: "nic", Up: "d2", Cur: link(16, 16), Max: link(32, 16)},
		{BDF: "d2", Up: "u2", Cur: link(16, 16), Max: link(16, 16)},
		{BDF: "u2", Up: "d1", Cur: link(16, 8), Max: link(16, 16)},
		{BDF: "d1", Up: "u1", Cur: link(16, 8), Max: link(16, 16)},
		{BDF: "u1", Up: "root", Cur: link(16, 16), Max: link(16, 16)},
		{BDF: "root", Max: link(32, 16)},
	}}
}

func TestPath(t *testing.T) {
	loop := &fact.Node{PCI: []*fact.PCI{{BDF: "a", Up: "b"}, {BDF: "b", Up: "a"}}}
	tests := []struct {
		name string
		n    *fact.Node
		bdf  string
		want []string
	}{
		{"device and root port", strix(), "0000:c3:00.0", []string{"0000:c3:00.0", "0000:00:02.5"}},
		{"from the middle", switched(), "u1", []string{"u1", "root"}},
		{"not there", strix(), "0000:ff:00.0", nil},
		{"no device at all", &fact.Node{}, "", nil},
		{"the facts end early", &fact.Node{PCI: []*fact.PCI{{BDF: "a", Up: "gone"}}}, "a", []string{"a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range Path(tt.n, tt.bdf) {
				got = append(got, d.BDF)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if got := len(Path(loop, "a")); got != 32 {
		t.Errorf("a path that loops has %d devices, want it cut at 32", got)
	}
}

// The kernel prints "31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s
// PCIe x4 link" and "capable of 63.008 Gb/s" for x8.
func TestBandwidthCountsLikeTheKernel(t *testing.T) {
	tests := []struct {
		link fact.Link
		want unit.Rate
	}{
		{link(8, 4), 31504 * unit.Mbps},
		{link(8, 8), 63008 * unit.Mbps},
		{link(16, 16), 252048 * unit.Mbps},
		{link(32, 4), 126028 * unit.Mbps},
		{link(2.5, 1), 2000 * unit.Mbps},
		{link(5, 8), 32000 * unit.Mbps},
		{link(0, 16), 0},
		{link(8, 0), 0},
		{link(7, 4), 0}, // no such generation
	}
	for _, tt := range tests {
		if got := Bandwidth(tt.link); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.link, int64(got), int64(tt.want))
		}
	}
}

func TestRDMARateIsNearWhatWasMeasured(t *testing.T) {
	tests := []struct {
		link     fact.Link
		measured unit.Rate
	}{
		{link(8, 4), 27600 * unit.Mbps},  // seed 000: 3293 MiB/s
		{link(16, 4), 50600 * unit.Mbps}, // research/community.md item 19
	}
	for _, tt := range tests {
		got := RDMARate(tt.link)
		if off := float64(got-tt.measured) / float64(tt.measured); off < -0.07 || off > 0.07 {
			t.Errorf("%v: got %v, measured %v", tt.link, got, tt.measured)
		}
	}
}

func TestHops(t *testing.T) {
	type hop struct {
		below, above string
		cur, can     fact.Link
	}
	virtual := strix() // a virtual function states no link of its own
	virtual.PCI[0].Cur, virtual.PCI[0].Max = fact.Link{}, fact.Link{}
	tests := []struct {
		name string
		n    *fact.Node
		bdf  string
		want []hop
	}{
		{"x8 card in an x4 slot", strix(), "0000:c3:00.0", []hop{{"0000:c3:00.0", "0000:00:02.5", link(8, 4), link(8, 4)}}},
		{"two switches make three links", switched(), "nic", []hop{
			{"nic", "d2", link(16, 16), link(16, 16)},
			{"u2", "d1", link(16, 8), link(16, 16)},
			{"u1", "root", link(16, 16), link(16, 16)},
		}},
		{"a silent end takes the other's word", virtual, "0000:c3:00.0", []hop{{"0000:c3:00.0", "0000:00:02.5", link(8, 4), link(16, 4)}}},
		{"nothing above", &fact.Node{PCI: []*fact.PCI{{BDF: "a", Cur: link(8, 8), Max: link(8, 16)}}}, "a", []hop{{"a", "", link(8, 8), link(8, 16)}}},
		{"inside the processor there is no link", &fact.Node{PCI: []*fact.PCI{{BDF: "a"}}}, "a", nil},
		{"not there", strix(), "x", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []hop
			for _, h := range Hops(tt.n, tt.bdf) {
				x := hop{below: h.Below.BDF, cur: h.Cur, can: h.Can}
				if h.Above != nil {
					x.above = h.Above.BDF
				}
				got = append(got, x)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestNarrowest(t *testing.T) {
	h, ok := Narrowest(Hops(switched(), "nic"))
	if !ok || h.Below.BDF != "u2" || h.Cur != link(16, 8) {
		t.Errorf("got %+v %v, want the link below d1", h, ok)
	}
	if h, ok := Narrowest([]Hop{{Can: link(8, 4)}}); ok {
		t.Errorf("got %+v from a link whose speed is unknown", h)
	}
	if _, ok := Narrowest(nil); ok {
		t.Error("got a hop from none")
	}
}
