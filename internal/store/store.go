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

// Save keeps a dump made at that time and drops the oldest beyond Keep.
func (s Store) Save(dump []byte, at time.Time) (string, error) {
	return s.save("dumps", at.UTC().Format(stamp)+".dump", dump)
}

// save keeps a file that is named by its time and drops the oldest of its kind beyond
// Keep. The write is whole or not at all.
func (s Store) save(kind, name string, b []byte) (string, error) {
	dir := filepath.Join(s.dir, kind)
	// Dumps and plans hold addresses and settings of the cluster: for the owner's eyes.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	tmp, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name())
	_, werr := tmp.Write(b)
	if err := errors.Join(werr, tmp.Sync(), tmp.Close()); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return "", err
	}
	names, err := s.names(kind, filepath.Ext(name))
	for i := 0; err == nil && i < len(names)-Keep; i++ {
		err = os.Remove(filepath.Join(dir, names[i]))
	}
	return path, err
}

// Last returns the path and time of the newest dump; ok is false when there is none.
func (s Store) Last() (path string, at time.Time, ok bool) {
	names, err := s.names("dumps", ".dump")
	if err != nil || len(names) == 0 {
		return "", at, false
	}
	name := names[len(names)-1]
	at, err = time.Parse(stamp, strings.TrimSuffix(name, ".dump"))
	return filepath.Join(s.dir, "dumps", name), at, err == nil
}

// names returns the files of a kind that are named by their time, oldest first.
func (s Store) names(kind, ext string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, kind))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ext)
		if _, err := time.Parse(stamp, base); ok && err == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}
