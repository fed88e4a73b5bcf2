// Package modulesload edits files of modules-load.d, which name the kernel modules that
// boot loads. Pure: text in, text out.
package modulesload

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// File is weft's own.
const File = "/etc/modules-load.d/weft.conf"

var moduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

const header = "# Written by weft; weft undo takes it away.\n"

// Names lists the modules that a text has loaded, in the kernel's spelling.
func Names(text string) (names []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != ';' {
			names = append(names, strings.ReplaceAll(line, "-", "_"))
		}
	}
	return names
}

// Add has a module loaded as well, after those that are there.
func Add(text, module string) (string, error) {
	if !moduleName.MatchString(module) {
		return "", fmt.Errorf("%q: no name of a module", module)
	}
	if slices.Contains(Names(text), strings.ReplaceAll(module, "-", "_")) {
		return text, nil
	}
	switch {
	case text == "":
		text = header
	case !strings.HasSuffix(text, "\n"):
		text += "\n"
	}
	return text + module + "\n", nil
}
