package ib

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// await waits until done, with a deadline. When it does not come, the error has
// the last line of the log.
func (l *lab) await(ctx context.Context, limit time.Duration, what, log string, done func() bool) error {
	deadline := time.Now().Add(limit)
	for !done() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v%s", what, limit, l.lastWords(log))
		}
		if log != "" && !l.alive() {
			return fmt.Errorf("%s: the fabric ended%s", what, l.lastWords(log))
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// alive reports whether the holder of the namespaces runs.
func (l *lab) alive() bool {
	procs, err := l.processes()
	if err != nil {
		return true // nothing is known
	}
	for _, p := range procs {
		if p.PID == l.state.Holder {
			return true
		}
	}
	return false
}

// maxLog is how much of the end of a log is looked at: opensm and ibsim complain a
// line at a time and may do so for hours.
const maxLog = 256 << 10

// tail returns the end of a log, "" when there is none.
func (l *lab) tail(log string) []byte {
	f, err := os.Open(l.path(log))
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxLog {
		f.Seek(-maxLog, io.SeekEnd)
	}
	b, _ := io.ReadAll(io.LimitReader(f, maxLog))
	return b
}

func (l *lab) said(log, words string) bool { return bytes.Contains(l.tail(log), []byte(words)) }

func (l *lab) lastWords(log string) string {
	if log == "" {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(l.tail(log))), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}
