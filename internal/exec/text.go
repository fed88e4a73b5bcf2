package exec

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sanitise makes text from a node safe to print on a terminal. Control
// characters, and the invisible ones that reorder or hide text, become visible
// (ESC is \x1b, a right-to-left override \u202e); bytes that are not UTF-8 become
// U+FFFD. Newlines and tabs stay, and a carriage return before a newline goes.
func Sanitise(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	clean := true
	for _, c := range s {
		clean = clean && c != utf8.RuneError && !hidden(c)
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		switch {
		case !hidden(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	return b.String()
}

func hidden(c rune) bool {
	if c == '\n' || c == '\t' {
		return false
	}
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Capped keeps the first Max bytes written to it and counts the rest. It never
// refuses a write, so a node that talks too much is still heard to the end.
type Capped struct {
	Max     int
	Dropped int64
	kept    []byte
}

func (c *Capped) Write(p []byte) (int, error) {
	n := min(len(p), max(c.Max-len(c.kept), 0))
	c.kept = append(c.kept, p[:n]...)
	c.Dropped += int64(len(p) - n)
	return len(p), nil
}

// Bytes returns what was kept.
func (c *Capped) Bytes() []byte { return c.kept }

func (c *Capped) String() string { return string(c.kept) }

// tailMax holds ssh's longest message, the changed host key (about 1 KiB), and
// the last lines of most commands.
const tailMax = 8 << 10

// tail keeps the last max bytes written to it.
type tail struct {
	max  int
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(n-t.max, 0):]
	over := max(len(t.kept)+len(p)-t.max, 0)
	t.kept = append(t.kept[:copy(t.kept, t.kept[over:])], p...)
	return n, nil
}

func (t *tail) String() string { return string(t.kept) }

// stderr is a job's standard error. It keeps the last words: ssh's, or, from the
// mark on, the script's, which alone go on to the caller.
type stderr struct {
	script  io.Writer // may be nil
	tail    tail
	started bool
}

func (s *stderr) Write(p []byte) (int, error) {
	n := len(p)
	if !s.started {
		_, after, found := bytes.Cut(slices.Concat(s.tail.kept, p), []byte(mark))
		if !found {
			return s.tail.Write(p)
		}
		s.started, s.tail.kept, p = true, nil, after
	}
	s.tail.Write(p)
	if s.script == nil || len(p) == 0 {
		return n, nil
	}
	_, err := s.script.Write(p)
	return n, err
}
