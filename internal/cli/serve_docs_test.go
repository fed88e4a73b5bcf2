package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"weft/internal/format/englog"
	"weft/internal/job"
)

// TestServeDocs wants every flag of weft serve, every reason and every failure in
// docs/serve.md.
func TestServeDocs(t *testing.T) {
	page := readDoc(t, "serve.md")
	root := Root()
	for _, name := range []string{"up"} {
		cmd, _, err := root.Find([]string{"serve", name})
		if err != nil || cmd.Name() != name {
			t.Fatalf("weft serve %s: %v", name, err)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && f.Name != "yes" && f.Name != "engine" && !strings.Contains(page, "--"+f.Name) {
				t.Errorf("docs/serve.md does not name --%s", f.Name)
			}
		})
	}
	for _, name := range job.BarNames {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/serve.md does not name the reason %s", name)
		}
	}
	for _, r := range englog.Rules {
		if r.Kind != englog.Progress && r.Kind != englog.Ready && !strings.Contains(page, "| `"+r.ID+"` |") {
			t.Errorf("docs/serve.md does not name the failure %s", r.ID)
		}
	}
	for _, e := range job.Engines {
		if !strings.Contains(page, e) {
			t.Errorf("docs/serve.md does not name the engine %s", e)
		}
	}
}
