package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// talk is a conversation in JSON lines with QEMU's monitor or with the agent inside
// a machine.
type talk struct {
	ctx  context.Context // when it is done, the conversation is
	free func() bool
	conn net.Conn
	in   *bufio.Reader
}

func (t *talk) close() error {
	t.free()
	return t.conn.Close()
}

// maxLine bounds one answer: the agent's carry what a command printed.
const maxLine = 16 << 20

// dial connects to a unix socket that may not be there yet.
func dial(ctx context.Context, path string) (*talk, error) {
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err == nil {
			t := &talk{ctx: ctx, conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
			t.free = context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
			return t, nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
}

// pause waits, but not beyond the context's end.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// answer is what QEMU and the agent reply; QEMU's greeting and events have neither.
type answer struct {
	Return json.RawMessage `json:"return"`
	Error  *struct {
		Desc string `json:"desc"`
	} `json:"error"`
}

// ask sends one command and reads its answer into reply, which may be nil.
func (t *talk) ask(command string, arguments, reply any) error {
	err := t.exchange(command, arguments, reply)
	switch {
	case err == nil:
		return nil
	case t.ctx.Err() != nil:
		err = context.Cause(t.ctx)
	}
	return fmt.Errorf("%s: %w", command, err)
}

func (t *talk) exchange(command string, arguments, reply any) error {
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	b, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := t.conn.Write(append(b, '\n')); err != nil {
		return err
	}
	for {
		line, err := readLine(t.in)
		if err != nil {
			return err
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		switch {
		case a.Error != nil:
			return errors.New(a.Error.Desc)
		case a.Return == nil: // a greeting or an event
		case reply == nil:
			return nil
		default:
			return json.Unmarshal(a.Return, reply)
		}
	}
}

// readLine reads a line of at most maxLine bytes.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(line) > maxLine:
			return nil, fmt.Errorf("an answer of more than %d bytes", maxLine)
		}
	}
}

// monitor opens QEMU's monitor of a machine.
func (l Lab) monitor(ctx context.Context, node string) (*talk, error) {
	t, err := dial(ctx, l.run(node+".qmp"))
	if err != nil {
		return nil, err
	}
	if err := t.ask("qmp_capabilities", nil, nil); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}
