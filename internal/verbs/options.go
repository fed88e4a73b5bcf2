package verbs

import (
	"fmt"
	"time"
)

// Op is what a connection measures.
type Op string

// The operations, by the words that trials and perftest use.
const (
	Write Op = "write"
	Send  Op = "send"
	Read  Op = "read"
)

// Wait is how a side waits for the other.
type Wait string

// The ways to wait.
const (
	Auto   Wait = ""       // Poll where a processor can be spared for it, else Events
	Poll   Wait = "poll"   // a busy loop, as perftest's: quickest where a card does the work
	Events Wait = "events" // sleep until something completes; memory is looked at between yields
)

// Options say how to measure. What is zero is set by NewConn: see Options of a Conn.
type Options struct {
	Op           Op            `json:"op"`
	Size         int           `json:"size"`          // bytes a message
	Depth        int           `json:"depth"`         // messages outstanding; 128
	Batch        int           `json:"batch"`         // messages posted with one call, one completion for all; 16
	Inline       int           `json:"inline"`        // bytes up to which a message travels in its post; 220, or what the card has; -1 for none
	MTU          int           `json:"mtu"`           // bytes; the port's
	GID          int           `json:"gid"`           // index in the port's table
	SL           int           `json:"sl"`            // InfiniBand's service level, RoCE's priority where the kernel maps it
	TrafficClass int           `json:"traffic_class"` // DSCP is its upper six bits
	Timeout      int           `json:"timeout"`       // 4.096 µs × 2^n for an acknowledgement; 14 (67 ms), software 18
	Retry        int           `json:"retry"`         // how often to try again, 1 to 7; 7
	Wait         Wait          `json:"wait"`
	Stall        time.Duration `json:"stall"` // how long nothing may happen; 10 s
}

// Bounds of Options, wide enough for every card, so that nothing absurd is allocated.
const (
	maxSize  = 1 << 30
	maxDepth = 1 << 14
	maxBatch = 1 << 8
)

// perftest's defaults (-t, -u, and its fixed retry count), so that the two measure alike.
const (
	defaultDepth   = 128
	defaultInline  = 220 // of write latency
	defaultBatch   = 16
	defaultTimeout = 14
	softTimeout    = 18 // one second: an emulated machine may be away for longer than 67 ms
	defaultRetry   = 7
	defaultStall   = 10 * time.Second
)

// filled returns the options with every zero replaced, or says what is wrong with them.
func (o Options) filled(d *Device) (Options, error) {
	def(&o.Op, Write)
	def(&o.Size, 65536)
	def(&o.Depth, min(defaultDepth, int(d.attr.maxQPWR)))
	def(&o.Batch, min(defaultBatch, o.Depth))
	def(&o.Inline, defaultInline)
	def(&o.MTU, d.MTU())
	def(&o.Timeout, map[bool]int{false: defaultTimeout, true: softTimeout}[d.software()])
	def(&o.Retry, defaultRetry)
	def(&o.Stall, defaultStall)
	if o.Wait == Auto {
		o.Wait = map[bool]Wait{false: Events, true: Poll}[d.spare()]
	}
	if o.Op != Write && o.Op != Send && o.Op != Read {
		return o, fmt.Errorf("operation %q: want write, send or read", o.Op)
	}
	if o.Wait != Poll && o.Wait != Events {
		return o, fmt.Errorf("wait %q: want poll or events", o.Wait)
	}
	if mtuCode(o.MTU) == 0 {
		return o, fmt.Errorf("MTU %d: want 256, 512, 1024, 2048 or 4096", o.MTU)
	}
	for _, b := range []struct {
		what             string
		got, least, most int
	}{
		{"size", o.Size, 1, maxSize},
		{"depth", o.Depth, 1, min(maxDepth, int(d.attr.maxQPWR))},
		{"batch", o.Batch, 1, min(maxBatch, o.Depth)},
		{"inline", o.Inline, -1, 1024},
		{"MTU", o.MTU, 256, d.MTU()},
		{"GID index", o.GID, 0, min(255, int(d.link.gidTblLen)-1)},
		{"service level", o.SL, 0, 15},
		{"traffic class", o.TrafficClass, 0, 255},
		{"timeout", o.Timeout, 1, 31},
		{"retry", o.Retry, 1, 7},
	} {
		if b.got < b.least || b.got > b.most {
			return o, fmt.Errorf("%s %d: want %d to %d on %s/%d", b.what, b.got, b.least, b.most, d.name, d.port)
		}
	}
	if o.Stall < 0 {
		return o, fmt.Errorf("stall %s: want more than nothing", o.Stall)
	}
	return o, nil
}

func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
