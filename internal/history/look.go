package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"weft/internal/fact"
	"weft/internal/unit"
)

// Look is what was read of one node at one moment: little, because it is read often.
type Look struct {
	Boot  string     `json:"boot,omitempty"` // boot_id: counters start again with it
	Ports []PortLook `json:"ports"`          // by name
	GPUs  []GPULook  `json:"gpus,omitempty"`
	GPUd  bool       `json:"gpud,omitempty"` // GPUs were asked for this time
	Gaps  []fact.Gap `json:"gaps,omitempty"` // what could not be read
}

// PortLook is one RDMA port.
type PortLook struct {
	Name    string              `json:"name"`
	Device  string              `json:"device"`
	Num     int                 `json:"num"`
	Netdev  string              `json:"netdev,omitempty"`
	Layer   string              `json:"layer,omitempty"`
	State   string              `json:"state,omitempty"`
	Phys    string              `json:"phys,omitempty"`
	Rate    fact.Val[unit.Rate] `json:"rate"`
	MTU     fact.Val[int]       `json:"mtu"`     // of the netdev; of InfiniBand the packet size in force
	Carrier fact.Val[uint64]    `json:"carrier"` // carrier_down_count of the netdev
	GIDs    []string            `json:"gids,omitempty"`
	GIDd    bool                `json:"gidd,omitempty"` // the GID table was read this time
	Soft    bool                `json:"soft,omitempty"` // rxe or siw: counters have 64 bits
	Count   Counters            `json:"count"`
}

// GPULook is one GPU.
type GPULook struct {
	Index     int                 `json:"index"`
	BDF       string              `json:"bdf"`
	UUID      string              `json:"uuid,omitempty"`
	Name      string              `json:"name,omitempty"`
	Use       fact.Val[float64]   `json:"use"`
	Memory    fact.Val[unit.Size] `json:"memory"`
	MemoryUse fact.Val[unit.Size] `json:"memory_used"`
	Power     fact.Val[float64]   `json:"power"`
	Temp      fact.Val[float64]   `json:"temp"`
	Clock     fact.Val[float64]   `json:"clock"`
	Throttle  []string            `json:"throttle,omitempty"`
}

// Counters are names with their values, by name. Names may be shared between looks, and
// are not changed.
type Counters struct {
	Names  []string
	Values []uint64
}

// Get returns a counter by its name.
func (c Counters) Get(name string) (uint64, bool) {
	i, ok := slices.BinarySearch(c.Names, name)
	if !ok {
		return 0, false
	}
	return c.Values[i], true
}

// CountersOf sorts counters.
func CountersOf(m map[string]uint64) (c Counters) {
	c.Names = make([]string, 0, len(m))
	for name := range m {
		c.Names = append(c.Names, name)
	}
	slices.Sort(c.Names)
	c.Values = make([]uint64, len(m))
	for i, name := range c.Names {
		c.Values[i] = m[name]
	}
	return c
}

// MarshalJSON writes an object.
func (c Counters) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 32*len(c.Names)+2)
	b = append(b, '{')
	for i, name := range c.Names {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		b = append(append(b, key...), ':')
		b = fmt.Appendf(b, "%d", c.Values[i])
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads an object. What is no whole number at least zero is left out: that
// is no counter.
func (c *Counters) UnmarshalJSON(b []byte) error {
	if got, ok := plainCounters(b); ok {
		*c = got
		return nil
	}
	var m map[string]json.Number
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	numbers := make(map[string]uint64, len(m))
	for name, n := range m {
		var v uint64
		if json.Unmarshal([]byte(n), &v) == nil {
			numbers[name] = v
		}
	}
	*c = CountersOf(numbers)
	return nil
}

// plainCounters reads what MarshalJSON writes: names without escapes, in order, and whole
// numbers. It is the usual case, thousands of times a second, so names that weft knows are
// not copied. It returns false for anything else.
func plainCounters(b []byte) (c Counters, ok bool) {
	if len(b) < 2 || b[0] != '{' || b[len(b)-1] != '}' {
		return c, false
	}
	n := bytes.Count(b, []byte{':'})
	if n > len(b)/4 {
		return c, false
	}
	c.Names, c.Values = make([]string, 0, n), make([]uint64, 0, n)
	for b = b[1:]; b[0] != '}'; {
		if b[0] != '"' {
			return c, false
		}
		end := bytes.IndexByte(b[1:], '"')
		if end < 0 || end+2 >= len(b) || b[end+2] != ':' {
			return c, false
		}
		key := b[1 : end+1]
		for _, x := range key {
			if x < ' ' || x == '\\' || x >= utf8.RuneSelf {
				return c, false
			}
		}
		var v uint64
		b = b[end+3:]
		digits := 0
		for ; b[digits] >= '0' && b[digits] <= '9'; digits++ { // the last byte is none
			d := uint64(b[digits] - '0')
			if v > (1<<64-1-d)/10 {
				return c, false
			}
			v = v*10 + d
		}
		if digits == 0 || digits > 1 && b[0] == '0' {
			return c, false
		}
		switch b = b[digits:]; {
		case b[0] == ',' && len(b) > 1 && b[1] == '"':
			b = b[1:]
		case b[0] != '}' || len(b) != 1:
			return c, false
		}
		var name string
		if known := byKernel[string(key)]; known != nil {
			name = known.Kernel
		} else {
			name = string(key)
		}
		if len(c.Names) > 0 && c.Names[len(c.Names)-1] >= name {
			return c, false
		}
		c.Names, c.Values = append(c.Names, name), append(c.Values, v)
	}
	return c, len(b) == 1
}

// Bounds of one look: a node may say anything.
const (
	MaxPorts    = 256
	MaxCounters = 1024 // of a port
	MaxGPUs     = 64
	MaxGIDs     = 1024 // of a port: mlx5 has 255
	maxText     = 128
)

// Bound makes a look of a node harmless: nothing in it is long, doubled or out of order,
// and no number is none. It says what it left out.
func (l *Look) Bound() (said []string) {
	if n := len(l.Ports); n > MaxPorts {
		l.Ports = l.Ports[:MaxPorts]
		said = append(said, fmt.Sprintf("%d ports, of which %d are watched", n, MaxPorts))
	}
	if n := len(l.GPUs); n > MaxGPUs {
		l.GPUs = l.GPUs[:MaxGPUs]
		said = append(said, fmt.Sprintf("%d GPUs, of which %d are watched", n, MaxGPUs))
	}
	l.Boot, l.Gaps = short(l.Boot), l.Gaps[:min(len(l.Gaps), 16)]
	for i := range l.Gaps {
		l.Gaps[i] = fact.Gap{Path: short(l.Gaps[i].Path), Why: short(l.Gaps[i].Why)}
	}
	for i := range l.Ports {
		p := &l.Ports[i]
		for _, s := range []*string{&p.Name, &p.Device, &p.Netdev, &p.Layer, &p.State, &p.Phys} {
			*s = short(*s)
		}
		if len(p.GIDs) > MaxGIDs {
			p.GIDs = p.GIDs[:MaxGIDs]
		}
		for i := range p.GIDs {
			p.GIDs[i] = short(p.GIDs[i])
		}
		if r, ok := p.Rate.Get(); ok && r < 0 {
			p.Rate = fact.Val[unit.Rate]{}
		}
		if n := len(p.Count.Names); n > MaxCounters {
			p.Count.Names, p.Count.Values = p.Count.Names[:MaxCounters], p.Count.Values[:MaxCounters]
			said = append(said, fmt.Sprintf("%s has %d counters, of which %d are watched", p.Name, n, MaxCounters))
		}
		if slices.ContainsFunc(p.Count.Names, func(s string) bool { return len(s) > maxText }) {
			p.Count = Counters{}
			said = append(said, p.Name+" has counters with names too long to be any")
		}
	}
	slices.SortStableFunc(l.Ports, func(a, b PortLook) int { return strings.Compare(a.Name, b.Name) })
	l.Ports = slices.CompactFunc(l.Ports, func(a, b PortLook) bool { return a.Name == b.Name })
	l.Ports = slices.DeleteFunc(l.Ports, func(p PortLook) bool { return p.Name == "" })
	for i := range l.GPUs {
		g := &l.GPUs[i]
		g.BDF, g.UUID, g.Name = short(g.BDF), short(g.UUID), short(g.Name)
		for _, v := range []*fact.Val[float64]{&g.Use, &g.Power, &g.Temp, &g.Clock} {
			if f, ok := v.Get(); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				*v = fact.Val[float64]{}
			}
		}
		g.Throttle = g.Throttle[:min(len(g.Throttle), 16)]
		for i := range g.Throttle {
			g.Throttle[i] = short(g.Throttle[i])
		}
	}
	slices.SortStableFunc(l.GPUs, func(a, b GPULook) int { return strings.Compare(a.BDF, b.BDF) })
	l.GPUs = slices.CompactFunc(l.GPUs, func(a, b GPULook) bool { return a.BDF == b.BDF })
	return said
}

// short bounds a text of a node.
func short(s string) string {
	if len(s) > maxText {
		return strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// ParseLook reads what a node answered.
func ParseLook(b []byte) (*Look, []string, error) {
	var l Look
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, nil, err
	}
	return &l, l.Bound(), nil
}

// LookOf makes a look of facts, to replay what was collected.
func LookOf(n *fact.Node) *Look {
	l := &Look{Boot: n.Host.BootID, GPUd: true}
	for _, p := range n.Ports {
		q := PortLook{Name: p.Name, Device: p.Device, Num: p.Num, Netdev: p.Netdev, Layer: p.Layer, State: p.State, Phys: p.Phys,
			Rate: p.Rate, GIDd: p.GIDsRead, Soft: p.Soft(), Count: CountersOf(p.Counters)}
		if d := n.Netdev(p.Netdev); d != nil {
			q.MTU = d.MTU
			if k, ok := d.Flaps.Get(); ok && k >= 0 {
				q.Carrier = fact.Some(uint64(k))
			}
		}
		if p.IB() {
			q.MTU = p.ActiveMTU
		}
		for _, g := range p.GIDs {
			q.GIDs = append(q.GIDs, GIDText(g.Index, g.Type, g.GID))
		}
		l.Ports = append(l.Ports, q)
	}
	for _, g := range n.GPUs {
		q := GPULook{Index: g.Index, BDF: g.BDF, UUID: g.UUID, Name: g.Name, Memory: g.Memory, Power: g.Power, Temp: g.Temp, Throttle: g.Throttle}
		if u, ok := g.Util.Get(); ok {
			q.Use = fact.Some(float64(u) / 100)
		}
		if m, ok := g.Clock.Get(); ok {
			q.Clock = fact.Some(float64(m) * 1e6)
		}
		l.GPUs = append(l.GPUs, q)
	}
	l.Bound()
	return l
}

// GIDText writes an entry of a GID table so that two tables can be compared.
func GIDText(index int, kind, gid string) string {
	return fmt.Sprintf("%d %s %s", index, gid, strings.ReplaceAll(kind, " ", "-"))
}
