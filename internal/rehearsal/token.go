// Package rehearsal is the communication of decoding: what ranks exchange for one token
// of a model, and what a rehearsal of it on a real fabric found. Pure.
package rehearsal

import (
	"errors"
	"fmt"

	"weft/internal/collective"
	"weft/internal/forecast"
)

// Layout is how nodes share a model's work. A rank is a node: what GPUs of one node
// exchange crosses no wire that weft rehearses.
type Layout struct {
	TP int `json:"tp,omitempty"` // nodes that hold a layer together
	PP int `json:"pp,omitempty"` // stages that a token passes one after the other
	EP int `json:"ep,omitempty"` // nodes that each hold some of the experts, and decode sequences of their own
}

// Ranks is how many nodes it takes.
func (l Layout) Ranks() int { return max(l.TP, 1) * max(l.PP, 1) * max(l.EP, 1) }

func (l Layout) String() string {
	if l.EP > 1 {
		return fmt.Sprintf("ep %d", l.EP)
	}
	if l.PP > 1 {
		return fmt.Sprintf("tp %d, pp %d", l.TP, l.PP)
	}
	return fmt.Sprintf("tp %d", l.TP)
}

// maxBatch bounds the sequences of a step: a whole prompt of them.
const maxBatch = 1 << 16

// Step is what one exchange of a token is for.
type Step struct {
	collective.Op
	What string // "attention", "feed-forward", "dispatch", "combine", "stage", "next token"
}

// Token is all exchanges of one decoding step, in their order: an all-reduce of hidden ×
// batch × 2 bytes after attention and one after the feed-forward of each layer; where
// experts are spread, all-to-alls to them and back instead; between stages a hop, and one
// back with the tokens.
func Token(m forecast.Model, l Layout, batch int) ([]Step, error) {
	switch {
	case batch < 1 || batch > maxBatch:
		return nil, fmt.Errorf("batch %d: want 1 to %d", batch, maxBatch)
	case l.EP > 1 && (l.TP > 1 || l.PP > 1):
		return nil, fmt.Errorf("ep %d with tp %d and pp %d: weft rehearses experts alone", l.EP, l.TP, l.PP)
	case l.EP > 1 && m.MoE.Count == 0:
		return nil, fmt.Errorf("ep %d: %s has no experts", l.EP, m.Name)
	case l.Ranks() < 2:
		return nil, errors.New("one node exchanges nothing: want tp, pp or ep of at least 2")
	case l.PP > m.Layers:
		return nil, fmt.Errorf("pp %d: %s has %d layers", l.PP, m.Name, m.Layers)
	}
	if l.EP > 1 {
		return experts(m, l.EP, batch), nil
	}
	if l.TP > 1 {
		if err := m.Divides(l.TP); err != nil {
			return nil, err
		}
	}
	return stages(m, max(l.TP, 1), max(l.PP, 1), batch), nil
}

// Alone is one all-reduce, of no model.
func Alone(bytes, nodes int) ([]Step, error) {
	if nodes < 2 {
		return nil, errors.New("one node exchanges nothing: want 2 at least")
	}
	return []Step{{collective.Op{Kind: collective.AllReduce, Bytes: bytes, Ranks: ranks(0, nodes)}, "alone"}}, nil
}

func stages(m forecast.Model, tp, pp, batch int) (all []Step) {
	bytes := m.Hidden * batch * 2
	mixers, forwards := m.Blocks()
	for s := range pp {
		group := ranks(s*tp, tp)
		share := func(n int) int { return n*(s+1)/pp - n*s/pp }
		if tp > 1 {
			a, f := share(mixers), share(forwards)
			for i := range max(a, f) {
				if i < a {
					all = append(all, Step{collective.Op{Kind: collective.AllReduce, Bytes: bytes, Ranks: group}, "attention"})
				}
				if i < f {
					all = append(all, Step{collective.Op{Kind: collective.AllReduce, Bytes: bytes, Ranks: group}, "feed-forward"})
				}
			}
		}
		if pp == 1 {
			break
		}
		for i := range tp {
			hop := Step{collective.Op{Kind: collective.Hop, Bytes: bytes, Ranks: []int{s*tp + i, (s+1)*tp + i}}, "stage"}
			if s == pp-1 { // the numbers of the tokens go back to the first
				hop = Step{collective.Op{Kind: collective.Hop, Bytes: 8 * batch, Ranks: []int{s*tp + i, i}}, "next token"}
			}
			all = append(all, hop)
		}
	}
	return all
}

// experts: every node decodes its part of the batch and sends each token to the experts
// that it chose, once to each node at most, and gets it back. Experts are chosen as if by
// lot.
func experts(m forecast.Model, n, batch int) (all []Step) {
	own := (batch + n - 1) / n
	perNode := min(float64(m.MoE.TopK)/float64(n), 1)
	tokens := max(1, int(float64(own)*perNode+0.5))
	op := collective.Op{Kind: collective.AllToAll, Bytes: tokens * m.Hidden * 2, Ranks: ranks(0, n)}
	for range m.MoE.Count {
		all = append(all, Step{op, "dispatch"}, Step{op, "combine"})
	}
	return all
}

func ranks(first, n int) (all []int) {
	for i := range n {
		all = append(all, first+i)
	}
	return all
}
