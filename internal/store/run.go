package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// SaveRun keeps what became of an apply or an undo.
func (s Store) SaveRun(id string, b []byte) error {
	dir := filepath.Join(s.dir, "runs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, id+".json"), b, 0o600)
}

// Runs returns the names of the runs that were kept, oldest first.
func (s Store) Runs() []string {
	entries, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	if err != nil {
		return nil
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Run returns what SaveRun kept.
func (s Store) Run(id string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.dir, "runs", filepath.Base(id)+".json"))
}

// ErrLocked says that another weft changes the cluster from this folder.
var ErrLocked = errors.New("another weft is changing this cluster from this folder right now")

// Lock keeps a second weft from changing the same cluster from the same folder. The
// kernel gives the lock back when the process ends.
func (s Store) Lock() (*os.File, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, ErrLocked
	}
	return f, nil
}
