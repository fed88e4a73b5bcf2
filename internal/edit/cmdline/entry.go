package cmdline

import (
	"fmt"
	"strings"
)

// Options returns the kernel's arguments in an entry of the Boot Loader Specification:
// all its options lines, in order.
func Options(entry string) string {
	var out []string
	for line := range strings.Lines(entry) {
		if value, ok := options(line); ok {
			out = append(out, strings.TrimSpace(value))
		}
	}
	return strings.Join(out, " ")
}

// Entry changes the kernel's arguments in an entry of the Boot Loader Specification.
func Entry(entry string, c Change) (string, error) {
	at := -1
	lines := strings.SplitAfter(entry, "\n")
	linux := false
	for i, line := range lines {
		if _, ok := options(line); ok {
			if at >= 0 {
				return "", fmt.Errorf("entry with several options lines")
			}
			at = i
		}
		linux = linux || strings.HasPrefix(line, "linux ") || strings.HasPrefix(line, "linux\t")
	}
	if at < 0 || !linux {
		return "", fmt.Errorf("entry without a linux and an options line")
	}
	value, _ := options(lines[at])
	now, err := Set(value, c)
	if err != nil {
		return "", err
	}
	lines[at] = strings.TrimSuffix(lines[at], value) + now
	return strings.Join(lines, ""), nil
}

// options returns what follows the word options on a line, its end included.
func options(line string) (value string, ok bool) {
	rest, ok := strings.CutPrefix(line, "options")
	if !ok || rest == "" || !space(rest[0]) || strings.TrimSpace(rest) == "" {
		return "", false
	}
	return strings.TrimLeft(rest, " \t"), true
}
