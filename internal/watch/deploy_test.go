package watch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"weft/internal/report"
)

const deploy = "../../deploy"

// tool finds a program, or skips the test.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func TestRules(t *testing.T) {
	promtool := tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "weft.rules.yaml"}, {"test", "rules", "weft.rules.test.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(deploy, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// rules are the expressions of the rules by their name, and which alerts are tested.
func rules(t *testing.T) (records map[string]string, alerts map[string]string) {
	t.Helper()
	b, err := os.ReadFile(deploy + "/prometheus/weft.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	records, alerts = map[string]string{}, map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				records[r.Record] = r.Expr
			} else {
				alerts[r.Alert] = r.Expr
			}
		}
	}
	if len(records) == 0 || len(alerts) == 0 {
		t.Fatal("no rules")
	}
	return records, alerts
}

var metricName = regexp.MustCompile(`\bweft[_:][a-zA-Z0-9_:]+`)

// named are the metrics of weft that an expression names.
func named(expr string) []string { return metricName.FindAllString(expr, -1) }

// queries are all queries of the dashboard, with its variables filled in.
func queries(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(deploy + "/grafana/weft.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("panel %q: its id %d is another's", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H == 0 {
			t.Errorf("panel %q does not fit: %+v", p.Title, p.GridPos)
		}
		for _, x := range p.Targets {
			expr := strings.NewReplacer("$node", ".*", "$__rate_interval", "1m").Replace(x.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("panel %q has a variable that the dashboard has not: %s", p.Title, expr)
			}
			all[p.Title+" "+x.RefID] = expr
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d queries", len(all))
	}
	return all
}

// TestEveryQueryNamesMetricsThatExist: of rules and dashboard, and every recorded series is
// of a rule.
func TestEveryQueryNamesMetricsThatExist(t *testing.T) {
	exists := map[string]bool{}
	for _, m := range report.MetricFamilies() {
		exists[m.Name] = true
	}
	records, alerts := rules(t)
	for name := range records {
		exists[name] = true
	}
	look := func(where, expr string) {
		for _, name := range named(expr) {
			if !exists[name] {
				t.Errorf("%s: there is no metric %s", where, name)
			}
		}
	}
	for name, expr := range records {
		look(name, expr)
	}
	for name, expr := range alerts {
		look(name, expr)
	}
	for name, expr := range queries(t) {
		look("dashboard: "+name, expr)
	}
}

func TestEveryAlertIsTested(t *testing.T) {
	b, err := os.ReadFile(deploy + "/prometheus/weft.rules.test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, alerts := rules(t)
	for name := range alerts {
		if !strings.Contains(string(b), "alertname: "+name+"\n") {
			t.Errorf("%s has no test", name)
		}
	}
}

// TestDashboardIsPromQL has promtool read every query as if it were a rule.
func TestDashboardIsPromQL(t *testing.T) {
	promtool := tool(t, "promtool")
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var all []rule
	q := queries(t)
	names := make([]string, 0, len(q))
	for name := range q {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		all = append(all, rule{"weft:query:" + string(rune('a'+i%26)) + strings.Repeat("a", i/26), q[name]})
	}
	b, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": all}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "queries.yaml") // JSON is YAML
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUnit has systemd read the unit, with a program that is there in place of weft.
func TestUnit(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	b, err := os.ReadFile(deploy + "/systemd/weft-watch.service")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "weft-watch.service")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(b), "/usr/local/bin/weft", "/bin/true")), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
