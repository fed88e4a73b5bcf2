package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// run runs one shell line in a group of its own, with a deadline, and returns what it
// printed.
func run(ctx context.Context, line string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end in %v", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PATH="+path())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // something it left behind may hold its output open
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out, 1 << 20}, &limited{&said, 16 << 10}
	err := cmd.Run()
	if ctx.Err() != nil {
		return out.String(), context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if words := strings.TrimSpace(said.String()); words != "" {
			return out.String(), fmt.Errorf("%w: %s", err, words)
		}
		return out.String(), err
	}
	return out.String(), nil
}

// path has the folders of system tools, which a plain login may lack.
func path() string {
	return os.Getenv("PATH") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

// limited drops what goes beyond its room.
type limited struct {
	buf  *bytes.Buffer
	room int
}

func (l *limited) Write(b []byte) (int, error) {
	l.buf.Write(b[:min(len(b), l.room)])
	l.room -= min(len(b), l.room)
	return len(b), nil
}
