// Package openai reads what servers that speak OpenAI's API stream and answer, and
// writes what they are asked. Pure: bytes in, counts and positions out.
package openai

import (
	"bytes"
	"errors"
	"fmt"
)

// MaxLine bounds one line of a stream, and the data of one event. A chunk is a few
// hundred bytes; with the log probabilities of twenty tokens it is a few thousand.
const MaxLine = 1 << 20

// ErrLong says that a line, or an event, is longer than MaxLine.
var ErrLong = fmt.Errorf("a line of more than %d bytes", MaxLine)

// Stream reads a streamed answer as it comes, cut anywhere. Server-sent events are read
// as the HTML standard has them: lines end in LF, CR LF or CR, comments begin with a
// colon, data of several lines is one text, an event ends with a blank line, and what no
// blank line ends is dropped.
type Stream struct {
	Chunks   int    // that carried text: tokens, where a chunk is a token
	Events   int    // all of them
	Comments int    // lines
	Done     bool   // [DONE] came
	Finish   string // why the text ended: "length", "stop"; "" it did not
	Usage    *Usage // nil: the server did not count

	err   error
	begun bool   // the first line is over
	cr    bool   // the last byte was CR: an LF now belongs to it
	line  []byte // the beginning of a line whose end has not come
	data  []byte // of the event
	lines int    // of data in the event
	event string // its name

	head, ends string // of the event's only line of data: what is before the value, and how it ends
	known      known
	between    bool // a line begins, and with it an event: what is known may be looked for
	plain      bool // know nothing: tests compare with it
}

// Usage is what the server counted.
type Usage struct {
	Prompt     int
	Completion int
	Cached     int // of the prompt, from the prefix cache
}

// Feed reads the next bytes and returns how many chunks with text were in them. After
// an error, and after [DONE], it reads nothing more.
func (s *Stream) Feed(b []byte) (chunks int, err error) {
	before := s.Chunks
	for len(b) > 0 && s.err == nil && !s.Done {
		if s.between {
			if b = s.quick(b); len(b) == 0 {
				break
			}
		}
		b = s.take(b)
		s.between = s.known.whole.head != "" && !s.cr && s.lines == 0 && s.event == "" && len(s.line) == 0
	}
	return s.Chunks - before, s.err
}

// quick reads events that differ from an earlier one in their text alone, and returns the
// rest.
func (s *Stream) quick(b []byte) []byte {
	for {
		n, text := s.known.whole.match(b)
		if n == 0 || n > MaxLine {
			return b
		}
		s.Events++
		if text {
			s.Chunks++
		}
		b = b[n:]
	}
}

// take reads one line, or what there is of it, and returns the rest.
func (s *Stream) take(b []byte) []byte {
	if s.cr {
		s.cr = false
		if b[0] == '\n' {
			return b[1:]
		}
	}
	end := bytes.IndexByte(b, '\n')
	part := b
	if end >= 0 {
		part = b[:end]
	}
	if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
		end, part = cr, b[:cr]
	}
	if len(s.line)+len(part) > MaxLine {
		s.err = ErrLong
		return nil
	}
	if end < 0 {
		s.line = append(s.line, part...)
		return nil
	}
	line := part
	if len(s.line) > 0 {
		s.line = append(s.line, part...)
		line = s.line
	}
	ends := "\n"
	rest := b[end+1:]
	if b[end] == '\r' {
		ends = "\r"
		switch {
		case len(rest) == 0:
			s.cr, ends = true, "" // how the line ends is not known yet
		case rest[0] == '\n':
			rest, ends = rest[1:], "\r\n"
		}
	}
	s.read(line, ends)
	s.line = s.line[:0]
	return rest
}

// read reads a whole line.
func (s *Stream) read(line []byte, ends string) {
	if !s.begun {
		s.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	switch {
	case len(line) == 0:
		s.dispatch(ends)
		return
	case line[0] == ':':
		s.Comments++
		return
	}
	name, value, colon := bytes.Cut(line, []byte(":"))
	head := len(name)
	if colon {
		head++
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
			head++
		}
	}
	switch string(name) {
	case "data":
		if len(s.data)+len(value)+1 > MaxLine {
			s.err = ErrLong
			return
		}
		if s.lines++; s.lines > 1 {
			s.data = append(s.data, '\n')
		} else {
			s.head, s.ends = string(line[:head]), ends
		}
		s.data = append(s.data, value...)
	case "event":
		s.event = string(value[:min(len(value), 64)])
	}
}

// dispatch ends an event.
func (s *Stream) dispatch(ends string) {
	event := s.event
	s.event = ""
	if s.lines == 0 {
		return
	}
	s.Events++
	if err := s.handle(event, ends); err != nil {
		s.err = err
	}
	s.data, s.lines = s.data[:0], 0
}

func (s *Stream) handle(event, ends string) error {
	if string(s.data) == "[DONE]" {
		s.Done = true
		return nil
	}
	if len(s.data) == 0 {
		return nil // some servers keep a connection alive so
	}
	if n, text := s.known.data.match(s.data); n == len(s.data) && event == "" {
		if text {
			s.Chunks++
		}
		return nil
	}
	c, err := parseChunk(s.data)
	if err != nil {
		return &At{s.Events, err}
	}
	if said := c.said(s.data, event == "error"); said != "" {
		return &Said{said}
	}
	if c.text() {
		s.Chunks++
	}
	if f := c.finish(); f != "" {
		s.Finish = f
	}
	if err := s.count(c); err != nil {
		return &At{s.Events, err}
	}
	if c.text() && c.learns() && s.lines == 1 && s.ends != "" && ends != "" && event == "" && !s.plain {
		if k, ok := learn(s.data); ok {
			s.known = known{data: k, whole: shape{s.head + k.head, k.tail + s.ends + ends}}
		}
	}
	return nil
}

// count takes what the server counted. A usage says more than timings do, but for what
// came from the cache.
func (s *Stream) count(c chunk) error {
	if c.Timings != nil && s.Usage == nil {
		u, err := c.Timings.counts().read()
		if err != nil {
			return err
		}
		s.Usage = u
	}
	if c.Usage == nil {
		return nil
	}
	u, err := c.Usage.read()
	if err != nil || u == nil {
		return err
	}
	if s.Usage != nil {
		u.Cached = min(max(u.Cached, s.Usage.Cached), u.Prompt)
	}
	s.Usage = u
	return nil
}

// ErrCut says that a stream ended before the text did.
var ErrCut = errors.New("it ended before the text did")

// End says whether the stream may end here: it was done, or the text had ended.
func (s *Stream) End() error {
	switch {
	case s.err != nil:
		return s.err
	case s.Done || s.Finish != "":
		return nil
	}
	return &At{s.Events, ErrCut}
}

// At is an error in an event, which are counted from 1.
type At struct {
	Event int
	Err   error
}

func (e *At) Error() string { return fmt.Sprintf("event %d: %v", e.Event, e.Err) }
func (e *At) Unwrap() error { return e.Err }

// Said is an error that the server put into the stream.
type Said struct{ Message string }

func (e *Said) Error() string { return "the server says: " + e.Message }
