// Package modprobe edits files of modprobe.d. Pure: text in, text out.
package modprobe

import (
	"fmt"
	"regexp"
	"strings"
)

// Dir is where an administrator's files are.
const Dir = "/etc/modprobe.d/"

// mark begins a line that weft has put out of force.
const mark = "# weft: "

// Free puts every line out of force that keeps a module from loading: a blacklist, or
// an install command that does nothing. Nothing else of the text changes.
func Free(text, module string) (out string, changed bool) {
	var b strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); {
		end := i + 1 // a backslash at the end takes the next line in
		for end < len(lines) && strings.HasSuffix(strings.TrimRight(lines[end-1], "\r\n"), `\`) && strings.HasSuffix(lines[end-1], "\n") {
			end++
		}
		whole := lines[i:end]
		before := ""
		if bars(strings.Join(whole, ""), module) {
			before, changed = mark, true
		}
		for _, line := range whole {
			if line != "" {
				b.WriteString(before + line)
			}
		}
		i = end
	}
	return b.String(), changed
}

// bars reports whether a line, with those that it goes on in, keeps a module out.
func bars(line, module string) bool {
	line = strings.ReplaceAll(strings.ReplaceAll(line, "\\\r\n", " "), "\\\n", " ")
	f := strings.Fields(line)
	if len(f) < 2 || spelt(f[1]) != spelt(module) {
		return false
	}
	return f[0] == "blacklist" || f[0] == "install" && len(f) > 2 && (strings.HasSuffix(f[2], "/true") || strings.HasSuffix(f[2], "/false"))
}

// spelt is a module's name as the kernel spells it.
func spelt(module string) string { return strings.ReplaceAll(module, "-", "_") }

var moduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Valid reports whether a name can be that of a kernel module.
func Valid(module string) bool { return moduleName.MatchString(module) }

// Softdep is a file that has modules loaded before another one, where they are there.
func Softdep(module string, before []string) (string, error) {
	for _, m := range append([]string{module}, before...) {
		if !Valid(m) {
			return "", fmt.Errorf("%q: no name of a module", m)
		}
	}
	return fmt.Sprintf("# Written by weft; weft undo takes it away.\nsoftdep %s pre: %s\n", module, strings.Join(before, " ")), nil
}
