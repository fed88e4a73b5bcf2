package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/bench/standin"
	"weft/internal/load"
)

// begin starts a stand-in and a client of it.
func begin(t testing.TB, st *standin.Server, timeout time.Duration) *Server {
	t.Helper()
	at, err := st.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	s := &Server{URL: at, Token: st.Token, Timeout: timeout}
	s.Open(16)
	t.Cleanup(s.Close)
	return s
}

// measure prepares and runs all levels.
func measure(t testing.TB, s *Server, o Order) (*Ready, []load.Level) {
	t.Helper()
	if o.Prompt == 0 {
		o.Prompt = 64
	}
	if o.Output == 0 {
		o.Output = 20
	}
	r, err := s.Prepare(context.Background(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return r, s.Measure(context.Background(), &o, r)
}

// near is within a part of what is wanted, and a little more: this machine is shared.
func near(got, want, part, slack float64) bool {
	return got >= want*0.999 && got <= want*(1+part)+slack
}

// A server with a known pace is measured as it is.
func TestPace(t *testing.T) {
	st := &standin.Server{First: 60 * time.Millisecond, Gap: 10 * time.Millisecond}
	s := begin(t, st, 10*time.Second)
	_, levels := measure(t, s, Order{Concurrency: []int{1, 4}, Requests: 8, Warm: -1, Seed: 1})
	if len(levels) != 2 {
		t.Fatalf("%d levels", len(levels))
	}
	for i, l := range levels {
		if l.OK != 8 || l.Failed != 0 || l.Outputs != 160 || l.Counted != "usage" || l.Chunks != 160 || l.Early != 0 || l.NoDone != 0 {
			t.Errorf("level %d: %+v", i, l)
		}
		if got := float64(l.First.P50.Or(0)); !near(got, 60, 0.3, 40) {
			t.Errorf("first token %v ms, want 60", got)
		}
		if got := float64(l.PerToken.P50.Or(0)); !near(got, 10, 0.3, 10) {
			t.Errorf("%v ms a token, want 10", got)
		}
		if got := float64(l.Between.P50.Or(0)); !near(got, 10, 0.3, 10) {
			t.Errorf("%v ms between tokens, want 10", got)
		}
		if l.Between.Count != 8*19 || !l.Between.P99.Known() || l.Between.P999.Known() || l.First.P99.Known() {
			t.Errorf("level %d: percentiles that so few numbers tell: %+v", i, l.Between)
		}
	}
	if a, b := levels[0].Tokens.Or(0), levels[1].Tokens.Or(0); b < 1.8*a {
		t.Errorf("%v tokens/s with four at once, %v with one", b, a)
	}
	if st.MaxRun != 4 {
		t.Errorf("%d ran at once", st.MaxRun)
	}
}

// Several tokens in a chunk are counted by the server, or it is said that they are not.
func TestCounting(t *testing.T) {
	st := &standin.Server{PerChunk: 4}
	_, levels := measure(t, begin(t, st, 30*time.Second), Order{Concurrency: []int{1}, Requests: 2})
	if l := levels[0]; l.Outputs != 40 || l.Chunks != 10 || l.Counted != "usage" {
		t.Errorf("with usage: %+v", l)
	}
	st = &standin.Server{PerChunk: 4, NoUsage: true}
	r, levels := measure(t, begin(t, st, 30*time.Second), Order{Concurrency: []int{1}, Requests: 2})
	if l := levels[0]; l.Outputs != 10 || l.Counted != "chunks" {
		t.Errorf("without usage: %+v", l)
	}
	if !strings.Contains(strings.Join(r.Says, "\n"), "does not count tokens") {
		t.Errorf("says %q", r.Says)
	}
}

// A prompt has the tokens that are asked for, whatever the template adds, and no prompt
// helps the next.
func TestPrompts(t *testing.T) {
	for _, same := range []bool{false, true} {
		st := &standin.Server{}
		_, levels := measure(t, begin(t, st, 30*time.Second), Order{Concurrency: []int{1, 2}, Requests: 4, Prompt: 200, Warm: 1, Seed: 7, Same: same})
		for _, l := range levels {
			if l.Prompts != 4*200 {
				t.Errorf("%d tokens of 4 prompts of 200", l.Prompts)
			}
			if hit := l.Cached > 0; hit != same {
				t.Errorf("same %v: %d tokens from the cache", same, l.Cached)
			}
		}
		if same {
			continue
		}
		var all []string
		for _, a := range st.Asked {
			all = append(all, a.Prompt)
		}
		slices.Sort(all)
		if n := len(slices.Compact(all)); n != len(st.Asked) {
			t.Errorf("%d of %d prompts are different", n, len(st.Asked))
		}
	}
}

// Also where a word is more than a token, and there is no room for one more.
func TestLongPrompts(t *testing.T) {
	st := &standin.Server{PerWord: 1.4, Longest: 1020}
	_, levels := measure(t, begin(t, st, 30*time.Second), Order{Concurrency: []int{1}, Requests: 4, Prompt: 1000})
	if l := levels[0]; l.OK != 4 || l.Prompts < 4*970 || l.Prompts > 4*1000 {
		t.Errorf("%d tokens of 4 prompts of 1000: %+v", l.Prompts, l)
	}
}

// What a server does not understand is left out, and said.
func TestWays(t *testing.T) {
	for _, c := range []struct {
		name string
		st   *standin.Server
		says string
	}{
		{"all", &standin.Server{}, ""},
		{"ignore_eos", &standin.Server{RefuseIgnore: true, Stop: 5}, "refuses ignore_eos"},
		{"usage", &standin.Server{RefuseUsage: true, RefuseIgnore: true}, "refuses to count"},
		{"chat", &standin.Server{NoChat: true}, "refuses chat"},
		{"crlf", &standin.Server{CRLF: true, Comments: true}, ""},
	} {
		r, levels := measure(t, begin(t, c.st, 30*time.Second), Order{Concurrency: []int{1}, Requests: 2})
		says := strings.Join(r.Says, "\n")
		if c.says == "" && says != "" || !strings.Contains(says, c.says) {
			t.Errorf("%s: says %q", c.name, says)
		}
		want := 40
		if c.st.Stop > 0 {
			want = 10
		}
		if l := levels[0]; l.OK != 2 || l.Outputs != want || (l.Early > 0) != (want < 40) {
			t.Errorf("%s: %+v", c.name, l)
		}
	}
}

// Every failure has its class; those that ended well are measured beside them.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		trouble string
		class   load.Class
		why     string
	}{
		{"status 503", load.Status, "HTTP 503: the engine is not well"},
		{"redirect", load.Status, "HTTP 307, a redirect to http://127.0.0.1:1/elsewhere"},
		{"cut 3", load.Broken, "the connection was closed"},
		{"error 3", load.Broken, "the server says: EngineCore encountered an issue"},
		{"stall 3", load.TimedOut, "no next token in 3s"},
		{"stall 0", load.TimedOut, "no first token in 3s"},
		{"rubbish 3", load.Broken, "unexpected end of JSON"},
		{"huge 3", load.Broken, "a line of more than 1048576 bytes"},
		{"json", load.Broken, "the answer is no stream but application/json"},
		{"endless", load.Broken, "events for 20 tokens"},
	} {
		t.Run(c.trouble, func(t *testing.T) {
			t.Parallel()
			st := &standin.Server{}
			st.Trouble = func(n int) string {
				if n >= 2 && n%2 == 0 { // after those that try
					return c.trouble
				}
				return ""
			}
			bad, timeout := 3, 30*time.Second // this machine may be busy
			if c.class == load.TimedOut {
				bad, timeout = 1, 3*time.Second
			}
			_, levels := measure(t, begin(t, st, timeout), Order{Concurrency: []int{2}, Requests: 2 * bad})
			l := levels[0]
			if l.OK != bad || l.Failed != bad || len(l.Failures) != 1 {
				t.Fatalf("%+v", l)
			}
			if f := l.Failures[0]; f.Class != c.class || !strings.Contains(f.Why, c.why) || f.Count != bad {
				t.Errorf("%+v, want %s: %s", f, c.class, c.why)
			}
		})
	}
}

// A stream without [DONE] whose text has ended counts, and is said.
func TestNoDone(t *testing.T) {
	st := &standin.Server{Trouble: func(int) string { return "nodone" }}
	_, levels := measure(t, begin(t, st, 30*time.Second), Order{Concurrency: []int{1}, Requests: 2})
	if l := levels[0]; l.OK != 2 || l.NoDone != 2 || l.Outputs != 40 {
		t.Errorf("%+v", l)
	}
	// One that is left open, too: the time that was waited for it does not count.
	st = &standin.Server{Trouble: func(int) string { return "hold" }}
	_, levels = measure(t, begin(t, st, 2*time.Second), Order{Concurrency: []int{1}, Requests: 2})
	if l := levels[0]; l.OK != 2 || l.NoDone != 2 || l.Outputs != 40 || l.Whole.Max.Or(1e9) > 1500 {
		t.Errorf("%+v", l)
	}
}

// Connections are used again, so that the first token does not pay for one.
func TestConnections(t *testing.T) {
	st := &standin.Server{}
	_, levels := measure(t, begin(t, st, 30*time.Second), Order{Concurrency: []int{1, 4}, Requests: 20, Warm: -1})
	if len(levels) != 2 || levels[1].OK != 20 || st.Conns > 6 {
		t.Errorf("%d connections for 4 at once: %+v", st.Conns, levels)
	}
}

// A server that fails every time is given up, and not hammered.
func TestGivesUp(t *testing.T) {
	st := &standin.Server{}
	st.Trouble = func(n int) string {
		if n >= 2 {
			return "status 500"
		}
		return ""
	}
	start := time.Now()
	_, levels := measure(t, begin(t, st, 30*time.Second), Order{Concurrency: []int{1, 2}, For: time.Hour})
	if len(levels) != 1 || levels[0].Failed != 8 || levels[0].OK != 0 {
		t.Errorf("%+v", levels)
	}
	if took := time.Since(start); took < 300*time.Millisecond || took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// What cannot be prepared says why.
func TestNotPrepared(t *testing.T) {
	o := Order{Prompt: 64, Output: 8}
	prepare := func(s *Server, o Order) error {
		_, err := s.Prepare(context.Background(), &o)
		return err
	}
	var f *Failed
	s := &Server{URL: "http://127.0.0.1:1", Timeout: time.Second}
	s.Open(1)
	defer s.Close()
	if err := prepare(s, o); !errors.As(err, &f) || f.Class != load.Refused {
		t.Errorf("nobody there: %v", err)
	}
	s = begin(t, &standin.Server{Token: "sesame-4711"}, time.Second)
	s.Token = "wrong-0815"
	if err := prepare(s, o); !errors.As(err, &f) || f.Code != 401 || strings.Contains(f.Why, "0815") || !strings.Contains(f.Why, "[token]") {
		t.Errorf("a wrong token: %v", err)
	}
	var several *Several
	if err := prepare(begin(t, &standin.Server{Models: []string{"a", "b"}}, time.Second), o); !errors.As(err, &several) || len(several.Names) != 2 {
		t.Errorf("two models: %v", err)
	}
	var none *None
	o.Model = "other"
	if err := prepare(begin(t, &standin.Server{}, time.Second), o); !errors.As(err, &none) || none.Has[0] != "stand-in" {
		t.Errorf("another model: %v", err)
	}
	var long *TooLong
	o.Model = ""
	if err := prepare(begin(t, &standin.Server{Longest: 70}, time.Second), o); !errors.As(err, &long) {
		t.Errorf("too long: %v", err)
	}
}

// Interrupted, it tells what was measured until then.
func TestInterrupted(t *testing.T) {
	st := &standin.Server{Gap: 5 * time.Millisecond}
	s := begin(t, st, 30*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := Order{Prompt: 64, Output: 20, Concurrency: []int{1, 2}, Requests: 1000}
	done := 0
	o.Say = func(p Progress) {
		if p.What == "measuring" {
			if done = p.OK; done == 3 {
				cancel()
			}
		}
	}
	r, err := s.Prepare(ctx, &o)
	if err != nil {
		t.Fatal(err)
	}
	levels := s.Measure(ctx, &o, r)
	if len(levels) != 1 || levels[0].OK < 3 || levels[0].OK > 5 || levels[0].Failed != 0 || levels[0].Concurrency != 1 {
		t.Errorf("%+v", levels)
	}
}
