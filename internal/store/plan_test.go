package store

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestSavePlanThenLastPlan(t *testing.T) {
	s := At(t.TempDir())
	if _, ok := s.LastPlan(); ok {
		t.Fatal("an empty store has a last plan")
	}
	at := time.Date(2026, 11, 15, 4, 0, 0, 0, time.FixedZone("", 3600))
	id := func(i int) string { return PlanID(at.Add(time.Duration(i) * time.Second)) }
	for i := range Keep + 3 {
		if _, err := s.SavePlan(id(i), fmt.Appendf(nil, "plan %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	last, ok := s.LastPlan()
	if b, err := os.ReadFile(last); !ok || err != nil || string(b) != fmt.Sprintf("plan %d", Keep+2) {
		t.Errorf("the last plan is %q, %v, %v", b, ok, err)
	}
	if info, err := os.Stat(last); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a plan is open to others: %v, %v", info, err)
	}
	if path, ok := s.Plan(id(Keep)); !ok || path == last {
		t.Errorf("plan %s is %s, %v", id(Keep), path, ok)
	}
	for _, gone := range []string{id(0), "20200101-000000", "../plans/" + id(Keep), "", "lock"} {
		if path, ok := s.Plan(gone); ok {
			t.Errorf("plan %q is %s", gone, path)
		}
	}
	if _, _, ok := s.Last(); ok {
		t.Error("a plan counts as a dump")
	}
}
