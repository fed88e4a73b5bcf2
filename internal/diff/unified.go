package diff

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// around is how many unchanged lines are shown on either side of a change.
const around = 3

// Unified writes what changed in a file as patch(1) reads it; "" when nothing did. A
// file that is not there is /dev/null.
func Unified(path, old, new string, oldThere, newThere bool) string {
	if oldThere == newThere && old == new {
		return ""
	}
	var b strings.Builder
	b.WriteString("--- " + name(path, oldThere) + "\n+++ " + name(path, newThere) + "\n")
	a, c := lines(old), lines(new)
	n := numbers(a, c)
	hs := compare(n[0], n[1], work)
	for len(hs) > 0 {
		near := 1 // hunks whose surroundings meet are shown as one
		for near < len(hs) && hs[near].a0-hs[near-1].a1 <= 2*around {
			near++
		}
		write(&b, a, c, hs[:near])
		hs = hs[near:]
	}
	return b.String()
}

var odd = regexp.MustCompile(`[\x00-\x1f\x7f"\\]`)

// name writes a path so that it ends where it ends: a tab follows one with blanks, and
// one with odd characters is quoted as in C.
func name(path string, there bool) string {
	switch {
	case !there:
		return "/dev/null"
	case odd.MatchString(path):
		return `"` + odd.ReplaceAllStringFunc(path, func(c string) string { return fmt.Sprintf(`\%03o`, c[0]) }) + `"`
	case strings.Contains(path, " "):
		return path + "\t"
	}
	return path
}

func write(b *strings.Builder, old, new []string, hs []hunk) {
	first, last := hs[0], hs[len(hs)-1]
	before := min(around, first.a0)
	after := min(around, len(old)-last.a1)
	fmt.Fprintf(b, "@@ -%s +%s @@\n", span(first.a0-before, last.a1+after), span(first.b0-before, last.b1+after))
	at := first.a0 - before
	for _, h := range hs {
		write1(b, ' ', old[at:h.a0])
		write1(b, '-', old[h.a0:h.a1])
		write1(b, '+', new[h.b0:h.b1])
		at = h.a1
	}
	write1(b, ' ', old[at:at+after])
}

func write1(b *strings.Builder, sign byte, text []string) {
	for _, line := range text {
		b.WriteByte(sign)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// span writes the lines from to to: counted from 1, and none stand after a line.
func span(from, to int) string {
	switch n := to - from; n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return strconv.Itoa(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, n)
	}
}
