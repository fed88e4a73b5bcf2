// Package transport judges what NCCL or RCCL used to carry a job, from its log: which
// transport every rank's channels went through, whether the NIC reached GPU memory,
// what failed, why, and what to do. Pure.
//
// The channel lines decide, then the connections that were made, then the network that
// was chosen. What was only offered ("NET/Socket : Using", "NET/IB : Using") decides
// nothing: old releases list sockets and use InfiniBand.
package transport

import (
	"cmp"
	"slices"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format/nccllog"
)

// Expect is what the job should have used.
type Expect struct {
	Want    string        `json:"want"`          // "rdma", "socket", "any"; "" is for the log to show
	Why     string        `json:"why,omitempty"` // who says so
	Netdevs []string      `json:"-"`             // interfaces of the data plane, as weft.yaml names them
	Facts   *fact.Cluster `json:"-"`             // what is known of the nodes; may be nil
}

// Verdict is the answer.
type Verdict struct {
	Library  string   `json:"library"`  // "NCCL", "RCCL"
	Versions []string `json:"versions"` // each once
	Hosts    []string `json:"hosts"`
	Ranks    int      `json:"ranks"` // of the largest communicator; 0 unknown
	Seen     int      `json:"seen"`  // how many of them this log holds
	Nodes    int      `json:"nodes"` // 0 unknown
	Expect   Expect   `json:"expect"`

	Between string         `json:"between"`       // what carries the traffic between nodes: "NET/IB"; "" unknown or nothing
	RDMA    fact.Val[bool] `json:"rdma"`          // whether that is RDMA
	Direct  string         `json:"direct"`        // GPUDirect RDMA: one of the words below
	Inside  []string       `json:"inside"`        // what carries it inside a node
	GIN     []string       `json:"gin,omitempty"` // what GPUs may send through by themselves

	Rows     []Row          `json:"rows"` // folded by what is equal
	Comms    []Comm         `json:"comms"`
	RAS      []nccllog.RAS  `json:"ras,omitempty"`
	Findings []Finding      `json:"findings"`
	Counts   map[string]int `json:"counts"`
	Next     string         `json:"next"`

	Lines int            `json:"lines"`
	Files []string       `json:"files"`
	Over  map[string]int `json:"over,omitempty"` // what a limit left out
}

// GPUDirect RDMA, in words.
const (
	DirectYes      = "yes"
	DirectNo       = "no"
	DirectSome     = "some channels"
	DirectReceives = "receives only" // NCCL's default for GPUs before Ampere without NVLink
	DirectPossible = "possible"      // found to be possible; no channel line proves it
	DirectUnknown  = ""
)

// Row is a line of the table: ranks that do the same.
type Row struct {
	Comms     int      `json:"comms"`  // how many communicators are alike
	Size      int      `json:"size"`   // ranks of each; 0 unknown
	Ranks     []int    `json:"ranks"`  // nil when the log does not say
	Hosts     []string `json:"hosts"`  //
	Where     string   `json:"where"`  // "between nodes", "inside a node"
	Fewest    int      `json:"fewest"` // channels of the rank with fewest of them; 0 not told
	Most      int      `json:"most"`
	Transport string   `json:"transport"` // "NET/IB", "P2P/CUMEM", "SHM"
	Devices   []string `json:"devices,omitempty"`
	Direct    string   `json:"direct"`
	Basis     string   `json:"basis"` // which lines say so
	At        Line     `json:"at"`

	place nccllog.Place
}

// Where a transport is used.
const (
	Between = "between nodes"
	Inside  = "inside a node"
)

// The lines that say which transport it was, best first.
const (
	ByChannels    = "channel lines"
	ByConnections = "connections"
	ByErrors      = "its errors"
	ByChoice      = "network chosen"
	ByExclusion   = "nothing else left"
)

// Comm is one communicator.
type Comm struct {
	ID       string `json:"id,omitempty"` // commId, where told
	Size     int    `json:"size"`         // ranks; 0 unknown
	Nodes    int    `json:"nodes"`        // 0 unknown
	Complete int    `json:"complete"`     // ranks whose initialisation is complete in this log
	Ranks    []Rank `json:"ranks"`
}

// Rank is one rank of a communicator.
type Rank struct {
	Rank   int    `json:"rank"` // -1 not told
	Host   string `json:"host,omitempty"`
	PID    int    `json:"pid,omitempty"`
	Dev    int    `json:"dev"` // -1 not told
	GPU    string `json:"gpu,omitempty"`
	Uses   []Use  `json:"uses"`
	Status string `json:"status"` // "complete", "started", "destroyed", "seen"
}

// Use is one transport of one rank.
type Use struct {
	Where     string           `json:"where"`
	Transport string           `json:"transport"`
	Device    string           `json:"device,omitempty"`
	GDR       fact.Val[bool]   `json:"gdr"`     // GPUDirect RDMA; unknown where it has no meaning
	Through   int              `json:"through"` // the rank whose GPU sends for this one (PXN); -1 none
	Channels  nccllog.Channels `json:"channels"`
	Sends     int              `json:"sends"`
	Recvs     int              `json:"recvs"`
	Peers     []int            `json:"peers,omitempty"`
	Basis     string           `json:"basis"`
	At        Line             `json:"at"`

	place nccllog.Place
}

// Line is a place with its file's name.
type Line struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line"`
}

// Finding is one problem, of any number of ranks.
type Finding struct {
	ID     string       `json:"id"` // "nccl.socket"; docs/nccl.md explains each
	Status check.Status `json:"status"`
	Got    string       `json:"got"`
	Want   string       `json:"want,omitempty"`
	Why    string       `json:"why,omitempty"`
	Fix    []string     `json:"fix,omitempty"`
	Ranks  []int        `json:"ranks,omitempty"`
	Hosts  []string     `json:"hosts,omitempty"`
	Peers  []string     `json:"peers,omitempty"` // whom it concerns, too, as the log names them
	Count  int          `json:"count"`           // how often the log says it
	At     Line         `json:"at"`              // the first time

	next string // the command that helps
}

// Judge concludes from a log what was used and what is wrong.
func Judge(l nccllog.Log, e Expect) Verdict {
	v := newView(&l, e)
	out := Verdict{
		Library: v.library(), Versions: v.versions(), Hosts: v.names, Ranks: v.worldSize(), Seen: v.seen(), Nodes: v.nodes(),
		Expect: v.expect, RAS: l.RAS, Lines: l.Lines, Files: l.Files, Over: l.Over, Counts: map[string]int{},
	}
	out.Comms = v.written()
	out.Rows = v.rows(out.Comms)
	out.Between, out.RDMA, out.Direct, out.Inside = v.sum(out.Rows)
	for _, p := range l.Procs {
		if p.GIN.Text != "" {
			out.GIN = append(out.GIN, p.GIN.Text)
		}
	}
	out.GIN = unique(out.GIN)
	var found []Finding
	for _, judge := range judges {
		found = append(found, judge(v, &out)...)
	}
	out.Findings = settle(fold(found))
	for _, f := range out.Findings {
		out.Counts[f.Status.String()]++
	}
	out.Next = next(&out)
	return out
}

// judges are the questions, in the order people should read the answers: what carries
// the data, what broke, what is slow, what is odd.
var judges = []func(*view, *Verdict) []Finding{
	judgeSocket, judgeCauses, judgePlugin, judgeQP, judgeMemory, judgeCompletion, judgeAsync, judgeConnect, judgeStuck,
	judgeVersion, judgeHCAs, judgeDirect, judgeBootstrap, judgeInside, judgeSettings, judgeEvents, judgeInit, judgeRAS, judgeLines,
}

// fold makes one finding of those that say the same.
func fold(found []Finding) []Finding {
	type key struct {
		id, got, want, why string
		status             check.Status
	}
	at := map[key]int{}
	var out []Finding
	for _, f := range found {
		k := key{f.ID, f.Got, f.Want, f.Why, f.Status}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			f.Count = max(f.Count, 1)
			out = append(out, f)
			continue
		}
		o := &out[i]
		o.Count += max(f.Count, 1)
		o.Ranks = append(o.Ranks, f.Ranks...)
		o.Hosts = append(o.Hosts, f.Hosts...)
		o.Peers = append(o.Peers, f.Peers...)
		for _, fix := range f.Fix {
			if !slices.Contains(o.Fix, fix) && len(o.Fix) < 6 {
				o.Fix = append(o.Fix, fix)
			}
		}
	}
	for i := range out {
		out[i].Ranks, out[i].Peers = unique(out[i].Ranks), unique(out[i].Peers)
		out[i].Hosts = unique(slices.DeleteFunc(out[i].Hosts, func(h string) bool { return h == "" }))
	}
	return out
}

// settle puts the worst first and silences what only follows from it: a rank whose peer
// died says so loudest.
func settle(found []Finding) []Finding {
	failed := slices.ContainsFunc(found, func(f Finding) bool { return f.Status == check.Fail && causes[f.ID] })
	for i := range found {
		f := &found[i]
		switch {
		case failed && echoes[f.ID] && f.Status != check.Pass:
			f.Status, f.Why = check.Skip, "follows from a failure above"
		case f.ID == idInit && f.Status == check.Unknown && slices.ContainsFunc(found, func(o Finding) bool { return o.Status == check.Fail }):
			f.Status, f.Why = check.Skip, "follows from a failure above"
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Status, a.Status) })
	return found
}

func unique[T cmp.Ordered](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// FoldRanks writes 0,1,2,5 as "0-2,5".
func FoldRanks(ranks []int) string {
	ranks = unique(slices.DeleteFunc(slices.Clone(ranks), func(r int) bool { return r < 0 }))
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		part := itoa(ranks[i])
		if j > i {
			part += "-" + itoa(ranks[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
