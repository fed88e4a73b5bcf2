package lab

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeAgent stands in for the agent inside a machine. What it does not know it does
// not answer.
type fakeAgent struct {
	stale  string             // what it says before it answers a sync
	starts int                // so many connections are not answered: it is starting up
	status []string           // its answers about the script, one after the other; the last for ever
	asked  []request          // the scripts it was asked to run
	polled func(n int) string // instead of status
	deaf   bool               // it does not answer when it is asked to run a script
}

func (a *fakeAgent) serve(before int, conn net.Conn) {
	in := bufio.NewReader(conn)
	for n := 0; ; {
		r, ok := nextRequest(in)
		switch {
		case !ok:
			return
		case before < a.starts:
		case r.Execute == "guest-sync-delimited":
			fmt.Fprintf(conn, "%s\xff{\"return\": %.0f}\n", a.stale, r.Arguments["id"])
		case r.Execute == "guest-exec" && !a.deaf:
			a.asked = append(a.asked, r)
			io.WriteString(conn, `{"return": {"pid": 77}}`+"\n")
		case r.Execute == "guest-exec-status" && r.Arguments["pid"] == 77.0:
			if a.polled != nil {
				io.WriteString(conn, a.polled(n)+"\n")
			} else {
				io.WriteString(conn, a.status[min(n, len(a.status)-1)]+"\n")
			}
			n++
		}
	}
}

// lab is one whose machine node1 has this agent.
func (a *fakeAgent) lab(t *testing.T) Lab {
	t.Helper()
	l := Lab{Dir: shortDir(t)}
	if err := os.Mkdir(l.run(), 0o700); err != nil {
		t.Fatal(err)
	}
	fakeSocket(t, l.run("node1.qga"), a.serve)
	return l
}

const running = `{"return": {"exited": false}}`

// exited is the agent's answer about a script that has ended.
func exited(fields, out, err string) string {
	s := `{"return": {"exited": true, ` + fields
	for _, d := range []struct{ name, text string }{{"out-data", out}, {"err-data", err}} {
		if d.text != "" {
			s += fmt.Sprintf(`, %q: %q`, d.name, base64.StdEncoding.EncodeToString([]byte(d.text)))
		}
	}
	return s + "}}"
}

func TestInside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent       fakeAgent
		want, wrong string
	}{
		"what it printed":   {fakeAgent{status: []string{exited(`"exitcode": 0`, "a\x00b\xff\n", "a warning")}}, "a\x00b\xff\n", ""},
		"nothing":           {fakeAgent{status: []string{exited(`"exitcode": 0`, "", "")}}, "", ""},
		"after a while":     {fakeAgent{status: []string{running, running, exited(`"exitcode": 0`, "done", "")}}, "done", ""},
		"an exit status":    {fakeAgent{status: []string{exited(`"exitcode": 3`, "out\n", "no such thing\n")}}, "", "a script inside ended with status 3: no such thing\nout"},
		"a signal":          {fakeAgent{status: []string{exited(`"signal": 9`, "", "half")}}, "", "a script inside ended with status 137: half"},
		"a long complaint":  {fakeAgent{status: []string{exited(`"exitcode": 1`, "", "x"+strings.Repeat("y", 500))}}, "", "a script inside ended with status 1: " + strings.Repeat("y", 500)},
		"an error":          {fakeAgent{status: []string{`{"error": {"class": "GenericError", "desc": "PID 77 does not exist"}}`}}, "", "agent: guest-exec-status: PID 77 does not exist"},
		"what is no base64": {fakeAgent{status: []string{`{"return": {"exited": true, "exitcode": 0, "out-data": "!"}}`}}, "", "agent: guest-exec-status: illegal base64 data at input byte 0"},
		"stale answers": {fakeAgent{
			stale:  `{"return": {"pid": 5}}` + "\n" + `{"return": {"exited": true, "exitcode": 9}}` + "\nhalf a\xff{\"return\": 1}\n\xff{\"return\n",
			status: []string{exited(`"exitcode": 0`, "fresh", "")},
		}, "fresh", ""},
	} {
		got, err := c.agent.lab(t).inside(t.Context(), "node1", "some script", "some input\n")
		switch {
		case c.wrong != "" && (err == nil || err.Error() != c.wrong):
			t.Errorf("%s: %v, want %s", name, err, c.wrong)
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case got != c.want:
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if len(c.agent.asked) != 1 {
			t.Errorf("%s: %d scripts were asked for, want one", name, len(c.agent.asked))
			continue
		}
		a := c.agent.asked[0].Arguments
		arg, _ := a["arg"].([]any)
		if a["path"] != "/bin/sh" || !slices.Equal(arg, []any{"-c", "some script"}) || a["capture-output"] != true || a["input-data"] != "c29tZSBpbnB1dAo=" {
			t.Errorf("%s: was asked %v", name, a)
		}
	}
}

// TestInsideOfAMachineThatStarts takes 2 s, which is how long a sync may last.
func TestInsideOfAMachineThatStarts(t *testing.T) {
	t.Parallel()
	a := fakeAgent{starts: 1, status: []string{exited(`"exitcode": 0`, "here", "")}}
	if got, err := a.lab(t).inside(t.Context(), "node1", "true", ""); err != nil || got != "here" {
		t.Errorf("%q, %v, want here", got, err)
	}
}

func TestInsideEndsWithItsContext(t *testing.T) {
	t.Parallel()
	why := errors.New("not within a while")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	a := fakeAgent{polled: func(n int) string {
		if n == 3 {
			cancel(why)
		}
		return running
	}}
	_, err := a.lab(t).inside(ctx, "node1", "sleep infinity", "")
	if want := "a script inside did not end: not within a while"; err == nil || err.Error() != want || !errors.Is(err, why) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestInsideEndsWithItsDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	a := fakeAgent{deaf: true}
	begin := time.Now()
	_, err := a.lab(t).inside(ctx, "node1", "true", "")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "agent: guest-exec: ") {
		t.Errorf("%v, want a deadline", err)
	}
	if d := time.Since(begin); d > time.Second {
		t.Errorf("after %v, want 100 ms", d)
	}
}

func TestInsideWithoutAMachine(t *testing.T) {
	t.Parallel()
	l := Lab{Dir: shortDir(t)}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, errors.New("not within 30 ms"))
	defer cancel()
	_, err := l.inside(ctx, "node1", "true", "")
	if want := "agent: " + l.run("node1.qga") + ": not within 30 ms"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
