// Package trial says what to measure, between whom, in which rounds, what is enough,
// and what a number that is not enough points at. Pure: time and chance are arguments.
package trial

import "weft/internal/fact"

// Trial is one thing to measure. Its page is docs/trials/ID.md.
type Trial struct {
	ID    string // dotted words, never renumbered, never reused
	Title string // the claim, stated as true
	Over  Over
	Unit  Unit
	Both  bool // each direction is measured on its own; else one number stands for both
}

// Over is what a trial is run over.
type Over int

// What a trial is run over.
const (
	Pairs   Over = iota // two ports of one rail on two nodes
	Ports               // one port, with itself
	Nodes               // one node
	Cluster             // all nodes together
)

// Unit is what the numbers of a trial count.
type Unit int

// The units of trials. An Amount is an integer of them.
const (
	BitsPerSecond Unit = iota
	Nanoseconds
	Bytes
)

// More reports whether more is better.
func (u Unit) More() bool { return u != Nanoseconds }

// Amount is a measured or an expected number, in the unit of its trial.
type Amount int64

// All lists the trials in the order they are run: what explains a later one comes first.
var All = []Trial{
	{ID: "path.mtu", Title: "full-size packets cross the path", Over: Pairs, Unit: Bytes, Both: true},
	{ID: "rdma.loop.bw", Title: "a port reaches its rate with itself", Over: Ports, Unit: BitsPerSecond},
	{ID: "rdma.write.bw", Title: "RDMA writes reach the rate of the path", Over: Pairs, Unit: BitsPerSecond, Both: true},
	{ID: "rdma.write.lat", Title: "a small RDMA write is quick", Over: Pairs, Unit: Nanoseconds},
	{ID: "rdma.write.bibw", Title: "RDMA writes reach the rate of the path in both directions at once", Over: Pairs, Unit: BitsPerSecond},
	{ID: "rdma.send.bw", Title: "RDMA sends reach the rate of the path", Over: Pairs, Unit: BitsPerSecond, Both: true},
	{ID: "rdma.send.lat", Title: "a small RDMA send is quick", Over: Pairs, Unit: Nanoseconds},
	{ID: "rdma.read.bw", Title: "RDMA reads reach the rate of the path", Over: Pairs, Unit: BitsPerSecond, Both: true},
	{ID: "rdma.read.lat", Title: "a small RDMA read is quick", Over: Pairs, Unit: Nanoseconds, Both: true},
	{ID: "tcp.bw", Title: "what TCP reaches on the same path", Over: Pairs, Unit: BitsPerSecond, Both: true},
	{ID: "tcp.lat", Title: "how long a small TCP message takes on the same path", Over: Pairs, Unit: Nanoseconds},
	{ID: "gpu.membw", Title: "GPU memory is as quick as it should be", Over: Nodes, Unit: BitsPerSecond},
	{ID: "gpu.direct", Title: "RDMA reaches GPU memory as quickly as host memory", Over: Pairs, Unit: BitsPerSecond, Both: true},
	{ID: "nccl.allreduce", Title: "all-reduce reaches the rate of the fabric", Over: Cluster, Unit: BitsPerSecond},
	{ID: "nccl.allgather", Title: "all-gather reaches the rate of the fabric", Over: Cluster, Unit: BitsPerSecond},
	{ID: "nccl.reducescatter", Title: "reduce-scatter reaches the rate of the fabric", Over: Cluster, Unit: BitsPerSecond},
	{ID: "nccl.alltoall", Title: "all-to-all reaches the rate of the fabric", Over: Cluster, Unit: BitsPerSecond},
	{ID: "nccl.broadcast", Title: "broadcast reaches the rate of the fabric", Over: Cluster, Unit: BitsPerSecond},
	{ID: "nccl.reduce", Title: "reduce reaches the rate of the fabric", Over: Cluster, Unit: BitsPerSecond},
	{ID: "nccl.sendrecv", Title: "send and receive reach the rate of the fabric", Over: Cluster, Unit: BitsPerSecond},
}

// ByID returns the trial of that name.
func ByID(id string) (Trial, bool) {
	for _, t := range All {
		if t.ID == id {
			return t, true
		}
	}
	return Trial{}, false
}

// End is one end of a pair: a port of a node. Port is empty where a trial is over nodes.
type End struct {
	Node string `json:"node"`
	Port string `json:"port,omitempty"` // "mlx5_0/1"
}

// String returns the end the way people read it: "spark1 mlx5_0/1".
func (e End) String() string {
	if e.Port == "" {
		return e.Node
	}
	return e.Node + " " + e.Port
}

// Pair is two ends of one rail. A asks, B answers: A writes to B, sends to B, reads from B.
type Pair struct {
	A End `json:"a"`
	B End `json:"b"`
}

// Turned is the pair in the other direction.
func (p Pair) Turned() Pair { return Pair{p.B, p.A} }

// Cell is one trial over one pair: one number of a matrix, with everything that was seen.
type Cell struct {
	Trial string `json:"trial"`
	Pair         // A equals B over a port or a node; both are empty over the cluster

	Got        fact.Val[Amount] `json:"got"`               // the median of Samples; unknown when there is none: see Missing
	Low        Amount           `json:"low,omitempty"`     // 95 % confidence interval of Got
	High       Amount           `json:"high,omitempty"`    //
	Samples    []Amount         `json:"samples,omitempty"` // as they came
	Runs       []Amount         `json:"runs,omitempty"`    // what each run of a suspect gave, of which the best counts
	Times      *Times           `json:"times,omitempty"`   // of latencies
	Host       fact.Val[Amount] `json:"host"`              // gpu.direct: the same between the memories of both hosts
	Collective *Collective      `json:"collective,omitempty"`
	Missing    string           `json:"missing,omitempty"` // why there is no number
	Skipped    bool             `json:"skipped,omitempty"` // Missing is no fault: it does not apply, or was not to be disturbed
	Broken     bool             `json:"broken,omitempty"`  // Missing is the path's fault: both ends tried, and nothing, or not all, came through
	Tests      int              `json:"tests"`             // how often it was run: more than once for a suspect
	Round      int              `json:"round"`             // in which it was run first
	Moved      []Moved          `json:"moved,omitempty"`   // counters of both ends, from before to after the last run
	Note       string           `json:"note,omitempty"`    // what else the engine saw

	Verdict
}

// Times is how long messages took.
type Times struct {
	Min     Amount `json:"min"`
	Typical Amount `json:"typical"` // median
	P99     Amount `json:"p99"`
	P999    Amount `json:"p999"`
	Max     Amount `json:"max"`
	Count   int64  `json:"count"`
}

// Moved is by how much the counters of one end grew.
type Moved struct {
	End            // Port is an RDMA port, or a netdev that is not one's ("eth0")
	Sent     int64 `json:"sent"`     // bytes, by the counter that sees RDMA there; packets where there is none for bytes
	Received int64 `json:"received"` //
	Packets  bool  `json:"packets"`  // Sent and Received count packets

	Grew map[string]uint64 `json:"grew,omitempty"` // other counters that grew: errors, retransmissions, pauses

	Before map[string]uint64 `json:"before,omitempty"` // every counter that changed, as it was; left out of proofs of very many cells
	After  map[string]uint64 `json:"after,omitempty"`  // and as it was afterwards
}

// Problem is one sentence about something that is not right: what it is about, what was
// seen, and what to look at, in order.
type Problem struct {
	Trial  string   `json:"trial"`
	Also   []string `json:"also,omitempty"` // other trials that it shows in
	Status string   `json:"status"`         // "fail" or "warn"
	Kind   string   `json:"kind"`           // "node", "port", "pair", "switch", "rail", "cluster"
	At     []End    `json:"at"`             // the port; both ends of a pair, the sending one first; the node, without a port; by their names a rail, a switch or two
	Way    string   `json:"way,omitempty"`  // "sending", "receiving"; "" is both ways, or not known
	Got    string   `json:"got"`
	Want   string   `json:"want"`
	Why    string   `json:"why"`             // the likely reason, from facts and counters
	Ruled  []string `json:"ruled,omitempty"` // what is known to be right, so not worth a look
	Look   []string `json:"look"`            // what to look at, in order
	Cells  int      `json:"cells"`           // how many cells it explains
}
