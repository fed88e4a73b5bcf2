package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sources returns apt's sources of Debian itself on this machine, as one-line
// entries: the lab takes packages from where this machine takes its own, and
// leaves what others offer for the same release alone.
func sources(suite string) ([]byte, error) {
	files, _ := filepath.Glob("/etc/apt/sources.list.d/*")
	var lines []string
	for _, file := range append([]string{"/etc/apt/sources.list"}, files...) {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		switch filepath.Ext(file) {
		case ".list":
			lines = append(lines, listSources(string(b), suite)...)
		case ".sources":
			lines = append(lines, stanzaSources(string(b), suite)...)
		}
	}
	if len(lines) == 0 {
		return nil, stop("", "/etc/apt names no source of Debian %s, so the lab's machines cannot be built", suite)
	}
	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

// debian reports whether a source is Debian's own archive, or a mirror of it, for a
// suite.
func debian(uri, of, suite string) bool {
	base := filepath.Base(strings.TrimSuffix(uri, "/"))
	return (base == "debian" || base == "debian-security") &&
		slices.Contains([]string{suite, suite + "-updates", suite + "-security"}, of)
}

// listSources reads one-line entries: deb [options] uri suite component...
func listSources(text, suite string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		rest, ok := strings.CutPrefix(line, "deb ")
		if !ok {
			continue
		}
		if _, after, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(strings.TrimSpace(rest), "[") {
			rest = after
		}
		if f := strings.Fields(rest); len(f) > 2 && debian(f[0], f[1], suite) && slices.Contains(f[2:], "main") {
			lines = append(lines, line)
		}
	}
	return lines
}

// stanzaSources reads deb822 stanzas (sources.list(5)).
func stanzaSources(text, suite string) (lines []string) {
	for stanza := range strings.SplitSeq(text, "\n\n") {
		field := map[string][]string{}
		for line := range strings.Lines(stanza) {
			key, value, ok := strings.Cut(line, ":")
			if ok && !strings.HasPrefix(line, "#") {
				field[strings.ToLower(strings.TrimSpace(key))] = strings.Fields(value)
			}
		}
		if !slices.Contains(field["types"], "deb") || !slices.Contains(field["components"], "main") || slices.Contains(field["enabled"], "no") {
			continue
		}
		option := ""
		if by := field["signed-by"]; len(by) == 1 && strings.HasPrefix(by[0], "/") {
			option = "[signed-by=" + by[0] + "] "
		}
		for _, uri := range field["uris"] {
			for _, of := range field["suites"] {
				if debian(uri, of, suite) {
					lines = append(lines, fmt.Sprintf("deb %s%s %s main", option, uri, of))
				}
			}
		}
	}
	return lines
}
