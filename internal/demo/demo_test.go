package demo_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/check"
	"weft/internal/demo"
	"weft/internal/dump"
	"weft/internal/format"
	"weft/internal/sample"
	"weft/internal/spec"
)

var update = flag.Bool("update", false, "write clusters/*.dump anew")

// build makes each cluster for its weft.yaml.
var build = map[string]func() *sample.Cluster{
	"strix-ib": strixIB,
	"kai-rack": kaiRack,
	"ib-lab":   ibLab,
	"strix-tp": strixTP,
	"spark-ws": sparkWS,
}

func wantOf(t *testing.T, c demo.Cluster) spec.Spec {
	t.Helper()
	want, err := spec.Parse(c.Spec())
	if err != nil {
		t.Fatalf("%s.yaml:%v", c.Name, err)
	}
	return want
}

// The dumps in the repository are what the generator gives: go test -update writes
// them.
func TestDumpsAreWhatTheGeneratorGives(t *testing.T) {
	for _, c := range demo.All() {
		s := build[c.Name]()
		s.Want = wantOf(t, c)
		s.Note = "constructed: " + c.Title + ", after \"" + c.From + "\"; no such machine was read.\n"
		d := s.Dump()
		d.Nodes[0].Text[format.SpecKey] = string(c.Spec())
		got := d.Format()
		path := "clusters/" + c.Name + ".dump"
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(have), string(got)); d != "" {
			t.Errorf("%s differs from what the generator gives; go test ./internal/demo -update\n%.2000s", path, d)
		}
		if len(have) > 300<<10 {
			t.Errorf("%s has %d KiB, want at most 300", path, len(have)>>10)
		}
	}
}

// fresh skips while the dumps are being written: the embedded ones are the old.
func fresh(t *testing.T) {
	if *update {
		t.Skip("the dumps were written just now: run again without -update")
	}
}

// Each cluster holds exactly the faults it is said to hold.
func TestChecksFindExactlyTheFaults(t *testing.T) {
	fresh(t)
	for _, c := range demo.All() {
		t.Run(c.Name, func(t *testing.T) {
			d, err := dump.Parse(c.Dump())
			if err != nil {
				t.Fatal(err)
			}
			findings := check.Run(check.All, &check.Case{Cluster: format.Facts(d), Want: wantOf(t, c)})
			got := map[check.Status][]string{}
			for _, f := range findings {
				if !slices.Contains(got[f.Status], f.Check) {
					got[f.Status] = append(got[f.Status], f.Check)
				}
				if f.Status >= check.Warn {
					t.Logf("%v %s %v: %s, want %s: %s", f.Status, f.Check, f.Subject, f.Got, f.Want, f.Why)
				}
			}
			for _, tt := range []struct {
				status check.Status
				want   []string
			}{{check.Fail, c.Faults}, {check.Warn, c.Warns}, {check.Unknown, nil}} {
				if d := cmp.Diff(sorted(tt.want), sorted(got[tt.status])); d != "" {
					t.Errorf("%v: -want +got:\n%s", tt.status, d)
				}
			}
		})
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func TestStories(t *testing.T) {
	fresh(t)
	for _, c := range demo.All() {
		if n := strings.Count(c.Story, "\n"); n != 1 || !strings.HasSuffix(c.Story, ".") {
			t.Errorf("%s: the story has %d line breaks, want two sentences on two lines", c.Name, n)
		}
		if !strings.HasPrefix(string(c.Dump()), "weft dump 1\nconstructed: ") {
			t.Errorf("%s: the dump does not begin by saying that it is constructed", c.Name)
		}
		if !strings.HasPrefix(string(c.Spec()), "# Constructed: ") {
			t.Errorf("%s: weft.yaml does not begin by saying that it is constructed", c.Name)
		}
	}
}
