package trial

import (
	"weft/internal/check"
	"weft/internal/fact"
)

// Verdict is what a number is held against and what comes of it.
type Verdict struct {
	Want    fact.Val[Amount] `json:"want"`              // what the path should reach; unknown for media without a rate, as Soft-RoCE
	Limiter string           `json:"limiter,omitempty"` // what sets Want: "port rate of spark1 mlx5_0/1, 100 Gb/s"
	Best    fact.Val[Amount] `json:"best"`              // what the cluster itself reaches on like paths
	Status  check.Status     `json:"status"`            // unknown: measured, and nothing to hold it against
	Why     string           `json:"why,omitempty"`
}
