// Package bench puts load on a server that speaks OpenAI's API, and measures how it
// streams. Edge.
package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weft/internal/format/openai"
	"weft/internal/load"
)

// Server is where requests go, and how long is waited for it.
type Server struct {
	URL     string // its root: "http://127.0.0.1:8000"
	Token   string // "": none is sent
	Timeout time.Duration

	http  *http.Client
	base  time.Time
	watch sync.Mutex
	slots []*slot
	stop  chan struct{}
}

const (
	dialTimeout = 5 * time.Second // DESIGN.md: a dead node costs seconds, not minutes
	bufferSize  = 64 << 10
	maxAnswer   = 1 << 20 // of an answer that is no stream
)

// Failed is a request that did not end well.
type Failed struct {
	Class load.Class
	Code  int // of HTTP; 0 when there was no answer
	Why   string
}

func (f *Failed) Error() string {
	if f.Class == load.Status {
		return f.Why
	}
	return string(f.Class) + ": " + f.Why
}

// Open makes ready for so many requests at once. Close ends what it holds.
func (s *Server) Open(conns int) {
	dial := net.Dialer{Timeout: dialTimeout}
	s.http = &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // what is measured is the server
			DialContext:            dial.DialContext,
			TLSHandshakeTimeout:    dialTimeout,
			TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1: a connection for each request
			DisableCompression:     true,
			MaxIdleConnsPerHost:    conns,
			MaxResponseHeaderBytes: 64 << 10,
			ReadBufferSize:         bufferSize,
		},
		// A redirect would carry the token to somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.base = time.Now()
	s.stop = make(chan struct{})
	go s.watching(s.stop)
}

// Close closes connections that nobody uses.
func (s *Server) Close() {
	close(s.stop)
	s.http.CloseIdleConnections()
}

// slot is one worker: what it waits for, and since when.
type slot struct {
	last   atomic.Int64 // when something came, since base; 0: it waits for nothing
	mu     sync.Mutex
	cancel context.CancelCauseFunc
	buf    []byte
	gaps   []time.Duration
}

var errTimeout = errors.New("timeout")

// slot makes one; there are as many as requests at once.
func (s *Server) slot() *slot {
	w := &slot{buf: make([]byte, bufferSize)}
	s.watch.Lock()
	s.slots = append(s.slots, w)
	s.watch.Unlock()
	return w
}

// watching ends requests that were silent for too long. One look at all of them a few
// times a second is cheaper than a deadline set anew for every token.
func (s *Server) watching(stop chan struct{}) {
	tick := time.NewTicker(min(max(s.Timeout/8, time.Millisecond), 250*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		s.watch.Lock()
		for _, w := range s.slots {
			w.mu.Lock()
			if last := w.last.Load(); last > 0 && time.Since(s.base)-time.Duration(last) > s.Timeout {
				w.cancel(errTimeout)
			}
			w.mu.Unlock()
		}
		s.watch.Unlock()
	}
}

// begin gives a request its context, which ends with silence.
func (w *slot) begin(ctx context.Context, now time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	w.cancel = cancel
	w.last.Store(int64(now) + 1)
	w.mu.Unlock()
	return ctx, func() {
		w.mu.Lock()
		w.last.Store(0)
		w.mu.Unlock()
		cancel(nil)
	}
}

// get fetches a small answer.
func (s *Server) get(ctx context.Context, w *slot, path string) ([]byte, *Failed) {
	ctx, end := w.begin(ctx, time.Since(s.base))
	defer end()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return nil, &Failed{Class: load.Unreachable, Why: s.hide(err.Error())}
	}
	res, f := s.do(ctx, req)
	if f != nil {
		return nil, f
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, s.failed(ctx, err, "the answer stopped")
	case len(b) > maxAnswer:
		return nil, &Failed{Class: load.Broken, Why: fmt.Sprintf("an answer of more than %d bytes", maxAnswer)}
	}
	return b, nil
}

// do sends a request and wants the status 200.
func (s *Server) do(ctx context.Context, req *http.Request) (*http.Response, *Failed) {
	if s.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.Token)
	}
	req.Header.Set("User-Agent", "weft")
	res, err := s.http.Do(req)
	if err != nil {
		return nil, s.failed(ctx, err, "no answer")
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(io.LimitReader(res.Body, 16<<10)) // what came of it is better than nothing
	why := fmt.Sprintf("HTTP %d", res.StatusCode)
	if to := res.Header.Get("Location"); to != "" && res.StatusCode/100 == 3 {
		why += ", a redirect to " + openai.Short(to, 80)
	} else if said := openai.Message(b); said != "" {
		why += ": " + said
	}
	return nil, &Failed{Class: load.Status, Code: res.StatusCode, Why: s.hide(why)}
}

// stream sends one request and reads its answer to the end.
func (s *Server) stream(ctx context.Context, w *slot, ask openai.Ask) (load.Sample, *Failed) {
	body := ask.Body()
	out := load.Sample{Tokens: -1, Prompt: -1}
	out.Start = time.Since(s.base)
	ctx, end := w.begin(ctx, out.Start)
	defer end()
	f := s.send(ctx, w, ask, body, &out)
	if out.End == 0 {
		out.End = time.Since(s.base)
	}
	if f != nil {
		out.Class, out.Why = f.Class, f.Why
	}
	return out, f
}

func (s *Server) send(ctx context.Context, w *slot, ask openai.Ask, body []byte, out *load.Sample) *Failed {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+ask.Path(), bytes.NewReader(body))
	if err != nil {
		return &Failed{Class: load.Unreachable, Why: s.hide(err.Error())}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	res, f := s.do(ctx, req)
	if f != nil {
		return f
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		b, _ := io.ReadAll(io.LimitReader(res.Body, 16<<10))
		why := "the answer is no stream but " + openai.Short(kind, 40)
		if said := openai.Message(b); said != "" {
			why += ": " + openai.Short(said, 80)
		}
		return &Failed{Class: load.Broken, Why: s.hide(why)}
	}
	st, f := s.follow(ctx, w, res.Body, ask.Tokens, out)
	out.Chunks, out.NoDone, out.Gaps = st.Chunks, !st.Done, w.gaps
	if u := st.Usage; u != nil {
		out.Tokens, out.Prompt, out.Cached = u.Completion, u.Prompt, u.Cached
	}
	return f
}

// follow reads a stream as it comes. What comes together, in one read, came at the same
// time.
func (s *Server) follow(ctx context.Context, w *slot, body io.Reader, asked int, out *load.Sample) (st openai.Stream, f *Failed) {
	w.gaps = w.gaps[:0]
	events := 0
	// Engines write a chunk for each token, or less. The rest is for what has no text.
	most := 8*asked + 1024
	for {
		n, rerr := body.Read(w.buf)
		now := time.Since(s.base)
		k, err := st.Feed(w.buf[:n])
		if k > 0 {
			if out.First == 0 {
				out.First = now
			} else {
				w.gaps = append(w.gaps, now-out.Last)
			}
			for range k - 1 {
				w.gaps = append(w.gaps, 0)
			}
			out.Last = now
		}
		if st.Events != events {
			events = st.Events
			w.last.Store(int64(now))
		}
		switch {
		case err != nil:
			return st, s.broken(err)
		case st.Done:
			out.End = now
			s.drain(body, w.buf)
			return st, nil
		case events > most:
			return st, &Failed{Class: load.Broken, Why: fmt.Sprintf("more than %d events for %d tokens", most, asked)}
		case rerr == io.EOF:
			out.End = now
			if err := st.End(); err != nil {
				return st, s.broken(err)
			}
			return st, nil
		case rerr != nil && st.End() == nil && (context.Cause(ctx) == nil || errors.Is(context.Cause(ctx), errTimeout)):
			out.End = out.Last // the text is whole; only the end of the stream is missing
			return st, nil
		case rerr != nil && st.Chunks == 0:
			return st, s.failed(ctx, rerr, "no first token")
		case rerr != nil:
			return st, s.failed(ctx, rerr, "no next token")
		}
	}
}

// drain reads what may stand behind [DONE], so that the connection can be used again.
func (s *Server) drain(body io.Reader, buf []byte) {
	for range 4 {
		if _, err := body.Read(buf); err != nil {
			return
		}
	}
}

// broken is a stream that says no, or nothing that makes sense.
func (s *Server) broken(err error) *Failed {
	var at *openai.At
	if errors.As(err, &at) {
		err = at.Err // the same fault in another place is the same fault
	}
	return &Failed{Class: load.Broken, Why: s.hide(openai.Short(err.Error(), 240))}
}

// failed tells what became of a request from its error.
func (s *Server) failed(ctx context.Context, err error, waited string) *Failed {
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var u *url.Error
	dialing := errors.As(err, &op) && op.Op == "dial"
	cause := context.Cause(ctx)
	if errors.As(err, &u) {
		err = u.Err // without the method and the address, which are known
	}
	why := openai.Short(err.Error(), 200)
	switch {
	case errors.Is(cause, errTimeout):
		return &Failed{Class: load.TimedOut, Why: fmt.Sprintf("%s in %v", waited, s.Timeout)}
	case cause != nil:
		return &Failed{Class: load.Interrupted, Why: "interrupted"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Failed{Class: load.Refused, Why: "nothing listens there"}
	case dialing && op.Timeout():
		return &Failed{Class: load.TimedOut, Why: fmt.Sprintf("no connection in %v", dialTimeout)}
	case errors.As(err, &dns):
		return &Failed{Class: load.Unreachable, Why: "name " + openai.Short(dns.Name, 80) + " does not resolve"}
	case errors.As(err, &cert):
		return &Failed{Class: load.Unreachable, Why: s.hide(openai.Short(cert.Error(), 200))}
	case dialing && op.Err != nil:
		return &Failed{Class: load.Unreachable, Why: op.Err.Error()}
	case errors.As(err, &op) && op.Err != nil:
		why = op.Err.Error() // without the ports, which are others each time
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		why = "the connection was closed"
	}
	return &Failed{Class: load.Broken, Why: s.hide(waited + ": " + why)}
}

// hide takes the token out of a text: some servers answer with what they were sent.
func (s *Server) hide(text string) string {
	if s.Token == "" {
		return text
	}
	return strings.ReplaceAll(text, s.Token, "[token]")
}
