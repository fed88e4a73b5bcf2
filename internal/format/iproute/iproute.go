// Package iproute reads what iproute2 prints (ip addr, link, route and neigh; rdma link and dev; tc qdisc), as JSON and as text, and net-tools' ifconfig. Pure: bytes in, structs out.
package iproute

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"weft/internal/format/printed"
)

// ErrTool is wrapped by an error that repeats what the tool itself complained
// about, so that "ip said no" is told apart from "ip said something odd".
var ErrTool = errors.New("the tool reported an error")

// line is one line of text worth reading: no comment, no prompt, no margin.
type line struct {
	num  int
	text string // trimmed
	host string // from the last shell prompt above it
}

// lines drops comments and blank lines, and turns prompts into host names.
func lines(b []byte) []line {
	var out []line
	var host string
	for num, s := range printed.Lines(b) {
		if s[0] == '#' || strings.HasPrefix(s, "```") {
			continue
		}
		if h, ok := prompt(s); ok {
			host = h
			continue
		}
		out = append(out, line{num, s, host})
	}
	return out
}

// prompt recognises `root@host:~# cmd`, `root@host$ cmd`, `[root@host ~]# cmd`
// and `$ cmd`, and returns the host name as it stands there.
func prompt(s string) (host string, ok bool) {
	if strings.HasPrefix(s, "$ ") {
		return "", true
	}
	user, rest, found := strings.Cut(strings.TrimPrefix(s, "["), "@")
	notName := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}
	if !found || user == "" || strings.ContainsFunc(user, notName) {
		return "", false
	}
	end := strings.IndexAny(rest, ":#$%~] \t")
	if end <= 0 || !strings.ContainsAny(rest[end:], "#$%") {
		return "", false
	}
	return rest[:end], true
}

// complaint tells an error message of ip or rdma from an answer.
func complaint(s string) bool {
	for _, p := range []string{"RTNETLINK answers:", "Error:", "Failed to ", "Cannot ", "Device \"", "Dump terminated", "Object \""} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return strings.HasSuffix(s, "not found")
}

func refused(l line) error {
	return fmt.Errorf("line %d: %w: %.120q", l.num, ErrTool, l.text)
}

// isJSON reports whether the first line that is no comment opens a JSON value.
func isJSON(b []byte) bool {
	for _, s := range printed.Lines(b) {
		if _, ok := prompt(s); ok || s[0] == '#' {
			continue
		}
		// `[root@host ~]#` is a prompt, so what opens with [ here is JSON.
		return s[0] == '[' || s[0] == '{'
	}
	return false
}

// elements decodes every object of the JSON arrays in b. An object that does
// not fit is reported and what fitted of it is kept; a broken document ends
// the reading, with what came before it kept.
func elements[T any](b []byte, keep func(T)) error {
	// Comment and prompt lines become blank ones, so that line numbers stay.
	var clean bytes.Buffer
	for s := range bytes.Lines(b) {
		t := bytes.TrimSpace(s)
		_, isPrompt := prompt(string(t))
		if len(t) > 0 && t[0] == '#' || isPrompt {
			s = []byte("\n")
		}
		clean.Write(s)
	}
	text := clean.Bytes()
	dec := json.NewDecoder(bytes.NewReader(text))
	var errs []error
	fail := func(err error) error {
		at := min(dec.InputOffset(), int64(len(text)))
		if errors.Is(err, io.ErrUnexpectedEOF) {
			at = int64(len(bytes.TrimRight(text, " \t\r\n"))) // the tail is what is missing
		}
		return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
	}
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return errors.Join(errs...)
		}
		if err != nil {
			return errors.Join(append(errs, fail(err))...)
		}
		if tok != json.Delim('[') {
			return errors.Join(append(errs, fail(fmt.Errorf("want a JSON array, got %v", tok)))...)
		}
		for dec.More() {
			var v T
			err := dec.Decode(&v)
			var odd *json.UnmarshalTypeError
			if errors.As(err, &odd) {
				errs = append(errs, fail(err))
			} else if err != nil {
				return errors.Join(append(errs, fail(err))...)
			}
			keep(v)
		}
		if _, err := dec.Token(); err != nil {
			return errors.Join(append(errs, fail(err))...)
		}
	}
}
