package exec

import (
	"context"
	"errors"
	"io"
	"os"
	osexec "os/exec"
	"syscall"
	"time"
)

const (
	// grace is how long a script may tidy up between SIGTERM and SIGKILL: short
	// enough that Ctrl-C feels immediate.
	grace = 500 * time.Millisecond

	// linger is how long standard error may stay open after the process has
	// ended. ssh before 8.5 leaves it open in the background connection
	// (control_persist_detach in ssh.c), which would hold a job for a minute.
	linger = 250 * time.Millisecond
)

// writerError is an error of the caller's own writer.
type writerError struct{ err error }

func (e *writerError) Error() string { return e.err.Error() }

// spawn runs argv in a session of its own and copies its output to the
// writers, holding one small buffer each. It returns the exit status, 128 plus
// the number for a signal. When ctx is done, or a writer returns an error, it
// ends the whole group and returns an error.
func spawn(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	var p pipes
	defer p.close()
	if err := p.open(); err != nil {
		return 0, err
	}
	cmd := osexec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(),
		"LC_ALL=C",                  // ssh's messages are matched in English
		"SSH_ASKPASS_REQUIRE=never") // nor may a window ask, see Setsid
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p[0], p[3], p[5]
	// A session of its own is a process group too, and has no terminal: a jump
	// host's ssh, which is not told of BatchMode, cannot stop to ask a question.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	in, out, errs := p[1], p[2], p[4]
	p[0].Close()
	p[3].Close()
	p[5].Close()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		io.Copy(in, stdin) // a shell that exits early does not read all of it
		in.Close()
	}()
	outDone, errsDone := drain(out, stdout, cancel), drain(errs, stderr, cancel)

	killed := false
	ended, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		killed = true
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-outDone:
		case <-time.After(grace):
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		for _, f := range []*os.File{in, out, errs} {
			f.SetDeadline(time.Now().Add(linger)) // held open by something that left the group
		}
	}()

	// The process is reaped only after its output has ended, so that its group
	// id cannot become somebody else's while it may still be killed.
	<-outDone
	err := cmd.Wait()
	close(ended)
	errs.SetDeadline(time.Now().Add(linger))
	<-errsDone
	<-quiet
	if killed {
		return 0, context.Cause(ctx)
	}
	var exit *osexec.ExitError
	if errors.As(err, &exit) {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

// drain copies r to w until r ends. An error of w cancels the job.
func drain(r *os.File, w io.Writer, cancel context.CancelCauseFunc) <-chan struct{} {
	if w == nil {
		w = io.Discard
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 32<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 {
				if _, werr := w.Write(buf[:n]); werr != nil {
					cancel(&writerError{werr})
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return done
}

// pipes are standard input, output and error, each as its read and write end.
type pipes [6]*os.File

func (p *pipes) open() (err error) {
	for i := 0; i < len(p) && err == nil; i += 2 {
		p[i], p[i+1], err = os.Pipe()
	}
	return err
}

func (p *pipes) close() {
	for _, f := range p {
		if f != nil {
			f.Close()
		}
	}
}
