// Package store keeps what weft learned in .weft/ beside weft.yaml. Edge.
package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Keep is how many dumps stay: enough to see a week of daily looks and a bad day.
const Keep = 20

// Store is the folder .weft.
type Store struct{ dir string }

// At returns the store beside a weft.yaml. Nothing is created until something is
// kept.
func At(folder string) Store { return Store{filepath.Join(folder, ".weft")} }

const stamp = "20060102-150405"

// Save keeps a dump made at that time and drops the oldest beyond Keep. The write
// is whole or not at all.
func (s Store) Save(dump []byte, at time.Time) (string, error) {
	dir := filepath.Join(s.dir, "dumps")
	// Dumps hold addresses and settings of the cluster: for the owner's eyes.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, at.UTC().Format(stamp)+".dump")
	tmp, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name())
	_, werr := tmp.Write(dump)
	if err := errors.Join(werr, tmp.Sync(), tmp.Close()); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return "", err
	}
	names, err := s.names()
	for i := 0; err == nil && i < len(names)-Keep; i++ {
		err = os.Remove(filepath.Join(dir, names[i]))
	}
	return path, err
}

// Last returns the path and time of the newest dump; ok is false when there is none.
func (s Store) Last() (path string, at time.Time, ok bool) {
	names, err := s.names()
	if err != nil || len(names) == 0 {
		return "", at, false
	}
	name := names[len(names)-1]
	at, err = time.Parse(stamp, strings.TrimSuffix(name, ".dump"))
	return filepath.Join(s.dir, "dumps", name), at, err == nil
}

// names returns the dumps, oldest first.
func (s Store) names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "dumps"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, err := time.Parse(stamp, strings.TrimSuffix(e.Name(), ".dump")); err == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}
