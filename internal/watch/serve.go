package watch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"weft/internal/history"
	"weft/internal/report"
)

// Bounds of the server: whoever connects cannot make it large.
const (
	maxConns   = 128 // connections
	maxEvents  = 32  // pages that follow
	maxHeader  = 16 << 10
	headerTime = 5 * time.Second
	writeTime  = 15 * time.Second
	idleTime   = 60 * time.Second
	aliveEvery = 15 * time.Second // an event even when nothing changed
)

// MinToken is how long a token must be at least: as many characters as 96 bits have in
// base64.
const MinToken = 16

// Server serves a watch.
type Server struct {
	Watch *Watch
	Token string                                   // "" is none: loopback alone
	Page  func(l *history.Live) report.LiveOptions // nil: the page without links
	Fresh func()                                   // called before metrics are written; nil is nothing
	TLS   struct{ Cert, Key string }

	events atomic.Int32
	wrong  sync.Mutex // one wrong token at a time, and slowly

	mu     sync.Mutex // of buffer
	buffer []byte

	shots sync.Mutex // of shot
	shot  shot
}

// shot is a moment that was drawn, for all who look at it.
type shot struct {
	live  *history.Live
	parts map[string][]report.LivePart // by the port that is open
	pages map[string][]byte
}

// drawn draws something of a moment, once for all that look within an interval, and
// returns it. open is the port that is shown with its counters.
func (s *Server) drawn(open string, young time.Duration, draw func(at *shot) error) error {
	s.shots.Lock()
	defer s.shots.Unlock()
	if now := s.Watch.o.Now(); s.shot.live == nil || now.Sub(s.shot.live.When) >= young || len(s.shot.parts)+len(s.shot.pages) > 2*maxEvents {
		s.shot = shot{live: s.Watch.Live(), parts: map[string][]report.LivePart{}, pages: map[string][]byte{}}
	}
	return draw(&s.shot)
}

// Listen opens the address. Without a token it must be a loopback one: what it shows is
// for people with a reason to look.
func (s *Server) Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is no address: want HOST:PORT, like 127.0.0.1:9817 or :9817", addr)
	}
	if host == "" && s.Token == "" {
		addr = net.JoinHostPort("127.0.0.1", port)
	} else if s.Token == "" && !loopback(host) {
		return nil, &NeedsToken{Addr: addr}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if a, ok := l.Addr().(*net.TCPAddr); s.Token == "" && (!ok || !a.IP.IsLoopback()) { // a name that resolves to more than it says
		l.Close()
		return nil, &NeedsToken{Addr: addr}
	}
	return newLimited(l, maxConns), nil
}

// NeedsToken is an address that others can reach, and no token.
type NeedsToken struct{ Addr string }

func (n *NeedsToken) Error() string { return n.Addr + " can be reached from other machines" }

// loopback reports whether a host is this machine alone.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// Serve serves until ctx is done.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTime, ReadTimeout: 2 * headerTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: quiet,
	}
	done := make(chan error, 1)
	go func() {
		if s.TLS.Cert != "" {
			done <- h.ServeTLS(l, s.TLS.Cert, s.TLS.Key)
			return
		}
		done <- h.Serve(l)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h.Shutdown(stop) != nil {
		h.Close()
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler is the whole of what is served.
func (s *Server) Handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/{$}", s.page)
	m.HandleFunc("/events", s.follow)
	m.HandleFunc("/metrics", s.metrics)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "weft watch only shows", http.StatusMethodNotAllowed)
		case r.URL.Path == "/healthz": // says nothing of the cluster
			io.WriteString(w, "ok\n")
		case s.Token == "" && !ownName(r.Host): // another site's name that points here
			http.Error(w, "weft watch answers to localhost alone", http.StatusMisdirectedRequest)
		case s.Token != "" && !s.allowed(r):
			h.Set("WWW-Authenticate", `Basic realm="weft watch: any name, the token as password", charset="UTF-8"`)
			http.Error(w, "a token is needed: as a bearer token, or as the password", http.StatusUnauthorized)
		default:
			m.ServeHTTP(w, r)
		}
	})
}

// ownName reports whether a request was made to this machine by a name of its own.
func ownName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return loopback(strings.Trim(host, "[]"))
}

// allowed compares tokens in a time that tells nothing. A wrong one waits, and the next
// wrong one waits for it.
func (s *Server) allowed(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		if _, given, ok = r.BasicAuth(); !ok {
			return false
		}
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.Token))
	if subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		return true
	}
	if s.wrong.TryLock() { // one waits; a crowd is refused at once
		sleep(r.Context(), 200*time.Millisecond)
		s.wrong.Unlock()
	}
	return false
}

func (s *Server) options(open string, l *history.Live) report.LiveOptions {
	o := report.LiveOptions{}
	if s.Page != nil {
		o = s.Page(l)
	}
	o.Events, o.Metrics, o.Open = "events", "metrics", open
	return o
}

// pageAge is how old a page may be that another one gets, too.
const pageAge = time.Second

// page is the whole page, as it is now.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	open := openPort(r)
	var page []byte
	err := s.drawn(open, pageAge, func(at *shot) error {
		if page = at.pages[open]; page != nil {
			return nil
		}
		var b bytes.Buffer
		if err := report.LivePage(&b, *at.live, s.options(open, at.live)); err != nil {
			return err
		}
		page = b.Bytes()
		at.pages[open] = page
		return nil
	})
	if err != nil {
		http.Error(w, "the page could not be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", report.LiveCSP()+"; frame-ancestors 'none'")
	w.Write(page)
}

// openPort is the port whose counters the page shows.
func openPort(r *http.Request) string {
	if open := r.URL.Query().Get("open"); len(open) <= 256 {
		return open
	}
	return ""
}

// follow sends what changes on the page, for as long as somebody looks.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	if s.events.Add(1) > maxEvents {
		s.events.Add(-1)
		w.Header().Set("Retry-After", "30")
		http.Error(w, fmt.Sprintf("%d pages follow already", maxEvents), http.StatusServiceUnavailable)
		return
	}
	defer s.events.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	out := http.NewResponseController(w)
	out.SetReadDeadline(time.Time{}) // nothing more is asked: the time for that must not end the stream
	send := func(parts []report.LivePart) bool {
		out.SetWriteDeadline(time.Now().Add(writeTime)) // who does not read is let go
		return report.LiveEvent(w, parts) == nil && out.Flush() == nil
	}
	if _, err := fmt.Fprintf(w, "retry: 3000\n\n"); err != nil {
		return
	}
	var had []report.LivePart
	sent, open := time.Now(), openPort(r)
	every := max(time.Second, min(s.Watch.o.Every, 5*time.Second))
	for {
		var parts []report.LivePart
		err := s.drawn(open, every*9/10, func(at *shot) (err error) {
			if parts = at.parts[open]; parts == nil {
				parts, err = report.LiveParts(*at.live, s.options(open, at.live))
				at.parts[open] = parts
			}
			return err
		})
		if err != nil {
			return
		}
		changed := report.LiveChanged(had, parts)
		if len(changed) > 0 || time.Since(sent) >= aliveEvery {
			if !send(changed) {
				return
			}
			had, sent = parts, time.Now()
		}
		if !sleep(r.Context(), every) {
			return
		}
	}
}

// metrics writes the metrics. One at a time: the memory for them is used again.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fresh != nil {
		s.Fresh()
	}
	l := s.Watch.Live()
	s.buffer = report.Metrics(s.buffer[:0], l, self(s.Watch.o.Version))
	w.Header().Set("Content-Type", report.MetricsType)
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	w.Write(s.buffer)
}

// self is what this program knows of itself.
func self(version string) report.Self {
	me := report.Self{Version: version}
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) == nil {
		me.CPU = float64(use.Utime.Nano()+use.Stime.Nano()) / 1e9
	}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, resident int64
		if n, _ := fmt.Sscan(string(b), &size, &resident); n == 2 {
			me.Memory = resident * int64(os.Getpagesize())
		}
	}
	return me
}
