package plan

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/spec"
)

// Make plans what turns the findings of a case into passes. again is a case of the same
// facts, which it changes to foresee what will be left.
func Make(c, again *check.Case, checks []check.Check, findings []check.Finding) Plan {
	c.Index()
	again.Index()
	d := &draft{Case: c, of: map[string][]*Step{}, files: map[string]map[string]*string{}}
	d.mendAll(findings)
	p := Plan{Hand: d.hand}
	for _, n := range c.Nodes {
		if n.Down == "" {
			facts := Bound(n)
			p.Nodes = append(p.Nodes, Node{Name: n.Name, Facts: facts, Hash: hash(facts)})
		}
	}
	echoes := silenced(c, findings)
	d.Case = again
	for done := 0; ; {
		for _, s := range d.steps[done:] {
			SetIn(&again.Cluster, s.Node, s.What, s.To) // a fact that cannot be foreseen stays as it is
		}
		done = len(d.steps)
		left := check.Run(checks, again)
		d.mendAll(echoes.heard(left))
		if len(d.steps) == done {
			for _, s := range d.steps {
				p.Steps = append(p.Steps, *s)
			}
			p.After = map[string]int{}
			for _, f := range left {
				if _, was := echoes[echo{f.Check, f.Subject}]; was && f.Status > check.Skip {
					p.Unseen++ // foreseen from facts that were another failure's echo
				} else {
					p.After[f.Status.String()]++
				}
			}
			return p
		}
	}
}

// mendAll makes the steps for findings, in the order of the remedies, and leaves the
// rest to a person.
func (d *draft) mendAll(findings []check.Finding) {
	mended := map[int]bool{}
	for _, r := range Remedies {
		for i, f := range findings {
			if f.Check == r.Check && f.Status > check.Skip {
				mended[i] = true
				d.mend(r, f)
			}
		}
	}
	for i, f := range findings {
		if !mended[i] && f.Status > check.Skip {
			d.leave(f, "")
		}
	}
}

// echoes are what another failure has silenced: it speaks when that is mended, and is
// then mended in the same plan. A port that is down has no address to judge.
type echoes map[echo]bool // true until it is heard

type echo struct {
	check   string
	subject check.Subject
}

func silenced(c *check.Case, findings []check.Finding) echoes {
	e := echoes{}
	for _, f := range findings {
		accepted := slices.ContainsFunc(c.Want.Accept, func(a spec.Accept) bool { return a.Check == f.Check })
		if f.Status == check.Skip && check.Silenced(f) && !accepted {
			e[echo{f.Check, f.Subject}] = true
		}
	}
	return e
}

// heard returns the findings that were silenced before, each once.
func (e echoes) heard(findings []check.Finding) (out []check.Finding) {
	for _, f := range findings {
		if at := (echo{f.Check, f.Subject}); f.Status > check.Skip && e[at] {
			e[at] = false
			out = append(out, f)
		}
	}
	return out
}

// mend makes the steps for one finding, or leaves it to a person.
func (d *draft) mend(r Remedy, f check.Finding) {
	d.finding = f
	n := d.Node(f.Subject.Node)
	if f.Subject.Node != "" && (n == nil || n.Down != "") {
		d.leave(f, "")
		return
	}
	steps := len(d.steps)
	err := r.Mend(d, n, f)
	var not notHere
	switch {
	case errors.As(err, &not):
		d.drop(steps) // all of it or none
		d.leave(f, not.why)
	case err != nil:
		d.drop(steps)
		d.leave(f, err.Error())
	}
}

// leave puts a finding on the list of things that only a person can do.
func (d *draft) leave(f check.Finding, why string) {
	what := f.Got
	if f.Want != "" {
		what = fmt.Sprintf("%s, want %s", cmp.Or(f.Got, "not seen"), f.Want)
	}
	d.hand = append(d.hand, Hand{Node: f.Subject.Node, Part: f.Subject.Part, Check: f.Check, What: cmp.Or(what, f.Why), Do: f.Fix, Why: why})
}

// effect is how a step's value becomes a fact. What has one *, which is the name of
// something: "net/*/mtu".
type effect struct {
	What string
	Set  func(n *fact.Node, name, value string) error
}

// Set makes a fact have a value, as a step's From and To spell it: the facts of the
// plan after the step, or after its undo.
func Set(n *fact.Node, what, value string) error {
	for _, e := range effects {
		if name, ok := named(e.What, what); ok {
			if err := e.Set(n, name, value); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			n.Index()
			return nil
		}
	}
	return fmt.Errorf("%s: nothing is known of it", what)
}

// clusterEffect is an effect that other nodes feel, too: a subnet manager is one.
type clusterEffect struct {
	What string
	Set  func(c *fact.Cluster, n *fact.Node, name, value string) error
}

// SetIn is Set for a step of a node, with what it does to the rest of the cluster.
func SetIn(c *fact.Cluster, node, what, value string) error {
	n := c.Node(node)
	if n == nil {
		return fmt.Errorf("%s: no such node", node)
	}
	for _, e := range clusterEffects {
		if name, ok := named(e.What, what); ok {
			if err := e.Set(c, n, name, value); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return nil
		}
	}
	return Set(n, what, value)
}

// named matches what against a pattern with at most one *.
func named(pattern, what string) (name string, ok bool) {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return "", what == pattern
	}
	if len(what) < len(before)+len(after) || !strings.HasPrefix(what, before) || !strings.HasSuffix(what, after) {
		return "", false
	}
	return what[len(before) : len(what)-len(after)], true
}

// Bound returns the facts of a node that a plan rests on: those that do not move by
// themselves.
func Bound(n *fact.Node) map[string]string {
	facts := map[string]string{
		"host/kernel": n.Host.Kernel, "host/os": n.Host.OS, "host/cmdline": n.Host.CmdLine,
		"memlock/login": limitWords(n.Settings.Memlock.Login), "memlock/wish": limitWords(n.Settings.Memlock.Wish),
	}
	for _, d := range n.Netdevs {
		if d.Kind == "veth" || d.Kind == "tun" { // containers and virtual machines come and go
			continue
		}
		at := "net/" + d.Name + "/"
		addrs := slices.Clone(d.Addrs)
		slices.Sort(addrs)
		facts[at+"mac"], facts[at+"addr"], facts[at+"config"] = d.MAC, strings.Join(addrs, ","), path.Join(d.Manager, d.Config)
		facts[at+"mode"], facts[at+"zone"], facts[at+"master"] = d.Mode, d.Zone, d.Master
		if mtu, ok := d.MTU.Get(); ok {
			facts[at+"mtu"] = fmt.Sprint(mtu)
		}
	}
	for _, p := range n.Ports {
		at := "port/" + p.Name + "/"
		facts[at+"netdev"], facts[at+"layer"], facts[at+"state"] = p.Netdev, p.Layer, p.State
		if tc, ok := p.TrafficClass.Get(); ok {
			facts[at+"tc"] = fmt.Sprint(tc)
		}
		facts[at+"qos"] = fmt.Sprint(p.QoS.PFC, p.QoS.Trust, p.QoS.DSCP, p.QoS.ECNNP, p.QoS.ECNRP)
	}
	for name, s := range n.Settings.Services {
		facts["service/"+name] = s.Enabled + " " + s.Active
	}
	for name, version := range n.Settings.Packages {
		facts["package/"+name] = version
	}
	for file, text := range n.Settings.Files {
		facts["file"+file] = hash(map[string]string{"": text})[:16]
	}
	var routes []string
	for _, r := range n.Settings.Routes {
		routes = append(routes, fmt.Sprintf("%s via %s dev %s metric %d", r.Dst, r.Via, r.Dev, r.Metric))
	}
	slices.Sort(routes)
	facts["routes"] = strings.Join(routes, "; ")
	boundTuning(n, facts)
	for k, v := range facts { // a plan is kept as JSON, which is UTF-8
		if plain := strings.ToValidUTF8(k, "?"); plain != k {
			delete(facts, k)
			k = plain
		}
		facts[k] = strings.ToValidUTF8(v, "?")
	}
	return facts
}

func limitWords(v fact.Val[fact.Limit]) string {
	switch l, ok := v.Get(); {
	case !ok:
		return ""
	case l == fact.Unlimited:
		return "unlimited"
	default:
		return fmt.Sprint(uint64(l))
	}
}

// Moved says which facts of a node are not as they were when the plan was made.
func (n *Node) Moved(now map[string]string) (moved []string) {
	for k, was := range n.Facts {
		if is := now[k]; is != was {
			moved = append(moved, fmt.Sprintf("%s was %q and is %q", k, was, is))
		}
	}
	for k, is := range now {
		if _, ok := n.Facts[k]; !ok {
			moved = append(moved, fmt.Sprintf("%s is new: %q", k, is))
		}
	}
	slices.Sort(moved)
	return moved
}
