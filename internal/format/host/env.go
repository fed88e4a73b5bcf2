package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// An Assignment sets an environment variable. Values are as written: what a
// shell would expand stays unexpanded.
type Assignment struct {
	Key, Value string
	Line       int // where it was written, 0 when the text has no lines
}

// ParseShellEnv reads assignments from shell text: profiles, rc files, launch
// scripts, EnvironmentFile=. It reads "KEY=VALUE", several on a line, behind
// export or before a command; conditions are not understood, so that both
// branches count.
func ParseShellEnv(b []byte) []Assignment {
	var out []Assignment
	lines(b, func(n int, line string) {
		out = appendAssignments(out, words(line), n)
	})
	return out
}

// ParseUnitEnv reads Environment= lines of a systemd unit, and what systemctl
// show prints for them.
func ParseUnitEnv(b []byte) []Assignment {
	var out []Assignment
	lines(b, func(n int, line string) {
		if v, ok := strings.CutPrefix(line, "Environment="); ok {
			if v == "" {
				out = nil // an empty one forgets those before
				return
			}
			out = appendAssignments(out, words(v), n)
		}
	})
	return out
}

// ParseEnvList reads a list of KEY=VALUE without quotes: `env`, one on each
// line; /proc/PID/environ, ended by zero bytes; or the JSON list of `docker
// inspect -f '{{json .Config.Env}}'`.
func ParseEnvList(b []byte) ([]Assignment, error) {
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '[' {
		var list []string
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, fmt.Errorf("environment list: %w", err)
		}
		var out []Assignment
		for _, s := range list {
			if a, ok := assignment(s); ok {
				out = append(out, a)
			}
		}
		return out, nil
	}
	var out []Assignment
	n := 0
	for s := range strings.FieldsFuncSeq(string(b), func(r rune) bool { return r == 0 || r == '\n' }) {
		n++
		if a, ok := assignment(strings.TrimSuffix(s, "\r")); ok {
			a.Line = n
			out = append(out, a)
		}
	}
	return out, nil
}

func appendAssignments(out []Assignment, ws []string, line int) []Assignment {
	for i, w := range ws {
		a, ok := assignment(w)
		switch {
		case ok:
			a.Line = line
			out = append(out, a)
		case i < 2 && (w == "export" || w == "declare" || w == "readonly" || w == "-x"):
		default:
			return out // a command, whose arguments set nothing
		}
	}
	return out
}

func assignment(s string) (Assignment, bool) {
	key, v, ok := strings.Cut(s, "=")
	if !ok || !isName(key) {
		return Assignment{}, false
	}
	return Assignment{Key: key, Value: v}, true
}

// isName reports whether s may name a variable.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
