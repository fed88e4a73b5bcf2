package lab

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// inside runs a shell script inside a machine, as root, through QEMU's guest agent:
// it needs no network and no ssh, so that faults in those can be made and healed.
// It returns what the script printed.
func (l Lab) inside(ctx context.Context, node, script, stdin string) (string, error) {
	t, err := l.agent(ctx, node)
	if err != nil {
		return "", fmt.Errorf("agent: %w", err)
	}
	defer t.close()
	var started struct{ PID int }
	err = t.ask("guest-exec", map[string]any{
		"path": "/bin/sh", "arg": []string{"-c", script}, "capture-output": true,
		"env":        []string{"PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"},
		"input-data": base64.StdEncoding.EncodeToString([]byte(stdin)),
	}, &started)
	if err != nil {
		return "", fmt.Errorf("agent: %w", err)
	}
	var state struct {
		Exited  bool
		Exit    int    `json:"exitcode"`
		Signal  int    `json:"signal"`
		OutData []byte `json:"out-data"`
		ErrData []byte `json:"err-data"`
	}
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		err := t.ask("guest-exec-status", map[string]any{"pid": started.PID}, &state)
		if err == nil && !state.Exited {
			err = pause(ctx, wait)
		}
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("a script inside did not end: %w", context.Cause(ctx))
		case err != nil:
			return "", fmt.Errorf("agent: %w", err)
		}
		if state.Exited {
			break
		}
	}
	if state.Exit != 0 || state.Signal != 0 {
		return "", fmt.Errorf("a script inside ended with status %d: %s", max(state.Exit, 128*min(state.Signal, 1)+state.Signal), tail(append(state.ErrData, state.OutData...), 500))
	}
	return string(state.OutData), nil
}

// agentPatience is how long the agent may take to answer before it is asked again.
var agentPatience = 2 * time.Second

// agent connects to the agent and sees that it answers now: what an earlier weft
// asked and did not wait for comes first and is passed over.
func (l Lab) agent(ctx context.Context, node string) (*talk, error) {
	for {
		t, err := dial(ctx, l.run(node+".qga"))
		if err != nil {
			return nil, err
		}
		// An agent that is just starting loses what it was asked; so ask again.
		t.conn.SetReadDeadline(time.Now().Add(agentPatience))
		err = t.sync()
		t.conn.SetReadDeadline(time.Time{})
		switch {
		case ctx.Err() != nil: // after the deadline was taken away: it is set for good when the context ends
			t.close()
			return nil, context.Cause(ctx)
		case err == nil:
			return t, nil
		}
		t.close()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
	}
}

// sync asks for a number back (guest-sync-delimited in QEMU's guest agent protocol):
// the byte 0xff makes the agent forget half a command, and precedes its answer.
func (t *talk) sync() error {
	var id [4]byte
	rand.Read(id[:])
	want := int64(binary.BigEndian.Uint32(id[:]))
	if _, err := fmt.Fprintf(t.conn, "\xff{\"execute\":\"guest-sync-delimited\",\"arguments\":{\"id\":%d}}\n", want); err != nil {
		return err
	}
	for {
		line, err := readLine(t.in)
		if err != nil {
			return err
		}
		_, after, ok := strings.Cut(string(line), "\xff")
		if !ok {
			continue
		}
		var a struct{ Return int64 }
		if json.Unmarshal([]byte(after), &a) == nil && a.Return == want {
			return nil
		}
	}
}
