// Package prove measures a fabric: it puts a meter on every node, has pairs of them move
// bytes round by round, and gathers what they saw. Edge: what to measure, what is enough
// and what a number means comes from trial.
package prove

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"weft/internal/bring"
	"weft/internal/exec"
	"weft/internal/format/perftest"
	"weft/internal/meter"
)

// Session is a meter on one node, spoken to over the standard input and output of one ssh.
type Session struct {
	Node  string
	Hello meter.Answer // what it said first

	in     *io.PipeWriter
	cancel context.CancelFunc
	ended  chan struct{} // closed when the connection has ended

	mu      sync.Mutex
	next    int
	waiting map[int]chan meter.Answer
	why     error // why it ended
	buf     []byte
	line    int // bytes of one answer at most; 0 is maxAnswer

	offers  sync.Mutex
	offered map[string]perftest.Offer // what its perftest programs have
}

// Failed is what a meter answers when it could not do what it was asked.
type Failed struct {
	Node  string
	Class string // meter.Answer.Class
	What  string
}

func (f *Failed) Error() string { return f.Node + ": " + f.What }

// Lost is a node that answers no more.
type Lost struct {
	Node string
	Why  error
}

func (l *Lost) Error() string { return fmt.Sprintf("%s was lost: %v", l.Node, l.Why) }
func (l *Lost) Unwrap() error { return l.Why }

// Way is how nodes are reached.
type Way struct {
	Run     *exec.Runner
	Binary  func(machine string) (string, error) // weft for a machine type
	Targets map[string]exec.Target
	Archs   map[string]string // uname -m by node, where it is known
	Line    int               // bytes of one answer at most; 0 is maxAnswer
}

// opensAtOnce is on how many nodes meters are started at the same time. More than
// exec.DefaultWidth: the connections are there since the look, and the work is the nodes' own.
const opensAtOnce = 64

// helloTime is how long a node may take from the first connection to its first word.
const helloTime = 60 * time.Second

// Open puts a meter on a node and waits for its first word.
func (w *Way) Open(ctx context.Context, node string) (*Session, error) {
	if arch := w.Archs[node]; arch != "" { // weft is there already, but the first time
		bin, err := bring.Name(arch, w.Binary, bring.User)
		if err != nil {
			return nil, err
		}
		s, err := w.open(ctx, node, fmt.Sprintf("test -x %s || exit %d; exec %[1]s node meter", bin, notThere))
		var failed *exec.Error
		if !errors.As(err, &failed) || failed.Class != exec.CommandFailed || failed.Exit != notThere {
			return s, err
		}
	}
	bin, err := bring.Weft(ctx, w.Run, w.Targets[node], w.Archs[node], w.Binary, bring.User)
	if err != nil {
		return nil, err
	}
	return w.open(ctx, node, "exec "+bin+" node meter")
}

// notThere is how a script ends on a node that has no weft: no status of the shell or of weft.
const notThere = 96

// open starts a meter and waits for its first word.
func (w *Way) open(ctx context.Context, node, script string) (*Session, error) {
	r, in := io.Pipe()
	own, cancel := context.WithCancel(ctx)
	s := &Session{Node: node, in: in, cancel: cancel, ended: make(chan struct{}), waiting: map[int]chan meter.Answer{}, line: w.Line}
	go func() {
		err := w.Run.Run(own, w.Targets[node], exec.Job{Script: script, Stdin: r, Stdout: s})
		if err == nil {
			err = errors.New("it ended")
		}
		r.CloseWithError(err)
		s.end(err)
	}()
	var err error
	s.Hello, err = s.Ask(ctx, meter.Ask{Do: "hello", Within: helloTime.Seconds()})
	if err == nil && s.Hello.Hello == nil {
		err = fmt.Errorf("%s does not say who it is", node)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// slack is how much longer than the node itself we wait for its answer.
var slack = 10 * time.Second

// Ask has the node do one thing. A node that does not answer in its time is lost for good:
// whatever it says later is not heard.
func (s *Session) Ask(ctx context.Context, a meter.Ask) (meter.Answer, error) {
	if a.Within == 0 {
		a.Within = 20
	}
	answer := make(chan meter.Answer, 1)
	s.mu.Lock()
	if s.why != nil {
		s.mu.Unlock()
		return meter.Answer{}, &Lost{s.Node, s.why}
	}
	s.next++
	a.ID = s.next
	s.waiting[a.ID] = answer
	s.mu.Unlock()
	line, err := json.Marshal(a)
	if err != nil {
		return meter.Answer{}, err
	}
	go s.in.Write(append(line, '\n')) // a frozen node reads nothing; the wait below ends that
	within := time.Duration(a.Within*float64(time.Second)) + slack
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case got := <-answer:
		if got.Error != "" {
			return got, &Failed{s.Node, got.Class, exec.Sanitise(got.Error)}
		}
		return got, nil
	case <-s.ended:
		return meter.Answer{}, &Lost{s.Node, s.why}
	case <-ctx.Done():
		return meter.Answer{}, context.Cause(ctx)
	case <-timer.C:
		s.end(fmt.Errorf("no answer within %.0f s", within.Seconds()))
		s.cancel()
		return meter.Answer{}, &Lost{s.Node, s.why}
	}
}

func (s *Session) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = why
		close(s.ended)
	}
}

// maxAnswer bounds one line of a node: NCCL's logs come in one.
const maxAnswer = 32 << 20

// Write takes what the node says.
func (s *Session) Write(b []byte) (int, error) {
	s.buf = append(s.buf, b...)
	for {
		i := bytes.IndexByte(s.buf, '\n')
		if i < 0 {
			if len(s.buf) > cmp.Or(s.line, maxAnswer) {
				return 0, errors.New("a line too long")
			}
			return len(b), nil
		}
		var a meter.Answer
		if err := json.Unmarshal(s.buf[:i], &a); err != nil {
			return 0, fmt.Errorf("not an answer of weft: %.80q", s.buf[:i])
		}
		s.buf = s.buf[i+1:]
		s.mu.Lock()
		c := s.waiting[a.ID]
		delete(s.waiting, a.ID)
		s.mu.Unlock()
		if c != nil {
			c <- a
		}
	}
}

// Close lets the meter end, which closes everything it holds, and waits a little for it.
func (s *Session) Close() {
	s.in.Close()
	select {
	case <-s.ended:
	case <-time.After(3 * time.Second):
	}
	s.cancel()
}
