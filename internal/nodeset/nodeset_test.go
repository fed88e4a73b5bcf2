package nodeset

import (
	"slices"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string
		err  string
	}{
		{"spark1", "spark1", ""},
		{"spark[1-3]", "spark1 spark2 spark3", ""},
		{"gpu[008-011],head", "gpu008 gpu009 gpu010 gpu011 head", ""},
		{"n[1,3-4]-ib", "n1-ib n3-ib n4-ib", ""},
		{"a,a,b", "a b", ""},
		{"", "", ""},
		{"n[4-1]", "", "is not a range"},
		{"n[x]", "", "is not a range"},
		{"n[1-2", "", "want one group"},
		{"n1]", "", "] without ["},
		{"n[1-999999999]", "", "more than"},
	} {
		got, err := Expand(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("Expand(%q) error %v, want %q", c.in, err, c.err)
			}
			continue
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("Expand(%q) = %v, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"spark2 spark1", "spark[1-2]"},
		{"gpu009 gpu010 gpu008", "gpu[008-010]"},
		{"n1 n3 n4 head", "head,n[1,3-4]"},
		{"ws", "ws"},
		{"r1-n1 r1-n2 r2-n1", "r1-n[1-2],r2-n1"},
		{"n1 n01", "n01,n1"},
		{"a a", "a"},
		{"192.168.0.7 192.168.0.8", "192.168.0.[7-8]"},
	} {
		if got := Fold(strings.Fields(c.in)); got != c.want {
			t.Errorf("Fold(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzExpandFold(f *testing.F) {
	for _, s := range []string{"spark[1-3]", "gpu[008-011],head", "n[1,3-4]-ib", "a[0-9],a[00-09]", "][", "x9999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names, err := Expand(s)
		if err != nil || len(names) > 2000 {
			return
		}
		folded := Fold(names)
		again, err := Expand(folded)
		if err != nil {
			t.Fatalf("Expand(Fold(%q)) = %v", names, err)
		}
		slices.Sort(names)
		slices.Sort(again)
		if !slices.Equal(names, again) {
			t.Fatalf("%q folds to %q, which is %q", names, folded, again)
		}
	})
}
