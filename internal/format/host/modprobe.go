package host

import (
	"errors"
	"fmt"
	"strings"
)

// A ModprobeRule is a line of modprobe.d.
type ModprobeRule struct {
	Verb   string // "options", "blacklist", "install", "remove", "alias", "softdep"
	Module string // in the kernel's spelling; for alias, the alias
	Args   string // "log_num_mgm_entry_size=-7"; the command of install
	Line   int
}

// ParseModprobe reads a file of modprobe.d. Lines that end in a backslash go
// on in the next.
func ParseModprobe(b []byte) ([]ModprobeRule, error) {
	var (
		all    []ModprobeRule
		errs   []error
		joined strings.Builder
		n      int
	)
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSpace(line)
		if head, more := strings.CutSuffix(line, `\`); more {
			joined.WriteString(head + " ")
			continue
		}
		line = strings.TrimSpace(joined.String() + line)
		joined.Reset()
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		switch f[0] {
		case "options", "blacklist", "install", "remove", "alias", "softdep":
		default:
			errs = append(errs, fmt.Errorf("line %d: %.120q is no modprobe command", n, f[0]))
			continue
		}
		if len(f) < 2 {
			errs = append(errs, fmt.Errorf("line %d: %s names no module", n, f[0]))
			continue
		}
		r := ModprobeRule{Verb: f[0], Module: f[1], Args: strings.Join(f[2:], " "), Line: n}
		if r.Verb != "alias" {
			r.Module = moduleName(r.Module)
		}
		all = append(all, r)
	}
	return all, errors.Join(errs...)
}

// Option is the last value given to a module's parameter.
func Option(rules []ModprobeRule, module, param string) (value string, ok bool) {
	for _, r := range rules {
		if r.Verb != "options" || r.Module != moduleName(module) {
			continue
		}
		for _, w := range kernelWords(r.Args) {
			key, v, _ := strings.Cut(w, "=")
			if moduleName(key) == moduleName(param) {
				value, ok = strings.Trim(v, `"`), true
			}
		}
	}
	return value, ok
}

// Barred reports whether a module is kept from loading by itself: by
// blacklist, or by an install command that does nothing.
func Barred(rules []ModprobeRule, module string) bool {
	for _, r := range rules {
		if r.Module != moduleName(module) {
			continue
		}
		command, _, _ := strings.Cut(r.Args, " ")
		if r.Verb == "blacklist" || r.Verb == "install" && (strings.HasSuffix(command, "/true") || strings.HasSuffix(command, "/false")) {
			return true
		}
	}
	return false
}
