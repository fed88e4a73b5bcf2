// Package meter is the node's side of weft prove: it does what it is asked over its
// standard input, one JSON object a line, and answers on its standard output. Edge: it
// opens connections, moves bytes and counts; what to measure, and whether it is enough,
// others decide. When its input ends, everything it holds ends.
package meter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"weft/internal/history"
	"weft/internal/trial"
	"weft/internal/verbs"
	"weft/internal/watch/local"
)

// Ask is one thing to do.
type Ask struct {
	ID      int     `json:"id"`
	Do      string  `json:"do"`                // a name of the table in Serve
	Conn    string  `json:"conn,omitempty"`    // what the asker calls a connection, a listener or a child
	Within  float64 `json:"within,omitempty"`  // seconds after which it is given up
	Seconds float64 `json:"seconds,omitempty"` // how long a run may take; it ends earlier when Effort says so
	Effort  string  `json:"effort,omitempty"`

	RDMA *RDMA       `json:"rdma,omitempty"` // open
	Peer *verbs.Peer `json:"peer,omitempty"` // connect
	Pair *Addrs      `json:"pair,omitempty"` // tcp, mtu
	Argv []string    `json:"argv,omitempty"` // start
	Env  []string    `json:"env,omitempty"`  // start
	Port int         `json:"port,omitempty"` // start: the TCP port that the child listens on when it is ready
	Text string      `json:"text,omitempty"` // start: what it reads on its standard input

	Group    *Group    `json:"group,omitempty"`    // group open
	Join     *Join     `json:"join,omitempty"`     // group join
	Rehearse *Rehearse `json:"rehearse,omitempty"` // rehearse
}

// RDMA is a connection to open.
type RDMA struct {
	Device string `json:"device"`
	Port   int    `json:"port"`
	GID    int    `json:"gid"`
	Op     string `json:"op"` // "write", "send", "read"
	Size   int    `json:"size"`
	Depth  int    `json:"depth"`
	Class  int    `json:"class,omitempty"` // traffic class
}

// Addrs are the two ends of an IP path.
type Addrs struct {
	From string `json:"from"` // this node's address
	To   string `json:"to"`   // "192.168.200.2:40123"
	Size int    `json:"size,omitempty"`
}

// Answer is what came of an Ask.
type Answer struct {
	ID    int    `json:"id"`
	Error string `json:"error,omitempty"`
	Class string `json:"class,omitempty"` // of the error: "library", "device", "memlock", "peer", "time", "start"

	Hello    *Hello         `json:"hello,omitempty"`
	Counters trial.Counters `json:"counters,omitempty"`
	Peer     *verbs.Peer    `json:"peer,omitempty"`
	Port     int            `json:"port,omitempty"`
	Samples  []trial.Amount `json:"samples,omitempty"`
	Times    *trial.Times   `json:"times,omitempty"`
	MTU      int            `json:"mtu,omitempty"`
	Note     string         `json:"note,omitempty"`
	Out      string         `json:"out,omitempty"`  // of a child
	File     string         `json:"file,omitempty"` // what the child wrote into {file}
	Exit     int            `json:"exit,omitempty"`
	GPUs     []GPUBandwidth `json:"gpus,omitempty"`

	Peers     []*verbs.Peer `json:"peers,omitempty"` // of a group: what each other rank must know
	Rehearsed *Rehearsed    `json:"rehearsed,omitempty"`

	Look *history.Look `json:"look,omitempty"` // what weft watch reads
}

// Hello is what a node says first.
type Hello struct {
	CPUs    int      `json:"cpus"`
	Devices []string `json:"devices"`
	Verbs   string   `json:"verbs,omitempty"` // why libibverbs cannot be used
	PID     int      `json:"pid"`
}

// classed is an error with its class.
type classed struct {
	class string
	err   error
}

func (c *classed) Error() string { return c.err.Error() }
func (c *classed) Unwrap() error { return c.err }

func class(class string, err error) error {
	if err == nil {
		return nil
	}
	return &classed{class, err}
}

// maxAsk bounds a line that is asked.
const maxAsk = 1 << 20

// server is one meter and what it holds.
type server struct {
	root string // "/" but in tests
	out  *json.Encoder

	mu   sync.Mutex
	held map[string]io.Closer // connections, listeners and children by the asker's name
	lib  *verbs.Lib
	eye  *local.Reader // made when it is first asked for
}

// Serve does what it is asked until in ends or ctx is done, and then lets go of all it
// holds.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{root: "/", out: json.NewEncoder(out), held: map[string]io.Closer{}}
	var wg sync.WaitGroup
	defer func() {
		cancel()
		s.closeAll()
		wg.Wait()
		s.closeAll() // what was opened meanwhile
		s.closeEye()
	}()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxAsk)
	asked, ended := make(chan Ask), make(chan error, 1)
	go func() { ended <- scan(ctx, lines, asked) }()
	for {
		select {
		case a := <-asked:
			wg.Go(func() { s.answer(ctx, a) })
		case err := <-ended:
			return err
		case <-ctx.Done(): // told to end; its input may stay open
			return nil
		}
	}
}

// scan reads what is asked until its input ends.
func scan(ctx context.Context, lines *bufio.Scanner, asked chan<- Ask) error {
	for lines.Scan() {
		var a Ask
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return fmt.Errorf("what is asked is not understood: %w", err)
		}
		select {
		case asked <- a:
		case <-ctx.Done():
			return nil
		}
	}
	return lines.Err()
}

// table is what can be asked.
var table = map[string]func(*server, context.Context, Ask) (Answer, error){
	"hello":      (*server).hello,
	"counters":   (*server).counters,
	"open":       (*server).open,
	"connect":    (*server).connect,
	"push":       (*server).push,
	"sink":       (*server).sink,
	"ping":       (*server).ping,
	"pong":       (*server).pong,
	"halt":       (*server).haltRun,
	"close":      (*server).closeOne,
	"tcp listen": (*server).tcpListen,
	"tcp bw":     (*server).tcpBandwidth,
	"tcp lat":    (*server).tcpLatency,
	"mtu listen": (*server).mtuListen,
	"mtu":        (*server).mtu,
	"start":      (*server).start,
	"wait":       (*server).wait,
	"gpu membw":  (*server).gpuMemory,
	"look":       (*server).look,
	"group open": (*server).openGroup,
	"group join": (*server).joinGroup,
	"rehearse":   (*server).rehearse,
}

// longest is how long anything may take that was asked without a limit.
const longest = 60 * time.Second

func (s *server) answer(ctx context.Context, a Ask) {
	within := longest
	if a.Within > 0 {
		within = time.Duration(a.Within * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	do := table[a.Do]
	if do == nil {
		s.say(Answer{ID: a.ID, Error: fmt.Sprintf("%q is nothing that can be asked", a.Do)})
		return
	}
	ans, err := do(s, ctx, a)
	ans.ID = a.ID
	if err != nil {
		ans.Error = err.Error()
		var c *classed
		switch {
		case errors.As(err, &c):
			ans.Class = c.class
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
			ans.Class = "time"
		}
	}
	s.say(ans)
}

func (s *server) say(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Encode(a) // who cannot hear it has also closed our input
}

func (s *server) hello(ctx context.Context, a Ask) (Answer, error) {
	h := &Hello{CPUs: runtime.NumCPU(), PID: os.Getpid()}
	lib, err := s.library()
	if err == nil {
		h.Devices, err = lib.Devices()
	}
	if err != nil {
		h.Verbs = err.Error()
	}
	c, _ := s.counters(ctx, a)
	return Answer{Hello: h, Counters: c.Counters}, nil
}

// library loads libibverbs once.
func (s *server) library() (*verbs.Lib, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lib == nil {
		lib, err := verbs.Load()
		if err != nil {
			return nil, class("library", err)
		}
		s.lib = lib
	}
	return s.lib, nil
}

// hold keeps something under the asker's name until it is closed.
func (s *server) hold(name string, c io.Closer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name] != nil {
		c.Close()
		return fmt.Errorf("%q is already open", name)
	}
	s.held[name] = c
	return nil
}

// held returns what is held under a name.
func held[T io.Closer](s *server, name string) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.held[name].(T)
	if !ok {
		return c, fmt.Errorf("%q is not open", name)
	}
	return c, nil
}

// closeOne closes what is held, and tells the counters after it.
func (s *server) closeOne(ctx context.Context, a Ask) (Answer, error) {
	s.mu.Lock()
	c := s.held[a.Conn]
	delete(s.held, a.Conn)
	s.mu.Unlock()
	if c != nil {
		c.Close()
	}
	return s.counters(ctx, a)
}

func (s *server) closeAll() {
	s.mu.Lock()
	all := s.held
	s.held = map[string]io.Closer{}
	s.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}
