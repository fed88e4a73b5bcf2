package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/history"
	"weft/internal/meter"
	"weft/internal/prove"
	"weft/internal/trial"
	"weft/internal/verbs"
)

// real is a meter in this process.
type inProcess struct {
	mu      sync.Mutex
	in      io.Writer
	next    int
	waiting map[int]chan meter.Answer
}

func newMeter(t *testing.T) *inProcess {
	in, w := io.Pipe()
	r, out := io.Pipe()
	m := &inProcess{in: w, waiting: map[int]chan meter.Answer{}}
	go meter.Serve(t.Context(), in, out)
	go func() {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var a meter.Answer
			if json.Unmarshal(lines.Bytes(), &a) == nil {
				m.mu.Lock()
				c := m.waiting[a.ID]
				m.mu.Unlock()
				c <- a
			}
		}
	}()
	t.Cleanup(func() { w.Close() })
	return m
}

func (m *inProcess) Ask(ctx context.Context, a meter.Ask) (meter.Answer, error) {
	c := make(chan meter.Answer, 1)
	m.mu.Lock()
	m.next++
	a.ID = m.next
	m.waiting[a.ID] = c
	b, err := json.Marshal(a)
	if err == nil {
		_, err = m.in.Write(append(b, '\n'))
	}
	m.mu.Unlock()
	if err != nil {
		return meter.Answer{}, err
	}
	select {
	case got := <-c:
		if got.Error != "" {
			return got, &prove.Failed{Class: got.Class, What: got.Error}
		}
		return got, nil
	case <-ctx.Done():
		return meter.Answer{}, ctx.Err()
	}
}

// TestTCPPing pings between two real meters over the loopback interface.
func TestTCPPing(t *testing.T) {
	p := &pinger{a: newMeter(t), b: newMeter(t), pa: prove.Path{Addr: "127.0.0.1"}, pb: prove.Path{Addr: "127.0.0.1"}, name: "x"}
	times, err := p.tcp(t.Context())
	if err != nil || times == nil || times.Typical <= 0 || times.Count < 10 {
		t.Fatalf("%v: %+v", err, times)
	}
	for range 3 { // a name is free again
		if _, err := p.tcp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.pb.Addr = ""
	var skip *prove.Skip
	if _, err := p.tcp(t.Context()); !errors.As(err, &skip) {
		t.Errorf("a path without an address: %v", err)
	}
}

// fake is a meter that keeps a diary, and fails what it is told to.
type fake struct {
	name  string
	mu    *sync.Mutex
	diary *[]string
	busy  map[string]int // pings at once, by node
	most  map[string]int
	fails map[string]error // by what is asked
}

func (f *fake) Ask(ctx context.Context, a meter.Ask) (meter.Answer, error) {
	f.mu.Lock()
	*f.diary = append(*f.diary, f.name+" "+a.Do)
	switch a.Do {
	case "open":
		f.busy[f.name]++
		f.most[f.name] = max(f.most[f.name], f.busy[f.name])
	case "close":
		if !strings.HasSuffix(a.Conn, "t") {
			f.busy[f.name]--
		}
	}
	err := f.fails[a.Do]
	f.mu.Unlock()
	if err != nil {
		return meter.Answer{}, err
	}
	switch a.Do {
	case "open":
		return meter.Answer{Peer: &verbs.Peer{}}, nil
	case "ping", "tcp lat":
		time.Sleep(time.Millisecond)
		return meter.Answer{Times: &trial.Times{Typical: 2000, P99: 3000, Count: 100}}, nil
	}
	return meter.Answer{}, nil
}

func fakes(n int) (*Watch, *fake, *Routes) {
	w := New(Order{Every: time.Second, PingEvery: time.Second})
	diary := &[]string{}
	mu := &sync.Mutex{}
	first := &fake{mu: mu, diary: diary, busy: map[string]int{}, most: map[string]int{}, fails: map[string]error{}}
	rail := trial.Rail{Name: "10.0.0.0/24"}
	r := &Routes{Paths: map[trial.End]prove.Path{}}
	for i := range n {
		f := *first
		f.name = fmt.Sprintf("n%02d", i)
		w.asks[f.name] = &f
		end := trial.End{Node: f.name, Port: "mlx5_0/1"}
		rail.Ends = append(rail.Ends, end)
		r.Paths[end] = prove.Path{Addr: "10.0.0.1"}
	}
	r.Rounds, _ = trial.Rounds([]trial.Rail{rail}, trial.Which{Word: "all"}, rand.Perm)
	w.routes = r
	return w, first, r
}

// TestPingsAreFewForEachNode: after n-1 rounds every pair was tried, no node ever had more
// than one ping at a time, and a round is a fixed number of questions for each node.
func TestPingsAreFewForEachNode(t *testing.T) {
	for _, n := range []int{2, 8, 33} {
		w, f, r := fakes(n)
		for i, round := range r.Rounds {
			before := len(*f.diary)
			w.round(t.Context(), r, round, i)
			if asks := len(*f.diary) - before; asks > 7*n {
				t.Errorf("%d nodes: round %d asked %d questions", n, i, asks)
			}
		}
		l := w.Live()
		if want := 2 * n * (n - 1) / 2; len(l.Pings) != want { // RDMA and TCP
			t.Errorf("%d nodes: %d pairs were tried, want %d", n, len(l.Pings), want)
		}
		for name, most := range f.most {
			if most > 1 {
				t.Errorf("%s had %d pings at once", name, most)
			}
		}
		for name, left := range f.busy {
			if left != 0 {
				t.Errorf("%s has %d connections left", name, left)
			}
		}
		for _, p := range l.Pings {
			if p.Latency.Or(0) != 2e-6 || p.P99.Or(0) != 3e-6 || p.Level != history.Pass {
				t.Fatalf("%+v", p)
			}
		}
	}
}

func TestPingsThatFail(t *testing.T) {
	w, f, r := fakes(2)
	f.fails["ping"] = errors.New("transport retry exceeded")
	for i := range 2 {
		w.round(t.Context(), r, r.Rounds[0], 2*i*len(r.Rounds)) // in one direction
	}
	for _, p := range w.Live().Pings {
		if bad := p.Kind == "rdma"; bad != (p.Level == history.Fail) || bad && p.Loss != 1 {
			t.Errorf("%+v", p)
		}
	}
	if f.busy["n00"] != 0 || f.busy["n01"] != 0 {
		t.Errorf("connections are left: %v", f.busy)
	}
	f.fails["open"] = &prove.Lost{Node: "n00", Why: errors.New("gone")}
	before := w.Live().Pings
	w.round(t.Context(), r, r.Rounds[0], 0)
	for i, p := range w.Live().Pings {
		if p.Kind == "rdma" && p.Tries != before[i].Tries {
			t.Error("a node that is lost is counted against the path")
		}
	}
	w.asks = map[string]asker{}
	n := len(*f.diary)
	w.round(t.Context(), r, r.Rounds[0], 0)
	if len(*f.diary) != n {
		t.Error("nodes that are not there were asked")
	}
}

// late is a meter that has no time for a short ping.
type late struct{ *fake }

func (l late) Ask(ctx context.Context, a meter.Ask) (meter.Answer, error) {
	if (a.Do == "ping" || a.Do == "tcp lat") && a.Seconds < 0.1 {
		return meter.Answer{}, &prove.Failed{Class: "time", What: "not one message came back in time"}
	}
	return l.fake.Ask(ctx, a)
}

func TestNodeThatIsBusyLosesNoPing(t *testing.T) {
	w, _, r := fakes(2)
	for name, a := range w.asks {
		w.asks[name] = late{a.(*fake)}
	}
	w.round(t.Context(), r, r.Rounds[0], 0)
	for _, p := range w.Live().Pings {
		if p.Loss != 0 || !p.Latency.Known() {
			t.Errorf("%+v", p)
		}
	}
}

func TestDirectionsTakeTurns(t *testing.T) {
	w, _, r := fakes(2)
	for i := range 4 {
		w.round(t.Context(), r, r.Rounds[0], i)
	}
	from := map[string]int{}
	for _, p := range w.Live().Pings {
		from[p.From+p.Kind] += p.Tries
	}
	for _, n := range []string{"n00rdma", "n01rdma", "n00tcp", "n01tcp"} {
		if from[n] != 2 {
			t.Errorf("%v", from)
		}
	}
}
