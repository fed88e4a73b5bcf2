// Package host reads small texts that every Linux host has: files of /proc
// and /etc and the answers of everyday commands. Pure: bytes in, structs out.
package host

import (
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// lines calls f with each line of b, its number from 1, without line end and
// outer spaces. Empty lines and comments are left out.
func lines(b []byte, f func(n int, line string)) {
	for n, line := range printed.Lines(b) {
		if line[0] != '#' {
			f(n, line)
		}
	}
}

// words splits a line as a shell does: at spaces and semicolons, with single
// and double quotes and backslashes, up to a comment. Nothing is expanded.
func words(s string) []string {
	var (
		out   []string
		word  strings.Builder
		open  bool // a word is open, even an empty quoted one
		quote byte
	)
	flush := func() {
		if open {
			out = append(out, word.String())
		}
		word.Reset()
		open = false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s):
			// In double quotes a backslash stays before most characters.
			if quote == '"' && !strings.ContainsRune("\"\\$`", rune(s[i+1])) {
				word.WriteByte(c)
			}
			i++
			word.WriteByte(s[i])
			open = true
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == ';' || c == '\r':
			flush()
		case c == '#' && !open:
			return out
		default:
			word.WriteByte(c)
			open = true
		}
	}
	flush()
	return out
}

// A Bound is a resource limit.
type Bound struct {
	Unlimited bool
	Value     uint64 // meaningless when unlimited
}

// ParseBound reads a limit in the words of /proc, systemd and ulimit, in
// whatever unit they use.
func ParseBound(s string) (Bound, bool) {
	switch s {
	case "unlimited", "infinity", "-1", "18446744073709551615": // systemd's show prints RLIM_INFINITY as a number
		return Bound{Unlimited: true}, true
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return Bound{Value: n}, err == nil
}

// AtLeast reports whether the limit allows n.
func (b Bound) AtLeast(n uint64) bool { return b.Unlimited || b.Value >= n }

// moduleName spells a kernel module as the kernel lists it: modprobe takes
// dashes and underscores alike.
func moduleName(s string) string { return strings.ReplaceAll(s, "-", "_") }
