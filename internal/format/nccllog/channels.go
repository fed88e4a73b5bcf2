package nccllog

import (
	"encoding/json"
	"math/bits"
)

// Channels is a set of channel numbers. NCCL has at most 64 of them (MAXCHANNELS in
// its src/include/device.h), RCCL 128; a larger number only counts as "more".
type Channels struct {
	low, high uint64
	more      bool
}

// Add puts one in.
func (c *Channels) Add(n int) {
	switch {
	case n < 0:
	case n < 64:
		c.low |= 1 << n
	case n < 128:
		c.high |= 1 << (n - 64)
	default:
		c.more = true
	}
}

// Join puts all of another set in.
func (c *Channels) Join(o Channels) {
	c.low |= o.low
	c.high |= o.high
	c.more = c.more || o.more
}

// Len counts them.
func (c Channels) Len() int {
	n := bits.OnesCount64(c.low) + bits.OnesCount64(c.high)
	if c.more {
		n++
	}
	return n
}

// List returns them in order.
func (c Channels) List() []int {
	list := make([]int, 0, c.Len())
	for n := range 128 {
		if n < 64 && c.low&(1<<n) != 0 || n >= 64 && c.high&(1<<(n-64)) != 0 {
			list = append(list, n)
		}
	}
	return list
}

// MarshalJSON writes a list.
func (c Channels) MarshalJSON() ([]byte, error) { return json.Marshal(c.List()) }

// UnmarshalJSON reads one.
func (c *Channels) UnmarshalJSON(b []byte) error {
	var list []int
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*c = Channels{}
	for _, n := range list {
		c.Add(n)
	}
	return nil
}
