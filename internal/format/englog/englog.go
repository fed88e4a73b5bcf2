// Package englog recognises what engines and Ray say while they start and run: how far
// they are, and the failures that people meet. Pure: lines in, events out.
//
// A recognised failure says what happened, why, and what to do. What is not recognised is
// left alone: the last lines are shown to the person anyhow.
package englog

import (
	"bytes"
	"regexp"
	"strings"
)

// Kind is what an event means for a launch.
type Kind string

// The kinds.
const (
	Progress Kind = "progress" // it goes on
	Ready    Kind = "ready"    // it serves
	Wait     Kind = "wait"     // it waits for something that may still come
	Warn     Kind = "warn"     // it goes on, but not as it should
	Fail     Kind = "fail"     // it will not become ready
)

// Event is a line that means something.
type Event struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	What string `json:"what"`           // in one sentence, with what the line tells
	Why  string `json:"why,omitempty"`  //
	Do   string `json:"do,omitempty"`   // the first thing to do
	Line string `json:"line,omitempty"` // as it was said
	Host string `json:"host,omitempty"` // whose words Ray passed on: "10.0.0.2"
}

// Rule recognises one kind of line.
type Rule struct {
	ID    string
	Kind  Kind
	Match *regexp.Regexp
	What  string // $1 is the first thing that Match caught
	Why   string
	Do    string
	Echo  bool // follows from an earlier failure, where there was one
}

// maxLine bounds a line that is looked at: progress bars rewrite themselves for megabytes.
const maxLine = 8 << 10

// passed is how Ray hands on what a worker said.
var passed = regexp.MustCompile(`\(\w[^()]*?, ip=([0-9a-fA-F.:]+)\)`)

// escapes are colours: vLLM and Ray paint their lines.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// ofSystemd is what systemd says of a unit: it means something, and explains nothing.
var ofSystemd = regexp.MustCompile(`^(?:\S+\.service: |(?:Started|Stopped|Starting|Stopping|Failed to start) \S+\.service - )`)

// Read says what a line means; ok is false when it means nothing to weft.
func Read(line string) (e Event, ok bool) {
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	if i := strings.LastIndexByte(strings.TrimRight(line, "\r"), '\r'); i >= 0 {
		line = line[i+1:] // of a progress bar, its last state
	}
	line = strings.TrimSpace(escapes.ReplaceAllString(line, ""))
	if line == "" || strings.Contains(line, " NCCL INFO ") && !strings.Contains(line, "No device found") && !strings.Contains(line, "network Socket") && !strings.Contains(line, "libibverbs") {
		return e, false // NCCL tells thousands of things: weft nccl reads them
	}
	for _, r := range Rules {
		m := r.Match.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		e = Event{ID: r.ID, Kind: r.Kind, Why: r.Why, Do: r.Do, Line: line}
		e.What = string(r.Match.ExpandString(nil, r.What, line, m))
		if h := passed.FindStringSubmatch(line); h != nil {
			e.Host = h[1]
		}
		return e, true
	}
	return e, false
}

// Reader reads a stream in pieces and keeps what matters of it, in a bounded space.
type Reader struct {
	Lines  int      // that were seen
	Last   []string // the last lines, oldest first, without systemd's own
	Events []Event  // equal ones once, the first time
	Said   Event    // the newest progress

	rest []byte
	seen map[string]bool
}

const (
	maxLast   = 40
	maxEvents = 200
	maxRest   = 64 << 10
)

// Add takes a piece of a stream and returns what is new in it.
func (r *Reader) Add(b []byte) (fresh []Event) {
	r.rest = append(r.rest, b...)
	for {
		i := bytes.IndexByte(r.rest, '\n')
		if i < 0 {
			if len(r.rest) > maxRest { // no newline: a progress bar
				r.rest = append(r.rest[:0], r.rest[len(r.rest)-maxLine:]...)
			}
			return fresh
		}
		if e, ok := r.line(string(r.rest[:i])); ok {
			fresh = append(fresh, e)
		}
		r.rest = r.rest[i+1:]
	}
}

// Flush takes what is left without a newline.
func (r *Reader) Flush() (fresh []Event) {
	rest := string(r.rest)
	r.rest = nil
	if e, ok := r.line(rest); ok && rest != "" {
		fresh = append(fresh, e)
	}
	return fresh
}

func (r *Reader) line(line string) (Event, bool) {
	if strings.TrimSpace(line) == "" {
		return Event{}, false
	}
	r.Lines++
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	if !ofSystemd.MatchString(line) {
		r.Last = append(r.Last, line)
	}
	if len(r.Last) > maxLast {
		r.Last = append(r.Last[:0], r.Last[1:]...)
	}
	e, ok := Read(line)
	if !ok {
		return e, false
	}
	if e.Kind == Progress || e.Kind == Ready {
		r.Said = e
		return e, true
	}
	key := e.ID + " " + string(e.Kind) + " " + e.Host
	if r.seen[key] || len(r.Events) == maxEvents {
		return e, false
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[key] = true
	r.Events = append(r.Events, e)
	return e, true
}

// Worst is the failure that explains most: the first that is no echo, else the first.
func Worst(events []Event) (e Event, ok bool) {
	for _, x := range events {
		if x.Kind != Fail {
			continue
		}
		if !echo(x.ID) {
			return x, true
		}
		if !ok {
			e, ok = x, true
		}
	}
	return e, ok
}

func echo(id string) bool {
	for _, r := range Rules {
		if r.ID == id {
			return r.Echo
		}
	}
	return false
}
