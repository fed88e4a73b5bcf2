// Package watch follows a cluster: it looks at every node again and again, pings pairs of
// them in turn, and serves what it sees as a page and as metrics. Edge: what a look means
// is history's, how it is written is report's.
package watch

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"weft/internal/exec"
	"weft/internal/history"
)

// Source is a node that can be looked at.
type Source interface {
	Look(ctx context.Context) (*history.Look, error)
	Close()
}

// Order is what to watch.
type Order struct {
	Nodes   []string
	Open    func(ctx context.Context, node string) (Source, error)
	Every   time.Duration // between two looks at a node
	Source  string        // "weft.yaml", "this machine"
	State   string        // file that keeps the past over restarts; "" is none
	Anew    bool          // take the first look for the good state, whatever the file says
	Version string

	PingEvery  time.Duration // between two rounds of pings; 0 is none
	Routes     *Routes       // whom to ping; Check brings newer ones
	CheckEvery time.Duration // between two checks; 0 is none
	Check      func(ctx context.Context) Checked
	First      *Checked // what was checked before the watch began

	Now func() time.Time // time.Now but in tests
	Age time.Duration    // how old a moment may be that is shown again; 0 is momentAge
}

// Checked is what a whole look at the cluster said.
type Checked struct {
	Checks history.LiveChecks
	Drift  []history.Change // since the last good facts
	Routes *Routes          // nil: as before
	Err    error            // why there is nothing
}

// Watch is a watch under way.
type Watch struct {
	o Order

	mu     sync.Mutex
	t      *history.Tracker
	asks   map[string]asker // nodes that can be asked for pings
	routes *Routes
	last   *history.Live
	hear   map[chan []history.Event]bool
	fresh  func() // looks now; only where that is cheap

	wg sync.WaitGroup
}

// New prepares a watch; the past is read from the state file.
func New(o Order) *Watch {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Age == 0 {
		o.Age = momentAge
	}
	w := &Watch{o: o, asks: map[string]asker{}, routes: o.Routes, hear: map[chan []history.Event]bool{}}
	w.t = history.New(history.Usual, o.Source, o.Now(), o.Every)
	w.load()
	if o.Anew {
		w.t.ForgetGood()
	}
	w.t.Expect(o.Nodes...)
	w.plan()
	if o.First != nil {
		w.checked(*o.First)
	}
	return w
}

// Run watches until ctx is done, and has then ended everything that it began.
func (w *Watch) Run(ctx context.Context) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	for i, node := range w.o.Nodes {
		wait := w.o.Every * time.Duration(i) / time.Duration(len(w.o.Nodes)) // not all at once
		w.wg.Go(func() {
			if sleep(ctx, wait) {
				w.follow(ctx, node)
			}
		})
	}
	if w.o.PingEvery > 0 {
		w.wg.Go(func() { w.pingAll(ctx) })
	}
	if w.o.CheckEvery > 0 && w.o.Check != nil {
		w.wg.Go(func() { w.checkAll(ctx) })
	}
	saved := w.o.Now()
	freed := saved.Add(firstFree - freeEvery)
	for sleep(ctx, time.Second) {
		now := w.o.Now()
		if now.Sub(freed) >= freeEvery { // what the start needed: weft itself was packed for the nodes
			freed = now
			debug.FreeOSMemory()
		}
		w.tell(func() []history.Event { return w.t.Tick(now) })
		if now.Sub(saved) >= saveEvery {
			saved = now
			w.save()
		}
	}
	w.wg.Wait()
	w.save()
}

// gcPercent is half of Go's usual: it runs for weeks beside other work, so memory counts
// before time.
const gcPercent = 50

// freeEvery is how often memory that is not needed any more is given back.
const (
	freeEvery = 5 * time.Minute
	firstFree = 30 * time.Second
)

// Reconnecting: soon at first, then at most once a minute.
const (
	firstWait = 2 * time.Second
	mostWait  = time.Minute
	goodLooks = 3 // a connection that brought so many is a good one
)

// lookTime is how long a node may take for one look.
const lookTime = 10 * time.Second

// follow looks at one node for as long as the watch goes on.
func (w *Watch) follow(ctx context.Context, node string) {
	wait := firstWait
	for ctx.Err() == nil {
		src, err := w.o.Open(ctx, node)
		if err != nil {
			w.miss(ctx, node, err)
		} else {
			if looks := w.looks(ctx, node, src); looks >= goodLooks {
				wait = firstWait
			}
			src.Close()
		}
		if !sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, mostWait)
	}
}

// looks looks until the node is lost, and returns how often it answered.
func (w *Watch) looks(ctx context.Context, node string, src Source) (looks int) {
	if a, ok := src.(asker); ok {
		w.mu.Lock()
		w.asks[node] = a
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			delete(w.asks, node)
			w.mu.Unlock()
		}()
	}
	if h, ok := src.(here); ok { // cheap enough to be done whenever somebody asks
		var looked time.Time
		w.mu.Lock()
		w.fresh = func() {
			if now := w.o.Now(); now.Sub(looked) >= w.o.Age {
				looked = now
				w.add(node, h.Reader.Look(now))
			}
		}
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			w.fresh = nil
			w.mu.Unlock()
		}()
	}
	tick := time.NewTicker(w.o.Every)
	defer tick.Stop()
	for {
		l, err := src.Look(ctx)
		if err != nil {
			w.miss(ctx, node, err)
			return looks
		}
		looks++
		w.add(node, l)
		select {
		case <-ctx.Done():
			return looks
		case <-tick.C:
		}
	}
}

// add takes a look.
func (w *Watch) add(node string, l *history.Look) {
	now := w.o.Now()
	w.tell(func() []history.Event {
		for _, s := range l.Bound() {
			w.t.Say(node + ": " + s)
		}
		return w.t.Add(node, now, l)
	})
}

// Rubbish is an answer that makes no sense.
type Rubbish struct{ Err error }

func (r *Rubbish) Error() string { return "it answers rubbish: " + r.Err.Error() }
func (r *Rubbish) Unwrap() error { return r.Err }

func (w *Watch) miss(ctx context.Context, node string, err error) {
	if ctx.Err() != nil {
		return // we end, not the node
	}
	var rubbish *Rubbish
	now := w.o.Now()
	w.tell(func() []history.Event {
		return w.t.Miss(node, now, why(err), errors.As(err, &rubbish))
	})
}

// why is an error for a person, in one line.
func why(err error) string {
	var e *exec.Error
	if errors.As(err, &e) {
		return oneLine(exec.Sanitise(e.Error()))
	}
	return oneLine(exec.Sanitise(err.Error()))
}

func oneLine(s string) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r == '\n' || r == '\r' || r == '\t' {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}

// tell changes the tracker and lets everybody hear what came of it.
func (w *Watch) tell(f func() []history.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := f()
	if len(events) == 0 {
		return
	}
	for c := range w.hear {
		select {
		case c <- events:
		default: // who does not listen misses it: the last ones are in every moment
		}
	}
}

// Hear returns what changes from now on, until end is called.
func (w *Watch) Hear() (events <-chan []history.Event, end func()) {
	c := make(chan []history.Event, 256)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hear[c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.hear, c)
	}
}

// momentAge is how old a moment may be that is shown again.
const momentAge = 300 * time.Millisecond

// Live is this moment. It is shared: nobody changes it.
func (w *Watch) Live() *history.Live {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.o.Now()
	if w.last != nil && now.Sub(w.last.When) < w.o.Age && !now.Before(w.last.When) {
		return w.last
	}
	l := w.t.Live(now)
	w.last = &l
	return w.last
}

// Fresh looks at this machine now, unless that was done a moment ago: who asks for metrics
// gets what is true.
func (w *Watch) Fresh() {
	w.mu.Lock()
	f := w.fresh
	w.mu.Unlock()
	if f != nil {
		f()
	}
}

// sleep waits and reports whether the watch goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// checkAll checks the whole cluster from time to time.
func (w *Watch) checkAll(ctx context.Context) {
	if w.o.First == nil {
		w.checked(w.o.Check(ctx))
	}
	for sleep(ctx, w.o.CheckEvery) {
		w.checked(w.o.Check(ctx))
	}
}

func (w *Watch) checked(c Checked) {
	w.tell(func() []history.Event {
		if c.Routes != nil {
			w.routes = c.Routes
		}
		if c.Err != nil {
			w.t.Unchecked(why(c.Err))
			return nil
		}
		return w.t.Checked(c.Checks, c.Drift)
	})
	w.plan()
}
