package store

import (
	"errors"
	"slices"
	"testing"
)

func TestRunsAndLock(t *testing.T) {
	s := At(t.TempDir())
	if got := s.Runs(); len(got) != 0 {
		t.Errorf("an empty store has runs: %v", got)
	}
	for _, id := range []string{"20261115-2", "20261115-1"} {
		if err := s.SaveRun(id, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Runs(); !slices.Equal(got, []string{"20261115-1", "20261115-2"}) {
		t.Errorf("runs %v", got)
	}
	if b, err := s.Run("20261115-1"); err != nil || string(b) != "20261115-1" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := s.Run("../lock"); err == nil {
		t.Error("a run's name led out of its folder")
	}
	lock, err := s.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lock(); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	lock.Close()
	if again, err := s.Lock(); err != nil {
		t.Errorf("not free again: %v", err)
	} else {
		again.Close()
	}
}
