package prove

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/check"
	"weft/internal/exec"
	"weft/internal/meter"
	"weft/internal/trial"
)

// Order is what to prove.
type Order struct {
	Case    *check.Case
	Trials  []trial.Trial
	Which   trial.Which
	Effort  trial.Effort
	Engine  string // "weft", "perftest"
	AtOnce  int    // pairs that are measured at the same time; 0 is all of a round
	Disturb bool   // measure nodes that are busy too
	Once    bool   // do not measure suspects again
	Perm    func(n int) []int
	Env     func(node string) []string       // NCCL's environment
	Say     func(done, all int, what string) // progress
}

// Result is what was seen and concluded.
type Result struct {
	Cells    []trial.Cell
	Problems []trial.Problem
	Left     []string
	Busy     map[string]string            // node → why it was not disturbed
	Versions map[string]map[string]string // node → what ran there
}

// prover is one proof under way.
type prover struct {
	Order
	way      *Way
	rails    []trial.Rail
	paths    map[trial.End]Path
	sessions map[string]*Session
	out      map[string]string // node → why nothing is measured on it
	slots    chan struct{}
	asked    []string // nodes that are to be measured

	mu         sync.Mutex
	res        Result
	done, todo int
	serial     int
	at         map[cellKey]int // where in res.Cells
}

type cellKey struct {
	trial string
	pair  trial.Pair
}

// Run measures what is ordered. It returns what it has when ctx is done.
func Run(ctx context.Context, way *Way, o Order) Result {
	p := &prover{Order: o, way: way, sessions: map[string]*Session{}, out: map[string]string{}, at: map[cellKey]int{}}
	p.res.Busy, p.res.Versions = map[string]string{}, map[string]map[string]string{}
	p.rails, p.res.Left = trial.Rails(o.Case)
	p.paths = paths(o.Case, p.rails)
	rounds, left := trial.Rounds(p.rails, o.Which, o.Perm)
	p.res.Left = append(p.res.Left, left...)
	if p.AtOnce <= 0 {
		p.AtOnce = max(1, len(o.Case.Nodes))
	}
	p.slots = make(chan struct{}, p.AtOnce)
	defer p.close()
	if len(rounds) == 0 && slices.ContainsFunc(o.Trials, func(t trial.Trial) bool { return t.Over == trial.Pairs }) {
		p.res.Left = append(p.res.Left, "all pairs: no two of the nodes asked for have RDMA ports that are up on one rail (weft show ports)")
	}
	p.open(ctx, rounds)
	p.count(rounds)
	for _, t := range o.Trials {
		p.trial(ctx, t, rounds)
	}
	p.res.Cells, p.res.Problems = trial.Judge(o.Case, p.res.Cells)
	return p.res
}

// open puts a meter on every node that is to be measured, and leaves busy ones alone.
func (p *prover) open(ctx context.Context, rounds []trial.Round) {
	wanted := map[string]bool{}
	for _, r := range rounds {
		for _, pair := range r.Pairs {
			wanted[pair.A.Node], wanted[pair.B.Node] = true, true
		}
	}
	if slices.ContainsFunc(p.Trials, func(t trial.Trial) bool { return t.Over != trial.Pairs }) {
		for _, n := range p.Case.Up() {
			if len(p.Which.Nodes) == 0 || slices.Contains(p.Which.Nodes, n.Name) {
				wanted[n.Name] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(wanted))
	p.asked = names
	p.say(0, len(names), "putting meters on nodes")
	var n int
	var wg sync.WaitGroup
	opening := make(chan struct{}, opensAtOnce)
	for _, name := range names {
		opening <- struct{}{}
		wg.Go(func() {
			defer func() { <-opening }()
			s, err := p.way.Open(ctx, name)
			var busy string
			if err == nil && !p.Disturb {
				busy, err = p.busy(ctx, s)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			switch n++; {
			case err != nil:
				p.out[name] = why(err)
			case busy != "":
				p.out[name], p.res.Busy[name] = busy, busy
			}
			if s != nil {
				p.sessions[name] = s
			}
			p.say(n, len(names), "putting meters on nodes")
		})
	}
	wg.Wait()
}

func (p *prover) say(done, all int, what string) {
	if p.Say != nil {
		p.Say(done, all, what)
	}
}

func (p *prover) close() {
	var wg sync.WaitGroup
	for _, s := range p.sessions {
		wg.Go(s.Close)
	}
	wg.Wait()
}

// Busy thresholds: far above what keeps a fabric alive (ARP, LLDP, subnet management), far
// below what any job moves.
const (
	busyFor     = 300 * time.Millisecond
	busyBytes   = 20e6 // a second
	busyPackets = 5000 // a second
	busyGPU     = 10   // per cent
)

// busy says why a node should not be disturbed: a job moves bytes on a data port, or uses
// its GPUs.
func (p *prover) busy(ctx context.Context, s *Session) (string, error) {
	for _, g := range p.Case.Node(s.Node).GPUs {
		if u, ok := g.Util.Get(); ok && u >= busyGPU {
			return fmt.Sprintf("busy: GPU %d is %d %% in use", g.Index, u), nil
		}
	}
	start := time.Now()
	before, err := s.Ask(ctx, meter.Ask{Do: "counters"})
	if err != nil {
		return "", err
	}
	select {
	case <-time.After(busyFor):
	case <-ctx.Done():
	}
	after, err := s.Ask(ctx, meter.Ask{Do: "counters"})
	seconds := time.Since(start).Seconds()
	for _, m := range trial.Moves(s.Node, before.Counters, after.Counters) {
		limit := busyBytes
		if m.Packets {
			limit = busyPackets
		}
		if p.carries(m.End) && float64(m.Sent+m.Received) > limit*seconds {
			return fmt.Sprintf("busy: %s moves %s while nothing is measured", m.Port, moving(m, seconds)), err
		}
	}
	return "", err
}

// carries reports whether an end is a data port, or the netdev of one.
func (p *prover) carries(e trial.End) bool {
	if _, ok := p.paths[e]; ok {
		return true
	}
	for at, path := range p.paths {
		if at.Node == e.Node && path.Netdev != "" && path.Netdev == e.Port {
			return true
		}
	}
	return false
}

func moving(m trial.Moved, seconds float64) string {
	if m.Packets {
		return fmt.Sprintf("%.0f packets/s", float64(m.Sent+m.Received)/seconds)
	}
	return fmt.Sprintf("%.0f MB/s", float64(m.Sent+m.Received)/seconds/1e6)
}

// count foresees how many measurements there are, for the progress.
func (p *prover) count(rounds []trial.Round) {
	for _, t := range p.Trials {
		switch t.Over {
		case trial.Pairs:
			for _, r := range rounds {
				p.todo += len(r.Pairs)
			}
		case trial.Ports:
			p.todo += len(p.paths)
		case trial.Nodes:
			p.todo += len(p.asked)
		default:
			p.todo++
		}
	}
}

// trial runs one trial in its rounds; what looks bad is measured again, and then with
// other partners, so that a bad port is told from a bad moment and a bad pair.
func (p *prover) trial(ctx context.Context, t trial.Trial, rounds []trial.Round) {
	switch {
	case t.Over == trial.Ports:
		p.loops(ctx, t)
		return
	case t.Over == trial.Nodes:
		p.gpuMemory(ctx, t)
		return
	case t.Over == trial.Cluster:
		p.collective(ctx, t)
		return
	}
	first := len(p.res.Cells)
	for i, r := range rounds {
		p.round(ctx, t, r.Pairs, i+1)
	}
	if p.Once {
		return
	}
	p.again(ctx, t, first)
	if partners := trial.Partners(p.Case, p.res.Cells[first:]); len(partners) > 0 {
		p.more(partners)
		for _, r := range trial.Packed(partners) {
			p.round(ctx, t, r.Pairs, len(rounds)+1)
		}
		p.again(ctx, t, first)
	}
}

// again measures suspects until nothing new would be learned of them.
func (p *prover) again(ctx context.Context, t trial.Trial, first int) {
	for range p.Effort.Tests {
		pairs := trial.Suspects(p.Case, p.res.Cells[first:])
		if len(pairs) == 0 || ctx.Err() != nil {
			return
		}
		p.more(pairs)
		for _, r := range trial.Packed(pairs) {
			p.round(ctx, t, r.Pairs, 0)
		}
	}
}

func (p *prover) more(pairs []trial.Pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.todo += len(pairs)
}

// round measures pairs that share no node at the same time.
func (p *prover) round(ctx context.Context, t trial.Trial, pairs []trial.Pair, round int) {
	var wg sync.WaitGroup
	for _, pair := range pairs {
		p.slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-p.slots }()
			p.keep(p.pair(ctx, t, pair, round)...)
		})
	}
	wg.Wait()
}

// fullCells is how many cells keep every counter from before and after: all pairs of a
// hundred nodes. Beyond that a proof would be gigabytes.
const fullCells = 10_000

// keep adds cells, or adds to those that are there.
func (p *prover) keep(cells ...trial.Cell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cells {
		if len(p.res.Cells) > fullCells {
			c = c.Lean()
		}
		key := cellKey{c.Trial, c.Pair}
		if at, ok := p.at[key]; ok {
			p.res.Cells[at] = p.res.Cells[at].Again(c)
			continue
		}
		p.at[key] = len(p.res.Cells)
		p.res.Cells = append(p.res.Cells, c)
	}
	p.done++
	p.say(p.done, p.todo, cells[0].Trial)
}

// pair measures one pair and returns its cells: one, or one for each direction.
func (p *prover) pair(ctx context.Context, t trial.Trial, pair trial.Pair, round int) []trial.Cell {
	there := trial.Cell{Trial: t.ID, Pair: pair, Round: round, Tests: 1}
	back := trial.Cell{Trial: t.ID, Pair: pair.Turned(), Round: round, Tests: 1}
	a, b, err := p.measure(ctx, t, pair)
	fill := func(c trial.Cell, s *seen) trial.Cell {
		var skip *Skip
		switch {
		case s != nil && len(s.samples) > 0:
			return sampleOf(c, s)
		case errors.As(err, &skip):
			c.Missing, c.Skipped = skip.Why, true
		case err != nil:
			c.Missing, c.Broken = why(err), broken(err)
		default:
			c.Missing = "nothing was counted"
		}
		return c
	}
	if !t.Both {
		return []trial.Cell{fill(there, a)}
	}
	return []trial.Cell{fill(there, a), fill(back, b)}
}

func (p *prover) measure(ctx context.Context, t trial.Trial, pair trial.Pair) (there, back *seen, err error) {
	for _, n := range []string{pair.A.Node, pair.B.Node} {
		if p.res.Busy[n] != "" {
			return nil, nil, &Skip{n + " is " + p.res.Busy[n]}
		}
		if p.out[n] != "" {
			return nil, nil, fmt.Errorf("%s: %s", n, p.out[n])
		}
	}
	if ctx.Err() != nil {
		return nil, nil, errors.New("interrupted before it was measured")
	}
	x := &pairing{trial: t, pair: pair, a: p.sessions[pair.A.Node], b: p.sessions[pair.B.Node],
		pa: p.paths[pair.A], pb: p.paths[pair.B], effort: p.Effort, name: p.name()}
	if strings.HasPrefix(t.ID, "rdma.") && p.Engine == "perftest" {
		return x.perftest(ctx)
	}
	if t.ID == "gpu.direct" {
		return p.gpuDirect(ctx, x)
	}
	return x.run(ctx)
}

// name is a new name for a connection.
func (p *prover) name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serial++
	return fmt.Sprintf("c%d", p.serial)
}

// loops measures every port with itself.
func (p *prover) loops(ctx context.Context, t trial.Trial) {
	ends := slices.SortedFunc(maps.Keys(p.paths), func(a, b trial.End) int { return strings.Compare(a.String(), b.String()) })
	var rounds []trial.Pair
	for _, e := range ends {
		if len(p.Which.Nodes) == 0 || slices.Contains(p.Which.Nodes, e.Node) {
			rounds = append(rounds, trial.Pair{A: e, B: e})
		}
	}
	for _, r := range trial.Packed(rounds) {
		p.round(ctx, t, r.Pairs, 1)
	}
}

// broken reports whether it was the path that failed, not one of its ends.
func broken(err error) bool {
	var f *Failed
	var lost *Lost
	return errors.As(err, &f) && f.Class == "peer" && !errors.As(err, &lost)
}

// why is an error for a person, in one line.
func why(err error) string {
	var e *exec.Error
	if errors.As(err, &e) {
		return exec.Sanitise(e.Error())
	}
	return exec.Sanitise(strings.ReplaceAll(err.Error(), "\n", "; "))
}
