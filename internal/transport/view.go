package transport

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/fact"
	"weft/internal/format/nccllog"
	"weft/internal/platform"
)

func itoa(n int) string { return strconv.Itoa(n) }

// view is a log made ready to be asked.
type view struct {
	log    *nccllog.Log
	expect Expect

	comms  []*comm
	world  *comm         // the largest; nil when the log names none
	of     map[int]*comm // member → its communicator
	uses   map[int][]int // member → its uses
	byProc map[int][]int // process → its members
	events map[nccllog.Kind][]*nccllog.Event
	first  map[procKind]*nccllog.Event // the first of its kind in a process
	gpus   map[hostPID][]*nccllog.GPU
	model  map[string]string // host → the name of its GPUs; "" when they differ
	ranks  map[procDev][]int // see ranksOf
	names  []string          // see hosts
	wide   answer            // see jobSpans
}

type (
	hostPID struct {
		host string
		pid  int
	}
	procDev  struct{ proc, dev int }
	procKind struct {
		proc int
		kind nccllog.Kind
	}
)

// comm is one communicator, of members in several processes.
type comm struct {
	at      int // in view.comms
	id      string
	size    int // 0 unknown
	nodes   int // 0 unknown
	members []int
	ranks   map[int]bool
	spans   answer // whether it reaches over more than one node
}

func newView(l *nccllog.Log, e Expect) *view {
	v := &view{log: l, expect: e, of: map[int]*comm{}, uses: map[int][]int{}, byProc: map[int][]int{}, events: map[nccllog.Kind][]*nccllog.Event{}, first: map[procKind]*nccllog.Event{}}
	for i, u := range l.Uses {
		v.uses[u.Member] = append(v.uses[u.Member], i)
	}
	for i, m := range l.Members {
		v.byProc[m.Proc] = append(v.byProc[m.Proc], i)
	}
	for i := range l.Events {
		ev := &l.Events[i]
		v.events[ev.Kind] = append(v.events[ev.Kind], ev)
		if k := (procKind{ev.Proc, ev.Kind}); v.first[k] == nil {
			v.first[k] = ev
		}
	}
	v.gpus, v.model, v.ranks = map[hostPID][]*nccllog.GPU{}, map[string]string{}, map[procDev][]int{}
	for i := range l.GPUs {
		g := &l.GPUs[i]
		v.gpus[hostPID{g.Host, g.PID}] = append(v.gpus[hostPID{g.Host, g.PID}], g)
		if name, ok := v.model[g.Host]; ok && name != g.Name {
			v.model[g.Host] = ""
		} else {
			v.model[g.Host] = g.Name
		}
	}
	v.names = v.hosts()
	v.group()
	v.wide = v.jobSpans()
	if e.Want == "" {
		v.expect.Want, v.expect.Why = v.shown()
	}
	return v
}

// group finds which members of different processes form one communicator: those with
// one commId; of a split, those with one parent, count and colour; else the n-th of
// that size in which a rank takes part.
func (v *view) group() {
	byKey := map[string]*comm{}
	place := func(i int, key string) *comm {
		m := &v.log.Members[i]
		c := byKey[key]
		if c == nil {
			c = &comm{at: len(v.comms), id: m.ID, ranks: map[int]bool{}}
			byKey[key] = c
			v.comms = append(v.comms, c)
		}
		v.join(i, c)
		return c
	}
	type address struct {
		proc int
		ptr  string
	}
	behind := map[address]*comm{} // so far: a parent comes before its children
	var later []int
	for i, m := range v.log.Members {
		c := (*comm)(nil)
		if m.ID != "" {
			c = place(i, "id "+m.ID)
		} else if parent := behind[address{m.Proc, m.Parent}]; m.Parent != "" && parent != nil {
			c = place(i, fmt.Sprintf("split %d %s", parent.at, m.Color))
		} else {
			later = append(later, i)
		}
		if m.Ptr != "" {
			behind[address{m.Proc, m.Ptr}] = c
		}
	}
	// A log that begins late names some ranks without commId: they belong to a
	// communicator of their size that misses them.
	ofSize := map[int][]*comm{}
	for _, c := range v.comms {
		if len(ofSize[c.size]) < 256 {
			ofSize[c.size] = append(ofSize[c.size], c)
		}
	}
	// Those whose size nobody told belong to the largest communicator that misses them.
	slices.SortStableFunc(later, func(a, b int) int {
		return cmp.Compare(min(v.log.Members[b].NRanks, 1), min(v.log.Members[a].NRanks, 1))
	})
	nth := map[string]int{}
	big := (*comm)(nil)
	for k, i := range later {
		m := &v.log.Members[i]
		if m.NRanks == 0 {
			if k == 0 || v.log.Members[later[k-1]].NRanks > 0 {
				big = v.largest()
			}
			if big != nil && m.Rank >= 0 && m.Rank < big.size && !big.ranks[m.Rank] {
				v.join(i, big)
				continue
			}
		}
		some := ofSize[m.NRanks]
		if at := slices.IndexFunc(some, func(c *comm) bool { return !c.ranks[m.Rank] }); m.NRanks > 0 && at >= 0 {
			v.join(i, some[at])
			continue
		}
		k := fmt.Sprintf("%d of %d", m.Rank, m.NRanks)
		nth[k]++
		place(i, fmt.Sprintf("size %d, %d", m.NRanks, nth[k]))
	}
	for _, c := range v.comms {
		slices.SortStableFunc(c.members, func(a, b int) int { return cmp.Compare(v.log.Members[a].Rank, v.log.Members[b].Rank) })
		c.spans = v.spans(c)
	}
	v.world = v.largest()
}

// largest is the communicator of most ranks, and of those the one that says most.
func (v *view) largest() (best *comm) {
	for _, c := range v.comms {
		if best == nil || c.size > best.size || c.size == best.size && len(c.ranks) > len(best.ranks) {
			best = c
		}
	}
	return best
}

func (v *view) join(i int, c *comm) {
	m := &v.log.Members[i]
	c.size, c.nodes = max(c.size, m.NRanks), max(c.nodes, m.NNodes)
	c.members = append(c.members, i)
	c.ranks[m.Rank] = true
	v.of[i] = c
}

func (v *view) proc(m int) *nccllog.Proc { return &v.log.Procs[v.log.Members[m].Proc] }

func (v *view) line(at nccllog.Place) Line {
	if at.Line == 0 {
		return Line{}
	}
	return Line{v.log.Files[at.File], at.Line}
}

// hosts are those that speak in the log.
func (v *view) hosts() []string {
	var names []string
	for _, p := range v.log.Procs {
		if p.Host != "" {
			names = append(names, p.Host)
		}
	}
	for _, g := range v.log.GPUs {
		names = append(names, g.Host)
	}
	return unique(names)
}

func (v *view) worldSize() int {
	size := 0
	if v.world != nil {
		size = v.world.size
	}
	for _, g := range v.log.GPUs {
		if size < g.Rank+1 && g.Rank < 1<<20 {
			size = g.Rank + 1
		}
	}
	for _, a := range v.log.RAS {
		for _, g := range a.Groups {
			size = max(size, g.Ranks)
		}
	}
	return size
}

// seen counts the ranks of the largest communicator that speak in this log.
func (v *view) seen() int {
	n := 0
	if v.world != nil {
		for r := range v.world.ranks {
			if r >= 0 {
				n++
			}
		}
	}
	ranks := map[int]bool{}
	for _, g := range v.log.GPUs {
		ranks[g.Rank] = true
	}
	return max(n, len(ranks))
}

func (v *view) nodes() int {
	n := 0
	for _, c := range v.comms {
		n = max(n, c.nodes)
	}
	for _, a := range v.log.RAS {
		n = max(n, a.Nodes)
	}
	return n
}

func (v *view) library() string {
	for _, x := range v.log.Versions {
		return x.Library
	}
	for _, a := range v.log.RAS {
		if a.Library != "" {
			return a.Library
		}
	}
	return "NCCL"
}

func (v *view) versions() []string {
	var list []string
	for _, x := range v.log.Versions {
		list = append(list, x.Text)
	}
	for _, a := range v.log.RAS {
		if a.Version != "" {
			list = append(list, a.Version)
		}
	}
	return unique(list)
}

// ranksOf are the ranks of a process, those of one GPU where the line names it: in the
// largest communicator that the process is in, because that is the one people count in.
func (v *view) ranksOf(proc, dev int) []int {
	if proc < 0 {
		return nil
	}
	k := procDev{proc, dev}
	list, ok := v.ranks[k]
	if !ok {
		list = v.ranksIn(proc, dev)
		v.ranks[k] = list
	}
	return list
}

func (v *view) ranksIn(proc, dev int) []int {
	best, any := 0, []int(nil)
	var own []int
	for _, i := range v.byProc[proc] {
		m := &v.log.Members[i]
		if m.Rank < 0 || m.NRanks < best {
			continue
		}
		if m.NRanks > best {
			best, any, own = m.NRanks, nil, nil
		}
		any = append(any, m.Rank)
		if m.Dev == dev {
			own = append(own, m.Rank)
		}
	}
	if len(own) > 0 {
		return unique(own)
	}
	if len(any) > 0 {
		return unique(any)
	}
	p := &v.log.Procs[proc]
	for _, g := range v.gpus[hostPID{p.Host, p.PID}] {
		any = append(any, g.Rank)
		if g.Dev == dev {
			own = append(own, g.Rank)
		}
	}
	if len(own) > 0 {
		return unique(own)
	}
	return unique(any)
}

// who adds to a finding whose it is.
func (v *view) who(f Finding, proc, dev int, at nccllog.Place) Finding {
	if proc >= 0 && v.log.Procs[proc].Host != "" {
		f.Hosts = append(f.Hosts, v.log.Procs[proc].Host)
	} else if len(v.names) == 1 { // nobody else speaks
		f.Hosts = append(f.Hosts, v.names[0])
	}
	f.Ranks = append(f.Ranks, v.ranksOf(proc, dev)...)
	if l := v.line(at); f.At.Line == 0 || l.File == f.At.File && l.Line > 0 && l.Line < f.At.Line {
		f.At = l
	}
	return f
}

// about makes a finding of an event.
func (v *view) about(e *nccllog.Event, f Finding) Finding {
	f = v.who(f, e.Proc, e.Dev, e.At)
	if e.Rank >= 0 {
		f.Ranks = append(f.Ranks, e.Rank)
	}
	f.Count = e.Count
	if peer, _, _ := strings.Cut(e.Peer, "<"); peer != "" {
		f.Peers = append(f.Peers, peer)
	}
	if _, to, ok := strings.Cut(e.GIDs, " to "); ok {
		f.Peers = append(f.Peers, strings.TrimPrefix(to, "::ffff:"))
	}
	return f
}

// answer is yes, no or not known.
type answer int

const (
	notKnown answer = iota
	no
	yes
)

// spans reports whether a communicator reaches over more than one node.
func (v *view) spans(c *comm) answer {
	hosts := map[string]bool{}
	net := false
	for _, i := range c.members {
		if h := v.proc(i).Host; h != "" {
			hosts[h] = true
		}
		for _, u := range v.uses[i] {
			net = net || v.log.Uses[u].Via.Kind == "NET" || v.log.Uses[u].Via.Kind == "COLLNET"
		}
	}
	switch {
	case c.nodes > 1, c.nodes == 0 && (len(hosts) > 1 || net):
		return yes
	case c.nodes == 1, c.size == 1, c.size > 0 && len(c.ranks) == c.size && len(hosts) == 1:
		return no
	}
	return notKnown
}

// jobSpans reports whether the job reaches over more than one node.
func (v *view) jobSpans() answer {
	if len(v.names) > 1 {
		return yes
	}
	if len(v.comms) == 0 {
		return notKnown
	}
	all := no
	for _, c := range v.comms {
		switch c.spans {
		case yes:
			return yes
		case notKnown:
			all = notKnown
		}
	}
	return all
}

// gpu is the name of a member's GPU, from nccl-tests' heading or the facts.
func (v *view) gpu(m int) string {
	me, p := &v.log.Members[m], v.proc(m)
	for _, g := range v.gpus[hostPID{p.Host, p.PID}] {
		if g.Dev == me.Dev || me.Dev < 0 {
			return g.Name
		}
	}
	return v.gpuOn(p.Host, me.Dev)
}

// gpuOn is the name of a GPU of a host: where all are alike, of any.
func (v *view) gpuOn(host string, dev int) string {
	name := v.model[host]
	if name != "" || v.expect.Facts == nil {
		return name
	}
	n := v.node(host)
	if n == nil {
		return ""
	}
	for _, g := range n.GPUs {
		known := cmp.Or(g.Name, g.Arch)
		if g.Index == dev {
			return known
		}
		name = known
	}
	return name
}

// node finds a host among the facts, by its short name too.
func (v *view) node(host string) *fact.Node {
	if v.expect.Facts == nil || host == "" {
		return nil
	}
	short, _, _ := strings.Cut(host, ".")
	for _, n := range v.expect.Facts.Nodes {
		if n.Name == host || n.Name == short || n.Host.Hostname == host {
			return n
		}
	}
	return nil
}

// canDirect says whether a GPU can do GPUDirect RDMA at all: "yes", "no",
// "conditional", "" not known; and why not.
func canDirect(name string) (string, string) {
	if name == "" {
		return "", ""
	}
	k, ok := platform.GPUOf(&fact.GPU{Name: name, Arch: name})
	if !ok {
		return "", ""
	}
	return k.Direct, k.Note
}
