// Package env edits files that set environment variables, one on a line:
// /etc/environment, /etc/nccl.conf, and what a shell reads at login. Pure: text in,
// text out.
package env

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	varName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// A value that needs no quotes in any of these files. A shell wants some for a = at
	// the beginning, and gets them.
	plain = regexp.MustCompile(`^[A-Za-z0-9_=:,.^/+-]*$`)
)

// Set gives a variable a value, where the text sets it already and else in a line of
// its own at the end. shell is for files that a shell reads: there it is exported, too.
func Set(text, name, value string, shell bool) (string, error) {
	if !plain.MatchString(value) {
		return "", fmt.Errorf("%s=%q: not plain enough for a line of a file", name, value)
	}
	right := value
	if shell {
		right = "'" + value + "'"
	}
	out, n, err := change(text, name, func(head, tail string) string { return head + right + tail })
	if err != nil || n > 0 {
		return out, err
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if shell {
		// A line at the end is one of its own only where nothing is left open.
		if strings.Count(text, "'")%2+strings.Count(text, `"`)%2 > 0 || strings.HasSuffix(text, "\\\n") || strings.Contains(text, "<<") {
			return "", fmt.Errorf("%s: the text may end within quotes", name)
		}
		name = "export " + name
	}
	return text + name + "=" + right + "\n", nil
}

// Unset takes out the lines that set a variable. A comment would be read by some as if
// it still did.
func Unset(text, name string) (string, error) {
	out, n, err := change(text, name, func(string, string) string { return "" })
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: no line sets it", name)
	}
	return out, err
}

// change rewrites every line that sets a variable: head is up to the value, tail what
// follows it, with the end of the line. A line that sets it in any other way than
// plainly is an error: weft is no shell.
func change(text, name string, to func(head, tail string) string) (out string, n int, err error) {
	if !varName.MatchString(name) {
		return "", 0, fmt.Errorf("%q: no name of a variable", name)
	}
	line := regexp.MustCompile(`^([ \t]*(?:export[ \t]+)?` + name + `=)(?:"[^"$\\` + "`" + `]*"|'[^']*'|[^ \t\r"'#;&|<>()$\\` + "`" + `]*)([ \t]*(?:[ \t]#.*)?\r?)$`)
	mention := regexp.MustCompile(`(?:^|[^A-Za-z0-9_])` + name + `(?:[^A-Za-z0-9_]|$)`)
	harmless := regexp.MustCompile(`^[ \t]*(?:#.*|export[ \t]+` + name + `[ \t]*)\r?$`)
	var b strings.Builder
	for whole := range strings.Lines(text) {
		body, end := strings.TrimSuffix(whole, "\n"), whole[len(strings.TrimSuffix(whole, "\n")):]
		switch m := line.FindStringSubmatch(body); {
		case m != nil:
			b.WriteString(to(m[1], m[2]+end))
			n++
		case harmless.MatchString(body) || !mention.MatchString(body):
			b.WriteString(whole)
		default:
			return "", 0, fmt.Errorf("%.80q: does not set %s plainly", body, name)
		}
	}
	return b.String(), n, nil
}
