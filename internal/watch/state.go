package watch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"weft/internal/history"
)

// saveEvery is how often the past is kept.
const saveEvery = time.Minute

// load reads the past. A file that makes no sense is said, and kept aside by nobody: the
// next save replaces it.
func (w *Watch) load() {
	if w.o.State == "" {
		return
	}
	b, err := readState(w.o.State)
	if err == nil {
		err = w.t.Restore(b, w.o.Now())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Say(fmt.Sprintf("the past in %s was not taken over: %v", w.o.State, err))
	}
}

func readState(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, history.MaxState+1))
}

// save writes the past whole or not at all.
func (w *Watch) save() {
	if w.o.State == "" {
		return
	}
	w.mu.Lock()
	b, err := w.t.Save(w.o.Now())
	w.mu.Unlock()
	if err == nil {
		err = WriteWhole(w.o.State, b)
	}
	if err != nil {
		w.mu.Lock()
		w.t.Say(fmt.Sprintf("the past is not kept over restarts: %v", err))
		w.mu.Unlock()
	}
}

// WriteWhole writes a file whole or not at all, for its owner's eyes.
func WriteWhole(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".watch.")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
