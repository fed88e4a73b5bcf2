package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"weft/internal/fact"
)

// state is what of a tracker outlives it: what a port did, not what it counts now. The
// counters that tell of flaps are kept, so that a link that went down while nobody
// watched is seen.
type state struct {
	Version int                   `json:"version"`
	When    time.Time             `json:"when"`
	Good    *Good                 `json:"good"`
	Nodes   map[string]*nodeState `json:"nodes"`
}

type nodeState struct {
	Boot   string                `json:"boot,omitempty"`
	Boots  int                   `json:"boots"`
	Seen   time.Time             `json:"seen"`
	Lost   []time.Time           `json:"lost,omitempty"`
	Losses int                   `json:"losses"`
	Ports  map[string]*portState `json:"ports"`
	Goods  map[string]goodPort   `json:"goods,omitempty"`
	GPUs   int                   `json:"gpus"`
	Good   time.Time             `json:"good"`
}

type portState struct {
	State     string             `json:"state"`
	Seen      time.Time          `json:"seen"`
	Up        bool               `json:"up"`
	EverUp    bool               `json:"ever_up"`
	Since     time.Time          `json:"since"`
	Times     []time.Time        `json:"times,omitempty"`
	All       int                `json:"all"`
	Recovered time.Time          `json:"recovered"`
	Carrier   fact.Val[uint64]   `json:"carrier"`
	Downed    fact.Val[uint64]   `json:"downed"` // link_downed
	Trouble   map[string]*growth `json:"trouble,omitempty"`
}

const stateVersion = 1

// MaxState bounds what Restore reads.
const MaxState = 64 << 20

// Save writes what outlives the tracker.
func (t *Tracker) Save(now time.Time) ([]byte, error) {
	s := state{Version: stateVersion, When: now, Good: t.good, Nodes: map[string]*nodeState{}}
	for name, n := range t.nodes {
		if n.seen.IsZero() {
			continue
		}
		x := &nodeState{Boot: n.boot, Boots: n.boots, Seen: n.seen, Lost: n.lost, Losses: n.losses, Ports: map[string]*portState{}, Goods: n.goods, GPUs: n.ngpus, Good: n.good}
		for key, p := range n.ports {
			y := &portState{State: p.look.State, Seen: p.seen, Up: p.up, EverUp: p.everUp, Since: p.since, Times: p.times, All: p.all, Recovered: p.back, Carrier: p.look.Carrier}
			if v, ok := p.value("link_downed"); ok {
				y.Downed = fact.Some(v)
			}
			for counter, g := range p.grown {
				if now.Before(g.Until) {
					if y.Trouble == nil {
						y.Trouble = map[string]*growth{}
					}
					y.Trouble[counter] = g
				}
			}
			x.Ports[key] = y
		}
		s.Nodes[name] = x
	}
	return json.Marshal(s)
}

// Restore takes over what an earlier tracker saved. What is broken, of another version or
// from the future is refused whole, and the tracker begins anew.
func (t *Tracker) Restore(b []byte, now time.Time) error {
	var s state
	if len(b) > MaxState {
		return fmt.Errorf("larger than %d bytes", MaxState)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s.Version != stateVersion {
		return fmt.Errorf("version %d, want %d", s.Version, stateVersion)
	}
	if s.When.After(now.Add(time.Minute)) {
		return fmt.Errorf("it is from the future: %s", s.When.UTC().Format(time.RFC3339))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		x := s.Nodes[name]
		if x == nil || len(x.Ports) > MaxPorts || len(name) > maxText {
			continue
		}
		n := t.node(name)
		n.boot, n.boots, n.losses, n.lost = short(x.Boot), max(0, x.Boots), max(0, x.Losses), past(x.Lost, now)
		n.goods, n.ngpus, n.good = x.Goods, x.GPUs, x.Good
		for key, y := range x.Ports {
			if y == nil || y.Seen.IsZero() {
				continue
			}
			p := &port{first: y.Seen, seen: y.Seen, up: y.Up, everUp: y.EverUp, since: y.Since, times: past(y.Times, now), all: max(0, y.All), back: y.Recovered, set: map[string]time.Time{}}
			p.look = PortLook{Name: short(key), State: short(y.State), Carrier: y.Carrier}
			p.sent, p.received = nan, nan
			if v, ok := y.Downed.Get(); ok {
				p.list, p.values, p.rates = t.listOf([]string{"link_downed"}), []uint64{v}, []float64{nan}
				t.series++
				p.counted = y.Seen
			}
			for counter, g := range y.Trouble {
				if g != nil && CounterOf(counter) != nil && g.Until.Before(now.Add(24*time.Hour)) {
					if p.grown == nil {
						p.grown = map[string]*growth{}
					}
					p.grown[counter] = g
				}
			}
			n.ports[short(key)] = p
		}
	}
	if s.Good != nil {
		t.good = &Good{When: s.Good.When, Why: short(s.Good.Why)}
	}
	return nil
}

// past bounds times that were read, and leaves out what is not past.
func past(times []time.Time, now time.Time) []time.Time {
	times = slices.DeleteFunc(times, func(x time.Time) bool { return x.After(now) })
	slices.SortFunc(times, time.Time.Compare)
	return times[max(0, len(times)-maxTimes):]
}
