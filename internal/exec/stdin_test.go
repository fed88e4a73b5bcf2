package exec

import (
	"bytes"
	"strings"
	"testing"
)

// TestStdin: a script that reads what is sent, on this machine and through ssh, with
// quotes in it and more than a pipe holds.
func TestStdin(t *testing.T) {
	data := strings.Repeat("a'b\"c\n", 100_000)
	script := `n=$(wc -c); printf '%s it'\''s "%s"' "$n" "$LC_ALL"`
	l := sharedLab(t)
	for name, target := range map[string]Target{"local": {Name: "here"}, "ssh": {Name: "n", SSH: "ok"}} {
		var out bytes.Buffer
		if err := l.runner(t, 0).Run(t.Context(), target, Job{Script: script, Stdin: strings.NewReader(data), Stdout: &out}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := `600000 it's "C"`; out.String() != want {
			t.Errorf("%s: %q, want %q", name, out.String(), want)
		}
	}
}
