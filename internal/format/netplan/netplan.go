// Package netplan finds the definitions in a netplan file: which names of which kind stand below network:. Pure: bytes in, structs out.
package netplan

import "strings"

// Def is one definition.
type Def struct {
	Kind string // "ethernets", "bonds", "vlans", …
	ID   string // the interface's name, or any name where match: says which it is
}

// Defs returns the definitions of a file in block style, in order. It looks at the keys
// of three levels and needs no more of YAML: whoever edits the file reads it whole.
func Defs(b []byte) []Def {
	var out []Def
	var levels [3]struct {
		indent int
		key    string
	}
	depth := 0
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, " \r\n")
		text := strings.TrimLeft(line, " ")
		if text == "" || text[0] == '#' {
			continue
		}
		key, ok := mapKey(text)
		if !ok {
			continue
		}
		indent := len(line) - len(text)
		for depth > 0 && levels[depth-1].indent >= indent {
			depth--
		}
		if depth == len(levels) {
			continue // inside a definition
		}
		levels[depth].indent, levels[depth].key = indent, key
		depth++
		if depth == len(levels) && levels[0].indent == 0 && levels[0].key == "network" {
			out = append(out, Def{levels[1].key, key})
		}
	}
	return out
}

// mapKey returns the key of a line like `enp1s0:` or `"enp1s0": {dhcp4: true}`.
func mapKey(text string) (string, bool) {
	if q := text[0]; q == '"' || q == '\'' {
		key, rest, ok := strings.Cut(text[1:], string(q))
		return key, ok && strings.HasPrefix(strings.TrimLeft(rest, " "), ":")
	}
	key, rest, ok := strings.Cut(text, ":")
	if !ok || key == "" || strings.ContainsAny(key, " \t{}[],&*!|>%@`#") || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	return key, true
}
