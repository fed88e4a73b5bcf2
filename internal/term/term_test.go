package term

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressOffATerminal(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{err: &out, what: "asking nodes", total: 3, start: time.Unix(0, 0), shown: time.Unix(0, 0)}
	p.Step()
	for _, c := range []struct {
		after time.Duration
		lines int
	}{{quiet / 2, 0}, {time.Second, 0}, {lines, 1}, {lines + time.Second, 1}, {2 * lines, 2}} {
		p.show(time.Unix(0, 0).Add(c.after))
		if got := strings.Count(out.String(), "\n"); got != c.lines {
			t.Errorf("after %v: %d lines, want %d:\n%s", c.after, got, c.lines, out.String())
		}
	}
	if !strings.Contains(out.String(), "weft: asking nodes: 1 of 3, 10 s") || strings.Contains(out.String(), "\r") {
		t.Errorf("got %q", out.String())
	}
}

func TestProgressOnATerminalIsOneLine(t *testing.T) {
	var out bytes.Buffer
	p := &Progress{err: &out, tty: true, what: "x", total: 1, start: time.Unix(0, 0), shown: time.Unix(0, 0)}
	p.show(time.Unix(0, 0).Add(quiet / 2))
	if out.Len() != 0 {
		t.Errorf("spoke within %v: %q", quiet, out.String())
	}
	p.show(time.Unix(1, 0))
	if !strings.HasPrefix(out.String(), "\r") || strings.Contains(out.String(), "\n") {
		t.Errorf("got %q", out.String())
	}
}

func TestStartThenDone(t *testing.T) {
	var out bytes.Buffer
	p := Start(&out, "x", 1)
	p.Step()
	p.Done()
	if out.Len() != 0 {
		t.Errorf("quick work spoke: %q", out.String())
	}
}

func TestNoColourWithoutATerminal(t *testing.T) {
	if Colour(&bytes.Buffer{}) || Width(&bytes.Buffer{}) != 0 {
		t.Error("a buffer is no terminal")
	}
}
