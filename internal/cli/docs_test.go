package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/check"
)

// TestDocsAreCurrent holds the generated pages in the repository against the
// commands. make docs writes them anew.
func TestDocsAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := WriteDocs(dir); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"cli", "man"} {
		want := files(t, filepath.Join(dir, sub))
		got := files(t, filepath.Join("../../docs", sub))
		for name, text := range want {
			if got[name] != text {
				t.Errorf("docs/%s/%s is not current: run make docs", sub, name)
			}
		}
		for name := range got {
			if _, ok := want[name]; !ok {
				t.Errorf("docs/%s/%s belongs to no command", sub, name)
			}
		}
	}
}

func files(t *testing.T, dir string) map[string]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// TestChecksIndex wants every check in the index, and no page without a check.
func TestChecksIndex(t *testing.T) {
	index, err := os.ReadFile("../../docs/checks/README.md")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{"README": true}
	for _, ck := range check.All {
		ids[ck.ID] = true
		if line := "| [" + ck.ID + "](" + ck.ID + ".md) | " + ck.Title + " |"; !strings.Contains(string(index), line) {
			t.Errorf("docs/checks/README.md has no line %q", line)
		}
	}
	pages, _ := filepath.Glob("../../docs/checks/*.md")
	for _, p := range pages {
		if id := strings.TrimSuffix(filepath.Base(p), ".md"); !ids[id] {
			t.Errorf("%s belongs to no check", p)
		}
	}
}

// TestReadmeTourIsReal runs every command of the README's tour on the demo cluster
// it names and wants the output that the README shows. UPDATE=1 rewrites it.
func TestReadmeTourIsReal(t *testing.T) {
	path, err := filepath.Abs("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)
	before, rest, ok := strings.Cut(readme, "## A tour")
	if !ok {
		t.Fatal("README.md has no tour")
	}
	tour, after, _ := strings.Cut(rest, "\n## ")
	t.Chdir(t.TempDir())
	if code, _, errOut := weft(t, "demo", "--export", ".", "spark-ws"); code != 0 {
		t.Fatal(errOut)
	}
	ran := 0
	parts := strings.Split(tour, "```") // text and code take turns
	for i := 1; i < len(parts); i += 2 {
		command, want, _ := strings.Cut(strings.TrimPrefix(parts[i], "\n"), "\n")
		args, isWeft := strings.CutPrefix(command, "$ weft ")
		if !isWeft {
			continue
		}
		ran++
		_, out, _ := weft(t, strings.Fields(args)...)
		if out != want && os.Getenv("UPDATE") == "" {
			t.Errorf("%s answers\n%s\nREADME.md shows\n%s", command, out, want)
		}
		parts[i] = "\n" + command + "\n" + out
	}
	if ran < 4 {
		t.Errorf("the tour has only %d commands", ran)
	}
	if os.Getenv("UPDATE") != "" {
		text := before + "## A tour" + strings.Join(parts, "```") + "\n## " + after
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
