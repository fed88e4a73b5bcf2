package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/bench/standin"
	"weft/internal/format/openai"
	"weft/internal/load"
)

// asServer is set in a process that is the stand-in: "fast", or the time between tokens.
const asServer = "WEFT_STAND_IN"

func TestMain(m *testing.M) {
	how := os.Getenv(asServer)
	if how == "" {
		os.Exit(m.Run())
	}
	st := &standin.Server{Fast: how == "fast"}
	st.Gap, _ = time.ParseDuration(how)
	at, err := st.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(at)
	_, _ = io.Copy(io.Discard, os.Stdin) // until who started it ends
}

// apart starts a stand-in in a process of its own, as engines are.
func apart(b *testing.B, how string) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), asServer+"="+how)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		b.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	at, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(at)
}

// copied asks by hand and throws away what comes: the least that a reader can do. It
// parses nothing, not even HTTP.
func copied(b *testing.B, at string, ask openai.Ask) (bytes int64) {
	u, err := url.Parse(at)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	body := ask.Body()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", ask.Path(), u.Host, len(body), body)
	buf := make([]byte, bufferSize)
	for {
		n, err := conn.Read(buf)
		bytes += int64(n)
		if err == io.EOF {
			return bytes
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// discarded reads the body of the same answer with the same HTTP client, and throws it
// away.
func discarded(b *testing.B, s *Server, w *slot, ask openai.Ask) (bytes int64) {
	res, err := s.http.Post(s.URL+ask.Path(), "application/json", strings.NewReader(string(ask.Body())))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	for {
		n, err := res.Body.Read(w.buf)
		bytes += int64(n)
		if err == io.EOF {
			return bytes
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// recorded is an answer as it came: the bytes of each read.
type recorded struct {
	body  io.Reader
	reads [][]byte
}

func (r *recorded) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if n > 0 {
		r.reads = append(r.reads, slices.Clone(p[:n]))
	}
	return n, err
}

// replayed gives the same reads again, from memory.
type replayed struct{ reads [][]byte }

func (r *replayed) Read(p []byte) (int, error) {
	if len(r.reads) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.reads[0])
	r.reads = r.reads[1:]
	return n, nil
}

// own is what weft's own part costs, in ns a token: the reads of one real answer, again
// from memory, read by weft less thrown away.
func own(b *testing.B, s *Server, w *slot, ask openai.Ask) (ns, perRead float64) {
	res, err := s.http.Post(s.URL+ask.Path(), "application/json", strings.NewReader(string(ask.Body())))
	if err != nil {
		b.Fatal(err)
	}
	rec := &recorded{body: res.Body}
	_, err = io.CopyBuffer(onlyWriter{}, rec, w.buf)
	res.Body.Close()
	if err != nil {
		b.Fatal(err)
	}
	var with, without []float64
	for range 51 {
		start := time.Now()
		var sample load.Sample
		st, f := s.follow(context.Background(), w, &replayed{rec.reads}, ask.Tokens, &sample)
		with = append(with, float64(time.Since(start))/float64(ask.Tokens))
		if f != nil || st.Chunks != ask.Tokens {
			b.Fatalf("%v: %d chunks", f, st.Chunks)
		}
		start = time.Now()
		for r := (&replayed{rec.reads}); ; {
			if _, err := r.Read(w.buf); err != nil {
				break
			}
		}
		without = append(without, float64(time.Since(start))/float64(ask.Tokens))
	}
	x, _, _ := median(with)
	y, _, _ := median(without)
	return x - y, float64(ask.Tokens) / float64(len(rec.reads))
}

// onlyWriter keeps io.Copy from choosing a way of its own.
type onlyWriter struct{}

func (onlyWriter) Write(p []byte) (int, error) { return len(p), nil }

// median returns the median and the ends of its 95 % confidence interval (by rank: the
// binomial distribution, as a normal one).
func median(all []float64) (m, low, high float64) {
	s := slices.Sorted(slices.Values(all))
	n := len(s)
	off := int(math.Ceil(0.98 * math.Sqrt(float64(n))))
	return (s[(n-1)/2] + s[n/2]) / 2, s[max(n/2-off, 0)], s[min(n/2+off, n-1)]
}

// reader is one way to read a stream, with what it reached in each round.
type reader struct {
	name       string
	read       func()
	rates, cpu []float64
}

// BenchmarkFigureClient streams from a server that writes every token by itself, as fast
// as it can, to weft's client and to two readers that do less, in turn: one throws away
// the body that the same HTTP client gives it, one the bytes of the socket. cost-% is how
// many fewer tokens/s come through weft than through the first in the same round, in the
// median; the goal is under 2. socket-cost-% is the same of the second: what HTTP costs is
// in it. Two processes that wake each other are noisy, so own-% says it in another way:
// what weft does with an answer beside reading it, measured from memory, by the time that
// the first takes for a token.
func BenchmarkFigureClient(b *testing.B) {
	const tokens, rounds = 20_000, 301
	at := apart(b, "fast")
	ask := openai.Ask{Model: "stand-in", Prompt: "go", Tokens: tokens, Way: openai.Ways[0]}
	s := &Server{URL: at, Timeout: 10 * time.Second}
	s.Open(1)
	defer s.Close()
	w := s.slot()
	enough := func(n int64) {
		if n < tokens*200 {
			b.Fatalf("%d bytes of %d tokens", n, tokens)
		}
	}
	for b.Loop() {
		readers := []*reader{
			{name: "weft", read: func() {
				got, f := s.stream(context.Background(), w, ask)
				if f != nil || got.Tokens != tokens || got.Chunks != tokens || len(got.Gaps) != tokens-1 {
					b.Fatalf("%v: %d tokens in %d chunks", f, got.Tokens, got.Chunks)
				}
			}},
			{name: "socket", read: func() { enough(copied(b, at, ask)) }},
			{name: "body", read: func() { enough(discarded(b, s, w, ask)) }},
		}
		weft := readers[0]
		for i := range rounds + 5 {
			for k := range readers {
				r := readers[(i*(1+i/3%2)+k)%len(readers)] // who is first has no advantage
				cpu, start := cpuTime(), time.Now()
				r.read()
				took, used := time.Since(start), cpuTime()-cpu
				if i >= 5 { // before that it is warm-up
					r.rates = append(r.rates, tokens/took.Seconds())
					r.cpu = append(r.cpu, float64(used)/tokens)
				}
			}
		}
		for _, r := range readers {
			rate, _, _ := median(r.rates)
			cpu, _, _ := median(r.cpu)
			b.ReportMetric(rate, r.name+"-tokens/s")
			b.ReportMetric(cpu, r.name+"-cpu-ns/token")
			if r == weft {
				continue
			}
			var ratios []float64
			for i := range r.rates {
				ratios = append(ratios, weft.rates[i]/r.rates[i])
			}
			m, low, high := median(ratios)
			b.Logf("weft ÷ %s: %.4f tokens/s, surely %.4f to %.4f", r.name, m, low, high)
			if r.name == "socket" {
				b.ReportMetric(100*(1-m), "socket-cost-%")
				continue
			}
			ns, together := own(b, s, w, ask)
			b.Logf("own: %.1f ns a token, %.1f tokens in a read", ns, together)
			b.ReportMetric(100*(1-m), "cost-%")
			b.ReportMetric(100*ns/(1e9/rate), "own-%")
		}
	}
}

// BenchmarkFigurePaced is what weft takes of the processor while 64 streams of 50 tokens/s
// come, which is more than most clusters give.
func BenchmarkFigurePaced(b *testing.B) {
	at := apart(b, "20ms")
	for b.Loop() {
		s := &Server{URL: at, Timeout: 10 * time.Second}
		s.Open(64)
		o := Order{Prompt: 64, Output: 150, Concurrency: []int{64}, Requests: 64, Warm: 64}
		r, err := s.Prepare(context.Background(), &o)
		if err != nil {
			b.Fatal(err)
		}
		l := s.Measure(context.Background(), &o, r)[0]
		if l.OK != 64 || l.Outputs != 64*150 {
			b.Fatalf("%+v", l)
		}
		b.ReportMetric(l.Tokens.Or(0), "tokens/s")
		b.ReportMetric(100*l.ClientCPU, "core-%")
		s.Close()
	}
}
