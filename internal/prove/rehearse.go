package prove

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weft/internal/check"
	"weft/internal/collective"
	"weft/internal/meter"
	"weft/internal/rehearsal"
	"weft/internal/trial"
	"weft/internal/verbs"
)

// Rehearsal is what to rehearse.
type Rehearsal struct {
	Case    *check.Case
	Nodes   []string         // by rank
	Steps   []rehearsal.Step // of one token
	Batch   int
	Effort  trial.Effort
	Disturb bool // also where nodes are busy
	Say     func(done, all int, what string)
}

// Rehearse has nodes exchange what a token needs, over RDMA and over TCP, and tells how
// long it took. What could not be done is in Left.
func Rehearse(ctx context.Context, way *Way, o Rehearsal) rehearsal.Rehearsal {
	r := &rehearser{Rehearsal: o, way: way, out: rehearsal.Rehearsal{Nodes: o.Nodes, Batch: o.Batch}}
	r.rehearse(ctx)
	return r.out
}

// rehearser is one rehearsal under way.
type rehearser struct {
	Rehearsal
	way   *Way
	out   rehearsal.Rehearsal
	ranks []*Session
	paths []Path
	ends  []trial.End
	kinds []collective.Op // one of each kind and size
	count []int           // how many of it a token has
	done  int
}

func (r *rehearser) left(format string, args ...any) {
	r.out.Left = append(r.out.Left, fmt.Sprintf(format, args...))
}

func (r *rehearser) say(what string) {
	if r.Say != nil {
		r.Say(r.done, 2*(len(r.kinds)+2), what)
	}
	r.done++
}

func (r *rehearser) rehearse(ctx context.Context) {
	r.sort()
	if err := r.rail(); err != nil {
		r.left("%v", err)
		return
	}
	r.say("putting meters on nodes")
	defer func() {
		var wg sync.WaitGroup
		for _, s := range r.ranks {
			if s != nil {
				wg.Go(s.Close)
			}
		}
		wg.Wait()
	}()
	if err := r.open(ctx); err != nil {
		r.left("%s", why(err))
		return
	}
	for _, transport := range []string{"rdma", "tcp"} {
		if ctx.Err() != nil {
			r.left("%s: interrupted before it was rehearsed", transport)
		} else if err := r.over(ctx, transport); err != nil {
			r.left("%s: %s", transport, why(err))
		}
	}
}

// sort finds the kinds and sizes of exchange: of groups that do the same, one is enough.
func (r *rehearser) sort() {
	for _, s := range r.Steps {
		i := slices.IndexFunc(r.kinds, func(o collective.Op) bool { return sameKind(o, s.Op) })
		if i < 0 {
			i = len(r.kinds)
			r.kinds, r.count = append(r.kinds, s.Op), append(r.count, 0)
		}
		r.count[i]++
	}
}

func sameKind(a, b collective.Op) bool {
	return a.Kind == b.Kind && a.Bytes == b.Bytes && len(a.Ranks) == len(b.Ranks)
}

// rail finds a rail that all nodes are on.
func (r *rehearser) rail() error {
	rails, left := trial.Rails(r.Case)
	known := paths(r.Case, rails)
	for _, rail := range rails {
		var ends []trial.End
		for _, node := range r.Nodes {
			if i := slices.IndexFunc(rail.Ends, func(e trial.End) bool { return e.Node == node }); i >= 0 {
				ends = append(ends, rail.Ends[i])
			}
		}
		if len(ends) < len(r.Nodes) {
			continue
		}
		if r.out.Rail != "" {
			r.left("rail %s: one rail is rehearsed, %s", rail.Name, r.out.Rail)
			continue
		}
		r.out.Rail, r.ends = rail.Name, ends
		for _, e := range ends {
			r.paths = append(r.paths, known[e])
		}
	}
	if r.out.Rail == "" {
		return fmt.Errorf("no rail has a port that is up on all of %s%s", strings.Join(r.Nodes, ", "), because(left))
	}
	return nil
}

func because(left []string) string {
	if len(left) == 0 {
		return " (weft show ports)"
	}
	return ": " + strings.Join(left, "; ")
}

// open puts a meter on every node.
func (r *rehearser) open(ctx context.Context) error {
	r.ranks = make([]*Session, len(r.Nodes))
	p := &prover{Order: Order{Case: r.Case}, way: r.way, paths: map[trial.End]Path{}}
	for i, e := range r.ends {
		p.paths[e] = r.paths[i]
	}
	opening := make(chan struct{}, opensAtOnce)
	return r.each(func(i int) error {
		opening <- struct{}{}
		defer func() { <-opening }()
		s, err := r.way.Open(ctx, r.Nodes[i])
		if err != nil {
			return fmt.Errorf("%s: %w", r.Nodes[i], err)
		}
		r.ranks[i] = s
		if r.Disturb {
			return nil
		}
		busy, err := p.busy(ctx, s)
		if err == nil && busy != "" {
			err = fmt.Errorf("%s is %s; --busy rehearses all the same", r.Nodes[i], busy)
		}
		return err
	})
}

// each does something for every rank at once. Of several errors, the one that explains the
// others is returned: who is lost, rather than who waited for him.
func (r *rehearser) each(f func(rank int) error) error {
	errs := make([]error, len(r.ranks))
	var wg sync.WaitGroup
	for i := range r.ranks {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	var first error
	for _, err := range errs {
		var lost *Lost
		var failed *Failed
		switch {
		case errors.As(err, &lost):
			return err
		case errors.As(err, &failed) && failed.Class != "peer":
			return err
		case first == nil:
			first = err
		}
	}
	return first
}

// group is the ranks joined over one transport.
type group struct {
	*rehearser
	transport string
	name      string
	hows      map[int]string // by kind: the quickest way
}

// over rehearses over one transport.
func (r *rehearser) over(ctx context.Context, transport string) (err error) {
	for i, at := range r.paths {
		switch {
		case transport == "rdma" && at.Bar != "":
			return fmt.Errorf("%s", at.Bar)
		case transport == "tcp" && at.Addr == "":
			return fmt.Errorf("%s has no IP address on the rail", r.Nodes[i])
		}
	}
	g := &group{rehearser: r, transport: transport, name: "group " + transport, hows: map[int]string{}}
	opened, err := g.join(ctx)
	defer func() {
		closed := make([]meter.Answer, len(r.ranks))
		cerr := r.each(func(i int) (err error) {
			closed[i], err = r.ranks[i].Ask(ctx, meter.Ask{Do: "close", Conn: g.name})
			return err
		})
		if err == nil && cerr == nil {
			r.carried(transport, opened, closed)
		}
	}()
	if err != nil {
		return err
	}
	for i, o := range r.kinds {
		r.say(fmt.Sprintf("%s: %s of %d bytes", transport, o.Kind, o.Bytes))
		if err := g.kind(ctx, i); err != nil {
			return err
		}
	}
	r.say(transport + ": tokens")
	return g.tokens(ctx)
}

// join opens a group on all nodes and connects them.
func (g *group) join(ctx context.Context) ([]meter.Answer, error) {
	n := len(g.ranks)
	answers := make([]meter.Answer, n)
	err := g.each(func(i int) (err error) {
		o := &meter.Group{Rank: i, Ranks: n, Ops: g.all()}
		if at := g.paths[i]; g.transport == "rdma" {
			o.RDMA = &meter.RDMA{Device: at.Device, Port: at.Num, GID: at.GID, Class: at.Class}
		} else {
			o.Addr = at.Addr
		}
		answers[i], err = g.ranks[i].Ask(ctx, meter.Ask{Do: "group open", Conn: g.name, Group: o})
		return err
	})
	if err != nil {
		return answers, err
	}
	for _, a := range answers {
		if len(a.Peers) != n && a.Port == 0 {
			return answers, errors.New("a node does not say how to reach it")
		}
	}
	return answers, g.each(func(i int) error {
		j := &meter.Join{}
		for k, a := range answers {
			if g.transport == "tcp" {
				j.Addrs = append(j.Addrs, net.JoinHostPort(g.paths[k].Addr, strconv.Itoa(a.Port)))
				continue
			}
			var p *verbs.Peer
			if k != i {
				p = a.Peers[i]
			}
			j.Peers = append(j.Peers, p)
		}
		_, err := g.ranks[i].Ask(ctx, meter.Ask{Do: "group join", Conn: g.name, Join: j, Within: 30})
		return err
	})
}

// all is every op that the group may be asked for.
func (g *group) all() (ops []collective.Op) {
	for _, o := range g.kinds {
		if o.Kind != collective.AllReduce {
			ops = append(ops, o)
			continue
		}
		for _, how := range collective.Ways(len(o.Ranks)) {
			o.How = how
			ops = append(ops, o)
		}
	}
	return ops
}

// run has all ranks carry ops out, so many times, and returns what each rank saw.
func (g *group) run(ctx context.Context, ops []collective.Op, times int, within time.Duration, check uint64) ([]*meter.Rehearsed, error) {
	seen := make([]*meter.Rehearsed, len(g.ranks))
	err := g.each(func(i int) error {
		a, err := g.ranks[i].Ask(ctx, meter.Ask{Do: "rehearse", Conn: g.name, Within: within.Seconds(), Rehearse: &meter.Rehearse{Ops: ops, Times: times, Check: check}})
		if err == nil && check == 0 && (a.Rehearsed == nil || len(a.Rehearsed.Each) != len(ops) || len(a.Rehearsed.Whole) != times) {
			err = fmt.Errorf("%s does not say what it saw", g.Nodes[i])
		}
		seen[i] = a.Rehearsed
		return err
	})
	return seen, err
}

// Bounds of how often something is repeated.
const (
	warmTimes  = 5
	fewTimes   = 10
	mostTimes  = 5000
	patience   = 30 * time.Second // beside what a run is expected to take
	hopsATrip  = 2
	fewTokens  = 3
	mostTokens = 1000
)

// timed carries ops out for about so long, after a few times to warm up, and returns how
// long all of them took each time, as the rank that begins sees it.
func (g *group) timed(ctx context.Context, ops []collective.Op, seconds float64, few, most int) ([]trial.Amount, error) {
	first := ops[0].Ranks[0]
	seen, err := g.run(ctx, ops, warmTimes, patience, 0)
	if err != nil {
		return nil, err
	}
	_, each, _ := trial.Median(seen[first].Whole)
	times := min(max(int(seconds*1e9/float64(max(each, 1))), few), most)
	seen, err = g.run(ctx, ops, times, patience+3*time.Duration(times)*time.Duration(each), 0)
	if err != nil {
		return nil, err
	}
	return seen[first].Whole, nil
}

// kind measures one kind and size of exchange; an all-reduce in every way, of which the
// quickest is taken, and its sum is looked at.
func (g *group) kind(ctx context.Context, i int) error {
	o := g.kinds[i]
	s := rehearsal.Sync{Kind: o.Kind, Bytes: int64(o.Bytes), Nodes: len(o.Ranks), Transport: g.transport, Count: g.count[i]}
	switch o.Kind {
	case collective.Hop: // there and back
		back := o
		back.Ranks = []int{o.Ranks[1], o.Ranks[0]}
		whole, err := g.timed(ctx, []collective.Op{o, back}, g.Effort.Seconds, fewTimes, mostTimes)
		if err != nil {
			return err
		}
		s.Micros = micros(whole, hopsATrip)
	case collective.AllToAll:
		whole, err := g.timed(ctx, []collective.Op{o}, g.Effort.Seconds, fewTimes, mostTimes)
		if err != nil {
			return err
		}
		s.Micros = micros(whole, 1)
	default:
		if err := g.allReduce(ctx, i, &s); err != nil {
			return err
		}
	}
	g.out.Syncs = append(g.out.Syncs, s)
	return nil
}

// allReduce tries every way, twice in turn, so that a bad moment does not decide.
func (g *group) allReduce(ctx context.Context, i int, s *rehearsal.Sync) error {
	ways := collective.Ways(len(g.kinds[i].Ranks))
	samples := map[string][]trial.Amount{}
	for range 2 {
		for _, how := range ways {
			o := g.kinds[i]
			o.How = how
			whole, err := g.timed(ctx, []collective.Op{o}, min(g.Effort.Seconds, 1)/2, fewTimes, mostTimes)
			if err != nil {
				return err
			}
			samples[how] = append(samples[how], whole...)
		}
	}
	s.Tried = map[string]rehearsal.Micros{}
	for _, how := range ways {
		m := micros(samples[how], 1)
		if s.Tried[how] = m; s.How == "" || m.Median < s.Micros.Median {
			s.How, s.Micros = how, m
		}
	}
	g.hows[i] = s.How
	o := g.kinds[i]
	o.How = s.How
	_, err := g.run(ctx, []collective.Op{o}, 1, patience, rand.Uint64()|1)
	return err
}

// tokens rehearses whole tokens.
func (g *group) tokens(ctx context.Context) error {
	ops := make([]collective.Op, len(g.Steps))
	for i, s := range g.Steps {
		ops[i] = s.Op
		for k, o := range g.kinds {
			if sameKind(o, s.Op) {
				ops[i].How = g.hows[k]
			}
		}
	}
	seen, err := g.run(ctx, ops, 1, patience, 0)
	if err != nil {
		return err
	}
	first := ops[0].Ranks[0]
	each := seen[first].Whole[0]
	times := min(max(int(2*g.Effort.Seconds*1e9/float64(max(each, 1))), fewTokens), mostTokens)
	if seen, err = g.run(ctx, ops, times, patience+3*time.Duration(times)*time.Duration(each), 0); err != nil {
		return err
	}
	t := rehearsal.Tokens{Transport: g.transport, Steps: len(ops), Count: times, Micros: micros(seen[first].Whole, 1)}
	if t.Micros.Median > 0 {
		t.PerSecond = float64(g.Batch) * 1e6 / t.Micros.Median
	}
	g.out.Tokens = append(g.out.Tokens, t)
	return nil
}

// micros sums samples up; each is so many of what is meant.
func micros(samples []trial.Amount, parts float64) rehearsal.Micros {
	s := slices.Sorted(slices.Values(samples))
	if len(s) == 0 {
		return rehearsal.Micros{}
	}
	median, _, _ := trial.Median(s)
	us := func(a trial.Amount) float64 { return float64(a) / 1000 / parts }
	return rehearsal.Micros{Median: us(median), P99: us(s[min(len(s)-1, len(s)*99/100)]), Min: us(s[0])}
}

// carried says which port the counters saw the bytes at, and which should have and did not.
func (r *rehearser) carried(transport string, before, after []meter.Answer) {
	if len(r.out.Tokens) == 0 || r.out.Tokens[len(r.out.Tokens)-1].Transport != transport {
		return
	}
	ports := map[string]bool{}
	for i := range r.ranks {
		end := r.ends[i]
		if transport == "tcp" {
			end.Port = r.paths[i].Netdev
		}
		moved := trial.Moves(end.Node, before[i].Counters, after[i].Counters)
		at := slices.IndexFunc(moved, func(m trial.Moved) bool { return m.End == end && m.Sent > 0 })
		if at < 0 && len(moved) > 0 && end.Port != "" {
			r.left("%s: %s counted nothing that left by it; %s did", transport, end, moved[0].Port)
		} else if at >= 0 {
			ports[end.Port] = true
		}
	}
	r.out.Tokens[len(r.out.Tokens)-1].Carried = strings.Join(slices.Sorted(maps.Keys(ports)), ", ")
}
