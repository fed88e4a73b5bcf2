package history

import (
	"os"
	"strings"
	"testing"
)

// TestDocs: docs/watch.md tells of every state of a port and of every counter that is
// judged.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for health, level := range healthLevels {
		found := false
		for line := range strings.Lines(text) {
			found = found || strings.HasPrefix(line, "| "+string(health)+" |") && strings.Contains(line, "| "+string(level)+" |")
		}
		if !found {
			t.Errorf("%s, which is %s, is not told", health, level)
		}
	}
	for _, l := range Limits {
		if !strings.Contains(text, "`"+l.Counter+"`") {
			t.Errorf("%s is judged, and that is not told", l.Counter)
		}
	}
}
