package ibnet

import (
	"os"
	"path/filepath"
	"testing"
)

// shared reads a file of the shared folder that lies beside the repository.
func shared(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sharedDir(t), filepath.FromSlash(name)))
	if os.IsNotExist(err) {
		t.Skipf("no shared file %s: %v", name, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sharedDir(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared")
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("go.mod: not found above the test's folder")
		}
		dir = up
	}
}

// seeds adds inline samples and, where the shared folder is there, every
// matching file of it to a fuzz target.
func seeds(f *testing.F, inline []string, patterns ...string) {
	f.Helper()
	for _, s := range inline {
		f.Add([]byte(s))
	}
	for _, p := range patterns {
		names, _ := filepath.Glob(filepath.Join(sharedDir(f), filepath.FromSlash(p)))
		for _, n := range names {
			if b, err := os.ReadFile(n); err == nil {
				f.Add(b)
			}
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
