// Package check judges facts. Pure: a check never touches a machine.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/fact"
	"weft/internal/spec"
	"weft/internal/topo"
)

// Check is one claim about a cluster. Its page is docs/checks/ID.md. It has either
// Each, when a node can be judged by its own facts, or Judge, when nodes must be
// held against each other.
type Check struct {
	ID    string   // dotted words, never renumbered, never reused
	Title string   // the claim, stated as true
	After []string // checks whose failure, on the same subject, makes this one an echo

	// Each appends its findings about one node that answered. None says why the
	// check is skipped when it finds nothing to judge on any node.
	Each func(c *Case, n *fact.Node, out []Finding) []Finding
	None string

	Judge func(c *Case) []Finding
}

// Status is the answer to a claim.
type Status int

// The five answers, best first. Unknown is never a pass.
const (
	Pass    Status = iota
	Skip           // does not apply here, or is an echo of another failure
	Warn           // works, but is not right
	Unknown        // could not look
	Fail
)

var statusWords = [...]string{"pass", "skip", "warn", "unknown", "fail"}

// String returns the word people read.
func (s Status) String() string { return statusWords[s] }

// MarshalText makes JSON spell the status.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *Status) UnmarshalText(b []byte) error {
	i := slices.Index(statusWords[:], string(b))
	if i < 0 {
		return fmt.Errorf("status %q: want one of %s", b, strings.Join(statusWords[:], ", "))
	}
	*s = Status(i)
	return nil
}

// Subject is what a finding is about: a port, a GPU or another part of a node, a
// node, or the cluster when Node is empty.
type Subject struct {
	Node string `json:"node,omitempty"`
	Part string `json:"part,omitempty"` // "mlx5_0/1", "gpu0", "eth1", "→ spark2"
}

// String returns the subject the way people read it: "spark1 mlx5_0/1".
func (s Subject) String() string {
	switch {
	case s.Node == "":
		return "cluster"
	case s.Part == "":
		return s.Node
	}
	return s.Node + " " + s.Part
}

// Finding is the answer of one check for one subject.
type Finding struct {
	Check   string   `json:"check"`
	Subject Subject  `json:"subject"`
	Status  Status   `json:"status"`
	Got     string   `json:"got,omitempty"`
	Want    string   `json:"want,omitempty"`
	Why     string   `json:"why,omitempty"` // one sentence about the consequence, or the reason of a skip
	Fix     []string `json:"fix,omitempty"` // commands or actions, in order, for this subject
}

// Case is what checks judge: the facts, the owner's wishes, and what was seen
// last time.
type Case struct {
	fact.Cluster
	Want   spec.Spec
	Before *fact.Cluster // the facts of an earlier look; nil when there was none
	Since  time.Duration // how long ago that was

	// Made by prepare, because many checks ask.
	own       map[*fact.Node]own
	ports     []topo.PortAt         // the data ports of all nodes
	master    bool                  // a subnet manager is at work, see smWorks
	subnets   map[string]portSubnet // RoCE port name → see peerSubnets
	gpuCounts map[machine]int       // see usualGPUs
	numa      map[numaSlot]int      // see usualNUMA
}

// own is what checks ask of one node, time and again.
type own struct {
	data    []*fact.Port    // see Data
	cards   []card          // see cards
	gpus    []*fact.GPU     // see gpus
	wants   []spec.DataPort // what weft.yaml says of its ports
	before  *fact.Node      // the node in the earlier look; nil when it was not there
	counted *fact.Node      // before, for what counts from zero at boot: nil when it booted since
}
