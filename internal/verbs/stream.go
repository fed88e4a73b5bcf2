package verbs

import (
	"context"
	"errors"
	"time"

	"weft/internal/unit"
)

// Limit is how long to measure: until either is reached, and until the context is done
// when both are zero. Stream counts in whole batches.
type Limit struct {
	For    time.Duration
	Count  int
	Enough func([]Sample) bool // asked at every sample of a Stream whether it may end; nil is never
}

// Flow is what went through a connection.
type Flow struct {
	Bytes    int64         `json:"bytes"`
	Messages int64         `json:"messages"`
	Took     time.Duration `json:"took"`     // from the first post to the last completion
	Received int64         `json:"received"` // bytes that came the other way, of sends
	Samples  []Sample      `json:"samples"`
}

// Sample is how much had gone through by a time after the start.
type Sample struct {
	At    time.Duration `json:"at"`
	Bytes int64         `json:"bytes"`
}

// Rate is the average over the whole flow.
func (f Flow) Rate() unit.Rate { return rate(f.Bytes, f.Took) }

func rate(bytes int64, took time.Duration) unit.Rate {
	if took <= 0 {
		return 0
	}
	return unit.Rate(float64(bytes) * 8 / took.Seconds())
}

// Rates is what went through between one sample and the next.
func (f Flow) Rates() []unit.Rate {
	rates := make([]unit.Rate, 0, len(f.Samples))
	last := Sample{}
	for _, s := range f.Samples {
		rates = append(rates, rate(s.Bytes-last.Bytes, s.At-last.At))
		last = s
	}
	return rates
}

// meter keeps samples without allocating: when it is full, it keeps every second one
// and takes new ones half as often.
type meter struct {
	samples []Sample
	every   time.Duration
	next    time.Duration
}

const maxSamples = 1024

func newMeter(every time.Duration) *meter {
	every = max(every, time.Millisecond)
	return &meter{make([]Sample, 0, maxSamples), every, every}
}

// mark takes a sample when it is time for one, and says whether it did.
func (m *meter) mark(at time.Duration, bytes int64) bool {
	if at < m.next {
		return false
	}
	if len(m.samples) == maxSamples {
		for i := range maxSamples / 2 {
			m.samples[i] = m.samples[2*i+1]
		}
		m.samples = m.samples[:maxSamples/2]
		m.every *= 2
	}
	m.samples = append(m.samples, Sample{at, bytes})
	m.next = at + m.every
	return true
}

// drainTime is how long a run that was told to stop waits for what is under way.
const drainTime = 500 * time.Millisecond

// Stream sends, writes or reads as fast as the connection does, and takes a sample about
// every so often. Being told to stop by the context is no error. Where the peer sends
// too, what it sends is received meanwhile; when this side is done first, Receive goes on.
func (c *Conn) Stream(ctx context.Context, l Limit, every time.Duration) (f Flow, err error) {
	end, err := c.begin(ctx)
	if err != nil {
		return f, err
	}
	m := newMeter(every)
	under := 0 // messages under way
	defer func() {
		f.Samples = m.samples
		if under > 0 {
			c.state = "spoiled" // they would complete in the next run
		}
		end(&err)
	}()
	batch, size := c.o.Batch, int64(c.o.Size)
	left := -1 // batches to post; without end
	if l.Count > 0 {
		left = (l.Count + batch - 1) / batch
	}
	limit := c.o.Stall
	start := time.Now()
	for {
		for left != 0 && under+batch <= c.o.Depth {
			if err := c.push(c.stream); err != nil {
				return f, err
			}
			under += batch
			left--
		}
		if under == 0 {
			return f, nil
		}
		n, err := c.await(limit)
		told := errors.Is(err, errStopped) || err == nil && c.stop.Load() != 0
		switch {
		case told && limit == c.o.Stall && !c.closing.Load(): // once: let what is under way arrive
			c.stop.Store(0)
			left, limit = 0, drainTime
		case told || limit == drainTime && isStall(err):
			return f, nil
		case err != nil:
			return f, err
		}
		if n == 0 {
			continue
		}
		f.Took = time.Since(start)
		for i := range c.done[:n] {
			switch c.done[i].wrID {
			case tagRecv:
				f.Received += int64(c.done[i].byteLen)
				if err := c.received(); err != nil {
					return f, err
				}
			case tagStream:
				under -= batch
				f.Messages += int64(batch)
			}
		}
		f.Bytes = f.Messages * size
		marked := m.mark(f.Took, f.Bytes)
		if l.For > 0 && f.Took >= l.For || marked && left != 0 && l.Enough != nil && l.Enough(m.samples) {
			left = 0
		}
	}
}

func isStall(err error) bool {
	var stall *StallError
	return errors.As(err, &stall)
}

// Receive takes what the peer sends, until the context is done.
func (c *Conn) Receive(ctx context.Context, every time.Duration) (f Flow, err error) {
	end, err := c.begin(ctx)
	if err != nil {
		return f, err
	}
	defer func() { end(&err) }()
	m := newMeter(every)
	var start time.Time
	for c.stop.Load() == 0 {
		n, err := c.await(idle * c.o.Stall)
		if errors.Is(err, errStopped) {
			break
		}
		if err != nil {
			return f, err
		}
		if start.IsZero() {
			start = time.Now()
		}
		for i := range c.done[:n] {
			if c.done[i].wrID != tagRecv {
				continue // of pings or a stream before
			}
			f.Messages++
			f.Bytes += int64(c.done[i].byteLen)
			if err := c.received(); err != nil {
				return f, err
			}
		}
		f.Took = time.Since(start)
		m.mark(f.Took, f.Bytes)
	}
	f.Received = f.Bytes
	f.Samples = m.samples
	return f, nil
}
