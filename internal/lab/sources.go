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
// suite. Others keep the same names for theirs, but not the same keys.
func debian(uri, of, suite, key string) bool {
	base := filepath.Base(strings.TrimSuffix(uri, "/"))
	if strings.HasPrefix(uri, "mirror+file:") { // a file that lists mirrors: mirrors/debian.list
		base = strings.TrimSuffix(base, ".list")
	}
	return (base == "debian" || base == "debian-security") &&
		slices.Contains([]string{suite, suite + "-updates", suite + "-security"}, of) &&
		(key == "" || strings.HasPrefix(filepath.Base(key), "debian-archive-"))
}

// listSources reads one-line entries: deb [options] uri suite component...
func listSources(text, suite string) (lines []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		options := ""
		if before, after, ok := strings.Cut(line, "]"); ok {
			kind, inside, _ := strings.Cut(before, "[")
			line, options = kind+after, strings.Join(strings.Fields(inside), " ")
		}
		key, here := "", true
		for o := range strings.FieldsSeq(options) {
			switch name, value, _ := strings.Cut(o, "="); name {
			case "signed-by":
				key = value
			case "arch":
				here = slices.Contains(strings.Split(value, ","), "amd64")
			}
		}
		f := strings.Fields(line)
		if here && len(f) > 3 && f[0] == "deb" && debian(f[1], f[2], suite, key) && slices.Contains(f[3:], "main") {
			lines = append(lines, sourceLine(options, f[1], f[2]))
		}
	}
	return lines
}

func sourceLine(options, uri, suite string) string {
	if options != "" {
		uri = "[" + options + "] " + uri
	}
	return fmt.Sprintf("deb %s %s main", uri, suite)
}

// stanzaSources reads deb822 stanzas (sources.list(5)): fields, whose values go on in
// lines that begin with a space, up to an empty line.
func stanzaSources(text, suite string) (lines []string) {
	field, last := map[string][]string{}, ""
	for line := range strings.Lines(text + "\n\n") {
		switch key, value, ok := strings.Cut(line, ":"); {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			lines = append(lines, stanzaLines(field, suite)...)
			field, last = map[string][]string{}, ""
		case line[0] == ' ' || line[0] == '\t':
			field[last] = append(field[last], strings.Fields(line)...)
		case ok:
			last = strings.ToLower(strings.TrimSpace(key))
			field[last] = strings.Fields(value)
		}
	}
	return lines
}

// off is how a stanza says that it does not count (StringToBool in apt's strutl.cc).
var off = []string{"no", "false", "without", "off", "disable", "0"}

func stanzaLines(field map[string][]string, suite string) (lines []string) {
	enabled := strings.ToLower(strings.Join(field["enabled"], " "))
	if !slices.Contains(field["types"], "deb") || !slices.Contains(field["components"], "main") || slices.Contains(off, enabled) {
		return nil
	}
	key, options := "", ""
	if by := field["signed-by"]; len(by) == 1 && strings.HasPrefix(by[0], "/") {
		key, options = by[0], "signed-by="+by[0]
	}
	for _, uri := range field["uris"] {
		for _, of := range field["suites"] {
			if debian(uri, of, suite, key) {
				lines = append(lines, sourceLine(options, uri, of))
			}
		}
	}
	return lines
}
