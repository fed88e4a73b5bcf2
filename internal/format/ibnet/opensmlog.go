package ibnet

import (
	"strings"

	"weft/internal/format/printed"
)

// SMLog is what an opensm wrote into its log, its standard output or the journal.
type SMLog struct {
	Version string // "3.3.23"; the last one when it was started again
	Events  []SMEvent
}

// SMEvent is one line that tells how the subnet manager fares.
type SMEvent struct {
	At   string // the line's own time, which has no year; empty when it has none
	Kind SMEventKind
	// State: the state entered: DISCOVERING STANDBY MASTER NOTACTIVE.
	State string
	// Error: where, which and what.
	Func, Code, Text string
}

// SMEventKind says what an SMEvent tells.
type SMEventKind string

const (
	SMStart      SMEventKind = "start"       // the version line
	SMState      SMEventKind = "state"       // entered another state
	SMSubnetUp   SMEventKind = "subnet up"   // a sweep ended well
	SMInitErrors SMEventKind = "init errors" // a sweep ended with errors
	SMError      SMEventKind = "error"       // an ERR line
	SMExit       SMEventKind = "exit"
)

// ParseOpensmLog reads opensm's log. Lines that are none of the events are
// left out: a log is long and most of it is chatter.
func ParseOpensmLog(b []byte) (SMLog, error) {
	var (
		f     faults
		log   SMLog
		known bool
	)
	for num, line := range printed.Lines(b) {
		at, text, ok := logLine(line)
		known = known || ok
		e, version, ok := smEvent(text)
		if !ok {
			f.Unknown(num, line, "opensm")
			continue
		}
		known = true
		if version != "" {
			// Every start says it twice, once for the log and once for syslog.
			if n := len(log.Events); n > 0 && log.Events[n-1].Kind == SMStart && log.Version == version {
				continue
			}
			log.Version = version
		}
		e.At = at
		log.Events = append(log.Events, e)
	}
	return log, f.Err(known)
}

// logLine cuts "Nov 15 02:28:07 236262 [E2D54740] 0x80 -> Entering MASTER state"
// and the journal's "Nov 15 02:28:07 host OpenSM[812]: Entering MASTER state".
func logLine(line string) (at, text string, ok bool) {
	if head, text, ok := strings.Cut(line, " -> "); ok {
		if i := strings.IndexByte(head, '['); i >= 0 && strings.Contains(head[i:], "] 0x") {
			return strings.TrimSpace(head[:i]), text, true
		}
	}
	if head, text, ok := strings.Cut(line, "]: "); ok {
		if i := strings.LastIndexByte(head, ' '); i >= 0 && strings.HasPrefix(strings.ToLower(head[i+1:]), "opensm[") {
			words := strings.Fields(head[:i])
			return strings.Join(words[:max(len(words)-1, 0)], " "), text, true // without the host
		}
	}
	return "", line, false
}

// smEvent reads the text after the line's head.
func smEvent(text string) (e SMEvent, version string, ok bool) {
	if v, ok := strings.CutPrefix(text, "OpenSM "); ok && v != "" && v[0] >= '0' && v[0] <= '9' {
		version, _ = word(v)
		return SMEvent{Kind: SMStart}, version, true
	}
	if s, ok := strings.CutPrefix(text, "Entering "); ok {
		if s, ok := strings.CutSuffix(s, " state"); ok {
			return SMEvent{Kind: SMState, State: s}, "", true
		}
	}
	switch {
	case text == "SUBNET UP":
		return SMEvent{Kind: SMSubnetUp}, "", true
	case strings.HasPrefix(text, "Errors during initialization"):
		return SMEvent{Kind: SMInitErrors}, "", true
	case text == "Exiting SM":
		return SMEvent{Kind: SMExit}, "", true
	}
	fn, rest, ok := strings.Cut(text, ": ERR ")
	code, what, ok2 := strings.Cut(rest, ": ")
	if !ok || !ok2 || strings.ContainsAny(fn, " \t") {
		return SMEvent{}, "", false
	}
	return SMEvent{Kind: SMError, Func: fn, Code: code, Text: what}, "", true
}

// State returns the state entered last, empty when the log shows none or the
// subnet manager has left since.
func (l SMLog) State() string {
	for i := len(l.Events) - 1; i >= 0; i-- {
		switch l.Events[i].Kind {
		case SMState:
			return l.Events[i].State
		case SMExit, SMStart:
			return ""
		}
	}
	return ""
}
