package ib

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"weft/internal/lab/own"
)

// job is something that up started.
type job struct {
	log   string        // what it says goes here
	ended chan struct{} // closed when it has ended
}

// start starts a process of the fabric.
func (l *lab) start(log string, argv ...string) (*os.Process, job, error) {
	j := job{log, make(chan struct{})}
	p, err := own.Start(l.folder, l.path(log), argv...)
	if err != nil {
		return nil, j, err
	}
	go func() {
		p.Wait()
		close(j.ended)
	}()
	return p, j, nil
}

// await waits until done, with a deadline. When it does not come, or the job that
// should bring it ends, the error has the last line of the job's log.
func (l *lab) await(ctx context.Context, limit time.Duration, what string, j job, done func() bool) error {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-j.ended:
			if done() {
				return nil
			}
			return fmt.Errorf("%s: it ended at once%s", what, l.lastWords(j.log))
		case now := <-tick.C:
			if now.After(deadline) {
				return fmt.Errorf("%s: not within %v%s", what, limit, l.lastWords(j.log))
			}
		}
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
