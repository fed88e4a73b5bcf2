package history

import (
	"time"

	"weft/internal/fact"
	"weft/internal/unit"
)

// Live is one moment of a watch: all that its screen, its page and its metrics show.
// Lists are sorted, so that the same moment is written the same way each time. Text in
// it comes from nodes and is not to be trusted.
type Live struct {
	When     time.Time   `json:"when"`
	Since    time.Time   `json:"since"`  // when this watch began
	Every    float64     `json:"every"`  // seconds between two looks at a node
	Source   string      `json:"source"` // "weft.yaml", "this machine", "lab.dump"
	Level    Level       `json:"level"`  // the worst of all below
	Summary  string      `json:"summary"`
	Nodes    []LiveNode  `json:"nodes"`             // by name
	Pings    []LivePing  `json:"pings,omitempty"`   // by kind, from, to
	PingPlan string      `json:"ping_plan"`         // "every pair in about 10 min, 32 pairs at a time"; or why there are none
	Checks   *LiveChecks `json:"checks"`            // nil before the first
	Good     *Good       `json:"good"`              // what drift is counted from; nil before there is one
	Changes  []Event     `json:"changes,omitempty"` // the last ones, newest first
	Said     []string    `json:"said,omitempty"`    // what was left out or bounded, and why
	Totals   LiveTotals  `json:"totals"`            // of the whole cluster
	Figures  LiveFigures `json:"figures"`           // what the watch itself costs
}

// Level is how bad something is, in the five words of weft check.
type Level string

// The five words, best first.
const (
	Pass    Level = "pass"
	Skip    Level = "skip" // does not apply: a port that nobody plugged in
	Warn    Level = "warn"
	Unknown Level = "unknown" // not read, or too old: never a pass
	Fail    Level = "fail"
)

var levels = []Level{Pass, Skip, Warn, Unknown, Fail}

// Worse returns the worse of two levels; "" is none.
func (l Level) Worse(other Level) Level {
	if l.rank() < other.rank() {
		return other
	}
	return l
}

func (l Level) rank() int {
	for i, x := range levels {
		if x == l {
			return i
		}
	}
	return -1
}

// LiveTotals counts what is there.
type LiveTotals struct {
	Nodes    int           `json:"nodes"`
	NodesUp  int           `json:"nodes_up"` // that answer
	Ports    int           `json:"ports"`
	PortsUp  int           `json:"ports_up"`
	GPUs     int           `json:"gpus"`
	Sent     float64       `json:"sent"` // bytes a second over all RDMA ports
	Received float64       `json:"received"`
	Series   int           `json:"series"` // counters that are followed
	Levels   map[Level]int `json:"levels"` // ports by level
}

// LiveFigures is what the watch itself costs.
type LiveFigures struct {
	Looks  int64 `json:"looks"`  // answers of nodes until now
	Missed int64 `json:"missed"` // looks without an answer
	Bad    int64 `json:"bad"`    // answers that were not understood
}

// LiveNode is one node.
type LiveNode struct {
	Name    string     `json:"name"`
	Level   Level      `json:"level"`         // the worst of the node and its parts
	State   string     `json:"state"`         // "answers", "late", "lost", "waiting" (before its first answer)
	Why     string     `json:"why,omitempty"` // why it does not answer, or the worst check that fails there
	Seen    time.Time  `json:"seen"`          // its last answer; zero: none yet
	Age     float64    `json:"age"`           // seconds since Seen
	Boots   int        `json:"boots"`         // times that it was seen to boot
	Lost    int        `json:"lost"`          // times that it was lost, within Window
	LostAll int        `json:"lost_all"`      // and since the watch began, over restarts
	Ports   []LivePort `json:"ports"`         // by name
	GPUs    []LiveGPU  `json:"gpus,omitempty"`
	Drift   []Drift    `json:"drift,omitempty"` // of the node and all its parts
}

// LivePort is one RDMA port.
type LivePort struct {
	Name     string              `json:"name"` // "mlx5_0/1"
	Device   string              `json:"device"`
	Num      int                 `json:"num"`
	Netdev   string              `json:"netdev,omitempty"`
	Layer    string              `json:"layer,omitempty"` // "InfiniBand", "Ethernet"
	State    string              `json:"state"`           // the kernel's word; "" unknown
	Phys     string              `json:"phys,omitempty"`
	For      float64             `json:"for"` // seconds in State, as far as it was watched
	Rate     fact.Val[unit.Rate] `json:"rate"`
	MTU      fact.Val[int]       `json:"mtu"` // bytes, of the netdev; of InfiniBand the packet size in force
	GIDs     int                 `json:"gids"`
	Health   Health              `json:"health"`
	Level    Level               `json:"level"`
	Why      string              `json:"why,omitempty"` // one sentence, when the level is not pass
	Flaps    int                 `json:"flaps"`         // returns to ACTIVE within Window
	FlapsAll int                 `json:"flaps_all"`     // since the watch began, over restarts
	Sent     fact.Val[float64]   `json:"sent"`          // bytes a second
	Received fact.Val[float64]   `json:"received"`
	Use      fact.Val[float64]   `json:"use"`                // the busier direction, as a share of Rate: 0 … 1
	Trouble  []LiveTrouble       `json:"trouble,omitempty"`  // counters that tell of trouble and grew, worst first
	Counters []LiveCounter       `json:"counters,omitempty"` // all, by name
	Drift    []Drift             `json:"drift,omitempty"`
}

// LiveCounter is one counter of a port, in the kernel's name.
type LiveCounter struct {
	Name  string            `json:"name"`
	Value uint64            `json:"value"` // as the kernel counts: port_xmit_data in words of four bytes
	Rate  fact.Val[float64] `json:"rate"`  // a second; unknown before the second look and after a reset
}

// LiveTrouble is a counter of trouble that grew within the time that its limit is for.
type LiveTrouble struct {
	Name  string    `json:"name"`
	Rate  float64   `json:"rate"` // a second, now
	Grew  uint64    `json:"grew"` // within Per
	Per   float64   `json:"per"`  // seconds
	Limit uint64    `json:"limit"`
	Level Level     `json:"level"` // fail: above the limit, or was a moment ago; pass: below
	Last  time.Time `json:"last"`  // when it last grew
	Why   string    `json:"why"`
}

// LiveGPU is one GPU.
type LiveGPU struct {
	Index     int                 `json:"index"`
	BDF       string              `json:"bdf"`
	UUID      string              `json:"uuid,omitempty"` // as DCGM's exporter labels it
	Name      string              `json:"name,omitempty"`
	Use       fact.Val[float64]   `json:"use"`         // share of time, 0 … 1
	Memory    fact.Val[unit.Size] `json:"memory"`      // total
	MemoryUse fact.Val[unit.Size] `json:"memory_used"` // bytes
	Power     fact.Val[float64]   `json:"power"`       // W
	Temp      fact.Val[float64]   `json:"temp"`        // °C
	Clock     fact.Val[float64]   `json:"clock"`       // Hz
	Throttle  []string            `json:"throttle,omitempty"`
	Level     Level               `json:"level"`
	Why       string              `json:"why,omitempty"`
}

// LivePing is what small messages do between two nodes, from one to the other.
type LivePing struct {
	Kind     string            `json:"kind"` // "rdma", "tcp"
	From     string            `json:"from"` // node
	To       string            `json:"to"`
	FromPort string            `json:"from_port"` // "mlx5_0/1"
	ToPort   string            `json:"to_port"`
	When     time.Time         `json:"when"`    // the last try
	Age      float64           `json:"age"`     // seconds since When
	Latency  fact.Val[float64] `json:"latency"` // seconds one way, the median of the last try that worked
	P99      fact.Val[float64] `json:"p99"`
	Usual    fact.Val[float64] `json:"usual"` // the median of earlier tries
	Tries    int               `json:"tries"` // that Loss counts, at most 32
	Loss     float64           `json:"loss"`  // share of Tries that failed, 0 … 1
	Level    Level             `json:"level"`
	Why      string            `json:"why,omitempty"` // why it failed, or was not tried
}

// LiveChecks is what weft check said last.
type LiveChecks struct {
	When     time.Time     `json:"when"`
	Age      float64       `json:"age"`
	Why      string        `json:"why,omitempty"` // why there are none, or no newer ones
	Counts   map[Level]int `json:"counts"`
	Findings []LiveFinding `json:"findings,omitempty"` // fail, unknown and warn, worst first, at most MaxFindings
	Results  []LiveResult  `json:"results,omitempty"`  // all checks by ID: how many answers of each level
}

// LiveFinding is one finding of a check.
type LiveFinding struct {
	Check string   `json:"check"`
	Node  string   `json:"node,omitempty"`
	Part  string   `json:"part,omitempty"`
	Level Level    `json:"level"`
	Got   string   `json:"got,omitempty"`
	Want  string   `json:"want,omitempty"`
	Why   string   `json:"why,omitempty"`
	Fix   []string `json:"fix,omitempty"`
}

// LiveResult is what one check said, in numbers.
type LiveResult struct {
	Check  string        `json:"check"`
	Counts map[Level]int `json:"counts"`
}

// Good is the state that drift is counted from.
type Good struct {
	When  time.Time `json:"when"`
	Why   string    `json:"why"`             // "weft check found nothing wrong", "the first look"
	Drift []Drift   `json:"drift,omitempty"` // of all nodes since then
}

// Drift is a setting that differs from the last good state.
type Drift struct {
	Node  string    `json:"node"`
	Part  string    `json:"part,omitempty"` // "mlx5_0/1", "eth2"
	What  string    `json:"what"`           // "mtu", "rate", "gids", "state", or a path of facts
	From  string    `json:"from"`
	To    string    `json:"to"`
	Since time.Time `json:"since"` // when it was first seen so
	Level Level     `json:"level"`
}

// Event is one change that a person may want to know of.
type Event struct {
	When  time.Time `json:"when"`
	Node  string    `json:"node"`
	Part  string    `json:"part,omitempty"`
	What  string    `json:"what"` // "state", "rate", "mtu", "gids", "flap", "errors", "node", "ping", "gpu", "check", "counters"
	From  string    `json:"from,omitempty"`
	To    string    `json:"to,omitempty"`
	Level Level     `json:"level"`
	Text  string    `json:"text"` // the sentence
}

// Health is what a port's past makes of its present: one state that does not jump about.
type Health string

// The states, in the order of how they are looked for.
const (
	HealthUnknown    Health = "unknown"    // nothing was read, or it is too old
	HealthIdle       Health = "idle"       // never seen up: nobody plugged it in
	HealthDown       Health = "down"       // not up, for a moment
	HealthDropped    Health = "dropped"    // not up for longer than a link takes to train
	HealthFlapping   Health = "flapping"   // came back too often within Window
	HealthRecovering Health = "recovering" // up again after a drop, and not yet for long
	HealthUp         Health = "up"
)
