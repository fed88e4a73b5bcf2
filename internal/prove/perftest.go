package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"time"

	"weft/internal/format/perftest"
	"weft/internal/meter"
	"weft/internal/trial"
	"weft/internal/unit"
)

// firstPort is perftest's own; others are tried when something listens there already.
const (
	firstPort = 18515
	portTries = 20
)

// perftest measures a pair with perftest: B serves, A asks; then the other way round
// where the trial wants it.
func (p *pairing) perftest(ctx context.Context) (there, back *seen, err error) {
	if there, err = p.perftestRun(ctx, p.a, p.pa, p.b, p.pb, nil); err == nil && p.trial.Both {
		back, err = p.perftestRun(ctx, p.b, p.pb, p.a, p.pa, nil)
	}
	return there, back, err
}

// perftestRun runs one server and one client, and again when the server's port was taken
// or perftest says that another try may do.
func (p *pairing) perftestRun(ctx context.Context, a *Session, at Path, b *Session, bt Path, gpu *perftest.GPU) (s *seen, err error) {
	o, err := p.options(ctx, a, b, gpu)
	if err != nil {
		return nil, err
	}
	for try := range portTries {
		var retry bool
		o.TCPPort = firstPort + (p.serial()*7+try*13)%400
		s, retry, err = p.serverAndClient(ctx, o, a, at, b, bt)
		if err == nil || !retry || ctx.Err() != nil {
			break
		}
	}
	return s, err
}

// serial is the number in the name of the connection: pairs that run at once on one
// machine then begin with different ports.
func (p *pairing) serial() (n int) {
	fmt.Sscanf(p.name, "c%d", &n)
	return n
}

// plain is what both sides are given. The size and the depth are perftest's own, which are
// weft's too.
func (p *pairing) plain(cpus int) perftest.Options {
	word := strings.Split(p.trial.ID, ".")
	op, what := word[1], word[len(word)-1]
	switch {
	case p.trial.ID == "gpu.direct" || op == "loop":
		op, what = "write", "bw"
	case what == "bibw":
		what = "bw"
	}
	o := perftest.Options{Test: "ib_" + op + "_" + what, Bidirectional: word[len(word)-1] == "bibw"}
	switch p.effort.Word {
	case "quick":
		o.Iterations = 1000
	case "thorough":
		o.Duration = time.Duration(p.effort.Seconds) * time.Second
	}
	if what == "lat" && o.Duration > 0 { // by duration it prints the average alone
		o.Duration, o.Iterations = 0, 10000
	}
	// A loop that polls starves a software device on one processor.
	o.Events = op != "write" && o.Duration == 0 && cpus == 1
	return o
}

// options are those of plain, and what the perftest of both nodes makes of them.
func (p *pairing) options(ctx context.Context, a, b *Session, gpu *perftest.GPU) (perftest.Options, error) {
	o := p.plain(min(a.Hello.Hello.CPUs, b.Hello.Hello.CPUs))
	o.GPU = gpu
	both := perftest.Offer{} // what the programs of both nodes have
	for i, s := range []*Session{a, b} {
		offer, err := s.offer(ctx, o.Test)
		if err != nil {
			return o, err
		}
		o.Offer = offer
		if err := o.Check(); err != nil {
			return o, &Skip{s.Node + ": " + err.Error()}
		}
		for name, takes := range offer {
			if was, ok := both[name]; i == 0 || ok {
				both[name] = takes && (i == 0 || was)
			}
		}
		if i == 1 {
			maps.DeleteFunc(both, func(name string, _ bool) bool { _, ok := offer[name]; return !ok })
		}
	}
	o.Offer = both
	return o, nil
}

// sides are the options of the server at b and of the client at a.
func sides(o perftest.Options, a, b Path) (serve, ask perftest.Options) {
	serve, ask = o, o
	serve.Device, serve.Port, serve.CM, serve.GIDIndex = b.Device, b.Num, b.CM, b.gid()
	ask.Device, ask.Port, ask.CM, ask.GIDIndex = a.Device, a.Num, a.CM, a.gid()
	ask.Host, ask.JSON = cmp.Or(b.Addr, b.Meet), fileWord
	if ip, err := netip.ParseAddr(ask.Host); err == nil && ip.Is6() {
		serve.IPv6, ask.IPv6 = true, true
	}
	return serve, ask
}

// offer is what a node's perftest has.
func (s *Session) offer(ctx context.Context, test string) (perftest.Offer, error) {
	s.offers.Lock()
	defer s.offers.Unlock()
	if o, ok := s.offered[test]; ok {
		return o, nil
	}
	name := "help " + test
	_, err := s.Ask(ctx, meter.Ask{Do: "start", Conn: name, Argv: []string{test, "--help"}})
	var f *Failed
	if errors.As(err, &f) && f.Class == "start" {
		return nil, fmt.Errorf("%s: %s is not there: install perftest, or use --engine weft", s.Node, test)
	}
	if err != nil {
		return nil, err
	}
	ans, err := s.Ask(ctx, meter.Ask{Do: "wait", Conn: name})
	if err != nil {
		return nil, err
	}
	if s.offered == nil {
		s.offered = map[string]perftest.Offer{}
	}
	s.offered[test] = perftest.ReadHelp([]byte(ans.Out))
	_, err = s.Ask(ctx, meter.Ask{Do: "close", Conn: name})
	return s.offered[test], err
}

// fileWord stands in a command line for a file that the node makes, reads and removes.
const fileWord = "{file}"

// serverAndClient runs one server on b and one client on a. retry says that another try
// may do.
func (p *pairing) serverAndClient(ctx context.Context, o perftest.Options, a *Session, at Path, b *Session, bt Path) (s *seen, retry bool, err error) {
	server, client := p.name+" server", p.name+" client"
	serve, ask := sides(o, at, bt)
	if ask.Host == "" {
		return nil, false, &Skip{b.Node + " has no address that perftest could meet at"}
	}
	var before, after [2]meter.Answer
	started, err := b.Ask(ctx, meter.Ask{Do: "start", Conn: server, Argv: perftest.Command(serve), Port: o.TCPPort})
	defer func() {
		for _, s := range []struct {
			at   *Session
			name string
		}{{a, client}, {b, server}} {
			s.at.Ask(ctx, meter.Ask{Do: "close", Conn: s.name})
		}
	}()
	if err != nil {
		var f *Failed
		taken := errors.As(err, &f) && f.Class == "port"
		return nil, taken, said(err, started.Out)
	}
	look := func(to *[2]meter.Answer) error {
		return both(
			func() (err error) { to[0], err = a.Ask(ctx, meter.Ask{Do: "counters"}); return err },
			func() (err error) { to[1], err = b.Ask(ctx, meter.Ask{Do: "counters"}); return err })
	}
	if err := look(&before); err != nil {
		return nil, false, err
	}
	if _, err := a.Ask(ctx, meter.Ask{Do: "start", Conn: client, Argv: perftest.Command(ask)}); err != nil {
		return nil, false, err
	}
	ans, err := a.Ask(ctx, meter.Ask{Do: "wait", Conn: client, Within: 60 + o.Duration.Seconds()})
	if err != nil {
		return nil, false, said(err, ans.Out)
	}
	if err := look(&after); err != nil {
		return nil, false, err
	}
	s, retry, err = p.reported(ans)
	s = s.with(append(trial.Moves(a.Node, before[0].Counters, after[0].Counters), trial.Moves(b.Node, before[1].Counters, after[1].Counters)...))
	return s, retry, err
}

// said is the error with what perftest itself said, where that explains it.
func said(err error, out string) error {
	if r, e := perftest.Read([]byte(out)); e == nil && r.Problem != nil {
		return fmt.Errorf("%s: %s (%s)", r.Problem.Why, r.Problem.Next, r.Problem.Said)
	}
	return err
}

// reported reads what the client printed, or wrote as JSON where the text has no number.
func (p *pairing) reported(ans meter.Answer) (s *seen, retry bool, err error) {
	r, err := perftest.Read([]byte(ans.Out))
	if len(r.Rows) == 0 && ans.File != "" {
		if j, e := perftest.ReadJSON([]byte(ans.File)); e == nil && len(j.Rows) > 0 {
			r.Rows = j.Rows
		}
	}
	switch {
	case len(r.Rows) == 0 && r.Problem != nil:
		return nil, r.Problem.Retry || r.Problem.Kind == perftest.NoServer, fmt.Errorf("%s: %s (%s)", r.Problem.Why, r.Problem.Next, r.Problem.Said)
	case err != nil:
		return nil, false, err
	case len(r.Rows) == 0:
		return nil, true, fmt.Errorf("perftest ended with %d and printed no number", ans.Exit)
	}
	row := r.Rows[len(r.Rows)-1]
	s = &seen{note: fmt.Sprintf("perftest, %s, MTU %d", unit.Size(row.Size), r.MTU)}
	if p.trial.Unit == trial.Nanoseconds {
		ns := func(d time.Duration) trial.Amount { return trial.Amount(d.Nanoseconds()) }
		s.times = &trial.Times{Min: ns(row.Min), Typical: ns(row.Typical), P99: ns(row.P99), P999: ns(row.P999), Max: ns(row.Max), Count: row.Iterations}
		s.samples = []trial.Amount{ns(cmp.Or(row.Typical, row.Avg))}
	} else {
		s.samples = []trial.Amount{trial.Amount(row.Average)}
	}
	return s, false, nil
}

// Commands are the command lines that perftest would be given for the first pair of each
// round's rail; weft's own engine runs no other program.
func Commands(o Order, rounds []trial.Round) (lines []string) {
	if o.Engine != "perftest" {
		return nil
	}
	rails, _ := trial.Rails(o.Case)
	at := paths(o.Case, rails)
	for _, t := range o.Trials {
		if !strings.HasPrefix(t.ID, "rdma.") || len(rounds) == 0 || len(rounds[0].Pairs) == 0 {
			continue
		}
		pair := rounds[0].Pairs[0]
		x := &pairing{trial: t, pair: pair, effort: o.Effort}
		serve, ask := sides(x.plain(0), at[pair.A], at[pair.B])
		ask.JSON = "" // a file that weft makes there and removes
		lines = append(lines, pair.B.Node+": "+strings.Join(perftest.Command(serve), " "), pair.A.Node+": "+strings.Join(perftest.Command(ask), " "))
	}
	return lines
}
