// Package sysctl writes a file of sysctl.d and reads what others of them say. Pure: text
// in, text out.
package sysctl

import (
	"fmt"
	"regexp"
	"strings"
)

// File is weft's own. Files are taken in the order of their names and the last wins, so
// it comes after 99-sysctl.conf, the name by which most distributions read
// /etc/sysctl.conf.
const File = "/etc/sysctl.d/99-weft.conf"

const head = "# Written by weft: what weft.yaml names under sysctl.\n"

var (
	key   = regexp.MustCompile(`^[A-Za-z0-9_@:-]+([./][A-Za-z0-9_@:-]+)+$`)
	value = regexp.MustCompile(`^[!-~]+( [!-~]+)*$`)
)

// path is a setting's file below /proc/sys. Where the first separator is a dot, dots and
// slashes change places (sysctl.d(5)).
func path(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		return strings.NewReplacer(".", "/", "/", ".").Replace(name)
	}
	return name
}

// setting reads one line: a name and its value, "" for both where it is none. A - before
// the name means that a failure does not matter.
func setting(line string) (name, text string) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return "", ""
	}
	name, text, ok := strings.Cut(line, "=")
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "-"))
	if !ok || name == "" {
		return "", ""
	}
	return name, strings.Join(strings.Fields(text), " ")
}

// Get returns the value that a file gives a setting: its last.
func Get(text, name string) (value string, there bool) {
	for line := range strings.Lines(text) {
		if k, v := setting(line); k != "" && path(k) == path(name) {
			value, there = v, true
		}
	}
	return value, there
}

// Set makes a file give a setting a value. What else it holds stays.
func Set(text, name, want string) (string, error) {
	switch {
	case !key.MatchString(name):
		return "", fmt.Errorf("%q: no kernel setting", name)
	case !value.MatchString(want):
		return "", fmt.Errorf("%s: %q: no value of one line", name, want)
	}
	if v, there := Get(text, name); there && v == want {
		return text, nil
	}
	var b strings.Builder
	if text == "" {
		b.WriteString(head)
	}
	done := false
	for line := range strings.Lines(text) {
		if k, _ := setting(line); k == "" || path(k) != path(name) {
			b.WriteString(line)
			continue
		}
		if !done { // once, where it stood first
			fmt.Fprintf(&b, "%s = %s\n", name, want)
		}
		done = true
	}
	if out := b.String(); !done {
		if !strings.HasSuffix(out, "\n") {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s = %s\n", name, want)
	}
	return b.String(), nil
}
