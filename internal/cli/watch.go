package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/bring"
	"weft/internal/check"
	"weft/internal/dump"
	"weft/internal/exec"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/history"
	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/spec"
	"weft/internal/term"
	"weft/internal/trial"
	"weft/internal/watch"
)

// watchFlags are the flags of weft watch.
type watchFlags struct {
	listen, tokenFile, cert, key, state, root string
	node, once, noScreen, good                bool
	every, ping, check, limit                 time.Duration
}

// tokenEnv holds the token where no file does: an argument would be seen by everybody on
// the machine.
const tokenEnv = "WEFT_WATCH_TOKEN"

func (a *app) watch() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow ports, counters, pings, GPUs and checks, and say what changes",
		Long: `Looks at every node of weft.yaml, or at this machine, every few seconds: state, rate,
MTU, GIDs and all counters of its RDMA ports, and its GPUs. Between nodes it pings over
RDMA and TCP, each pair in its turn, so that every node has one ping at a time however
many there are. From time to time it runs all checks. It says what changed, what flaps,
which errors grow too fast and what drifted from the last good state.

On a terminal it is a screen; the keys are at its bottom. Otherwise it writes one line
for each change, or with --jsonl one JSON event. --once and --json show one moment and
end.

--listen serves the same as a web page and as /metrics for Prometheus. Without a token
it answers on this machine alone. The token is read from --token-file or from the
variable WEFT_WATCH_TOKEN; a browser gives it as the password, Prometheus as
authorization credentials.

--node watches this machine alone and shows no screen: one on every node is what
Prometheus scrapes where nobody may ssh.

Exit codes, with --once or --json: 0 nothing is wrong, 1 something is, 3 something
could not be seen. Otherwise 0 after q or --for, 130 after Ctrl-C.`,
		Example: `  weft watch
  weft watch --once
  weft watch --listen 127.0.0.1:9817
  weft watch --node --listen :9817 --token-file /etc/weft/token
  weft watch --jsonl | jq -r 'select(.level == "fail") | .text'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			const undone = "nothing is left running on any node"
			err := a.watching(cmd.Context(), f)
			switch {
			case err == nil && cmd.Context().Err() != nil:
				a.undone = undone
				return context.Cause(cmd.Context())
			case err == nil && a.code == exitInterrupted: // by a key
				fmt.Fprintln(a.err, "weft: interrupted; "+undone)
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "", "serve page and metrics at this address, like 127.0.0.1:9817")
	fl.StringVar(&f.tokenFile, "token-file", "", "file that holds the token for other machines to look (or set "+tokenEnv+")")
	fl.StringVar(&f.cert, "tls-cert", "", "serve HTTPS with this certificate")
	fl.StringVar(&f.key, "tls-key", "", "and this key")
	fl.BoolVar(&f.node, "node", false, "watch this machine alone, without a screen")
	fl.DurationVar(&f.every, "every", 0, "time between two looks at a node (default 5s; 15s with --node)")
	fl.DurationVar(&f.ping, "ping", 5*time.Second, "time between two rounds of pings; 0 pings nobody")
	fl.DurationVar(&f.check, "check", 0, "time between two runs of all checks; negative is never (default 15m; 1h with --node)")
	fl.DurationVar(&f.limit, "for", 0, "end after this time")
	fl.BoolVar(&f.once, "once", false, "show one moment and end")
	fl.BoolVar(&f.noScreen, "plain", false, "write lines even on a terminal")
	fl.StringVar(&f.state, "state", "", "file that keeps the past over restarts (default: .weft/watch/state.json beside weft.yaml; with --node $STATE_DIRECTORY/watch.json)")
	fl.BoolVar(&f.good, "good", false, "drift is counted from how things are now")
	fl.StringVar(&f.root, "root", "/", "look at this machine's files below another folder")
	fl.MarkHidden("root") // for tests, and for containers that mount the host's /sys elsewhere
	return cmd
}

// bounds refuses what makes no sense, and fills in the usual.
func (f *watchFlags) bounds() error {
	if f.every == 0 {
		f.every = 5 * time.Second
		if f.node {
			f.every = 15 * time.Second
		}
	}
	if f.check == 0 {
		f.check = 15 * time.Minute
		if f.node {
			f.check = time.Hour
		}
	}
	switch {
	case f.every < time.Second || f.every > time.Hour:
		return fail("weft watch --every 5s", "--every %s: want 1s to 1h", f.every)
	case f.ping != 0 && (f.ping < time.Second || f.ping > time.Hour):
		return fail("weft watch --ping 5s", "--ping %s: want 1s to 1h, or 0", f.ping)
	case f.check > 0 && f.check < time.Minute:
		return fail("weft watch --check 15m", "--check %s: want at least 1m", f.check)
	case (f.cert == "") != (f.key == ""):
		return fail("weft watch --help", "--tls-cert and --tls-key go together")
	case f.listen == "" && (f.tokenFile != "" || f.cert != ""):
		return fail("weft watch --listen 127.0.0.1:9817", "a token or certificate is for --listen")
	}
	return nil
}

// watching does it.
func (a *app) watching(ctx context.Context, f watchFlags) error {
	if err := f.bounds(); err != nil {
		return err
	}
	if (f.once || a.json) && f.listen != "" {
		return fail("weft watch --listen "+shellWord(f.listen), "--once and --json end after one moment, so there would be nothing to listen to")
	}
	w := &watcher{app: a, flags: f}
	o, err := w.order()
	if err != nil {
		return err
	}
	server, listener, err := w.serve()
	if err != nil {
		return err
	}
	if f.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.limit)
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	now := watch.New(o)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { now.Run(ctx) })
	if w.way != nil {
		defer w.way.Run.Close()
	}
	served := make(chan error, 1)
	if server != nil {
		server.Watch, server.Page = now, w.page
		if o.Source == "this machine" {
			server.Fresh = now.Fresh
		}
		wg.Go(func() {
			served <- server.Serve(ctx, listener)
			cancel()
		})
		scheme := "http"
		if f.cert != "" {
			scheme = "https"
		}
		fmt.Fprintf(a.err, "weft: watching at %s://%s/ and /metrics\n", scheme, listener.Addr())
		if f.cert == "" && server.Token != "" {
			fmt.Fprintln(a.err, "weft: without --tls-cert the token travels readably: use it only in a network that you trust, or through ssh -L")
		}
	}
	err = w.show(ctx, now)
	cancel()
	if server != nil {
		if e := <-served; err == nil && e != nil {
			err = fail("weft watch --listen 127.0.0.1:9817", "--listen %s: %v", f.listen, e)
		}
	}
	return err
}

// watcher is what the parts of the command share.
type watcher struct {
	*app
	flags watchFlags
	way   *prove.Way

	mu   sync.Mutex
	view report.LiveOptions // what the last whole look adds to the page
	good *fact.Cluster      // the facts of the last in which nothing failed
}

// order is what to watch.
func (w *watcher) order() (watch.Order, error) {
	f := w.flags
	o := watch.Order{Every: f.every, PingEvery: f.ping, CheckEvery: max(0, f.check), State: f.state, Anew: f.good, Version: Version(), Check: w.checkNow}
	if w.from != "" {
		if f.node {
			return o, fail("weft watch --node", "--node watches this machine, not %s", w.from)
		}
		return w.replay(o)
	}
	var want spec.Spec
	folder := "."
	if !f.node {
		var err error
		if want, _, folder, err = w.spec(nil); err != nil {
			return o, err
		}
	}
	w.folder = folder
	asks, source, err := w.asks(want)
	if err != nil {
		return o, err
	}
	o.Source = source
	for _, ask := range asks {
		o.Nodes = append(o.Nodes, ask.Target.Name)
	}
	if len(want.Nodes) == 0 {
		o.PingEvery = 0
		o.Open = watch.Here(f.root)
		if dir := os.Getenv("STATE_DIRECTORY"); o.State == "" && dir != "" && f.node {
			o.State = filepath.Join(strings.SplitN(dir, ":", 2)[0], "watch.json")
		}
		return o, nil
	}
	if err := w.sshFrom(want, folder); err != nil {
		return o, err
	}
	if o.State == "" {
		o.State = filepath.Join(folder, ".weft", "watch", "state.json")
	}
	w.way = &prove.Way{Run: exec.New(exec.Options{Config: w.sshConfig, Width: len(o.Nodes) + exec.DefaultWidth}), Binary: bring.Self, Targets: map[string]exec.Target{}, Archs: map[string]string{}, Line: maxLook}
	for _, ask := range asks {
		w.way.Targets[ask.Target.Name] = ask.Target
	}
	o.Open = watch.Remote(w.way)
	if f.check < 0 { // whom to ping is known from a look at the whole cluster
		o.PingEvery = 0
	}
	if !f.good {
		w.loadGood()
	}
	return o, nil
}

// maxLook bounds one answer of a node: 64 ports with 1024 counters each are larger than
// any node and smaller than this.
const maxLook = 4 << 20

// replay watches what was collected.
func (w *watcher) replay(o watch.Order) (watch.Order, error) {
	l, err := w.look(context.Background())
	if err != nil {
		return o, err
	}
	o.Source, o.PingEvery, o.State = l.source, 0, ""
	looks := map[string]*history.Look{}
	for _, n := range l.kase.Nodes {
		o.Nodes = append(o.Nodes, n.Name)
		if n.Down == "" {
			looks[n.Name] = history.LookOf(n)
		}
	}
	o.Open = watch.Replay(looks)
	o.Check = func(context.Context) watch.Checked { return w.judged(l) }
	return o, nil
}

// checkNow looks at the whole cluster and judges it.
func (w *watcher) checkNow(ctx context.Context) watch.Checked {
	quiet := *w.app // what it says would be written over the screen
	quiet.err, quiet.out = io.Discard, io.Discard
	if w.flags.node {
		quiet.config = os.DevNull
	}
	l, err := quiet.look(ctx)
	if err != nil {
		return watch.Checked{Err: err}
	}
	return w.judged(l)
}

// judged is what checks say of a look, what changed since the last good one, and whom to
// ping.
func (w *watcher) judged(l *look) watch.Checked {
	r := judge(l, check.All)
	c := history.LiveChecks{When: time.Now(), Counts: map[history.Level]int{}}
	results := map[string]map[history.Level]int{}
	for _, f := range r.Findings {
		level := history.Level(f.Status.String())
		c.Counts[level]++
		if results[f.Check] == nil {
			results[f.Check] = map[history.Level]int{}
		}
		results[f.Check][level]++
		if level == history.Pass || level == history.Skip {
			continue
		}
		c.Findings = append(c.Findings, history.LiveFinding{Check: f.Check, Node: f.Subject.Node, Part: f.Subject.Part, Level: level, Got: f.Got, Want: f.Want, Why: f.Why, Fix: f.Fix})
	}
	for _, ck := range check.All {
		if n := results[ck.ID]; n != nil {
			c.Results = append(c.Results, history.LiveResult{Check: ck.ID, Counts: n})
		}
	}
	got := watch.Checked{Checks: c, Routes: routes(l.kase)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.good != nil {
		got.Drift = history.Diff(w.good, &l.kase.Cluster)
	}
	if first := w.good == nil && w.flags.good; first || c.Counts[history.Fail] == 0 && c.Counts[history.Unknown] == 0 {
		w.good = &l.kase.Cluster
		w.keepGood(l.dump)
	}
	w.view = report.LiveOptions{Links: trial.Links(l.kase), Fabric: l.kase.Fabric, Direct: l.kase.Want.Data.Switch == "none"}
	return got
}

// routes is whom to ping.
func routes(c *check.Case) *watch.Routes {
	rails, left := trial.Rails(c)
	r := &watch.Routes{Paths: prove.Paths(c, rails)}
	r.Rounds, _ = trial.Rounds(rails, trial.Which{Word: "all"}, rand.Perm)
	if len(r.Rounds) == 0 {
		r.Why = "no two nodes have RDMA ports that are up on one rail"
		if len(left) > 0 {
			r.Why += ": " + left[0]
		}
	}
	return r
}

// goodFile holds the last look in which nothing failed.
func (w *watcher) goodFile() string { return filepath.Join(w.folder, ".weft", "watch", "good.dump") }

func (w *watcher) loadGood() {
	f, err := os.Open(w.goodFile())
	if err != nil {
		return
	}
	defer f.Close()
	if d, err := dump.Read(f); err == nil {
		facts := format.Facts(d)
		w.good = &facts
	}
}

func (w *watcher) keepGood(d *dump.Dump) {
	if w.way == nil || d == nil || w.nodes != "" { // part of a cluster is no state to compare with
		return
	}
	if err := watch.WriteWhole(w.goodFile(), d.Format()); err != nil {
		fmt.Fprintf(w.err, "weft: the good state was not kept: %v\n", err)
	}
}

// page is what the page shows beside the moment.
func (w *watcher) page(*history.Live) report.LiveOptions {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view
}

// serve opens what is listened to; nil when nothing is.
func (w *watcher) serve() (*watch.Server, net.Listener, error) {
	f := w.flags
	if f.listen == "" {
		if f.node && !f.once && !w.json {
			return nil, nil, fail("weft watch --node --listen 127.0.0.1:9817", "--node without --listen serves nobody")
		}
		return nil, nil, nil
	}
	token, err := readToken(f.tokenFile)
	if err != nil {
		return nil, nil, err
	}
	if info, err := os.Stat(f.tokenFile); err == nil && info.Mode()&0o004 != 0 {
		fmt.Fprintf(w.err, "weft: %s can be read by everybody on this machine: chmod 600 %s\n", f.tokenFile, shellWord(f.tokenFile))
	}
	s := &watch.Server{Token: token}
	s.TLS.Cert, s.TLS.Key = f.cert, f.key
	l, err := s.Listen(f.listen)
	var needs *watch.NeedsToken
	switch {
	case errors.As(err, &needs):
		return nil, nil, fail("head -c 24 /dev/urandom | base64 > token && chmod 600 token && weft watch --listen "+shellWord(f.listen)+" --token-file token",
			"--listen %s: other machines can reach that address, so it needs a token", f.listen)
	case err != nil:
		return nil, nil, fail("weft watch --listen 127.0.0.1:9817", "--listen %s: %v", f.listen, err)
	}
	return s, l, nil
}

// readToken reads the token from its file or from the environment.
func readToken(path string) (string, error) {
	token, where := os.Getenv(tokenEnv), tokenEnv
	if path != "" {
		b, err := readLimited(path, 4096)
		if err != nil {
			return "", fail("weft watch --help", "--token-file %s: %v", path, plain(err))
		}
		token, where = string(b), path
	}
	os.Unsetenv(tokenEnv) // no program that weft starts needs it
	token = strings.TrimSpace(token)
	switch {
	case token == "" && path != "":
		return "", fail("weft watch --help", "%s: it is empty", where)
	case token != "" && len(token) < watch.MinToken:
		return "", fail("head -c 24 /dev/urandom | base64", "%s: the token has %d characters: want at least %d", where, len(token), watch.MinToken)
	}
	return token, nil
}

// show shows the watch until it ends.
func (w *watcher) show(ctx context.Context, now *watch.Watch) error {
	f := w.flags
	switch out, tty := w.out.(*os.File); {
	case f.once || w.json:
		return w.showOnce(ctx, now)
	case w.jsonl:
		return w.showLines(ctx, now, func(e history.Event) error { return report.Event(w.out, "change", e) })
	case f.node || f.noScreen || !tty || !term.Is(out):
		o := report.Options{Colour: term.Colour(w.out)}
		return w.showLines(ctx, now, func(e history.Event) error { return report.WatchLine(w.out, e, o) })
	}
	out, _ := w.out.(*os.File)
	return w.screen(ctx, now, out)
}

// showLines writes every change.
func (w *watcher) showLines(ctx context.Context, now *watch.Watch, write func(history.Event) error) error {
	heard, end := now.Hear()
	defer end()
	for {
		select {
		case <-ctx.Done():
			return nil
		case events := <-heard:
			for _, e := range events {
				if err := write(e); err != nil {
					return nil // who reads has gone
				}
			}
		}
	}
}

// showOnce waits until every node was looked at twice, or until it is clear that one will
// not answer, and for the checks.
func (w *watcher) showOnce(ctx context.Context, now *watch.Watch) error {
	progress := term.Start(w.err, "watching", 0)
	most := time.Now().Add(2*w.flags.every + onceTime)
	var l *history.Live
	for {
		l = now.Live()
		done := 0
		for _, n := range l.Nodes {
			if n.State == "lost" || twice(n) {
				done++
			}
		}
		progress.Set(done, len(l.Nodes))
		checked := w.flags.check < 0 || l.Checks != nil
		if done == len(l.Nodes) && checked && (w.from != "" || l.Figures.Looks >= int64(2*l.Totals.NodesUp)) || time.Now().After(most) {
			break
		}
		if !pause(ctx, 200*time.Millisecond) {
			progress.Done()
			return nil
		}
	}
	progress.Done()
	switch l.Level {
	case history.Fail:
		w.code = exitNo
	case history.Unknown:
		w.code = exitIncomplete
	}
	if w.json {
		return report.JSON(w.out, "watch", l)
	}
	return report.WatchText(w.out, l, report.Options{Colour: term.Colour(w.out), Width: term.Width(w.out)})
}

// onceTime is how long the first moment may take beside two looks: weft must come onto the
// nodes, and be checked.
const onceTime = 90 * time.Second

// twice reports whether rates are known.
func twice(n history.LiveNode) bool {
	for _, p := range n.Ports {
		for _, c := range p.Counters {
			if c.Rate.Known() {
				return true
			}
		}
	}
	return len(n.Ports) == 0 && n.State == "answers"
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// screen shows the watch on the terminal.
func (w *watcher) screen(ctx context.Context, now *watch.Watch, out *os.File) error {
	err := watch.Screen(ctx, now, w.in, out, term.Colour(out))
	if errors.Is(err, watch.ErrInterrupted) { // Ctrl-C is a key on the screen
		w.code = exitInterrupted
		return nil
	}
	return err
}
