package printed

import (
	"errors"
	"fmt"
	"strings"
)

// Faults collects what could not be read. Text that no parser knows is
// forgiven (prompts, warnings, keys of newer tools) unless nothing else was
// found; a known key with an unreadable value never is.
type Faults struct {
	list  []error
	more  int
	alien error // the first line nobody knew
}

// maxFaults is ours: enough to see the pattern, few enough to read.
const maxFaults = 20

// Add files what is wrong with a line.
func (f *Faults) Add(line int, format string, args ...any) {
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, fmt.Errorf("line %d: "+format, append([]any{line}, args...)...))
}

// Unknown files a line that the parser of tool does not know.
func (f *Faults) Unknown(line int, text, tool string) {
	if f.alien == nil && !strings.HasPrefix(text, "#") {
		f.alien = fmt.Errorf("line %d: %.60q is not %s output", line, text, tool)
	}
}

// Complain files what the tool itself said went wrong; the reason is at its end.
func (f *Faults) Complain(line int, text string) {
	f.Add(line, "tool says %.240q", text) // ours: three terminal lines
}

// Err reports the faults; found says whether anything was recognised at all.
func (f *Faults) Err(found bool) error {
	if !found && len(f.list) == 0 {
		return f.alien
	}
	if f.more > 0 {
		return errors.Join(append(f.list, fmt.Errorf("and %d more lines", f.more))...)
	}
	return errors.Join(f.list...)
}
