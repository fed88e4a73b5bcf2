// Package apply carries a plan to nodes: it puts weft there, lets the node change itself
// under its own supervisor, and confirms over a new connection what it has seen to be
// right. Edge: what to change comes from the plan, what is right from the caller.
package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"weft/internal/bring"
	"weft/internal/exec"
	"weft/internal/journal"
)

// Nodes is the way to the nodes.
type Nodes struct {
	Run    *exec.Runner                      // shares connections
	Fresh  func() *exec.Runner               // makes new ones: what shows that a node can still be reached
	Binary func(arch string) (string, error) // weft for a machine type, as uname -m says it
}

// Order is what one node is to do.
type Order struct {
	Target  exec.Target
	Arch    string // uname -m
	Undoes  string // a run to undo, instead of the request's steps
	Revert  string // a run to revert that is still open; nothing else is done then
	Request journal.Request

	// Right is asked when all changes are made, with a Runner that makes a new connection:
	// nil confirms them, an error has them reverted.
	Right func(ctx context.Context, fresh *exec.Runner) error
	Say   func(what string) // told what happens; may be nil
}

// Result is what became of a node.
type Result struct {
	Node  string        `json:"node"`
	State journal.State `json:"state"`           // the zero state when the node was never reached
	Error string        `json:"error,omitempty"` // why it is not as asked
	Next  string        `json:"next,omitempty"`
	Took  float64       `json:"took"` // seconds

	want string // the state that was asked for
}

// OK reports whether the node did what it was asked.
func (r Result) OK() bool { return r.Error == "" && r.State.State == r.want }

// asRoot runs weft on a node as root, whoever logs in.
var asRoot = bring.Root.Runs()

// Do has one node do its order. It returns when the node is in its old or its new
// state, or says that it cannot tell.
func (ns *Nodes) Do(ctx context.Context, o Order) Result {
	start := time.Now()
	res := Result{Node: o.Target.Name, want: journal.Kept}
	if o.Revert != "" {
		res.want = journal.Reverted
	}
	say := func(what string) {
		if o.Say != nil {
			o.Say(what)
		}
	}
	say("bringing weft")
	bin, err := bring.Weft(ctx, ns.Run, o.Target, o.Arch, ns.Binary, bring.Root)
	switch {
	case err != nil:
	case o.Revert != "":
		say("reverting")
		res.State, err = ns.revert(ctx, o.Target, bin, o.Revert, "weft undo")
	default:
		say("beginning")
		res.State, err = ns.begin(ctx, o, bin, say)
	}
	if err == nil && res.State.State == journal.Waiting {
		say("looking")
		res.State, err = ns.confirm(ctx, o, bin, res.State)
	}
	if err != nil {
		res.Error = err.Error()
		var no *journal.Refused
		if errors.As(err, &no) {
			res.Next = no.Next
		}
	} else if !res.OK() {
		res.Error = res.State.State + ": " + res.State.Why
	}
	res.Took = time.Since(start).Seconds()
	return res
}

// begin has the node begin, and follows it until all changes are made or it is over. A
// connection that breaks meanwhile is made anew.
func (ns *Nodes) begin(ctx context.Context, o Order, bin string, say func(string)) (journal.State, error) {
	q, err := json.Marshal(o.Request)
	if err != nil {
		return journal.State{}, err
	}
	command := bin + " node begin"
	if o.Undoes != "" {
		command = bin + " node undo " + o.Undoes
	}
	limit := time.Duration(o.Request.Deadline+120) * time.Second
	for _, s := range o.Request.Steps {
		limit += time.Duration(s.Limit()*len(s.Do)) * time.Second
	}
	f := &follower{say: say}
	err = ns.Run.Run(ctx, o.Target, exec.Job{Script: asRoot + command, Stdin: bytes.NewReader(q), Stdout: f, Deadline: limit})
	for end := time.Now().Add(limit); f.began() && !f.done() && ctx.Err() == nil && time.Now().Before(end); {
		// The connection is gone, which is no wonder where the network changes.
		say("connecting anew")
		fresh := ns.Fresh()
		err = fresh.Run(ctx, o.Target, exec.Job{Script: asRoot + bin + " node follow " + o.Request.ID, Stdout: f, Deadline: time.Minute})
		fresh.Close()
		if err != nil {
			pause(ctx, time.Second)
		}
	}
	if f.began() && !f.done() && ctx.Err() != nil { // interrupted: it need not wait for its deadline
		after, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer stop()
		if s, e := ns.revert(after, o.Target, bin, o.Request.ID, "interrupted"); e == nil {
			return s, nil
		}
	}
	switch {
	case f.word.Refused != "":
		return f.word.State, &journal.Refused{What: f.word.Refused, Next: f.word.Next}
	case f.word.Error != "":
		return f.word.State, errors.New(f.word.Error)
	case f.done():
		return f.word.State, nil
	case f.began():
		return f.word.State, fmt.Errorf("lost it while it was changing: it puts the old state back by itself within %d s of its last change: %w", o.Request.Deadline, orLost(err))
	}
	return f.word.State, orLost(err)
}

func orLost(err error) error {
	if err == nil {
		return errors.New("it said nothing")
	}
	return err
}

// confirm keeps the changes if they are right, and else has them reverted.
func (ns *Nodes) confirm(ctx context.Context, o Order, bin string, s journal.State) (journal.State, error) {
	limit := time.Duration(o.Request.Deadline) * time.Second
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	fresh := ns.Fresh()
	defer func() { fresh.Close() }()
	var wrong error
	if o.Right != nil {
		wrong = o.Right(within, fresh)
	}
	script := asRoot + bin + " node confirm " + o.Request.ID
	if wrong != nil {
		script = asRoot + bin + " node revert " + o.Request.ID + " " + quote(wrong.Error())
	}
	// Also after an interrupt: the node must not be left waiting.
	after, stop := context.WithTimeout(context.WithoutCancel(ctx), limit+time.Minute)
	defer stop()
	var word journal.Word
	err := errors.New("no answer")
	for end := time.Now().Add(limit); err != nil && after.Err() == nil; pause(after, time.Second) {
		var out exec.Capped
		out.Max = 1 << 20
		if err = fresh.Run(after, o.Target, exec.Job{Script: script, Stdout: &out, Deadline: limit + time.Minute}); err == nil {
			err = json.Unmarshal(out.Bytes(), &word)
		}
		if err == nil || time.Now().After(end) {
			break
		}
		fresh.Close()
		fresh = ns.Fresh()
	}
	switch {
	case err != nil && wrong != nil:
		return s, fmt.Errorf("%w; it reverts by itself: %v", wrong, err)
	case err != nil:
		return s, fmt.Errorf("the changes could not be confirmed over a new connection, so it reverts by itself within %d s: %w", o.Request.Deadline, err)
	case word.Error != "":
		return word.State, errors.New(word.Error)
	}
	return word.State, nil
}

// revert has a node put back a run that is still open.
func (ns *Nodes) revert(ctx context.Context, t exec.Target, bin, id, why string) (journal.State, error) {
	var word journal.Word
	out := exec.Capped{Max: 1 << 20}
	err := ns.Run.Run(ctx, t, exec.Job{Script: asRoot + bin + " node revert " + id + " " + quote(why), Stdout: &out, Deadline: 10 * time.Minute})
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &word)
	}
	if err == nil && word.Error != "" {
		err = errors.New(word.Error)
	}
	return word.State, err
}

// Runs returns the runs that a node has on record.
func (ns *Nodes) Runs(ctx context.Context, t exec.Target) ([]journal.Past, error) {
	out := exec.Capped{Max: 16 << 20}
	script := asRoot + `sh -c 'w=$(ls -t /var/lib/weft/bin/weft-* 2>/dev/null | head -n 1); [ -z "$w" ] && echo "[]" || "$w" node runs'`
	if err := ns.Run.Run(ctx, t, exec.Job{Script: script, Stdout: &out, Deadline: time.Minute}); err != nil {
		return nil, err
	}
	var all []journal.Past
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		return nil, fmt.Errorf("%s: runs: %w", t.Name, err)
	}
	return all, nil
}

// follower reads what a node says of its run.
type follower struct {
	say  func(string)
	buf  []byte
	word journal.Word
	any  bool
}

func (f *follower) began() bool { return f.any && f.word.Refused == "" && f.word.Error == "" }
func (f *follower) done() bool {
	return f.any && (f.word.State.Over() || f.word.State.State == journal.Waiting)
}

func (f *follower) Write(b []byte) (int, error) {
	f.buf = append(f.buf, b...)
	for {
		i := bytes.IndexByte(f.buf, '\n')
		if i < 0 {
			if len(f.buf) > 1<<20 {
				return 0, io.ErrShortBuffer
			}
			return len(b), nil
		}
		var w journal.Word
		if err := json.Unmarshal(f.buf[:i], &w); err != nil {
			return 0, fmt.Errorf("not an answer of weft: %.80q", f.buf[:i])
		}
		f.buf, f.word, f.any = f.buf[i+1:], w, true
		switch {
		case w.State.State == journal.Open && w.What != "":
			f.say(fmt.Sprintf("%d of %d: %s", w.State.Act, w.Acts, exec.Sanitise(w.What)))
		case w.State.State != "":
			f.say(w.State.State)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// quote makes one shell word.
func quote(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
}
