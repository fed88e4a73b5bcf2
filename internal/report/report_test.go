package report

import (
	"strings"
	"testing"

	"weft/internal/check"
)

func TestFold(t *testing.T) {
	at := func(node, part string) check.Subject { return check.Subject{Node: node, Part: part} }
	for name, c := range map[string]struct {
		subjects []check.Subject
		want     string
	}{
		"one":                    {[]check.Subject{at("n1", "mlx5_0/1")}, "n1 mlx5_0/1"},
		"the cluster":            {[]check.Subject{{}}, "cluster"},
		"nodes":                  {[]check.Subject{at("n1", ""), at("n2", "")}, "n[1-2]"},
		"one part, many nodes":   {[]check.Subject{at("n1", "mlx5_0/1"), at("n2", "mlx5_0/1")}, "n[1-2] mlx5_0/1"},
		"many parts, one node":   {[]check.Subject{at("n1", "mlx5_0/1"), at("n1", "mlx5_1/1")}, "n1 mlx5_[0-1]/1"},
		"a block":                {[]check.Subject{at("n1", "a/1"), at("n1", "b/1"), at("n2", "a/1"), at("n2", "b/1")}, "n[1-2] a/1,b/1"},
		"different parts":        {[]check.Subject{at("n1", "a/1"), at("n2", "b/1")}, "n1 a/1, n2 b/1"},
		"parts that are no port": {[]check.Subject{at("n1", "gpu0"), at("n1", "gpu1")}, "n1 gpu0,gpu1"},
	} {
		if got := foldSubjects(c.subjects); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSameProblemIsOneLine(t *testing.T) {
	f := func(node, fix string) check.Finding {
		return check.Finding{Check: "roce.mtu", Subject: check.Subject{Node: node, Part: "mlx5_0/1"}, Status: check.Fail, Got: "mtu 1500", Want: "9000", Why: "small", Fix: []string{fix}}
	}
	r := Findings{Source: "x", Nodes: 3, Checks: 1, Counts: map[string]int{"fail": 3}, Findings: []check.Finding{f("n1", "a"), f("n2", "a"), f("n3", "b")}, Next: "weft explain roce.mtu"}
	var b strings.Builder
	if err := r.Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	want := `fail     roce.mtu  n[1-3] mlx5_0/1  mtu 1500, want 9000: small
                   fix: a
                        b

x: 3 nodes, 1 check: 3 fail
next:
    weft explain roce.mtu
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestWhatIsAcceptedForOneReasonIsOneLine(t *testing.T) {
	a := func(node, check1, reason string) Accepted {
		return Accepted{Finding: check.Finding{Check: check1, Subject: check.Subject{Node: node}, Status: check.Warn}, Reason: reason}
	}
	r := Findings{Source: "x", Nodes: 3, Checks: 2, Counts: map[string]int{"pass": 1}, Accepted: []Accepted{
		a("n1", "node.iommu", "virtual machines"), a("n2", "node.iommu", "virtual machines"), a("n3", "node.iommu", "old board"), a("n1", "node.acs", "virtual machines")}}
	var b strings.Builder
	if err := r.Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	want := `accepted node.iommu  n[1-2]: virtual machines
accepted node.iommu  n3: old board
accepted node.acs    n1: virtual machines

x: 3 nodes, 2 checks: 1 pass
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestColourOnlyRepeatsTheWord(t *testing.T) {
	r := Findings{Source: "x", Findings: []check.Finding{{Check: "a", Status: check.Fail, Got: "g", Why: "w"}}, Counts: map[string]int{"fail": 1}}
	var plain, colour strings.Builder
	_ = r.Text(&plain, Options{})
	_ = r.Text(&colour, Options{Colour: true})
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(colour.String(), "\x1b[31mfail") {
		t.Errorf("plain %q, colour %q", plain.String(), colour.String())
	}
}

func TestWrapKeepsWordsAndIndent(t *testing.T) {
	got := wrap("one two three four five six seven eight nine ten", 40, 4)
	for line := range strings.Lines(got) {
		if len(strings.TrimRight(line, "\n")) > 40 {
			t.Errorf("line too long: %q", line)
		}
	}
	if strings.Join(strings.Fields(got), " ") != "one two three four five six seven eight nine ten" {
		t.Errorf("words lost: %q", got)
	}
}

func TestTextOfANodePlaysNoTricks(t *testing.T) {
	var b strings.Builder
	_ = Table(&b, [][]string{{"a\x1b[31m", "b\u202egnp.exe"}})
	if strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("got %q", b.String())
	}
}

func TestDocumentsCarrySchemaAndKind(t *testing.T) {
	var b strings.Builder
	if err := Event(&b, "x", map[string]int{"n": 1}); err != nil || b.String() != `{"schema":1,"kind":"x","n":1}`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
	b.Reset()
	if err := Event(&b, "x", struct{}{}); err != nil || b.String() != `{"schema":1,"kind":"x"}`+"\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
