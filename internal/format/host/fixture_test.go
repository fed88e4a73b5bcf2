package host

import (
	"os"
	"path/filepath"
	"testing"
)

// fixture reads a recorded output from the folder shared beside the
// repository, which not every checkout has.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	b, err := os.ReadFile(filepath.Join(dir, "..", "shared", "fixtures", name))
	if os.IsNotExist(err) {
		t.Skipf("no shared fixture %s beside the repository", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seed adds the recorded outputs that are there to a fuzz target.
func seed(f *testing.F, names ...string) {
	for _, name := range names {
		if b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "fixtures", name)); err == nil {
			f.Add(b)
		}
	}
}
