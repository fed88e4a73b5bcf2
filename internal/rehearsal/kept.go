package rehearsal

import (
	"encoding/json"
	"fmt"
	"math"

	"weft/internal/forecast"
)

// Rehearsal is what was found: how long collectives took on the real fabric, without GPUs.
type Rehearsal struct {
	ID        string   `json:"id"`
	Made      string   `json:"made,omitempty"`
	Weft      string   `json:"weft,omitempty"`
	Model     string   `json:"model,omitempty"`
	Batch     int      `json:"batch,omitempty"`
	Layout    Layout   `json:"layout"`
	Nodes     []string `json:"nodes"` // by rank
	Rail      string   `json:"rail,omitempty"`
	Transport string   `json:"transport,omitempty"` // of syncs that do not say
	Syncs     []Sync   `json:"syncs"`
	Tokens    []Tokens `json:"tokens,omitempty"`
	Left      []string `json:"left,omitempty"` // what was not rehearsed, and why
}

// Sync is one size of exchange.
type Sync struct {
	Kind      string            `json:"kind,omitempty"` // collective.AllReduce and so on
	Bytes     int64             `json:"bytes"`
	Nodes     int               `json:"nodes"`
	Transport string            `json:"transport"`       // "rdma", "tcp"
	How       string            `json:"how,omitempty"`   // the quickest way to do it
	Count     int               `json:"count,omitempty"` // of them in a token
	Micros    Micros            `json:"micros"`
	Tried     map[string]Micros `json:"tried,omitempty"` // the other ways
	Note      string            `json:"note,omitempty"`
}

// Tokens is what all exchanges of a token took, one after the other.
type Tokens struct {
	Transport string  `json:"transport"`
	Steps     int     `json:"steps"` // exchanges of a token
	Count     int     `json:"count"` // tokens that were rehearsed
	Micros    Micros  `json:"micros"`
	PerSecond float64 `json:"per_second"` // tokens/s of all sequences that the network alone allows
	Carried   string  `json:"carried,omitempty"`
}

// Micros are microseconds.
type Micros struct {
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Min    float64 `json:"min,omitempty"`
}

// MaxFile bounds a rehearsal's file.
const MaxFile = 16 << 20

// Parse reads a rehearsal as weft rehearse keeps it.
func Parse(b []byte) (*Rehearsal, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if len(b) > MaxFile {
		return nil, fmt.Errorf("not a rehearsal: larger than %d bytes", MaxFile)
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
		if s.Bytes < 0 || s.Nodes < 0 || !sane(s.Micros) {
			return nil, fmt.Errorf("syncs[%d]: %d bytes among %d nodes in %g µs cannot be", i, s.Bytes, s.Nodes, s.Micros.Median)
		}
	}
	for i, t := range r.Tokens {
		if t.Steps < 0 || t.Count < 0 || !sane(t.Micros) || !(t.PerSecond >= 0) || math.IsInf(t.PerSecond, 0) {
			return nil, fmt.Errorf("tokens[%d]: %d steps in %g µs cannot be", i, t.Steps, t.Micros.Median)
		}
	}
	return &r, nil
}

// sane: an exchange takes less than an hour, and no time runs backwards.
func sane(m Micros) bool { return m.Median >= 0 && m.Median < 3.6e9 && m.P99 >= 0 && m.P99 < 3.6e9 }

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
		if transport != f.Transport || s.Kind != "" && s.Kind != "all-reduce" || float64(s.Bytes) < bytes || s.Bytes > most || s.Nodes < 2 || s.Micros.Median <= 0 || s.Micros.Median > 1e6 {
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
