package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weft/internal/apply"
	"weft/internal/bring"
	"weft/internal/check"
	"weft/internal/collect"
	"weft/internal/exec"
	"weft/internal/fact"
	"weft/internal/format"
	"weft/internal/journal"
	"weft/internal/plan"
	"weft/internal/report"
	"weft/internal/term"
)

// crew is the way to the nodes while they are changed.
type crew struct {
	*apply.Nodes
	a       *app
	targets map[string]exec.Target
	look    *look
}

func (a *app) crew(l *look) *crew {
	n := &apply.Nodes{
		Run:    exec.New(exec.Options{Config: a.sshConfig}),
		Fresh:  func() *exec.Runner { return exec.New(exec.Options{Config: a.sshConfig, Fresh: true}) },
		Binary: bring.Self,
	}
	return &crew{n, a, targets(l), l}
}

// close ends shared connections: limits hold from the login on.
func (c *crew) close() { c.Run.Close() }

// order is what is the same for every run on a node.
func (c *crew) order(node, id string, deadline time.Duration) apply.Order {
	o := apply.Order{Target: c.targets[node], Request: journal.Request{ID: id, Who: who(), Deadline: int(deadline.Seconds())}}
	if n := c.look.kase.Node(node); n != nil {
		o.Arch = n.Host.Arch
	}
	// For the test that kills something at every point: "waiting 20".
	if at, seconds, ok := cutLast(os.Getenv("WEFT_TEST_PAUSE"), " "); ok {
		o.Request.PauseAt = at
		o.Request.PauseSeconds, _ = strconv.Atoi(seconds)
	}
	return o
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+len(sep):], true
}

// who is who asks, for the record on the node.
func who() string {
	name, host := "somebody", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// widen has one node go first, then four times as many each time. It stops where a
// node does not end as asked.
func (c *crew) widen(ctx context.Context, orders []apply.Order) (results []report.RunNode) {
	p := term.Start(c.a.err, "changing nodes", len(orders))
	defer p.Done()
	for size := 1; len(orders) > 0; size *= 4 {
		batch := orders[:min(size, len(orders))]
		orders = orders[len(batch):]
		some := make([]apply.Result, len(batch))
		var wg sync.WaitGroup
		for i, o := range batch {
			o.Say = func(what string) { p.Note(o.Target.Name + ": " + what) }
			wg.Go(func() {
				some[i] = c.Do(ctx, o)
				p.Step()
			})
		}
		wg.Wait()
		stop := ""
		for _, r := range some {
			results = append(results, report.RunNode{Node: r.Node, State: r.State.State, Left: r.State.Left, Error: r.Error, Next: r.Next, Took: r.Took, OK: r.OK()})
			if !r.OK() {
				stop = r.Node
			}
		}
		if stop != "" {
			for _, o := range orders {
				results = append(results, report.RunNode{Node: o.Target.Name, Error: "not begun, because of " + stop})
			}
			return results
		}
	}
	return results
}

// again looks at one node over a new connection.
func (c *crew) again(ctx context.Context, fresh *exec.Runner, node string) (*fact.Node, error) {
	readers := format.Readers
	if len(c.look.kase.Want.Nodes) > 0 {
		readers = format.For(c.look.kase.Want, node)
	}
	d, err := collect.Node(ctx, fresh, c.targets[node], slices.DeleteFunc(slices.Clone(readers), func(r format.Reader) bool { return r.Once != nil }))
	if err != nil {
		return nil, err
	}
	return format.Node(d), nil
}

// foresight is how the nodes should be after a plan.
type foresight struct {
	mu    sync.Mutex
	kase  *check.Case
	cause map[string]bool         // checks that a step is to make pass
	want  map[judged]check.Status // what is foreseen
	was   map[judged]check.Status // what was found before
}

type judged struct {
	check   string
	subject check.Subject
}

// foreseen makes the facts of a look what a plan will make of them now; what holds from
// the next boot on does not hold yet.
func foreseen(l *look, p plan.Plan) *foresight {
	f := &foresight{kase: fresh(l), cause: map[string]bool{}}
	f.was = statuses(fresh(l))
	for _, s := range p.Steps {
		if s.When != plan.Boot {
			plan.SetIn(&f.kase.Cluster, s.Node, s.What, s.To) // a fact that cannot be foreseen is seen afterwards
			for _, id := range s.Then {
				f.cause[id] = true
			}
		}
	}
	f.want = statuses(f.kase)
	return f
}

// fresh is a case of a look's facts that nobody else has.
func fresh(l *look) *check.Case {
	return &check.Case{Cluster: format.Facts(l.dump), Want: l.kase.Want}
}

func statuses(c *check.Case) map[judged]check.Status {
	all := map[judged]check.Status{}
	for _, f := range check.Run(check.All, c) {
		all[judged{f.Check, f.Subject}] = f.Status
	}
	return all
}

// right looks at a node that has changed until it is as foreseen, or time is running
// out: services settle, ports come up.
func (f *foresight) right(ctx context.Context, fresh *exec.Runner, c *crew, node string) error {
	end := time.Now().Add(time.Minute)
	if d, ok := ctx.Deadline(); ok {
		end = time.Now().Add(time.Until(d) / 2)
	}
	for {
		n, err := c.again(ctx, fresh, node)
		if err == nil {
			err = f.judge(n)
		}
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// judge holds one node, as it is, among the others, as they will be, against what was
// foreseen.
func (f *foresight) judge(n *fact.Node) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := *f.kase
	c.Nodes = append([]*fact.Node(nil), c.Nodes...)
	for i, o := range c.Nodes {
		if o.Name == n.Name {
			c.Nodes[i] = n
		}
	}
	k := &check.Case{Cluster: c.Cluster, Want: c.Want}
	if worse := f.worse(k, n.Name); len(worse) > 0 {
		return errors.New(strings.Join(worse, "; "))
	}
	return nil
}

// worse says what is worse than foreseen on one node, or on all: what fails and should
// not, and what a step should have made right and did not.
func (f *foresight) worse(c *check.Case, node string) (worse []string) {
	for _, g := range check.Run(check.All, c) {
		at := judged{g.Check, g.Subject}
		want, known := f.want[at]
		if node != "" && g.Subject.Node != node || !known {
			continue
		}
		// How far clocks are apart is measured less well over a connection that is new.
		broke := g.Status == check.Fail && want != check.Fail && f.was[at] != check.Fail && g.Check != "node.clock"
		short := f.cause[g.Check] && (g.Status > check.Skip) && want <= check.Skip && f.was[at] > check.Skip
		if broke || short {
			worse = append(worse, fmt.Sprintf("%s of %s is %s: %s", g.Check, g.Subject, g.Status, cmp.Or(g.Got, g.Why)))
		}
	}
	return worse
}

// probes is what must still work on a node afterwards. A ping to or from an address that
// the plan moves is none.
func probes(c *check.Case, p plan.Plan, node string) []journal.Probe {
	moves := map[string]bool{}
	for _, s := range p.Steps {
		if strings.HasPrefix(s.What, "net/") && (strings.HasSuffix(s.What, "/addr") || strings.HasSuffix(s.What, "/mode")) {
			moves[s.Node] = true
		}
	}
	out := []journal.Probe{{Kind: "route"}, {Kind: "dns"}}
	n := c.Node(node)
	if n == nil || moves[node] {
		return out
	}
	for _, peer := range n.Peers {
		if peer.Ping.Or(false) && !moves[peer.Node] {
			out = append(out, journal.Probe{Kind: "ping", Addr: peer.Addr, Node: peer.Node})
		}
	}
	return out
}
