package cmdline

import (
	"fmt"
	"strings"
)

// assignment is where a file for the shell gives a variable its value.
type assignment struct {
	from, to int  // of what stands between the quotes, or of a value without any
	quote    byte // '"', '\'' or 0
}

// Assigns reports whether a file for the shell sets a variable at all, in a way that
// could be read or not.
func Assigns(text, variable string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), variable); ok && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "+=")) {
			return true
		}
	}
	return false
}

// Grub changes the value of a variable in /etc/default/grub or a file of
// /etc/default/grub.d, which a shell reads: the last assignment counts. Its quotes stay;
// a variable that is not there is added at the end. What is not plain enough to be sure
// of is an error.
func Grub(text, variable string, c Change) (string, error) {
	a, there, err := find(text, variable)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	if !there {
		value, err := Set("", c)
		if err != nil || value == "" {
			return text, err
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + variable + `="` + value + "\"\n", nil
	}
	quote := `"`
	if a.quote == '"' {
		quote = `\"`
	}
	old := text[a.from:a.to]
	now, err := set(old, c, quote)
	if err != nil || now == old {
		return text, err
	}
	if a.quote == 0 {
		now = `"` + now + `"`
	}
	return text[:a.from] + now + text[a.to:], nil
}

// Value returns what stands between the quotes of the last assignment: expansions of
// the shell are still in it.
func Value(text, variable string) (value string, there bool, err error) {
	a, there, err := find(text, variable)
	return text[a.from:a.to], there, err
}

// find looks for the last assignment of a variable. One that is indented may hang on a
// condition, and one that is continued, added to or followed by more is too much.
func find(text, variable string) (a assignment, there bool, err error) {
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:]+"\n", '\n')
		line := text[at:min(end, len(text))]
		plain := strings.TrimPrefix(line, "export ")
		switch {
		case strings.HasPrefix(plain, variable+"="):
			from := at + len(line) - len(plain) + len(variable) + 1
			if a, end, err = value(text, from); err != nil {
				return assignment{}, false, err
			}
			there = true
		case Assigns(line, variable):
			return assignment{}, false, fmt.Errorf("%.60q is not a plain assignment", line)
		case strings.HasSuffix(line, `\`) && !strings.HasPrefix(strings.TrimSpace(line), "#"):
			return assignment{}, false, fmt.Errorf("%.60q is continued on the next line", line)
		}
		at = end + 1
	}
	return a, there, nil
}

// value reads a value that starts at from, and where its line ends.
func value(text string, from int) (a assignment, end int, err error) {
	a = assignment{from: from, to: from}
	if from < len(text) && (text[from] == '"' || text[from] == '\'') {
		a.quote = text[from]
		a.from = from + 1
		for a.to = a.from; ; a.to++ {
			switch {
			case a.to >= len(text):
				return a, 0, fmt.Errorf("quote without an end")
			case text[a.to] == '\n':
				return a, 0, fmt.Errorf("value of more than one line")
			case text[a.to] == '`' || strings.HasPrefix(text[a.to:], "$("):
				if a.quote == '"' {
					return a, 0, fmt.Errorf("command within the value")
				}
			case text[a.to] == '\\' && a.quote == '"' && a.to+1 < len(text):
				if text[a.to+1] == '\n' {
					return a, 0, fmt.Errorf("value of more than one line")
				}
				a.to++
				continue
			}
			if text[a.to] == a.quote {
				break
			}
		}
		end = a.to + 1
	} else {
		for a.to < len(text) && (argument.MatchString(text[a.to:a.to+1]) || text[a.to] == '/') {
			a.to++
		}
		end = a.to
	}
	rest, _, _ := strings.Cut(text[end:], "\n")
	if word := strings.TrimLeft(rest, " \t"); word != "" && (word[0] != '#' || word == rest) {
		return a, 0, fmt.Errorf("%.60q follows its value", rest)
	}
	return a, end + len(rest), nil
}
