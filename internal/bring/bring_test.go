package bring

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"weft/internal/exec"
)

// TestPackedIsWhole: what travels is the program, all of it.
func TestPackedIsWhole(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	p, err := load(self)
	if err != nil {
		t.Fatal(err)
	}
	gz, err := p.gz()
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	hash := sha256.Sum256(want)
	if err != nil || !bytes.Equal(got, want) || p.sum != hex.EncodeToString(hash[:]) {
		t.Fatalf("%d bytes of %d, %v, sum %s", len(got), len(want), err, p.sum)
	}
}

// TestChangedProgram: what travels is what the name says, or nothing.
func TestChangedProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weft")
	for _, text := range []string{"one", "two"} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := load(path); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := load(path)
	if _, err := p.gz(); err == nil || !strings.Contains(err.Error(), "changed while weft ran") {
		t.Errorf("packed, with %v", err)
	}
}

// TestWeftIsPutOnce puts a program into a person's home and finds it there again.
func TestWeftIsPutOnce(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	program := filepath.Join(t.TempDir(), "weft")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := exec.New(exec.Options{})
	defer run.Close()
	binary := func(machine string) (string, error) {
		if machine == "" {
			t.Error("the machine type was not asked for")
		}
		return program, nil
	}
	for range 2 {
		bin, err := Weft(t.Context(), run, exec.Target{Name: "here"}, "", binary, User)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Run(t.Context(), exec.Target{Name: "here"}, exec.Job{Script: bin + " version"}); err != nil {
			t.Fatal(err)
		}
	}
	if found, _ := filepath.Glob(os.Getenv("HOME") + "/.cache/weft/bin/*"); len(found) != 1 {
		t.Errorf("it is there %d times: %v", len(found), found)
	}
}

func TestSelf(t *testing.T) {
	if _, err := Self("riscv64"); err == nil {
		t.Error("there is no weft for riscv64")
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	if path, err := Self(machine); err != nil || path == "" {
		t.Errorf("weft for this machine: %q, %v", path, err)
	}
}
