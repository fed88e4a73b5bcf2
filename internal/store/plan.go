package store

import (
	"os"
	"path/filepath"
	"time"
)

// PlanID is the name of a plan made at that time.
func PlanID(at time.Time) string { return at.UTC().Format(stamp) }

// SavePlan keeps a plan under the name that PlanID gave it, and drops the oldest beyond
// Keep.
func (s Store) SavePlan(id string, b []byte) (string, error) {
	return s.save("plans", id+".json", b)
}

// LastPlan returns the path of the newest plan; ok is false when there is none.
func (s Store) LastPlan() (path string, ok bool) {
	names, err := s.names("plans", ".json")
	if err != nil || len(names) == 0 {
		return "", false
	}
	return filepath.Join(s.dir, "plans", names[len(names)-1]), true
}

// Plan returns the path of a plan that was kept; ok is false when it was not, or not
// any more.
func (s Store) Plan(id string) (path string, ok bool) {
	if _, err := time.Parse(stamp, id); err != nil {
		return "", false // also whatever leads out of the folder
	}
	path = filepath.Join(s.dir, "plans", id+".json")
	_, err := os.Stat(path)
	return path, err == nil
}
