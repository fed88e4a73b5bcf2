package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// asDriver makes the test binary a driver: one side of a connection, told on its standard
// input what to do. internal/lab runs it inside of machines that have RDMA.
const asDriver = "WEFT_VERBS_DRIVE"

func TestMain(m *testing.M) {
	if os.Getenv(asDriver) != "" {
		drive(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// order is what a driver is told; report is its answer to each order, in the same order.
type order struct {
	Do      string // open, connect, stream, ping, close; and receive, pong, both, exec, which stop or wait ends
	Device  string
	Port    int
	Options Options
	Peer    Peer
	For     time.Duration
	Count   int
	Argv    []string // for exec: perftest, on the same machine and by the same way
}

type report struct {
	Error   string        `json:",omitempty"`
	Kind    string        `json:",omitempty"` // of the error
	Peer    *Peer         `json:",omitempty"`
	Options *Options      `json:",omitempty"`
	Flow    *Flow         `json:",omitempty"`
	Latency *Latency      `json:",omitempty"`
	Output  string        `json:",omitempty"`
	Took    time.Duration // of the order itself
}

// driver keeps one connection. A receive or a pong goes on until stop.
type driver struct {
	lib     *Lib
	dev     *Device
	conn    *Conn
	cancel  context.CancelFunc
	running chan report
}

func drive(in io.Reader, out io.Writer) {
	d := &driver{}
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := dec.Decode(&o); err != nil {
			d.close()
			return
		}
		start := time.Now()
		r, err := d.do(o)
		if err != nil {
			r.Error, r.Kind = err.Error(), kind(err)
		}
		r.Took = time.Since(start)
		if err := enc.Encode(r); err != nil {
			return
		}
	}
}

func kind(err error) string {
	var done *CompletionError
	switch {
	case errors.As(err, &done):
		return "completion"
	case isStall(err):
		return "stall"
	}
	return ""
}

func (d *driver) do(o order) (r report, err error) {
	limit := Limit{For: o.For, Count: o.Count}
	switch o.Do {
	case "open":
		return d.open(o)
	case "connect":
		return r, d.conn.Connect(o.Peer)
	case "stream":
		f, err := d.conn.Stream(context.Background(), limit, 100*time.Millisecond)
		return report{Flow: &f}, err
	case "ping":
		t, err := d.conn.Ping(context.Background(), limit)
		l := t.Latency()
		return report{Latency: &l}, err
	case "receive", "pong", "both", "exec":
		d.background(o, limit)
	case "listening":
		return r, listening(o.Count, o.For)
	case "stop":
		d.cancel()
		r = <-d.running
	case "wait":
		r = <-d.running
		d.cancel()
	case "close":
		d.close()
	default:
		err = errors.New("no such order")
	}
	return r, err
}

func (d *driver) open(o order) (r report, err error) {
	if d.lib == nil {
		if d.lib, err = Load(); err != nil {
			return r, err
		}
	}
	if d.dev == nil {
		if d.dev, err = d.lib.Open(o.Device, o.Port); err != nil {
			return r, err
		}
	}
	if d.conn != nil {
		d.conn.Close()
	}
	if d.conn, err = d.dev.NewConn(o.Options); err != nil {
		return r, err
	}
	p, used := d.conn.Local(), d.conn.Options()
	return report{Peer: &p, Options: &used}, nil
}

// background receives, answers pings, streams, or runs a program, until stop or its own end.
func (d *driver) background(o order, l Limit) {
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel, d.running = cancel, make(chan report, 1)
	conn, running := d.conn, d.running
	go func() {
		var r report
		var f Flow
		var err error
		switch o.Do {
		case "exec":
			var out []byte
			out, err = exec.CommandContext(ctx, o.Argv[0], o.Argv[1:]...).CombinedOutput()
			r.Output = string(out)
		case "receive":
			f, err = conn.Receive(ctx, 100*time.Millisecond)
			r.Flow = &f
		case "both":
			f, err = conn.Stream(ctx, l, 100*time.Millisecond)
			r.Flow = &f
		default:
			err = conn.Pong(ctx)
		}
		if err != nil {
			r.Error, r.Kind = err.Error(), kind(err)
		}
		running <- r
	}()
}

// listening waits until somebody listens on a TCP port, which it does not touch: perftest
// takes the first connection for its peer's.
func listening(port int, limit time.Duration) error {
	want := fmt.Sprintf(":%04X", port)
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(b)) {
				if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], want) && f[3] == "0A" {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("nobody listens on port %d", port)
}

func (d *driver) close() {
	if d.conn != nil {
		d.conn.Close()
		d.conn = nil
	}
	if d.dev != nil {
		d.dev.Close()
		d.dev = nil
	}
}
