package cli

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"weft/internal/demo"
	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/report"
	"weft/internal/trial"
	"weft/internal/unit"
)

// liveMoment is one moment of a watch over four servers, with something of everything.
// Every tick a little is different.
func liveMoment(tick int) (history.Live, report.LiveOptions) {
	start := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	now := start.Add(time.Duration(tick) * 5 * time.Second)
	l := history.Live{When: now, Since: start, Every: 5, Source: "weft.yaml", Level: history.Fail, Summary: "kai3 mlx5_0/1 flaps; kai4 does not answer", PingPlan: "every pair in about 20 s, 2 pairs at a time"}
	l.Totals = history.LiveTotals{Nodes: 4, NodesUp: 3, Ports: 8, PortsUp: 5, GPUs: 12, Sent: 31e9 + float64(tick)*1e8, Received: 30e9}
	var o report.LiveOptions
	o.Title = "kai-rack"
	for i := 1; i <= 4; i++ {
		n := history.LiveNode{Name: fmt.Sprintf("kai%d", i), Level: history.Pass, State: "answers", Seen: now}
		if i == 4 {
			n.Level, n.State, n.Why, n.Seen = history.Unknown, "lost", "no route to host", start
		}
		for p := range 2 {
			port := history.LivePort{Name: fmt.Sprintf("mlx5_%d/1", p), State: "ACTIVE", Phys: "LinkUp", Health: history.HealthUp, Level: history.Pass, Rate: fact.Some(200 * unit.Gbps), MTU: fact.Some(9000), Sent: fact.Some(9e9 + float64(tick*i)*1e8), Received: fact.Some(8.5e9), Use: fact.Some(0.36 + float64((tick+i+p)%7)/20), Counters: []history.LiveCounter{{Name: "port_xmit_data", Value: uint64(1e12 + tick), Rate: fact.Some(2.25e9)}, {Name: "symbol_error", Value: 0, Rate: fact.Some(0.0)}}}
			switch {
			case i == 4:
				port.Level, port.State, port.Health, port.Why, port.Sent, port.Received, port.Use = history.Unknown, "", history.HealthUnknown, "the node does not answer", fact.Val[float64]{}, fact.Val[float64]{}, fact.Val[float64]{}
			case i == 3 && p == 0:
				port.State, port.Level, port.Health, port.Why, port.Flaps = "DOWN", history.Fail, history.HealthFlapping, "came back 4 times in 10 min", 4
				port.Sent, port.Received, port.Use = fact.Some(0.0), fact.Some(0.0), fact.Some(0.0)
				n.Level = history.Fail
			case i == 2 && p == 1:
				port.Level, port.Why = history.Warn, "retransmissions grow"
				port.Trouble = []history.LiveTrouble{{Name: "local_ack_timeout_err", Rate: 0.4, Grew: 24, Per: 60, Limit: 10, Level: history.Warn}}
				n.Level = history.Warn
			}
			n.Ports = append(n.Ports, port)
			o.Links = append(o.Links, trial.Link{End: trial.End{Node: n.Name, Port: port.Name}, Netdev: fmt.Sprintf("ens%df0np0", p+1), State: port.State, Rate: 200 * unit.Gbps, Rail: fmt.Sprintf("10.10.%d.0/24", p+1), Switch: "leaf" + fmt.Sprint(p+1), Plug: fmt.Sprintf("Eth1/%d", i)})
		}
		for g := range 4 {
			if i < 4 {
				n.GPUs = append(n.GPUs, history.LiveGPU{Index: g, Name: "NVIDIA A100-SXM4-80GB", Level: history.Pass, Use: fact.Some(float64((tick*7+g*11+i*3)%100) / 100), Memory: fact.Some(80 * unit.GiB), MemoryUse: fact.Some(61 * unit.GiB), Power: fact.Some(311.0), Temp: fact.Some(61.0), Clock: fact.Some(1.41e9)})
			}
		}
		l.Nodes = append(l.Nodes, n)
	}
	for _, kind := range []string{"rdma", "tcp"} {
		for i := 1; i <= 4; i++ {
			for j := 1; j <= 4; j++ {
				if i == j {
					continue
				}
				p := history.LivePing{Kind: kind, From: fmt.Sprintf("kai%d", i), To: fmt.Sprintf("kai%d", j), FromPort: "mlx5_0/1", ToPort: "mlx5_0/1", When: now, Latency: fact.Some(map[string]float64{"rdma": 2.1e-6, "tcp": 24e-6}[kind] * (1 + float64((tick+i+j)%5)/40)), Tries: 32, Level: history.Pass}
				switch {
				case i == 4 || j == 4:
					p.Level, p.Latency, p.Loss, p.Why = history.Unknown, fact.Val[float64]{}, 1, "the node does not answer"
				case i == 3 || j == 3:
					p.Level, p.Loss, p.Why = history.Fail, 0.25, "8 of 32 were lost"
				}
				l.Pings = append(l.Pings, p)
			}
		}
	}
	l.Checks = &history.LiveChecks{When: now.Add(-time.Minute), Age: 60, Counts: map[history.Level]int{history.Fail: 1, history.Pass: 320}, Findings: []history.LiveFinding{{Check: "roce.mtu", Node: "kai2", Part: "mlx5_1/1", Level: history.Fail, Got: "mtu 1500", Want: "9000", Why: "RDMA packets shrink to 1024 bytes, so there are 4 times as many", Fix: []string{"sudo ip link set dev ens2f0np0 mtu 9000"}}}}
	l.Good = &history.Good{When: start.Add(-time.Hour), Why: "weft check found nothing wrong", Drift: []history.Drift{{Node: "kai2", Part: "mlx5_1/1", What: "mtu", From: "9000", To: "1500", Since: start, Level: history.Warn}}}
	l.Changes = []history.Event{{When: now, Node: "kai3", Part: "mlx5_0/1", What: "flap", Level: history.Fail, Text: "went down for the 4th time in 10 min"}, {When: start, Node: "kai4", What: "node", Level: history.Unknown, Text: "does not answer: no route to host"}}
	return l, o
}

// liveServer serves moments the way weft watch does, and can be stopped and started.
type liveServer struct {
	t    *testing.T
	addr string
	mu   sync.Mutex
	tick int
	http *http.Server
	evil string // a name that tries to be markup; "" is none
}

func (s *liveServer) start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	m := http.NewServeMux()
	m.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		live, o := s.moment(r)
		var b bytes.Buffer
		if err := report.LivePage(&b, live, o); err != nil {
			s.t.Error(err)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", report.LiveCSP()+"; frame-ancestors 'none'")
		w.Write(b.Bytes())
	})
	m.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "retry: 300\n\n")
		var had []report.LivePart
		for r.Context().Err() == nil {
			live, o := s.moment(r)
			parts, err := report.LiveParts(live, o)
			if err != nil {
				s.t.Error(err)
				return
			}
			if changed := report.LiveChanged(had, parts); len(changed) > 0 {
				if report.LiveEvent(w, changed) != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				had = parts
			}
			select {
			case <-r.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	s.http = &http.Server{Handler: m}
	go s.http.Serve(l)
}

func (s *liveServer) moment(r *http.Request) (history.Live, report.LiveOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, o := liveMoment(s.tick)
	o.Open = r.URL.Query().Get("open")
	if s.evil != "" {
		o.Title, l.Summary, l.Nodes[0].Name, l.Nodes[1].Ports[0].Why, l.Changes[0].Text, l.Checks.Findings[0].Got, l.Good.Drift[0].To = s.evil, s.evil, s.evil, s.evil, s.evil, s.evil, s.evil
		l.Pings[0].From, l.Pings[0].Why, o.Links[0].Switch, o.Links[1].Rail = s.evil, s.evil, s.evil, s.evil
	}
	return l, o
}

func (s *liveServer) next() { s.mu.Lock(); s.tick++; s.mu.Unlock() }

// until waits for a script to be true.
func (b *browser) until(what, script string) {
	b.t.Helper()
	end := time.Now().Add(time.Minute)
	for !eval[bool](b, script) {
		if time.Now().After(end) {
			b.t.Fatalf("not within a minute: %s; the page says %q", what, eval[string](b, `document.getElementById("state").textContent`))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

const (
	isLive = `document.getElementById("state").textContent === "Live."`
	shown  = `document.getElementById("when").textContent`
)

// TestLivePageInChromium follows a watch in a real browser, through its end and its return.
func TestLivePageInChromium(t *testing.T) {
	b := startBrowser(t)
	s := &liveServer{t: t, addr: "127.0.0.1:0"}
	s.start()
	t.Cleanup(func() { s.http.Close() })
	url := "http://" + s.addr + "/"
	b.media("screen", "light")
	b.open(url, 1280, 900)
	b.until("live", isLive)
	b.picture("watch", true)
	b.accessible()
	b.contrasts("live")
	if bad := eval[[]string](b, cutOffScript); len(bad) > 0 {
		t.Errorf("%q", bad)
	}
	b.noSideways()
	b.filters("kai2")
	b.tabbable()

	// What changes is shown, and what a person does meanwhile stays: the filter, the row
	// that has the focus, what is marked.
	b.slash()
	b.press("mlx5_0/1", kb.ArrowDown, kb.ArrowDown)
	row := eval[string](b, `document.activeElement.dataset.key`)
	visible := eval[int](b, `document.querySelectorAll(".item:not([hidden])").length`)
	before := eval[string](b, shown)
	for range 3 {
		s.next()
		b.until("the next moment", fmt.Sprintf(`%s !== %q`, shown, before))
		before = eval[string](b, shown)
	}
	if got := eval[string](b, `document.activeElement.dataset.key || ""`); got != row || row == "" {
		t.Errorf("the focus went from %q to %q", row, got)
	}
	if got := eval[int](b, `document.querySelectorAll(".item:not([hidden])").length`); got != visible {
		t.Errorf("the filter left %d rows, and after a change %d", visible, got)
	}
	b.slash()
	b.press(kb.Escape)

	// The counters of one port, by a link that works without script, too.
	do(b, chromedp.Navigate(url+eval[string](b, `document.querySelector('[data-key="kai2 mlx5_1/1"] a').getAttribute("href")`)))
	b.until("counters", `document.querySelector('[data-key="counter port_xmit_data"]') !== null`)
	was := eval[string](b, `document.querySelector('[data-key="counter port_xmit_data"]').textContent`)
	s.next()
	b.until("counters move", fmt.Sprintf(`document.querySelector('[data-key="counter port_xmit_data"]').textContent !== %q`, was))
	b.picture("watch-counters", false)

	// Nothing new for long: the page says that it is old.
	eval[bool](b, `(() => { const now = performance.now.bind(performance); performance.now = () => now() + 60000; return true; })()`)
	b.until("stale", `document.getElementById("state").textContent.startsWith("Stale: ")`)
	s.next()
	b.until("live again", isLive)

	// The server ends and comes back: the page says so, and comes back by itself.
	b.quiet("http://" + s.addr + "/")
	s.http.Close()
	b.until("not connected", `document.getElementById("state").textContent.startsWith("Not connected")`)
	b.picture("watch-lost", false)
	s.next()
	s.start()
	b.until("connected again", isLive)

	b.media("screen", "dark")
	b.open(url, 1280, 900)
	b.contrasts("live dark")
	b.picture("watch-dark", true)
	b.media("screen", "light")
	b.open(url, 390, 844)
	b.noSideways()
	b.until("live", isLive)
	b.picture("watch-phone", true)
	b.picture("doc-watch-phone", false)
	b.open(url, 1200, 1000)
	b.until("live", isLive)
	b.picture("doc-watch", false)
}

// TestHostileLivePageInChromium: what comes with an event is text, too.
func TestHostileLivePageInChromium(t *testing.T) {
	b := startBrowser(t)
	s := &liveServer{t: t, addr: "127.0.0.1:0", evil: `"><img src=x onerror="document.title='owned'"><script>document.title='owned'</script><svg onload="document.title='owned'">`}
	s.start()
	t.Cleanup(func() { s.http.Close() })
	url := "http://" + s.addr + "/"
	b.open(url, 1280, 900)
	b.until("live", isLive)
	before := eval[string](b, shown)
	s.next()
	b.until("the next moment", fmt.Sprintf(`%s !== %q`, shown, before))
	time.Sleep(100 * time.Millisecond)
	if eval[bool](b, `document.title.startsWith("owned")`) {
		t.Error("it ran")
	}
	if n := eval[int](b, `document.querySelectorAll("img, script, [onload], [onerror]").length`); n != 2 {
		t.Errorf("%d elements that are not ours", n-2)
	}
	if !eval[bool](b, `document.querySelector("h1").textContent.includes("<script>")`) {
		t.Error("the name is not shown as it is")
	}
	b.quiet(url)
}

// TestWatchPageInChromium opens the page of weft watch itself: the first paint is within a
// second, nothing is said on the console, nothing is fetched from elsewhere.
func TestWatchPageInChromium(t *testing.T) {
	b := startBrowser(t)
	dir := t.TempDir()
	for _, c := range demo.All() {
		write(t, filepath.Join(dir, c.Name+".dump"), c.Dump())
	}
	many := manyDump(t, 64)
	write(t, filepath.Join(dir, "many.dump"), many.Format())
	for _, name := range []string{"kai-rack", "ib-lab", "many"} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			url, stop := startWatch(t, filepath.Join(dir, name+".dump"))
			defer stop()
			b.media("screen", "light")
			b.open(url, 1280, 900)
			b.until("live", isLive)
			var paints []float64
			for range 5 {
				b.open(url, 1280, 900)
				b.until("painted", `performance.getEntriesByName("first-contentful-paint").length > 0`)
				paints = append(paints, eval[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
			}
			t.Logf("first contentful paint: %.0f ms", paints)
			if best := min(paints[0], paints[1], paints[2], paints[3], paints[4]); best > 1000 {
				t.Errorf("first paint after %.0f ms, want under 1000", best)
			}
			b.until("live", isLive)
			b.accessible()
			b.noSideways()
			if bad := eval[[]string](b, cutOffScript); len(bad) > 0 {
				t.Errorf("%q", bad)
			}
			b.picture("watch-"+name, false)
			b.quiet(url)
			b.open("about:blank", 1280, 900) // before the server ends, which a page would tell
		})
	}
}

func manyDump(t testing.TB, n int) *dump.Dump {
	t.Helper()
	dir := manyFolder(t, n, false)
	d, err := dump.Parse(must(readLimited(lastLook(t, dir), maxBundle)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// startWatch runs weft watch on a dump until it is stopped.
func startWatch(t *testing.T, path string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs lockedBuffer
	a := &app{in: strings.NewReader(""), out: &out, err: &errs}
	root := a.root()
	root.SetArgs([]string{"watch", "-F", path, "--listen", "127.0.0.1:0", "--plain", "--every", "1s"})
	done := make(chan error, 1)
	go func() { done <- root.ExecuteContext(ctx) }()
	stop = func() { cancel(); <-done }
	end := time.Now().Add(30 * time.Second)
	for {
		if m := regexp.MustCompile(`http://[0-9.]+:[0-9]+/`).FindString(errs.String()); m != "" {
			return m, stop
		}
		select {
		case err := <-done:
			t.Fatalf("weft watch ended: %v: %s", err, errs.String())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(end) {
			stop()
			t.Fatalf("weft watch does not listen: %s", errs.String())
		}
	}
}

// lockedBuffer is a buffer that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
