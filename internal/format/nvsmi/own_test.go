package nvsmi

import (
	"os"
	"path/filepath"
	"testing"

	"weft/internal/fixture"
)

// own reads an output recorded on an H200 for this package: serial, UUID and
// PDI replaced, lists of supported clocks cut to three.
func own(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seed adds shared fixtures and every own output to a fuzz target.
func seed(f *testing.F, names ...string) {
	fixture.Seed(f, names...)
	files, err := filepath.Glob("testdata/h200*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(own(f, filepath.Base(file)))
	}
}
