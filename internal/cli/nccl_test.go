package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNCCLPageIsReal runs every command of docs/nccl.md on the logs of testdata/nccl and
// wants the output that the page shows. UPDATE=1 rewrites it.
func TestNCCLPageIsReal(t *testing.T) {
	page, err := filepath.Abs("../../docs/nccl.md")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	logs, _ := filepath.Glob("testdata/nccl/*.log")
	for _, l := range logs {
		text, err := os.ReadFile(l)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(l)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	ran := 0
	parts := strings.Split(string(b), "```") // text and code take turns
	for i := 1; i < len(parts); i += 2 {
		command, want, _ := strings.Cut(strings.TrimPrefix(parts[i], "\n"), "\n")
		args, ok := strings.CutPrefix(command, "$ weft ")
		if !ok {
			continue
		}
		ran++
		_, out, _ := weft(t, strings.Fields(args)...)
		if out != want && os.Getenv("UPDATE") == "" {
			t.Errorf("%s answers\n%s\ndocs/nccl.md shows\n%s", command, out, want)
		}
		parts[i] = "\n" + command + "\n" + out
	}
	if ran != 2 {
		t.Errorf("the page runs %d commands, want 2", ran)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(strings.Join(parts, "```")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
