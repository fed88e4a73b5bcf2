package cli

import (
	"os"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/plan"
	"weft/internal/store"
)

func TestPlannedBefore(t *testing.T) {
	t.Chdir(t.TempDir())
	a := &app{}
	if p, err := a.plannedBefore(nil); p != nil || err != nil {
		t.Errorf("without weft.yaml: %v, %v", p, err)
	}
	if err := os.WriteFile("weft.yaml", []byte("name: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := a.plannedBefore(nil); p != nil || err != nil {
		t.Errorf("without a plan: %v, %v", p, err)
	}
	for _, id := range []string{"20261115-093412", "20261115-093413"} {
		b, err := plan.Format(plan.Plan{ID: id, Source: "weft.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.At(".").SavePlan(id, b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(id+"-copy.json", b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ arg, want string }{{"", "20261115-093413"}, {"20261115-093412", "20261115-093412"}, {"20261115-093412-copy.json", "20261115-093412"}} {
		args := []string{c.arg}
		if c.arg == "" {
			args = nil
		}
		if p, err := a.plannedBefore(args); err != nil || p.ID != c.want {
			t.Errorf("%q: %v, %v; want %s", c.arg, p, err, c.want)
		}
	}
	if err := os.WriteFile("broken.json", []byte("{\n  x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{"broken.json": "broken.json:2:3: invalid character 'x'", "20200101-000000": "20200101-000000: no such file", ".": "directory"} {
		if _, err := a.plannedBefore([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

func TestNextAfterPlan(t *testing.T) {
	steps := []plan.Step{{Risk: plan.RiskLink, Then: []string{"roce.mtu"}}}
	hand := []plan.Hand{{Check: "port.up"}}
	cluster, here := &look{source: "weft.yaml"}, &look{source: "this machine"}
	for name, c := range map[string]struct {
		a    app
		l    *look
		p    plan.Plan
		args []string
		file string
		kept bool
		want string
	}{
		"kept":                       {l: cluster, p: plan.Plan{Steps: steps}, kept: true, want: "weft apply --accept-risk=link"},
		"in a file":                  {l: cluster, p: plan.Plan{Steps: steps}, file: "my plan", kept: true, want: "weft apply 'my plan' --accept-risk=link"},
		"another weft.yaml":          {a: app{config: "lab.yaml"}, l: cluster, p: plan.Plan{Steps: steps}, kept: true, want: "weft apply --accept-risk=link -c lab.yaml"},
		"could not be kept":          {l: cluster, p: plan.Plan{Steps: steps}, want: "weft plan -o plan.json"},
		"this machine":               {l: here, p: plan.Plan{Steps: steps}, want: "weft apply --accept-risk=link"},
		"some checks, this machine":  {l: here, p: plan.Plan{Steps: steps}, args: []string{"roce.*"}, want: "weft plan -o plan.json 'roce.*'"},
		"some nodes, not kept":       {a: app{nodes: "n[1-2]"}, l: cluster, p: plan.Plan{Steps: steps}, want: "weft plan -o plan.json -n 'n[1-2]'"},
		"a dump":                     {a: app{from: "x.dump"}, l: &look{source: "x.dump"}, p: plan.Plan{Steps: steps}, want: "weft explain roce.mtu"},
		"by hand alone":              {l: cluster, p: plan.Plan{Hand: hand}, kept: true, want: "weft explain port.up"},
		"nothing":                    {l: cluster, kept: true, want: "weft env"},
		"nothing, on a dump":         {a: app{from: "x.dump"}, l: &look{source: "x.dump"}, want: "weft env -F x.dump"},
		"steps, and things by hand ": {l: cluster, p: plan.Plan{Steps: steps, Hand: hand}, kept: true, want: "weft apply --accept-risk=link"},
	} {
		if got := c.a.nextAfterPlan(c.l, c.p, c.args, c.file, c.kept); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCheckNamesPlan(t *testing.T) {
	remedy := plan.Remedies[0].Check
	live, dump := &look{source: "weft.yaml"}, &look{source: "x.dump"}
	for _, c := range []struct {
		l        *look
		findings []check.Finding
		want     string
	}{
		{live, []check.Finding{{Check: "port.temp", Status: check.Fail}, {Check: remedy, Status: check.Warn}}, "weft plan"},
		{live, []check.Finding{{Check: "port.temp", Status: check.Fail}, {Check: remedy, Status: check.Pass}}, "weft explain port.temp"},
		{dump, []check.Finding{{Check: remedy, Status: check.Fail}}, "weft explain " + remedy},
	} {
		if got := nextAfter(c.l, c.findings); got != c.want {
			t.Errorf("%v: %s, want %s", c.findings, got, c.want)
		}
	}
}
