package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"weft/internal/format/openai"
	"weft/internal/load"
)

// Order is what to measure.
type Order struct {
	Model       string // "": the one that the server has
	API         string // "chat", "completions"; "": chat, else completions
	Concurrency []int
	Prompt      int           // tokens
	Output      int           // tokens
	Requests    int           // of each level; 0: eight, or four for each at once
	For         time.Duration // of each level, instead
	Warm        int           // requests before each level; -1: as many as at once
	Seed        uint64
	Same        bool // one prompt for all

	Level func(load.Level) // is told each level when it is over; may be nil
	Say   func(Progress)   // may be nil
}

// Progress is how far it is.
type Progress struct {
	What        string // "asking for models", "warm-up", "measuring"
	Concurrency int
	Done, All   int // requests; of a time, seconds
	OK, Failed  int // of this level
}

// Ready is what was found out about a server before it is measured.
type Ready struct {
	Model  openai.Model
	Plain  bool
	Way    openai.Way
	Words  int // of a prompt
	Says   []string
	number uint64 // of the last prompt
}

// Prepare finds the model, what the server can be asked, and how many words make the
// tokens of a prompt. Its requests are the first warm-up.
func (s *Server) Prepare(ctx context.Context, o *Order) (*Ready, error) {
	w := s.slot()
	o.say(Progress{What: "asking for models"})
	r := &Ready{Words: o.Prompt}
	if err := s.model(ctx, w, o, r); err != nil {
		return nil, err
	}
	if n := r.Model.Longest; n > 0 && o.Prompt+o.Output > n {
		return nil, &TooLong{o.Prompt, o.Output, n}
	}
	o.say(Progress{What: "asking how it can be asked"})
	few := max(8, o.Prompt/4)
	small, err := s.ways(ctx, w, o, r, few)
	if err != nil {
		return nil, err
	}
	want, many := o.Prompt, max(few+8, o.Prompt)
	if small.Prompt > few { // a word may be more than a token: not to be longer than asked
		many = max(few+8, int(int64(o.Prompt)*int64(few)/int64(small.Prompt)))
	}
	if n := r.Model.Longest; n > 0 { // words differ in their tokens, by less than 2 %
		want = max(1, min(want, n-o.Output-o.Prompt/50))
	}
	big, f := s.stream(ctx, w, r.ask(o, many, o.few()))
	if f != nil {
		return nil, f
	}
	if small.Prompt > 0 && big.Prompt > 0 {
		r.Words = load.Words(want, few, small.Prompt, many, big.Prompt)
	} else {
		r.Says = append(r.Says, fmt.Sprintf("the server does not count tokens: a prompt is %d words, and how many tokens that are is not known", o.Prompt))
	}
	return r, nil
}

// few is how many tokens a request asks for that only tries or warms up.
func (o *Order) few() int { return min(o.Output, 16) }

// TooLong says that a model has no room for what is asked.
type TooLong struct{ Prompt, Output, Longest int }

func (e *TooLong) Error() string {
	return fmt.Sprintf("a prompt of %d tokens and an answer of %d: the server takes %d in all", e.Prompt, e.Output, e.Longest)
}

// Several says that a server has more than one model.
type Several struct{ Names []string }

func (e *Several) Error() string { return fmt.Sprintf("the server has %d models", len(e.Names)) }

// None says that a server does not have a model.
type None struct {
	Name string
	Has  []string
}

func (e *None) Error() string { return fmt.Sprintf("the server has no model %q", e.Name) }

// model finds the model, or what the server tells about the one that is named.
func (s *Server) model(ctx context.Context, w *slot, o *Order, r *Ready) error {
	r.Model.ID = o.Model
	b, f := s.get(ctx, w, "/v1/models")
	if f != nil && f.Class == load.Status && f.Code != 401 && f.Code != 403 && o.Model != "" {
		return nil // it need not have a list
	}
	if f != nil {
		return f
	}
	all, err := openai.Models(b)
	if err != nil {
		if o.Model != "" {
			return nil
		}
		return &Failed{Class: load.Broken, Why: "/v1/models: " + err.Error()}
	}
	var names []string
	var base []openai.Model
	for _, m := range all {
		if m.ID == o.Model {
			r.Model = m
			return nil
		}
		names = append(names, m.ID)
		if m.Parent == "" { // an adapter has one
			base = append(base, m)
		}
	}
	switch {
	case o.Model != "" && len(all) > 0:
		return &None{o.Model, names}
	case o.Model != "":
		return nil
	case len(base) == 1:
		r.Model = base[0]
		return nil
	case len(all) == 0:
		return &Failed{Class: load.Broken, Why: "/v1/models: the server has no model"}
	}
	return &Several{names}
}

// ways finds out what the server does not refuse.
func (s *Server) ways(ctx context.Context, w *slot, o *Order, r *Ready, words int) (load.Sample, error) {
	var first *Failed
	for _, plain := range []bool{false, true} {
		if o.API == "chat" && plain || o.API == "completions" && !plain {
			continue
		}
		var last *Failed
		for _, way := range openai.Ways {
			r.Plain, r.Way = plain, way
			sample, f := s.stream(ctx, w, r.ask(o, words, o.few()))
			if f == nil {
				r.notes(first != nil)
				return sample, nil
			}
			last = f
			if f.Class != load.Status || f.Code != 400 && f.Code != 404 && f.Code != 405 && f.Code != 422 {
				return sample, f
			}
			if f.Code == 404 || f.Code == 405 {
				break
			}
		}
		if first == nil {
			first = last
		}
	}
	return load.Sample{}, first
}

// notes say what the server refused.
func (r *Ready) notes(refused bool) {
	if refused {
		r.Says = append(r.Says, "the server refuses chat: plain completions are measured")
	}
	if !r.Way.Usage {
		r.Says = append(r.Says, "the server refuses to count tokens in a stream (stream_options)")
	}
	if !r.Way.Ignore {
		r.Says = append(r.Says, "the server refuses ignore_eos: answers end where the model ends them")
	}
}

// ask makes the next request; no two are alike unless that is asked for.
func (r *Ready) ask(o *Order, words, tokens int) openai.Ask {
	r.number++
	return r.numbered(o, r.number, words, tokens)
}

// numbered makes the request of a number.
func (r *Ready) numbered(o *Order, number uint64, words, tokens int) openai.Ask {
	if o.Same {
		number = 0
	}
	return openai.Ask{Model: r.Model.ID, Prompt: load.Prompt(o.Seed, number, words), Tokens: tokens, Plain: r.Plain, Way: r.Way}
}

func (o *Order) say(p Progress) {
	if o.Say != nil {
		o.Say(p)
	}
}

// Measure runs all levels. Interrupted, it returns what was measured until then.
func (s *Server) Measure(ctx context.Context, o *Order, r *Ready) []load.Level {
	var out []load.Level
	for _, c := range o.Concurrency {
		if ctx.Err() != nil {
			break
		}
		l := s.level(ctx, o, r, c)
		if ctx.Err() != nil && l.OK+l.Failed == 0 {
			break
		}
		out = append(out, l)
		if o.Level != nil {
			o.Level(l)
		}
		if l.OK == 0 {
			break // more at once will not help
		}
	}
	return out
}

// level warms up and measures with c requests at once.
func (s *Server) level(ctx context.Context, o *Order, r *Ready, c int) load.Level {
	g := &gang{s: s, o: o, r: r, size: c}
	for len(s.slots) < c {
		s.slot()
	}
	warm := o.Warm
	if warm < 0 {
		warm = c
	}
	if warm > 0 {
		g.start(ctx, "warm-up", warm, 0, o.few())
	}
	requests, span := o.Requests, o.For
	if requests == 0 && span == 0 {
		requests = max(8, 4*c)
	}
	cpu := cpuTime()
	t := g.start(ctx, "measuring", requests, span, o.Output)
	return t.Level(c, warm, cpuTime()-cpu)
}

// gang is the workers of a level.
type gang struct {
	s    *Server
	o    *Order
	r    *Ready
	size int

	mu     sync.Mutex
	begun  int
	tally  *load.Tally
	row    int // failures since the last request that ended well
	ending bool
}

// start sends requests, each worker one after the other, until there were so many or the
// time is over. Those that run then are waited for.
func (g *gang) start(ctx context.Context, what string, requests int, span time.Duration, tokens int) *load.Tally {
	g.begun, g.row, g.ending = 0, 0, false
	g.tally = &load.Tally{Asked: tokens}
	begun := time.Now()
	say := func() {
		p := Progress{What: what, Concurrency: g.size, Done: g.tally.OK() + g.tally.Failed(), All: requests, OK: g.tally.OK(), Failed: g.tally.Failed()}
		if span > 0 {
			p.Done, p.All = int(min(time.Since(begun), span).Seconds()), int(max(span, time.Second).Seconds())
		}
		g.o.say(p)
	}
	say()
	var wg sync.WaitGroup
	workers := g.size
	if requests > 0 {
		workers = min(workers, requests)
	}
	for _, w := range g.s.slots[:workers] {
		wg.Go(func() {
			wait := 50 * time.Millisecond
			for {
				number, ok := g.next(ctx, requests, span, begun)
				if !ok {
					return
				}
				sample, f := g.s.stream(ctx, w, g.r.numbered(g.o, number, g.r.Words, tokens))
				g.mu.Lock()
				g.add(sample, f)
				say()
				g.mu.Unlock()
				if f == nil {
					wait = 50 * time.Millisecond
					continue
				}
				select { // a server that refuses is not to be hammered
				case <-ctx.Done():
				case <-time.After(wait):
				}
				wait = min(2*wait, time.Second)
			}
		})
	}
	wg.Wait()
	return g.tally
}

// next is the number of the next request, if there is one.
func (g *gang) next(ctx context.Context, requests int, span time.Duration, begun time.Time) (number uint64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case ctx.Err() != nil, g.ending, g.begun >= load.MaxSamples:
		return 0, false
	case requests > 0 && g.begun >= requests:
		return 0, false
	case span > 0 && time.Since(begun) >= span:
		return 0, false
	}
	g.begun++
	g.r.number++
	return g.r.number, true
}

// add counts a request. Where nothing but failures comes, the level ends.
func (g *gang) add(sample load.Sample, f *Failed) {
	g.tally.Add(sample)
	if f == nil {
		g.row = 0
		return
	}
	if g.row++; g.row >= 2*g.size+6 {
		g.ending = true
	}
}

// cpuTime is what this process used of the processor.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// FailedBy returns the failure that an error is.
func FailedBy(err error) (*Failed, bool) {
	var f *Failed
	return f, errors.As(err, &f)
}
