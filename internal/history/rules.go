package history

import (
	"slices"
	"time"
)

// Rules say when a past is bad.
type Rules struct {
	Window time.Duration // flaps are counted within this
	Flaps  int           // so many returns to ACTIVE within Window are flapping
	Drop   time.Duration // down for longer is a drop, not a moment
	Sticky time.Duration // a drop, and a counter above its limit, stay bad for so long after
	Again  int           // a rate must be above its limit in so many looks in a row
	Late   float64       // a node is late after so many intervals without an answer
	Lost   time.Duration // and lost after this
}

// Usual are the rules of weft watch (research/anchors.md). Flapping: gpud counts three
// returns in 12 hours. A drop: an outage of 30 s is one (AzNHC, HV); gpud waits four
// minutes, because it looks only every 30 s. Sticky: gpud keeps a drop for ten minutes.
// Again: NVSentinel lets a spike in a single poll pass.
var Usual = Rules{Window: 12 * time.Hour, Flaps: 3, Drop: 30 * time.Second, Sticky: 10 * time.Minute, Again: 2, Late: 3, Lost: time.Minute}

// Limit is how much a counter may grow.
type Limit struct {
	Counter string
	Max     uint64
	Per     time.Duration // 0: not at all
	Wire    bool          // the cable is to blame, not the traffic
}

// Limits are NVSentinel's (research/anchors.md, table D), as in weft check port.errors.
var Limits = []Limit{
	{"link_downed", 0, 0, true},
	{"local_link_integrity_errors", 0, 0, true},
	{"excessive_buffer_overrun_errors", 0, 0, true},
	{"rnr_nak_retry_err", 0, 0, false},
	{"symbol_error", 120, time.Hour, true},
	{"symbol_error", 10, time.Second, true},
	{"link_error_recovery", 5, time.Minute, true},
	{"port_rcv_errors", 10, time.Second, true},
	{"port_xmit_discards", 100, time.Second, false},
	{"local_ack_timeout_err", 1, time.Second, false},
	{"roce_slow_restart", 10, time.Second, false},
}

// Grown returns how much a counter grew between two looks, and whether it began anew
// between them: then what it shows is all that is known of its growth. A counter that was
// near the end of its width and is near zero has come round. 32 bits: PortCounters without
// extension; 48: irdma (icrdma_hw.c).
func Grown(was, now uint64, booted bool) (by uint64, anew bool) {
	switch {
	case booted:
		return now, true
	case now >= was:
		return now - was, false
	}
	for _, bits := range []uint{32, 48} {
		full := uint64(1) << bits
		if was < full && was >= full-full/8 && now < full/8 {
			return full - was + now, false
		}
	}
	return now, true
}

// Returns says how often a port came back up between two looks: was and is say whether it
// was up at each of them, and downs how often a counter of the kernel saw it go down
// between them. A port that is up in both went down and came back as often as that.
func Returns(was, is bool, downs uint64) int {
	n := int(min(downs, 1000))
	if is {
		n++
	}
	if was {
		n--
	}
	return max(n, 0)
}

// Within counts the times that are at most window before now. Times are in order.
func Within(times []time.Time, now time.Time, window time.Duration) int {
	i, _ := slices.BinarySearchFunc(times, now.Add(-window), time.Time.Compare)
	return len(times) - i
}

// Past is what the past of a port says of it.
type Past struct {
	Known     bool        // its state was read, and not too long ago
	Up        bool        // now
	EverUp    bool        // it was up at some time
	Since     time.Time   // of Up, or of not being up
	Returns   []time.Time // to ACTIVE, in order
	Recovered time.Time   // when it last came back after a drop; zero: never
}

// Health is the one state of a port. Worst first: what it was a moment ago hides what it
// is now.
func (r Rules) Health(p Past, now time.Time) Health {
	switch down := now.Sub(p.Since); {
	case !p.Known:
		return HealthUnknown
	case !p.Up && !p.EverUp:
		return HealthIdle
	case !p.Up && down >= r.Drop:
		return HealthDropped
	case Within(p.Returns, now, r.Window) >= r.Flaps:
		return HealthFlapping
	case !p.Up:
		return HealthDown
	case !p.Recovered.IsZero() && now.Sub(p.Recovered) < r.Sticky:
		return HealthRecovering
	}
	return HealthUp
}

// Settled reports whether the port is up at now and has been, without a flap, for at
// least d.
func (r Rules) Settled(p Past, now time.Time, d time.Duration) bool {
	return p.Known && p.Up && now.Sub(p.Since) >= d && Within(p.Returns, now, d) == 0
}

var healthLevels = map[Health]Level{
	HealthUnknown: Unknown, HealthIdle: Skip, HealthDown: Warn, HealthDropped: Fail,
	HealthFlapping: Fail, HealthRecovering: Warn, HealthUp: Pass,
}
