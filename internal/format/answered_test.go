package format

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weft/internal/dump"
	"weft/internal/fact"
)

// TestSilenceOfAQuietCommandIsNoAnswer holds that no reader takes the silence of a
// Quiet command for "there is nothing": its refusal would look the same.
func TestSilenceOfAQuietCommandIsNoAnswer(t *testing.T) {
	asked := regexp.MustCompile(`answered\(d, "([^"]+)"\)`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(string(b), -1) {
			found++
			for _, r := range Readers {
				if r.quiet("$ " + m[1]) {
					t.Errorf("%s: %q is Quiet", f, m[1])
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d uses of answered were found", found)
	}
}

// TestEnvThatWasNotReadIsUnknown: a node whose shell files could not be searched has
// no known environment, although it has no containers either.
func TestEnvThatWasNotReadIsUnknown(t *testing.T) {
	d := dump.NewNode("n1")
	d.Text[DateKey] = "1\n"
	d.Gap["$ nccl environment"] = "timed out after 20 s"
	n := &fact.Node{}
	readSoftware(d, n)
	if n.Settings.EnvRead {
		t.Error("the environment counts as read")
	}
	delete(d.Gap, "$ nccl environment")
	if readSoftware(d, n); !n.Settings.EnvRead {
		t.Error("a search that found nothing counts as unread")
	}
}
