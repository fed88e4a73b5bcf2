// Package exec runs scripts on nodes, on this machine or through the person's
// own ssh client. Edge: it decides nothing; it carries bytes and says in which
// of a few ways a node did not answer.
package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// DefaultWidth is how many scripts run at once unless Options says otherwise.
// BenchmarkWidth: with both ends on two busy cores, 100 handshakes took 22 s one
// by one and 6 to 7 s at any width from 8 to 100. Real nodes add waiting that
// costs nothing here, which favours more than 8; more than 32 would only put
// slow machines closer to connectTimeout.
const DefaultWidth = 32

// Target is one node and the way to it.
type Target struct {
	Name string // what weft calls the node
	SSH  string // what the person would give to ssh; "" is this machine
}

// Job is one POSIX sh script and where its output goes.
//
// The script arrives on the shell's standard input, so nothing has to be quoted
// and no length limit applies. It runs in the C locale, with /dev/null as its own
// standard input, and only once it has arrived whole: half a script is a syntax
// error, never half a change. Exit status 255 is ssh's own, so a script's 255
// arrives as 254.
//
// A job ends when the script has ended and nothing holds its standard output
// open. A script cut off by Deadline or by the context is ended at once on this
// machine; on a node it loses its output, and ends when it next writes. A script
// that must not outlive its reader bounds its own commands with timeout(1).
//
// The writers get a node's bytes as they are: what goes on to a terminal goes
// through Sanitise first.
type Job struct {
	Script   string
	Stdin    io.Reader     // what the script reads; it then travels as an argument, so it must be short. nil is /dev/null
	Deadline time.Duration // from the moment the script may start; 0 is none
	Stdout   io.Writer     // nil discards; an error from it ends the job
	Stderr   io.Writer     // the same; called at the same time as Stdout, and never with ssh's own words
}

// Options are the few things a Runner can be told.
type Options struct {
	Config string // ssh -F; "" is the person's own configuration
	Width  int    // scripts at once over all nodes; 0 is DefaultWidth
	Fresh  bool   // share no connection that was there before: the first job shows that a new one can be made
}

// Runner runs jobs. Scripts wait for one of Width slots; finding out where a
// node is and whether it answers does not take a slot, so that dead nodes do not
// hold up live ones.
type Runner struct {
	config  string
	sockets string // directory of control sockets; "" is no connection sharing
	fresh   bool   // that directory is this Runner's own
	slots   chan struct{}
	lookups chan struct{}

	mu    sync.Mutex
	nodes map[string]node // by Target.SSH
}

// New makes a Runner. When no private directory for control sockets can be had,
// connections are not shared, which is slower and nothing else.
func New(o Options) *Runner {
	if o.Width <= 0 {
		o.Width = DefaultWidth
	}
	if abs, err := filepath.Abs(o.Config); err == nil && o.Config != "" {
		o.Config = abs // it is also part of the connection's name, and of commands to paste
	}
	sockets := socketDir()
	if o.Fresh && sockets != "" {
		sockets = freshDir(sockets)
	}
	return &Runner{
		config:  o.Config,
		sockets: sockets,
		fresh:   o.Fresh && sockets != "",
		slots:   make(chan struct{}, o.Width),
		lookups: make(chan struct{}, 2*runtime.NumCPU()), // ssh -G only computes
		nodes:   map[string]node{},
	}
}

// Run runs one job on one target and returns nil when the script ended with
// status 0. Any other end is an *Error, except that an error from the job's own
// writers comes back wrapped.
func (r *Runner) Run(ctx context.Context, t Target, j Job) error {
	to := route{}
	argv, stdin := []string{"sh", "-s"}, io.Reader(strings.NewReader(wrap(j.Script)))
	if j.Stdin != nil {
		argv, stdin = []string{"sh", "-c", begin + j.Script}, j.Stdin
		if t.SSH != "" {
			argv[2] = quote(argv[2]) // the login shell takes it apart again
		}
	}
	if t.SSH != "" {
		if _, err := osexec.LookPath("ssh"); err != nil {
			return &Error{Target: t, Class: SSHMissing}
		}
		var err error
		if to, err = r.reach(ctx, t); err != nil {
			return err
		}
		argv = append(append(r.ssh(), "--", t.SSH), argv...)
	}
	if err := take(ctx, r.slots); err != nil {
		return stopped(t, to, err)
	}
	defer give(r.slots)

	if j.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, j.Deadline, errDeadline)
		defer cancel()
	}
	said := stderr{script: j.Stderr, tail: tail{max: tailMax}}
	exit, err := spawn(ctx, argv, stdin, j.Stdout, &said)
	if err == nil && exit == 0 {
		return nil
	}
	if t.SSH != "" && (err != nil || exit == sshExit) {
		r.learn(t, node{to: to}) // no longer believed
	}
	e := &Error{Target: t, Started: said.started, Detail: detail(said.tail.String()), at: to}
	var writer *writerError
	switch {
	case errors.As(err, &writer):
		return fmt.Errorf("%s: output: %w", t.Name, writer.err)
	case err != nil && ctx.Err() != nil:
		e.stop(context.Cause(ctx), j.Deadline)
	case err != nil:
		e.Class, e.Detail = Unstarted, Sanitise(err.Error())
	case t.SSH == "" || exit != sshExit:
		e.Class, e.Exit = CommandFailed, exit
	case e.Started:
		e.Class = Lost
	default:
		e.Class = classify(e.Detail)
		if to.proxied && r.sockets != "" && (e.Class == Lost || e.Class == SSHFailed) {
			r.explain(ctx, t, e)
		}
	}
	return e
}

// Each calls f for every target and returns its results in the order of the
// targets. A node that cannot be reached has a result like any other, and a slow
// one delays no result but its own. The width is the Runner's that f uses. After
// ctx is done f is still called for the targets left, and Run then answers
// Interrupted at once.
func Each[R any](ctx context.Context, targets []Target, f func(context.Context, Target) R) []R {
	results := make([]R, len(targets))
	var wg sync.WaitGroup
	for i, t := range targets {
		wg.Go(func() { results[i] = f(ctx, t) })
	}
	wg.Wait()
	return results
}

// mark is what the shell says on standard error when it starts the script, so
// that ssh's words, before it, are never taken for the script's, after it.
const (
	mark      = "\x1eweft\x1e"
	printMark = `printf '\036weft\036' >&2`
	begin     = printMark + "; export LC_ALL=C; "
)

// wrap makes the shell read all of the script before it runs any of it, keeps
// the script's commands from reading the script, and keeps 255 for ssh. It adds
// no line before the script, so the shell's line numbers are the script's.
func wrap(script string) string {
	return "( " + begin + script +
		"\n) </dev/null; e=$?; [ $e -ne 255 ] || e=254; exit $e\n"
}

func take(ctx context.Context, slots chan struct{}) error {
	if ctx.Err() != nil { // select would choose either
		return context.Cause(ctx)
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func give(slots chan struct{}) { <-slots }
