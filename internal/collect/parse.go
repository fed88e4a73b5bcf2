package collect

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	"weft/internal/dump"
)

// maxMember is the most one file or command may say, maxTotal the most a node may
// say: one that prints a million lines costs no more memory.
const (
	maxMember = 4 << 20
	maxTotal  = 128 << 20
)

// answers turns the two streams of the script into a dump node as they arrive.
type answers struct {
	mu     sync.Mutex
	nonce  string
	node   *dump.Node
	total  int
	out    stream
	err    stream
	clock  time.Time // when the clock frame arrived
	ended  bool
	failed map[string]string // command → complaint, until its exit status is known
}

func newAnswers(name, nonce string) *answers {
	a := &answers{nonce: nonce, node: dump.NewNode(name), failed: map[string]string{}}
	a.out = stream{a: a, frame: a.outFrame}
	a.err = stream{a: a, frame: a.errFrame}
	return a
}

// stream cuts one stream into frames.
type stream struct {
	a     *answers
	head  string // what follows the nonce in the frame's first line
	body  []byte
	cut   bool // the body was too large and is cut
	line  []byte
	frame func(head string, body []byte, cut bool)
}

// Write never fails and never keeps more than a member's limit.
func (s *stream) Write(p []byte) (int, error) {
	s.a.mu.Lock()
	defer s.a.mu.Unlock()
	for chunk := range bytes.Lines(p) {
		s.line = append(s.line, chunk...)
		if chunk[len(chunk)-1] == '\n' || len(s.line) > 1<<16 {
			s.take(s.line)
			s.line = s.line[:0]
		}
	}
	return len(p), nil
}

// take files one line: a frame's head, or part of its body.
func (s *stream) take(line []byte) {
	if rest, ok := bytes.CutPrefix(line, []byte(s.a.nonce+" ")); ok {
		s.close()
		s.head = strings.TrimSuffix(string(rest), "\n")
		if s.head == "clock" && s.a.clock.IsZero() {
			s.a.clock = time.Now()
		}
		return
	}
	if len(s.body)+len(line) > maxMemberOf(s.head) || s.a.total > maxTotal {
		s.cut = true
		return
	}
	s.a.total += len(line)
	s.body = append(s.body, line...)
}

// maxMemberOf: the file frames carry all files at once.
func maxMemberOf(head string) int {
	switch head {
	case "files", "links", "binary":
		return 8 * maxMember
	}
	return maxMember
}

// close hands over the frame that has ended.
func (s *stream) close() {
	if s.head != "" {
		s.frame(s.head, bytes.TrimSuffix(s.body, []byte("\n")), s.cut)
	}
	s.head, s.body, s.cut = "", s.body[:0], false
}

// outFrame files one frame of standard output.
func (a *answers) outFrame(head string, body []byte, cut bool) {
	if cut {
		a.node.Gap[head] = fmt.Sprintf("more than %d bytes: the rest was left out", maxMemberOf(head))
	}
	switch {
	case head == "end":
		a.ended = true
	case head == "clock":
		a.node.Text[clockKey] = string(body)
	case head == "files":
		a.files(body)
	case head == "links":
		for line := range strings.Lines(string(body)) {
			if path, target, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00"); ok {
				a.node.Link[path] = target
			}
		}
	case head == "binary":
		for line := range strings.Lines(string(body)) {
			path, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
			if raw, err := base64.StdEncoding.DecodeString(text); err == nil && len(raw) > 0 {
				a.node.Text[path] = string(raw)
			}
		}
	case head == "root":
		for path := range strings.FieldsSeq(string(body)) {
			a.node.Gap[path] = "needs root, and sudo -n was refused"
		}
	case strings.HasPrefix(head, "$ ") && len(body) > 0:
		a.node.Text[head] = string(body)
	}
}

// files files the output of grep -aHZ: "path NUL line". Lines of one file follow
// each other.
func (a *answers) files(body []byte) {
	var path string
	var text strings.Builder
	put := func() {
		if path != "" && len(a.node.Text[path]) == 0 {
			if text.Len() > maxMember {
				a.node.Gap[path] = fmt.Sprintf("more than %d bytes", maxMember)
			} else {
				a.node.Text[path] = text.String()
			}
		}
		text.Reset()
	}
	for line := range strings.Lines(string(body)) {
		p, rest, ok := strings.Cut(line, "\x00")
		if !ok {
			continue
		}
		if p != path {
			put()
			path = p
		}
		text.WriteString(rest)
		if !strings.HasSuffix(rest, "\n") {
			text.WriteByte('\n')
		}
	}
	put()
}

// errFrame files one frame of standard error. The exit status of a command comes
// in the frame after it.
func (a *answers) errFrame(head string, body []byte, _ bool) {
	first, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	switch {
	case strings.HasPrefix(head, "$ "):
		a.failed = map[string]string{head: first}
	case head == "= 0":
	case strings.HasPrefix(head, "= "):
		for key, why := range a.failed {
			switch {
			case head == "= 124":
				why = fmt.Sprintf("timed out after %d s", cmdSeconds)
			case why == "":
				why = "exit " + head[2:]
			}
			a.node.Gap[key] = why
		}
	case head == "files":
		for line := range strings.Lines(string(body)) {
			// "grep: /sys/class/net/eth0/speed: Invalid argument"
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), "grep: ")
			if i := strings.LastIndex(rest, ": "); ok && i > 0 && strings.HasPrefix(rest, "/") {
				a.node.Gap[rest[:i]] = strings.ToLower(rest[i+2:])
			}
		}
	}
}

// finish closes both streams and returns the node. A frame that no other followed
// was cut off in the middle: half a folder of files would look like a port without
// a netdev or a GID without a type, so all of it is left out.
func (a *answers) finish() *dump.Node {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range []*stream{&a.out, &a.err} {
		s.take(s.line)
		if whole := s == &a.err || s.head == "end" || s.head == "clock"; !whole {
			s.head = ""
		}
		s.close()
	}
	return a.node
}
