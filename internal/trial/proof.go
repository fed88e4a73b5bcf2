package trial

import (
	"encoding/json"
	"fmt"
)

// Proof is what one weft prove measured and concluded, to be kept and compared.
type Proof struct {
	ID      string  `json:"id"`     // "20261115-130501"
	Made    string  `json:"made"`   // RFC 3339
	Weft    string  `json:"weft"`   // version
	Engine  string  `json:"engine"` // "weft", "perftest"
	Seed    uint64  `json:"seed"`   // of the order
	Which   string  `json:"which"`  // "all", "ring", "sample", "spark1,spark2"
	Effort  string  `json:"effort"` // "quick", "usual", "thorough"
	Seconds float64 `json:"seconds"`

	Nodes    []NodeAt  `json:"nodes"`
	Trials   []string  `json:"trials"`
	Cells    []Cell    `json:"cells"`
	Problems []Problem `json:"problems"`
	Left     []string  `json:"left,omitempty"` // what was not looked at, and why
}

// NodeAt is a node as it was when it was measured.
type NodeAt struct {
	Name     string            `json:"name"`
	Facts    string            `json:"facts"`              // hash of its facts, without what moves by itself
	Versions map[string]string `json:"versions,omitempty"` // "kernel", "mlx5_0 firmware", "libibverbs1", "perftest", "NCCL", "GPU driver"
	Busy     string            `json:"busy,omitempty"`     // why it was not disturbed
}

// ParseProof reads a proof as weft prove keeps it.
func ParseProof(b []byte) (*Proof, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	var p Proof
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("not a proof: %w", err)
	}
	if head.Kind != "proof" {
		return nil, fmt.Errorf("not a proof: its kind is %q", head.Kind)
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("not a proof: %w", err)
	}
	return &p, nil
}
