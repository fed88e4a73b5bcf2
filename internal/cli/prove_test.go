package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/report"
	"weft/internal/spec"
	"weft/internal/trial"
)

func TestExitOfProof(t *testing.T) {
	good := trial.Cell{Got: fact.Some(trial.Amount(1)), Verdict: trial.Verdict{Status: check.Pass}}
	short := trial.Cell{Got: fact.Some(trial.Amount(1)), Verdict: trial.Verdict{Status: check.Fail}}
	missing := trial.Cell{Missing: "it was lost", Verdict: trial.Verdict{Status: check.Unknown}}
	skipped := trial.Cell{Missing: "no GPU here", Skipped: true}
	for name, c := range map[string]struct {
		cells    []trial.Cell
		problems []trial.Problem
		want     int
	}{
		"nothing measured":          {nil, nil, exitIncomplete},
		"nothing applies":           {[]trial.Cell{skipped}, nil, exitIncomplete},
		"good":                      {[]trial.Cell{good, skipped}, nil, exitYes},
		"one short":                 {[]trial.Cell{good, short}, nil, exitNo},
		"one missing":               {[]trial.Cell{good, missing}, nil, exitIncomplete},
		"missing, and one short":    {[]trial.Cell{missing, short}, nil, exitNo},
		"missing, which is a fault": {[]trial.Cell{good, missing}, []trial.Problem{{Status: "fail"}}, exitNo},
		"a warning":                 {[]trial.Cell{good}, []trial.Problem{{Status: "warn"}}, exitYes},
	} {
		if got := exitOfProof(report.ProofReport{Proof: trial.Proof{Cells: c.cells, Problems: c.problems}}); got != c.want {
			t.Errorf("%s: exit code %d, want %d", name, got, c.want)
		}
	}
}

// A proof is kept where there is a weft.yaml, and only then named as a baseline.
func TestProofKept(t *testing.T) {
	p := trial.Proof{ID: "20261115-130501", Cells: []trial.Cell{{Trial: "tcp.bw", Got: fact.Some(trial.Amount(1))}}}
	full := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(full, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		folder string
		nodes  []spec.Node
		next   string
	}{
		"a cluster":       {t.TempDir(), []spec.Node{{Name: "a"}}, "weft prove --baseline 20261115-130501"},
		"this machine":    {t.TempDir(), nil, "weft prove --json > proof.json"},
		"no room to keep": {full, []spec.Node{{Name: "a"}}, "weft prove --json > proof.json"},
	} {
		var out, errs bytes.Buffer
		a := &app{out: &out, err: &errs, folder: c.folder}
		if err := a.proven(context.Background(), &look{kase: &check.Case{Want: spec.Spec{Nodes: c.nodes}}}, p, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasSuffix(out.String(), "next:\n    "+c.next+"\n") {
			t.Errorf("%s: want %q in\n%s", name, c.next, &out)
		}
		_, err := os.Stat(filepath.Join(c.folder, ".weft", "proofs", p.ID+".json"))
		if kept := strings.Contains(c.next, "baseline"); kept != (err == nil) {
			t.Errorf("%s: kept %v: %v", name, kept, err)
		}
		if said := strings.Contains(errs.String(), "was not kept"); said != (c.folder == full) {
			t.Errorf("%s: said %q", name, &errs)
		}
	}
}
