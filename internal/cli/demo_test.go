package cli

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weft/internal/demo"
)

// TestDemoClustersFromTheirDumps checks every demo cluster as a user would, from its
// exported dump alone, as it is and redacted: exactly the faults it holds.
func TestDemoClustersFromTheirDumps(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range demo.All() {
		file := c.Name + ".dump"
		if code, _, errOut := weft(t, "demo", "--export", ".", c.Name); code != 0 {
			t.Fatal(errOut)
		}
		if code, _, errOut := weft(t, "collect", "-F", file, "--redact", "-o", "redacted.dump"); code != 0 {
			t.Fatal(errOut)
		}
		for _, from := range []string{file, "redacted.dump"} {
			got := loudIDs(t, from)
			want := map[string][]string{"fail": slices.Sorted(slices.Values(c.Faults)), "warn": slices.Sorted(slices.Values(c.Warns))}
			for _, status := range []string{"fail", "warn", "unknown"} {
				if d := cmp.Diff(want[status], got[status]); d != "" {
					t.Errorf("%s from %s: %s: -want +got:\n%s", c.Name, from, status, d)
				}
			}
		}
	}
}

// loudIDs returns the checks that are not content with a dump, by status.
func loudIDs(t *testing.T, file string) map[string][]string {
	t.Helper()
	_, out, _ := weft(t, "check", "-F", file, "--json")
	var doc struct {
		Findings []struct{ Status, Check string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ids := map[string][]string{}
	for _, f := range doc.Findings {
		if !slices.Contains(ids[f.Status], f.Check) {
			ids[f.Status] = append(ids[f.Status], f.Check)
		}
	}
	for _, list := range ids {
		slices.Sort(list)
	}
	return ids
}
