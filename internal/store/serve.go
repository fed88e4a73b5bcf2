package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// SaveServe keeps what weft serve up started, under its name, until weft serve down.
func (s Store) SaveServe(name string, b []byte) error {
	dir := filepath.Join(s.dir, serves)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(b); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(dir, filepath.Base(name)+".json"))
}

const serves = "serves"

// Serves returns the names of what was started from this folder and not taken down.
func (s Store) Serves() (names []string) {
	entries, err := os.ReadDir(filepath.Join(s.dir, serves))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Serve returns what SaveServe kept.
func (s Store) Serve(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.dir, serves, filepath.Base(name)+".json"))
}

// DropServe forgets it.
func (s Store) DropServe(name string) error {
	return os.Remove(filepath.Join(s.dir, serves, filepath.Base(name)+".json"))
}

// SaveServeLog keeps what a start that failed said last, and returns where.
func (s Store) SaveServeLog(name string, b []byte) (string, error) {
	dir := filepath.Join(s.dir, serves)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(name)+".log")
	return path, os.WriteFile(path, b, 0o600)
}
