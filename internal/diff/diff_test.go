package diff

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnified(t *testing.T) {
	for name, c := range map[string]struct {
		path, old, new     string
		oldThere, newThere bool
		want               string
	}{
		"nothing":       {"/etc/x", "a\n", "a\n", true, true, ""},
		"not there yet": {"/etc/x", "", "", false, false, ""},
		"a line": {"/etc/x", "a\nb\nc\n", "a\nB\nc\n", true, true, `--- /etc/x
+++ /etc/x
@@ -1,3 +1,3 @@
 a
-b
+B
 c
`},
		"a new file": {"/etc/x", "", "a\n", false, true, `--- /dev/null
+++ /etc/x
@@ -0,0 +1 @@
+a
`},
		"a file that goes": {"/etc/x", "a\nb\n", "", true, false, `--- /etc/x
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
`},
		"no newline at the end": {"/etc/x", "a\nb", "a\nb\n", true, true, `--- /etc/x
+++ /etc/x
@@ -1,2 +1,2 @@
 a
-b
\ No newline at end of file
+b
`},
		"added to a list": {"/etc/x", "[a]\nx = 1\n\n[b]\ny = 1\n", "[a]\nx = 1\n\n[b]\ny = 1\n\n[c]\nz = 1\n", true, true, `--- /etc/x
+++ /etc/x
@@ -3,3 +3,6 @@
 
 [b]
 y = 1
+
+[c]
+z = 1
`},
		"far apart": {"/etc/x", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1a\n2\n3\n4\n5\n6\n7\n8\n9a\n", true, true, `--- /etc/x
+++ /etc/x
@@ -1,4 +1,4 @@
-1
+1a
 2
 3
 4
@@ -6,4 +6,4 @@
 6
 7
 8
-9
+9a
`},
		"an empty file":     {"/etc/x", "", "", false, true, "--- /dev/null\n+++ /etc/x\n"},
		"an odd name":       {"/etc/a\n+++ b", "", "a\n", false, true, "--- /dev/null\n+++ \"/etc/a\\012+++ b\"\n@@ -0,0 +1 @@\n+a\n"},
		"a name with blank": {"/etc/a b", "", "a\n", false, true, "--- /dev/null\n+++ /etc/a b\t\n@@ -0,0 +1 @@\n+a\n"},
	} {
		if got := Unified(c.path, c.old, c.new, c.oldThere, c.newThere); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

// TestPatchReadsIt: patch(1) makes the new text of the old one, without an offset or a
// guess.
func TestPatchReadsIt(t *testing.T) {
	tool(t, "patch")
	r := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	for range 200 {
		old := random(r, 3+r.IntN(20))
		new := edited(r, old, 20)
		d := Unified("x", old, new, true, true)
		if d == "" {
			continue
		}
		file := filepath.Join(dir, "x")
		keep(t, file, old)
		cmd := exec.Command("patch", "--binary", "--fuzz=0", file)
		cmd.Stdin = strings.NewReader(d)
		out, err := cmd.CombinedOutput()
		if got := read(t, file); err != nil || got != new || strings.Contains(string(out), "offset") {
			t.Fatalf("patch: %v %s\nold %q\nnew %q\ngot %q\n%s", err, out, old, new, got, d)
		}
	}
}

func TestPatchMakesAndRemovesFiles(t *testing.T) {
	tool(t, "patch")
	dir := t.TempDir()
	for _, name := range []string{"plain", "with blank", "with \"quote\"", "tab\tand \\"} {
		file := filepath.Join(dir, name)
		for _, d := range []string{Unified(name, "", "a\nb", false, true), Unified(name, "a\nb", "", true, false)} {
			cmd := exec.Command("patch", "-p0", "--binary")
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(d)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s\n%s", name, err, out, d)
			}
			if _, err := os.Stat(file); (err == nil) != strings.HasPrefix(d, "--- /dev/null") {
				t.Errorf("%s: after\n%sstat says %v", name, d, err)
			}
		}
	}
}

// TestAsShortAsDiff: GNU diff --minimal needs as many lines.
func TestAsShortAsDiff(t *testing.T) {
	tool(t, "diff")
	r := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for range 200 {
		old := random(r, 3+r.IntN(12))
		new := edited(r, old, 12)
		keep(t, a, old)
		keep(t, b, new)
		out, _ := exec.Command("diff", "--minimal", "--text", "-u", a, b).Output() // exit 1 says that they differ
		if ours, theirs := changed(Unified("x", old, new, true, true)), changed(string(out)); ours != theirs {
			t.Fatalf("%d lines, diff has %d\nold %q\nnew %q", ours, theirs, old, new)
		}
	}
}

func TestHugeTextsEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	many := func() string {
		var b strings.Builder
		for range 100_000 {
			b.WriteString(string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))) + "\n")
		}
		return b.String()
	}
	old, new := many(), many()
	if got := apply(t, old, Unified("x", old, new, true, true)); got != new {
		t.Error("the diff of huge texts is not right")
	}
	a := strings.Repeat("same\n", 200_000)
	if got := apply(t, a, Unified("x", a, a+"more\n", true, true)); got != a+"more\n" {
		t.Error("the diff of a long text is not right")
	}
}

// TestWorkIsBounded: what is not compared any more counts as changed.
func TestWorkIsBounded(t *testing.T) {
	n := numbers(lines("a\n1\n2\n3\nz\n"), lines("a\n3\n2\n1\nz\n"))
	got := compare(n[0], n[1], 0)
	if len(got) != 1 || got[0] != (hunk{1, 4, 1, 4}) {
		t.Errorf("got %v", got)
	}
	if _, conflicts := merge("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne2\n", "0\nb\nC\nd\ne\n", 0); len(conflicts) != 1 {
		t.Errorf("conflicts %v", conflicts)
	}
}

func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\n")
	f.Add("a\nb", "a\nb\n")
	f.Add("", "\n\n")
	f.Add("a\na\na\nb\n", "a\nb\na\na\n")
	f.Fuzz(func(t *testing.T, old, new string) {
		d := Unified("x", old, new, true, true)
		if got := apply(t, old, d); got != new {
			t.Errorf("old %q, new %q, got %q by\n%s", old, new, got, d)
		}
		if (d == "") != (old == new) {
			t.Errorf("old %q, new %q: diff %q", old, new, d)
		}
		n := numbers(lines(old), lines(new))
		if m := len(n[0]) + len(n[1]); m < 40 && edits(compare(n[0], n[1], work)) != shortest(n[0], n[1]) {
			t.Errorf("old %q, new %q: not the shortest", old, new)
		}
	})
}

// edits counts the lines that hunks take away and add.
func edits(hs []hunk) (n int) {
	for _, h := range hs {
		n += h.a1 - h.a0 + h.b1 - h.b0
	}
	return n
}

// shortest is the number of edits, the plain way.
func shortest(a, b []int) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diag := row[0]
		row[0] = i + 1
		for j := range b {
			up := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diag
			} else {
				row[j+1] = 1 + min(up, row[j])
			}
			diag = up
		}
	}
	return row[len(b)]
}

// apply reads a unified diff strictly and applies it.
func apply(t *testing.T, old, diff string) string {
	t.Helper()
	if diff == "" {
		return old
	}
	was := lines(old)
	var out []string
	in := lines(diff)[2:]
	at := 0
	for i := 0; i < len(in); i++ {
		line := in[i]
		if strings.HasPrefix(line, "@@ -") {
			start, count := 0, 1
			left, _, _ := strings.Cut(strings.TrimPrefix(line, "@@ -"), " ")
			n, c, has := strings.Cut(left, ",")
			start = number(t, n)
			if has {
				count = number(t, c)
			}
			if count > 0 {
				start--
			}
			out = append(out, was[at:start]...)
			at = start
			continue
		}
		body := line[1:]
		if i+1 < len(in) && strings.HasPrefix(in[i+1], `\ No newline`) {
			body = strings.TrimSuffix(body, "\n")
			i++
		}
		switch line[0] {
		case '+':
			out = append(out, body)
		case ' ', '-':
			if was[at] != body {
				t.Fatalf("line %d is %q, the diff has %q", at+1, was[at], body)
			}
			if line[0] == ' ' {
				out = append(out, body)
			}
			at++
		default:
			t.Fatalf("a line begins with %q", line)
		}
	}
	return text(append(out, was[at:]...))
}

func number(t *testing.T, s string) (n int) {
	t.Helper()
	for _, c := range s {
		if c < '0' || c > '9' {
			t.Fatalf("%q is no number", s)
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// random is a text of few different lines, so that many are equal.
func random(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString([]string{"a\n", "b\n", "\n", "}\n", "-x\n", "+y\n", "--- a\n", "z\r\n"}[r.IntN(8)])
	}
	return end(r, b.String())
}

// edited changes a text here and there.
func edited(r *rand.Rand, text string, percent int) string {
	var b strings.Builder
	for _, line := range lines(text) {
		switch n := r.IntN(300); {
		case n < percent:
		case n < 2*percent:
			b.WriteString("new\n" + line)
		case n < 3*percent:
			b.WriteString("changed\n")
		default:
			b.WriteString(line)
		}
	}
	return end(r, b.String())
}

// end takes the last newline away now and then.
func end(r *rand.Rand, text string) string {
	if r.IntN(4) == 0 {
		return strings.TrimSuffix(text, "\n")
	}
	return text
}

// changed counts the lines of a diff that were added or taken away.
func changed(diff string) (n int) {
	for i, line := range lines(diff) {
		if i > 1 && (line[0] == '+' || line[0] == '-') {
			n++
		}
	}
	return n
}

func tool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}

func keep(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
