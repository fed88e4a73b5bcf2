package netplan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/edit"
)

// TestExamples changes every interface of netplan's own examples in every way, and lets
// netplan read the outcome.
func TestExamples(t *testing.T) {
	program, err := exec.LookPath("/usr/libexec/netplan/generate")
	if err != nil {
		t.Skip("netplan's generator is not at /usr/libexec/netplan/generate")
	}
	examples, _ := filepath.Glob("/usr/share/doc/netplan*/examples/*.y*ml")
	if len(examples) == 0 {
		t.Skip("netplan's examples are not installed")
	}
	takes := func(t *testing.T, text string) string {
		root := t.TempDir()
		write(t, filepath.Join(root, "etc/netplan/50-weft.yaml"), text)
		if out, err := exec.Command(program, "--root-dir", root).CombinedOutput(); err != nil {
			return string(out)
		}
		return ""
	}
	for _, path := range examples {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			names, err := Names(string(b))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range []edit.Netdev{wishes[2], wishes[5], wishes[7]} {
				text := string(b)
				for _, name := range append(names, "weft0") {
					w.Name = name
					now, err := Set(text, w)
					if err != nil {
						t.Logf("left to a person: %s: %v", name, err)
						continue
					}
					text = now
				}
				comments(t, string(b), text)
				if why := takes(t, text); why == "" {
					continue
				} else if own := takes(t, string(b)); own != "" {
					t.Skipf("netplan does not take its own example here: %s", own)
				} else {
					t.Errorf("%+v: netplan does not take\n%s\n%s", w, text, why)
				}
			}
		})
	}
}

// comments tells whether all comments of a text are still there.
func comments(t *testing.T, old, now string) {
	for line := range strings.Lines(old) {
		if s := strings.TrimSpace(line); strings.HasPrefix(s, "#") && strings.Count(now, s) < strings.Count(old, s) {
			t.Errorf("the comment %s is gone", s)
		}
	}
}
