package store

import "path/filepath"

const benches = "benches"

// SaveBench keeps what weft serve bench measured under the name that PlanID gave it, and
// drops the oldest beyond Keep.
func (s Store) SaveBench(id string, b []byte) (string, error) { return s.save(benches, id+".json", b) }

// Benches returns the paths of what was kept, the newest first.
func (s Store) Benches() (paths []string) {
	names, err := s.names(benches, ".json")
	if err != nil {
		return nil // nothing was kept
	}
	for i := len(names) - 1; i >= 0; i-- {
		paths = append(paths, filepath.Join(s.dir, benches, names[i]))
	}
	return paths
}
