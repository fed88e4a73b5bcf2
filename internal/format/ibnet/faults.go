package ibnet

import (
	"strings"

	"weft/internal/format/printed"
)

// faults also knows the fields and complaints of these tools.
type faults struct{ printed.Faults }

// complaint recognises what libibmad, libibnetdisc and saquery say on stderr
// when a part of the fabric did not answer; it means that the answer has holes.
func complaint(line string) bool {
	return strings.Contains(line, "iberror:") || strings.Contains(line, "ibpanic:") || strings.Contains(line, " bad status ") ||
		strings.HasPrefix(line, "ibwarn:") && strings.Contains(line, "failed") ||
		strings.HasPrefix(line, "Query SA failed") || strings.HasPrefix(line, "ERROR: ") || strings.HasPrefix(line, "Failed to ")
}

// other files a line that the parser of tool did not know.
func (f *faults) other(line int, text, tool string) {
	if complaint(text) {
		f.Complain(line, text)
		return
	}
	f.Unknown(line, text, tool)
}
