package store

import "path/filepath"

// Dumps returns the paths of the dumps that were kept, oldest first.
func (s Store) Dumps() []string { return s.paths("dumps", ".dump") }

// Proofs returns the paths of the proofs that were kept, oldest first.
func (s Store) Proofs() []string { return s.paths(proofs, ".json") }

func (s Store) paths(kind, ext string) []string {
	names, err := s.names(kind, ext)
	if err != nil {
		return nil // nothing was kept
	}
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(s.dir, kind, name)
	}
	return paths
}
