// Package term speaks to the person at the terminal: width, colour, progress.
// Edge: standard output is the answer, everything here goes to standard error.
package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	xterm "golang.org/x/term"
)

// Is reports whether a file is a terminal.
func Is(f *os.File) bool { return xterm.IsTerminal(int(f.Fd())) }

// Width is the width of standard output, 0 when it is not a terminal.
func Width(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok || !xterm.IsTerminal(int(f.Fd())) {
		return 0
	}
	w, _, err := xterm.GetSize(int(f.Fd()))
	if err != nil {
		return 80
	}
	return w
}

// Colour reports whether colour may be written: on a terminal, without NO_COLOR
// (no-color.org: set and not empty) and not on a dumb one.
func Colour(out io.Writer) bool {
	return Width(out) > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Progress shows on standard error that something goes on. It stays silent for
// the first 300 ms; on a terminal it then redraws one line, elsewhere it writes a
// line now and then.
type Progress struct {
	mu    sync.Mutex
	err   io.Writer
	tty   bool
	total int
	done  int
	what  string
	note  string
	wide  int // columns that were written
	start time.Time
	shown time.Time
	stop  chan struct{}
	ended sync.WaitGroup
}

const (
	quiet = 300 * time.Millisecond // DESIGN.md: anything over 300 ms shows progress
	redo  = 200 * time.Millisecond
	lines = 10 * time.Second // between two lines when it is not a terminal
)

// Start begins to show progress of total steps; 0 is one thing without steps.
func Start(err io.Writer, what string, total int) *Progress {
	p := &Progress{err: err, tty: Width(err) > 0, what: what, total: total, start: time.Now(), stop: make(chan struct{})}
	p.shown = p.start
	p.ended.Go(func() {
		tick := time.NewTicker(redo)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case now := <-tick.C:
				p.show(now)
			}
		}
	})
	return p
}

// Step notes that one more is done.
func (p *Progress) Step() {
	p.mu.Lock()
	p.done++
	p.mu.Unlock()
}

// Set says how much of how much is done.
func (p *Progress) Set(done, total int) {
	p.mu.Lock()
	p.done, p.total = done, total
	p.mu.Unlock()
}

// Note says what is being done right now.
func (p *Progress) Note(note string) {
	p.mu.Lock()
	p.note = ", " + note
	p.mu.Unlock()
}

// Done ends the progress and clears its line.
func (p *Progress) Done() {
	close(p.stop)
	p.ended.Wait()
	if p.tty && p.shown != p.start {
		fmt.Fprintf(p.err, "\r%s\r", strings.Repeat(" ", max(60, p.wide)))
	}
}

func (p *Progress) show(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("weft: %s: %d of %d, %.0f s", p.what, p.done, p.total, now.Sub(p.start).Seconds()) + p.note
	if p.total == 0 {
		text = fmt.Sprintf("weft: %s: %.0f s so far", p.what, now.Sub(p.start).Seconds())
	}
	switch {
	case now.Sub(p.start) < quiet:
	case p.tty:
		text = text[:min(len(text), max(60, Width(p.err)-1))]
		fmt.Fprintf(p.err, "\r%-*s", max(p.wide, 60), text)
		p.wide = max(p.wide, len(text))
		p.shown = now
	case now.Sub(p.shown) >= lines:
		fmt.Fprintln(p.err, text)
		p.shown = now
	}
}
