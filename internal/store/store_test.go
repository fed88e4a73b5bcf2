package store

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestSaveThenLast(t *testing.T) {
	s := At(t.TempDir())
	if _, _, ok := s.Last(); ok {
		t.Fatal("an empty store has a last dump")
	}
	at := time.Date(2026, 11, 15, 4, 0, 0, 0, time.UTC)
	for i := range Keep + 5 {
		if _, err := s.Save(fmt.Appendf(nil, "dump %d", i), at.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	path, when, ok := s.Last()
	if want := at.Add((Keep + 4) * time.Minute); !ok || !when.Equal(want) {
		t.Errorf("last is %v, %v; want %v", when, ok, want)
	}
	if b, _ := os.ReadFile(path); string(b) != fmt.Sprintf("dump %d", Keep+4) {
		t.Errorf("last holds %q", b)
	}
	if names, _ := s.names("dumps", ".dump"); len(names) != Keep {
		t.Errorf("%d dumps are kept, want %d", len(names), Keep)
	}
	if info, _ := os.Stat(s.dir); info.Mode().Perm() != 0o700 {
		t.Errorf("the store is open to others: %v", info.Mode())
	}
}

func TestSaveOnAFolderThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/.weft", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := At(dir).Save(nil, time.Unix(0, 0)); err == nil {
		t.Error("saved where .weft is a file")
	}
}
