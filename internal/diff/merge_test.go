package diff

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		base, ours, theirs string
		want               string
		conflicts          []Conflict
	}{
		"apart":            {"a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", nil},
		"equal":            {"a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n", "a\nB\nc\n", nil},
		"equal, and apart": {"a\nb\nc\nd\ne\n", "A\nb\nC\nd\ne\n", "A\nb\nc\nd\nE\n", "A\nb\nC\nd\nE\n", nil},
		"the same line":    {"a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n", "a\nours\nc\n", []Conflict{{2, "b\n", "ours\n", "theirs\n"}}},
		"next to each other": {"a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nC\nd\n", "a\nB\nc\nd\n",
			[]Conflict{{2, "b\nc\n", "B\nc\n", "b\nC\n"}}},
		"inserted at one place":   {"a\nb\n", "a\nx\nb\n", "a\ny\nb\n", "a\nx\nb\n", []Conflict{{2, "", "x\n", "y\n"}}},
		"changed and removed":     {"a\nb\nc\n", "a\nc\n", "a\nB\nc\n", "a\nc\n", []Conflict{{2, "b\n", "", "B\n"}}},
		"both removed":            {"a\nb\nc\n", "a\nc\n", "a\nc\n", "a\nc\n", nil},
		"both begin a file":       {"", "x\n", "y\n", "x\n", []Conflict{{1, "", "x\n", "y\n"}}},
		"the newline and a line":  {"a\nb\nc", "a\nb\nc\n", "A\nb\nc", "A\nb\nc\n", nil},
		"the newline and the end": {"a\nb", "a\nb\n", "a\nb\nc", "a\nb\n", []Conflict{{2, "b", "b\n", "b\nc"}}},
		// Which of the equal lines did ours take away? One answer puts x second, the other third.
		"it is open which": {"a\na\na\na\n", "a\na\na\n", "a\na\nx\na\na\n", "a\na\na\n", []Conflict{{3, "a\n", "", "x\na\n"}}},
	} {
		got, conflicts := Merge(c.base, c.ours, c.theirs)
		if got != c.want || !reflect.DeepEqual(conflicts, c.conflicts) {
			t.Errorf("%s: %q %+v, want %q %+v", name, got, conflicts, c.want, c.conflicts)
		}
	}
}

// TestAgreesWithGit: when git merge-file finds no conflict and neither do we, the texts
// are the same; and we hardly ever ask a person where git does not.
func TestAgreesWithGit(t *testing.T) {
	tool(t, "git")
	compareMerges(t, func(base, ours, theirs string) (string, bool, error) {
		out, err := exec.Command("git", "merge-file", "-p", ours, base, theirs).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128 {
			return "", false, nil // the number of conflicts
		}
		return string(out), err == nil, err
	})
}

func TestAgreesWithDiff3(t *testing.T) {
	tool(t, "diff3")
	compareMerges(t, func(base, ours, theirs string) (string, bool, error) {
		out, err := exec.Command("diff3", "-m", "--text", ours, base, theirs).Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			return "", false, nil
		}
		return string(out), err == nil, err
	})
}

func compareMerges(t *testing.T, other func(base, ours, theirs string) (string, bool, error)) {
	r := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir()
	var files [3]string
	for i, name := range []string{"base", "ours", "theirs"} {
		files[i] = filepath.Join(dir, name)
	}
	both, careful := 0, 0
	for i := range 300 {
		base := random(r, 4+r.IntN(30))
		if i%2 == 0 {
			base = distinct(r, 10+r.IntN(30))
		}
		ours, theirs := edited(r, base, 8), edited(r, base, 8)
		for i, text := range []string{base, ours, theirs} {
			keep(t, files[i], text)
		}
		want, clean, err := other(files[0], files[1], files[2])
		if err != nil {
			t.Fatal(err)
		}
		got, conflicts := Merge(base, ours, theirs)
		switch {
		case clean && len(conflicts) == 0:
			both++
			if got != want {
				t.Errorf("base %q\nours %q\ntheirs %q\ngot  %q\nwant %q", base, ours, theirs, got, want)
			}
		case clean:
			careful++
		}
	}
	t.Logf("%d merges agree; %d more were taken there and are conflicts here", both, careful)
	if both < 100 || careful > both/2 {
		t.Errorf("%d merges agree, %d are conflicts only here", both, careful)
	}
}

// distinct is a text of lines that are all different, but for a few.
func distinct(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		if r.IntN(6) == 0 {
			b.WriteString("\n")
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return end(r, b.String())
}

func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
	f.Add("a\na\na\n", "a\na\n", "a\nx\na\na\n")
	f.Add("a", "a\n", "b\na")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		for _, c := range [][4]string{{base, base, theirs, theirs}, {base, ours, base, ours}, {base, ours, ours, ours}} {
			if got, conflicts := Merge(c[0], c[1], c[2]); got != c[3] || len(conflicts) > 0 {
				t.Errorf("Merge(%q, %q, %q) is %q, %v", c[0], c[1], c[2], got, conflicts)
			}
		}
		merged, conflicts := Merge(base, ours, theirs)
		other, back := Merge(base, theirs, ours)
		for i := range back {
			back[i].Ours, back[i].Theirs = back[i].Theirs, back[i].Ours
		}
		if !reflect.DeepEqual(conflicts, back) || len(conflicts) == 0 && merged != other {
			t.Errorf("the sides matter: %q %q %q: %q %v, %q %v", base, ours, theirs, merged, conflicts, other, back)
		}
		at := 1
		for _, c := range conflicts {
			if c.Line < at || c.Ours == c.Theirs || !strings.HasPrefix(text(lines(base)[c.Line-1:]), c.Base) || !strings.Contains(ours, c.Ours) || !strings.Contains(theirs, c.Theirs) {
				t.Errorf("%q %q %q: conflict %+v", base, ours, theirs, c)
			}
			at = c.Line + len(lines(c.Base))
		}
		if len(conflicts) == 0 {
			keepsLines(t, base, ours, theirs, merged)
		}
	})
}

// keepsLines: a line that both sides have, and that is nowhere twice, is not lost; and
// no line comes from nowhere.
func keepsLines(t *testing.T, base, ours, theirs, merged string) {
	count := func(text string) map[string]int {
		n := map[string]int{}
		for _, l := range lines(text) {
			n[l]++
		}
		return n
	}
	b, o, h, m := count(base), count(ours), count(theirs), count(merged)
	for line := range o {
		if b[line] <= 1 && o[line] == 1 && h[line] == 1 && m[line] == 0 {
			t.Errorf("%q is lost: %q %q %q: %q", line, base, ours, theirs, merged)
		}
	}
	for _, line := range lines(merged) {
		if o[line]+h[line] == 0 {
			t.Errorf("%q comes from nowhere: %q %q %q: %q", line, base, ours, theirs, merged)
		}
	}
	if all := lines(merged); slices.ContainsFunc(all[:max(0, len(all)-1)], func(l string) bool { return !strings.HasSuffix(l, "\n") }) {
		t.Errorf("a line without an end is inside: %q", merged)
	}
}
