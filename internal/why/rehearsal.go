package why

import (
	"encoding/json"
	"fmt"

	"weft/internal/forecast"
)

// Rehearsal is what weft needs of a rehearsal: how long collectives took on the real
// fabric, without GPUs.
type Rehearsal struct {
	ID        string `json:"id"`
	Nodes     any    `json:"nodes"` // how many, or which
	Transport string `json:"transport"`
	Syncs     []Sync `json:"syncs"`
}

// Sync is one size of collective.
type Sync struct {
	Bytes     int64  `json:"bytes"`
	Nodes     int    `json:"nodes"`
	Transport string `json:"transport"` // "rdma", "tcp"
	Micros    struct {
		Median float64 `json:"median"`
		P99    float64 `json:"p99"`
	} `json:"micros"`
}

// MaxRehearsal bounds a rehearsal's file.
const MaxRehearsal = 16 << 20

// ParseRehearsal reads a rehearsal as weft rehearse keeps it.
func ParseRehearsal(b []byte) (*Rehearsal, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if len(b) > MaxRehearsal {
		return nil, fmt.Errorf("not a rehearsal: larger than %d bytes", MaxRehearsal)
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("not a rehearsal: %w", err)
	}
	if head.Kind != "rehearsal" {
		return nil, fmt.Errorf("not a rehearsal: its kind is %q", head.Kind)
	}
	var r Rehearsal
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("not a rehearsal: %w", err)
	}
	for i, s := range r.Syncs {
		if s.Bytes < 0 || s.Nodes < 0 || !(s.Micros.Median >= 0 && s.Micros.Median < 1e6) {
			return nil, fmt.Errorf("syncs[%d]: %d bytes among %d nodes in %g µs cannot be", i, s.Bytes, s.Nodes, s.Micros.Median)
		}
	}
	return &r, nil
}

// Apply puts what the rehearsal took in place of the constants: the smallest message
// that is no smaller than bytes and at most 64 KiB, over the fabric's own transport,
// among as many nodes if there is such a row. ok is false where there is none.
func (r *Rehearsal) Apply(f forecast.Fabric, bytes float64, nodes int) (forecast.Fabric, bool) {
	const most = 64 << 10
	var best *Sync
	for i, s := range r.Syncs {
		transport := s.Transport
		if transport == "" {
			transport = r.Transport
		}
		if transport != f.Transport || float64(s.Bytes) < bytes || s.Bytes > most || s.Nodes < 2 || s.Micros.Median <= 0 {
			continue
		}
		if best == nil || (s.Nodes == nodes) && best.Nodes != nodes || (s.Nodes == nodes) == (best.Nodes == nodes) && s.Bytes < best.Bytes {
			best = &r.Syncs[i]
		}
	}
	if best == nil {
		return f, false
	}
	f.Sync, f.Nodes = best.Micros.Median, best.Nodes
	f.Source = fmt.Sprintf("rehearsal %s: %d bytes among %d nodes in %.0f µs; it has no GPUs, so an engine's collective takes longer", r.ID, best.Bytes, best.Nodes, best.Micros.Median)
	return f, true
}
