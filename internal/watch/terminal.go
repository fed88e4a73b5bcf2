package watch

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	xterm "golang.org/x/term"
)

// ErrInterrupted is the end of a screen by Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// Screen shows a watch on a terminal until the person ends it or ctx is done. The terminal
// is left as it was.
func Screen(ctx context.Context, w *Watch, in io.Reader, out *os.File, colour bool) error {
	keyboard, _ := in.(*os.File)
	if keyboard != nil && xterm.IsTerminal(int(keyboard.Fd())) {
		was, err := xterm.MakeRaw(int(keyboard.Fd()))
		if err != nil {
			return err
		}
		defer xterm.Restore(int(keyboard.Fd()), was)
	} else {
		keyboard = nil
	}
	io.WriteString(out, enter)
	defer io.WriteString(out, leave)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	ctx, cancel := context.WithCancel(ctx)
	typed, ended := make(chan string), make(chan struct{})
	go func() { defer close(ended); readKeys(ctx, keyboard, typed) }()
	defer func() { cancel(); <-ended }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	m := newModel(w.Live, colour)
	for {
		if wide, high, err := xterm.GetSize(int(out.Fd())); err == nil {
			m.wide, m.high = wide, high
		} else {
			m.wide, m.high = 80, 24
		}
		if _, err := io.WriteString(out, frame(m.View(), m.high)); err != nil {
			return nil // the terminal is gone
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			m.now = w.Live()
		case <-resized:
		case k := <-typed:
			switch m.key(k); m.end {
			case quit:
				return nil
			case interrupted:
				return ErrInterrupted
			}
		}
	}
}

// What a terminal is told: xterm's names in "XTerm Control Sequences".
const (
	enter = "\x1b[?1049h\x1b[?25l" // the other screen, no cursor
	leave = "\x1b[?25h\x1b[?1049l"
)

// frame draws over what was there, line by line, so that nothing flickers.
func frame(view string, high int) string {
	lines := strings.Split(view, "\n")
	return "\x1b[H" + strings.Join(lines[:min(len(lines), max(1, high))], "\x1b[K\r\n") + "\x1b[K\x1b[J"
}

// readKeys reads the keyboard until ctx is done; it looks up from waiting to see that.
func readKeys(ctx context.Context, f *os.File, typed chan<- string) {
	if f == nil {
		return
	}
	buf := make([]byte, 256)
	for ctx.Err() == nil {
		poll := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 200)
		if err != nil && err != unix.EINTR {
			return
		}
		if n <= 0 {
			continue
		}
		k, err := unix.Read(int(f.Fd()), buf)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil || k <= 0 {
			return
		}
		for _, word := range keys(buf[:k]) {
			select {
			case typed <- word:
			case <-ctx.Done():
				return
			}
		}
	}
}

// sequences are what keys without a letter send.
var sequences = map[string]string{
	"\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left", "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left",
	"\x1b[5~": "pgup", "\x1b[6~": "pgdown", "\x1b[H": "home", "\x1b[F": "end", "\x1b[1~": "home", "\x1b[4~": "end", "\x1b[Z": "shift+tab",
	"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\x08": "backspace", "\x03": "ctrl+c", "\x02": "ctrl+b", "\x06": "ctrl+f",
}

// keys reads what was typed at once: words for keys, one for each. What is no key that
// weft knows is left out.
func keys(b []byte) (words []string) {
	for len(b) > 0 {
		n := 1
		if b[0] == 0x1b {
			n = escape(b)
		} else if b[0] >= utf8.RuneSelf {
			_, n = utf8.DecodeRune(b)
		}
		one := string(b[:n])
		b = b[n:]
		switch word, ok := sequences[one]; {
		case ok:
			words = append(words, word)
		case one == "\x1b":
			words = append(words, "esc")
		case one[0] >= ' ' && one[0] != 0x7f && utf8.ValidString(one):
			words = append(words, one)
		}
	}
	return words
}

// escape is how long the sequence is that begins here: ESC [ numbers letter, ESC O letter,
// or ESC alone.
func escape(b []byte) int {
	if len(b) < 2 || b[1] != '[' && b[1] != 'O' {
		return 1
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return i + 1
		}
	}
	return len(b)
}
