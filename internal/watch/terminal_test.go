package watch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal: what is typed into it and what a program draws on it.
type terminal struct {
	master, slave *os.File
	mu            sync.Mutex
	drawn         bytes.Buffer
}

func newTerminal(t *testing.T, wide, high uint16) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	t.Cleanup(func() { slave.Close() })
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: wide, Row: high}); err != nil {
		t.Fatal(err)
	}
	x := &terminal{master: master, slave: slave}
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			x.mu.Lock()
			x.drawn.Write(buf[:n])
			x.mu.Unlock()
		}
	}()
	return x
}

func (x *terminal) shows(what string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Contains(x.drawn.String(), what)
}

func (x *terminal) types(t *testing.T, s string) {
	t.Helper()
	if _, err := x.master.WriteString(s); err != nil {
		t.Fatal(err)
	}
}

// TestScreenOnATerminal: it draws, takes keys, ends, and leaves the terminal as it was.
func TestScreenOnATerminal(t *testing.T) {
	for name, c := range map[string]struct {
		keys string
		want error
	}{"q": {"q", nil}, "Ctrl-C": {"\x03", ErrInterrupted}} {
		t.Run(name, func(t *testing.T) {
			x := newTerminal(t, 100, 20)
			before, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			o := hostileOrder()
			o.Every = time.Second
			w := New(o)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			wg.Go(func() { w.Run(ctx) })
			ended := make(chan error, 1)
			go func() { ended <- Screen(ctx, w, x.slave, x.slave, true) }()
			until(t, "the node", func() bool { return x.shows("n1") && x.shows("answers") })
			x.types(t, "\r")
			until(t, "its ports", func() bool { return x.shows("HEALTH") })
			x.types(t, "\r")
			until(t, "its counters", func() bool { return x.shows("COUNTER") })
			x.types(t, "\x1b")
			x.types(t, c.keys)
			select {
			case err := <-ended:
				if err != c.want {
					t.Errorf("it ended with %v, want %v", err, c.want)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it does not end")
			}
			after, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
			if err != nil || *after != *before {
				t.Errorf("the terminal is not as it was: %v", err)
			}
			until(t, "the other screen is left", func() bool { return x.shows("\x1b[?1049l") && x.shows("\x1b[?25h") })
		})
	}
}
