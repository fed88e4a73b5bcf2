package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a program that runs for a trial. It ends when it is closed, which also happens
// when whoever asked for it goes away.
type child struct {
	cmd   *exec.Cmd
	out   capped
	file  string // for the child to write into; "" when it needs none
	ended chan struct{}
}

// fileWord in a command line is a file that the child writes into.
const fileWord = "{file}"

// take gives a child its file.
func (c *child) take(argv []string) ([]string, error) {
	for i, word := range argv {
		if strings.Contains(word, fileWord) {
			f, err := os.CreateTemp("", "weft-")
			if err != nil {
				return nil, err
			}
			f.Close()
			c.file = f.Name()
			argv[i] = strings.ReplaceAll(word, fileWord, c.file)
		}
	}
	return argv, nil
}

// wrote is what a child wrote into its file.
func (c *child) wrote() string {
	b, err := os.ReadFile(c.file)
	if err != nil || len(b) > maxOut {
		return ""
	}
	return string(b)
}

// maxOut bounds what is kept of a child's output: NCCL writes long logs.
const maxOut = 8 << 20

// capped keeps the first maxOut bytes and drops the rest.
type capped struct {
	mu      sync.Mutex
	b       bytes.Buffer
	dropped bool
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := maxOut - c.b.Len()
	if len(p) > room {
		c.dropped = true
	}
	c.b.Write(p[:min(len(p), room)])
	return len(p), nil
}

func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped {
		return c.b.String() + "\n(output cut here)\n"
	}
	return c.b.String()
}

// Close ends the child and what it started, unless it has ended by itself.
func (c *child) Close() error {
	if c.file != "" {
		defer os.Remove(c.file)
	}
	select {
	case <-c.ended: // its number may be another's by now
		return nil
	default:
	}
	syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(500 * time.Millisecond):
		syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
		<-c.ended
	}
	return nil
}

// start starts a program and returns when it listens on Port, or at once without one.
func (s *server) start(ctx context.Context, a Ask) (Answer, error) {
	if len(a.Argv) == 0 {
		return Answer{}, errors.New("nothing to start")
	}
	if a.Port != 0 && s.listening(a.Port) {
		return Answer{}, class("port", fmt.Errorf("TCP port %d is taken: a server that was left running?", a.Port))
	}
	c := &child{ended: make(chan struct{})}
	argv, err := c.take(a.Argv)
	if err != nil {
		return Answer{}, class("start", err)
	}
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	c.cmd.Stdin = strings.NewReader(a.Text)
	c.cmd.Env = append(append(os.Environ(), "LC_ALL=C"), a.Env...)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.cmd.WaitDelay = time.Second
	if err := startLocked(c.cmd); err != nil {
		os.Remove(c.file)
		return Answer{}, class("start", err)
	}
	go func() {
		c.cmd.Wait()
		close(c.ended)
	}()
	if err := s.hold(a.Conn, c); err != nil {
		return Answer{}, err
	}
	for a.Port != 0 && !s.listening(a.Port) {
		select {
		case <-c.ended:
			return Answer{Out: c.out.String(), Exit: c.cmd.ProcessState.ExitCode()}, class("start", fmt.Errorf("%s ended before it listened", a.Argv[0]))
		case <-ctx.Done():
			return Answer{Out: c.out.String()}, class("time", fmt.Errorf("%s does not listen on TCP port %d", a.Argv[0], a.Port))
		case <-time.After(10 * time.Millisecond):
		}
	}
	return Answer{}, nil
}

// wait waits for a child and tells what it said.
func (s *server) wait(ctx context.Context, a Ask) (Answer, error) {
	c, err := held[*child](s, a.Conn)
	if err != nil {
		return Answer{}, err
	}
	select {
	case <-c.ended:
		return Answer{Out: c.out.String(), Exit: c.cmd.ProcessState.ExitCode(), File: c.wrote()}, nil
	case <-ctx.Done():
		c.Close()
		return Answer{Out: c.out.String(), Exit: -1}, class("time", fmt.Errorf("%s did not end in time", c.cmd.Args[0]))
	}
}

// listening reports whether a socket listens on a TCP port: 0A is TCP_LISTEN in
// include/net/tcp_states.h.
func (s *server) listening(port int) bool {
	want := fmt.Sprintf(":%04X", port)
	for _, file := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		b, err := os.ReadFile(s.root + "/" + file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > 3 && strings.HasSuffix(f[1], want) && f[3] == "0A" {
				return true
			}
		}
	}
	return false
}

// starter starts children on one thread that never ends: the kernel kills a child when the
// thread that started it ends (PR_SET_PDEATHSIG), and is to do so only when weft itself is
// killed.
var starter = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range c {
			f()
		}
	}()
	return c
})

func startLocked(cmd *exec.Cmd) error {
	err := make(chan error)
	starter() <- func() { err <- cmd.Start() }
	return <-err
}
