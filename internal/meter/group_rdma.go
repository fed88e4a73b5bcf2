package meter

import (
	"context"
	"fmt"

	"weft/internal/collective"
	"weft/internal/verbs"
)

// rdmaWire is a group over RDMA: a put is a write into the other's memory.
type rdmaWire struct {
	*verbs.Group
	dev   *verbs.Device
	rank  int
	ranks int
}

func (s *server) rdmaWire(g *Group, room int) (wire, []*verbs.Peer, error) {
	lib, err := s.library()
	if err != nil {
		return nil, nil, err
	}
	dev, err := lib.Open(g.RDMA.Device, g.RDMA.Port)
	if err != nil {
		return nil, nil, class("device", err)
	}
	vg, err := dev.NewGroup(g.Ranks-1, room, verbs.Options{GID: g.RDMA.GID, TrafficClass: g.RDMA.Class})
	if err != nil {
		dev.Close()
		return nil, nil, class("device", err)
	}
	w := &rdmaWire{vg, dev, g.Rank, g.Ranks}
	peers := make([]*verbs.Peer, g.Ranks)
	for r := range peers {
		if r != g.Rank {
			p := vg.Local(w.lane(r))
			peers[r] = &p
		}
	}
	return w, peers, nil
}

// lane is which connection leads to a rank: there is none to oneself.
func (w *rdmaWire) lane(rank int) int {
	if rank > w.rank {
		return rank - 1
	}
	return rank
}

func (w *rdmaWire) memory() []byte             { return w.Memory() }
func (w *rdmaWire) put(p collective.Put) error { return w.Put(w.lane(p.To), p.From, p.At, p.Len) }
func (w *rdmaWire) take(t collective.Take) error {
	return w.Take(w.lane(t.Of))
}
func (w *rdmaWire) run(ctx context.Context, f func() error) error { return w.Run(ctx, f) }

func (w *rdmaWire) join(_ context.Context, j Join) error {
	if len(j.Peers) != w.ranks {
		return fmt.Errorf("%d peers: want %d, of which one is oneself", len(j.Peers), w.ranks)
	}
	for r, p := range j.Peers {
		if r == w.rank {
			continue
		}
		if p == nil {
			return fmt.Errorf("rank %d has no peer", r)
		}
		if err := w.Connect(w.lane(r), *p); err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
	}
	return nil
}

func (w *rdmaWire) Close() error {
	w.Group.Close()
	w.dev.Close()
	return nil
}
