package store

import (
	"os"
	"path/filepath"
	"time"
)

// PlanID is the name of a plan or a proof made at that time.
func PlanID(at time.Time) string { return at.UTC().Format(stamp) }

// SavePlan keeps a plan under the name that PlanID gave it, and drops the oldest beyond
// Keep.
func (s Store) SavePlan(id string, b []byte) (string, error) { return s.save(plans, id+".json", b) }

// LastPlan returns the path of the newest plan; ok is false when there is none.
func (s Store) LastPlan() (path string, ok bool) { return s.last(plans) }

// Plan returns the path of a plan that was kept; ok is false when it was not, or not
// any more.
func (s Store) Plan(id string) (path string, ok bool) { return s.find(plans, id) }

// SaveProof, LastProof and Proof do the same for what weft prove measured.
func (s Store) SaveProof(id string, b []byte) (string, error) { return s.save(proofs, id+".json", b) }

// LastProof returns the path of the newest proof; ok is false when there is none.
func (s Store) LastProof() (path string, ok bool) { return s.last(proofs) }

// Proof returns the path of a proof that was kept.
func (s Store) Proof(id string) (path string, ok bool) { return s.find(proofs, id) }

// SaveRehearsal and LastRehearsal do the same for what weft rehearse found.
func (s Store) SaveRehearsal(id string, b []byte) (string, error) {
	return s.save(rehearsals, id+".json", b)
}

// LastRehearsal returns the path of the newest rehearsal; ok is false when there is none.
func (s Store) LastRehearsal() (path string, ok bool) { return s.last(rehearsals) }

const (
	plans      = "plans"
	proofs     = "proofs"
	rehearsals = "rehearsals"
)

func (s Store) last(kind string) (path string, ok bool) {
	names, err := s.names(kind, ".json")
	if err != nil || len(names) == 0 {
		return "", false
	}
	return filepath.Join(s.dir, kind, names[len(names)-1]), true
}

func (s Store) find(kind, id string) (path string, ok bool) {
	if _, err := time.Parse(stamp, id); err != nil {
		return "", false // also whatever leads out of the folder
	}
	path = filepath.Join(s.dir, kind, id+".json")
	_, err := os.Stat(path)
	return path, err == nil
}
