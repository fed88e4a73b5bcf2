package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/trial"
)

// closDocument is six nodes on two leaves below three spines, with a port that is down and
// a node whose slot is narrow.
func closDocument(leaves int) Document {
	d := Document{Name: "clos", Check: Findings{Counts: map[string]int{"pass": 1}}, Fabric: &fact.Fabric{}}
	for i := range 6 {
		n := fmt.Sprintf("node%d", i+1)
		d.Nodes = append(d.Nodes, NodeLine{Name: n, GPUs: "8 × NVIDIA H100 80GB HBM3", Ports: 2, PortsUp: 2})
		for p := range 2 {
			l := trial.Link{End: trial.End{Node: n, Port: fmt.Sprintf("mlx5_%d/1", p)}, State: "ACTIVE", Rail: "InfiniBand fe80:0000:0000:0000", Switch: fmt.Sprintf("leaf%d", i*leaves/6+1), Rate: 400e9, Want: 392e9, Limit: "port", Why: "port rate 400 Gb/s"}
			switch {
			case i == 2 && p == 1:
				l.State, l.Rail, l.Switch = "DOWN", "", ""
			case i == 4:
				l.Want, l.Limit, l.Why = 200e9, "PCIe", "PCIe 16 GT/s x16"
			}
			d.Links = append(d.Links, l)
		}
	}
	for leaf := range leaves {
		for spine := range 3 {
			for range spine + 1 {
				d.Fabric.Links = append(d.Fabric.Links, fact.FabricLink{A: fact.End{Name: fmt.Sprintf("spine%d", spine+1), Switch: true}, B: fact.End{Name: fmt.Sprintf("leaf%d", leaf+1), Switch: true}, Width: "4x", Speed: "NDR"})
			}
		}
	}
	return d
}

// TestSpines: switches behind switches are drawn, with the cables to each below.
func TestSpines(t *testing.T) {
	for leaves, want := range map[int]string{2: "leaf2: 3 × 4x NDR", 6: "leaf6: 1 × 4x NDR"} {
		page := htmlOf(t, closDocument(leaves).HTML)
		for _, w := range []string{"spine3", want, `class="wire narrow t4"`, "the port is DOWN"} {
			if !strings.Contains(page, w) {
				t.Errorf("%d leaves: no %q", leaves, w)
			}
		}
		if dir := os.Getenv("WEFT_PICTURES"); dir != "" {
			if err := os.WriteFile(fmt.Sprintf("%s/spines%d.html", dir, leaves), []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	d := drawNet("t", netOf(closDocument(2).Nodes, closDocument(2).Links, nil, nil), closDocument(2).Fabric, false)
	for i, a := range d.Hubs {
		if a.Y < 0 || a.Y+a.H > d.Height || a.X+a.W > d.Width {
			t.Errorf("%s lies outside", a.Full)
		}
		for _, b := range d.Hubs[i+1:] {
			if a.X == b.X && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s lies on %s", a.Full, b.Full)
			}
		}
	}
}

// TestFoldSwitches: spines that are joined alike are one row.
func TestFoldSwitches(t *testing.T) {
	d := closDocument(2)
	for i := range d.Fabric.Links { // the same to each
		d.Fabric.Links[i].Width = "4x"
	}
	got := fmt.Sprint(foldSwitches(d.Fabric))
	if want := "[[leaf[1-2] spine1 1 × 4x NDR] [leaf[1-2] spine2 2 × 4x NDR] [leaf[1-2] spine3 3 × 4x NDR]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if foldSwitches(nil) != nil || foldSwitches(&fact.Fabric{}) != nil {
		t.Error("nothing is something")
	}
}

// TestFit: what is too long is cut, and letters are counted, not bytes.
func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{{"mlx5_0/1", 100, "mlx5_0/1"}, {"ééééééééééééééééé", 66, "ééééééééé…"}, {"", 10, ""}, {"abc", 0, "…"}} {
		if got := fit(tt.text, tt.width, 12); got != tt.want {
			t.Errorf("fit(%q, %d) = %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// smallDocument has one text in a few places of every kind: element, attribute, drawing.
func smallDocument(text string) Document {
	f := check.Finding{Check: text, Status: check.Fail, Subject: check.Subject{Node: text, Part: text}, Got: text, Want: text, Why: text, Fix: []string{text}}
	return Document{Name: text, Source: text, Nodes: []NodeLine{{Name: text, GPUs: text}}, Links: []trial.Link{{End: trial.End{Node: text, Port: text}, State: "ACTIVE", Rail: text, Switch: text, Why: text}},
		Check: Findings{Counts: map[string]int{"fail": 1}, Checks: 1, Findings: []check.Finding{f}}, Since: &Since{Source: text, New: []check.Finding{f}}, Lacks: []Lack{{text, text, text}}}
}

// FuzzMarkup: no text leaves its place, whatever it is.
func FuzzMarkup(f *testing.F) {
	for _, e := range evils {
		f.Add(e)
	}
	want := skeleton(mustHTML(smallDocument("plain").HTML))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 || strings.TrimSpace(clean(text)) == "" {
			t.Skip()
		}
		page := mustHTML(smallDocument(text).HTML)
		judgeText(t, "report", text, page)
		if got := skeleton(page); len(got) != len(want) {
			t.Errorf("%q: %d elements, want %d: %q", text, len(got), len(want), differ(got, want))
		}
		for _, line := range strings.Split(mustHTML(smallDocument(text).Markdown), "\n") {
			if strings.ContainsAny(bare(line), "<>[]`") {
				t.Errorf("%q: %s", text, line)
			}
		}
		dec := xml.NewDecoder(strings.NewReader(mustHTML(smallDocument(text).JUnit)))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}

func mustHTML(write func(io.Writer) error) string {
	var b strings.Builder
	if err := write(&b); err != nil {
		panic(err)
	}
	return b.String()
}
