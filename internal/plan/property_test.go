package plan

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format"
)

// try is a cluster with something that a remedy mends.
type try struct {
	remedy string
	name   string
	broken func() *check.Case // a new one each time
}

// tries has at least one for every remedy.
var tries = slices.Concat(hostTries, netTries, tuneTries, bootTries)

// TestRemediesProveThemselves: plan; the facts after it pass the check; a second plan
// is empty; and the facts after the undo are those of the start.
func TestRemediesProveThemselves(t *testing.T) {
	for _, r := range Remedies {
		if !slices.ContainsFunc(tries, func(x try) bool { return x.remedy == r.Check }) {
			t.Errorf("%s: no try", r.Check)
		}
	}
	for _, x := range tries {
		t.Run(x.remedy+" "+x.name, func(t *testing.T) { prove(t, x) })
	}
}

func prove(t *testing.T, x try) {
	c := x.broken()
	start := asJSON(t, c.Nodes)
	loud := of(c, x.remedy)
	if len(loud) == 0 {
		t.Fatalf("nothing is broken: no finding of %s", x.remedy)
	}
	p := Make(c, x.broken(), check.All, loud)
	if len(p.Steps) == 0 {
		t.Fatalf("no steps; by hand: %+v", p.Hand)
	}
	if got := asJSON(t, c.Nodes); got != start {
		t.Error("planning changed the facts")
	}
	for _, s := range p.Steps {
		whole(t, s)
		if err := SetIn(&c.Cluster, s.Node, s.What, s.To); err != nil {
			t.Fatal(err)
		}
	}
	if left := of(c, x.remedy); len(left) > 0 {
		t.Errorf("after the plan: %+v", left)
	}
	if again := Make(c, x.broken(), check.All, of(c, x.remedy)); len(again.Steps) > 0 {
		t.Errorf("a second plan has steps: %+v", again.Steps)
	}
	for _, s := range slices.Backward(p.Steps) {
		if err := SetIn(&c.Cluster, s.Node, s.What, s.From); err != nil {
			t.Fatal(err)
		}
	}
	if got := asJSON(t, c.Nodes); got != start {
		t.Errorf("after the undo the facts are not those of the start:\n%s", firstDiff(start, got))
	}
}

// of returns the findings of one check that are not right.
func of(c *check.Case, id string) (out []check.Finding) {
	for _, f := range check.Run(check.All, c) {
		if f.Check == id && f.Status != check.Pass && f.Status != check.Skip {
			out = append(out, f)
		}
	}
	return out
}

// whole wants a step to say everything it must.
func whole(t *testing.T, s Step) {
	t.Helper()
	if s.Node == "" || s.What == "" || s.To == s.From || len(s.Then) == 0 {
		t.Errorf("step is not whole: %+v", s)
	}
	if len(s.Files)+len(s.Do) == 0 {
		t.Errorf("%s: a step that does nothing", s.What)
	}
	if len(s.Do) > 0 && len(s.Undo) == 0 {
		t.Errorf("%s: %q has no undo", s.What, s.Do)
	}
	if len(s.Do) > 0 && s.Shows == "" {
		t.Errorf("%s: nothing shows the value before and after", s.What)
	}
	for _, f := range s.Files {
		if f.New == nil && f.Old == nil || f.New != nil && f.Old != nil && *f.New == *f.Old {
			t.Errorf("%s: %s does not change", s.What, f.Path)
		}
		if !strings.HasPrefix(f.Path, "/") {
			t.Errorf("%s: %q is not an absolute path", s.What, f.Path)
		}
		if !format.Editable(f.Path) {
			t.Errorf("%s: %s is not read: nobody knows whether it is there", s.What, f.Path)
		}
	}
	for _, line := range slices.Concat(s.Do, s.Undo, []string{s.Shows}) {
		if out, err := exec.Command("sh", "-n", "-c", line).CombinedOutput(); err != nil {
			t.Errorf("%s: sh does not read %q: %s", s.What, line, out)
		}
	}
}

func asJSON(t *testing.T, nodes []*fact.Node) string {
	t.Helper()
	b, err := json.MarshalIndent(nodes, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// firstDiff shows where two texts part.
func firstDiff(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			from := max(0, i-6)
			return "was:\n" + strings.Join(x[from:min(i+4, len(x))], "\n") + "\nis:\n" + strings.Join(y[from:min(i+4, len(y))], "\n")
		}
	}
	return "one is longer"
}

func TestQuote(t *testing.T) {
	for _, name := range []string{"eth0", "x$(touch /tmp/x)", "a b", "it's", ";reboot", "`id`", "", "\n"} {
		out, err := exec.Command("sh", "-c", sh("printf %%s %s", name)).Output()
		if err != nil || string(out) != name {
			t.Errorf("%q became %q, %v", name, out, err)
		}
	}
}
