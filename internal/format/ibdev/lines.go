package ibdev

import (
	"errors"
	"fmt"
	"strings"
)

// lines walks the text once; num is the number of the line last returned.
type lines struct {
	rest string
	num  int
}

// next returns the next line that is not blank, trimmed at both ends.
func (l *lines) next() (string, bool) {
	for l.rest != "" {
		var line string
		line, l.rest, _ = strings.Cut(l.rest, "\n")
		l.num++
		if line = strings.TrimSpace(line); line != "" {
			return line, true
		}
	}
	return "", false
}

// faults collects what could not be read. Text that no parser knows is
// forgiven (prompts, warnings, keys of newer tools) unless nothing else was
// found; a known key with an unreadable value never is.
type faults struct {
	list  []error
	more  int
	alien error // the first line nobody knew
}

// maxFaults is ours: enough to see the pattern, few enough to read.
const maxFaults = 20

func (f *faults) add(line int, format string, args ...any) {
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, fmt.Errorf("line %d: "+format, append([]any{line}, args...)...))
}

func (f *faults) unknown(line int, text, tool string) {
	if f.alien == nil && !strings.HasPrefix(text, "#") {
		f.alien = fmt.Errorf("line %d: %q is not %s output", line, clip(text), tool)
	}
}

// err reports the faults; found says whether anything was recognised at all.
func (f *faults) err(found bool) error {
	if !found && len(f.list) == 0 {
		return f.alien
	}
	if f.more > 0 {
		return errors.Join(append(f.list, fmt.Errorf("and %d more lines", f.more))...)
	}
	return errors.Join(f.list...)
}

// clip keeps a quoted piece of foreign text short enough for an error.
func clip(s string) string { return clipTo(s, 60) } // ours: one terminal line with its prefix

func clipTo(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// complain files what the tool itself said went wrong; the reason is at its end.
func (f *faults) complain(line int, text string) {
	f.add(line, "tool says %q", clipTo(text, 240)) // ours: three terminal lines
}
