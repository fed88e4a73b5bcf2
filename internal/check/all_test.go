package check

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestGoodClustersAreQuiet(t *testing.T) {
	for name, c := range map[string]*Case{"RoCE": good(), "InfiniBand": goodIB()} {
		for _, f := range Run(All, c) {
			if f.Status != Pass && f.Status != Skip {
				t.Errorf("%s: %s %s", name, f.Check, line(f))
			}
		}
	}
}

func TestEveryCheckHasAFileAPageAndATest(t *testing.T) {
	for i, ck := range All {
		if (ck.Judge == nil) == (ck.Each == nil) || (ck.Each == nil) != (ck.None == "") {
			t.Errorf("%s: want either Judge, or Each and None", ck.ID)
		}
		file := strings.ReplaceAll(ck.ID, ".", "_")
		for _, name := range []string{file + ".go", file + "_test.go"} {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s: %v", ck.ID, err)
			}
		}
		page, err := os.ReadFile("../../docs/checks/" + ck.ID + ".md")
		if err != nil {
			t.Errorf("%s: %v", ck.ID, err)
			continue
		}
		if want := "# " + ck.ID + ": " + ck.Title + "\n"; !strings.HasPrefix(string(page), want) {
			t.Errorf("%s: page does not start with %q", ck.ID, want)
		}
		for _, part := range []string{"**Claim.**", "**Why.**", "**Evidence.**", "**Unknown**", "## Fix", "Debian", "Fedora", "## Sources"} {
			if !strings.Contains(string(page), part) {
				t.Errorf("%s: page has no %q", ck.ID, part)
			}
		}
		for _, id := range ck.After {
			if !slices.ContainsFunc(All[:i], func(b Check) bool { return b.ID == id }) {
				t.Errorf("%s: comes after %s, which is not before it in All", ck.ID, id)
			}
		}
		if slices.ContainsFunc(All[:i], func(b Check) bool { return b.ID == ck.ID }) {
			t.Errorf("%s: listed twice", ck.ID)
		}
	}
}
