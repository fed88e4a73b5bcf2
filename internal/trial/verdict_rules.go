package trial

import "math"

// A pair is retested, and then re-paired, when it reaches less than 93 % of the best
// bandwidth or takes more than 2.1 times the best latency (CHECKS.md, from ClusterKit).
var (
	leastBandwidth = -math.Log(0.93)
	leastLatency   = math.Log(2.1)
)

// leastSoft is the smallest loss of bandwidth that software devices are blamed for: they
// run at what processors have left, which differs by a third between healthy nodes.
var leastSoft = -math.Log(0.70)

// rulesOf says what it takes to blame something for the numbers of a trial.
//
// quiet and loud bound what may count as noise of one run. Bandwidths of cards repeat within
// a per cent, their latencies within five; software devices on busy hosts differ by a tenth
// at best, and by a third often (LAB.md: 0.33 to 0.43 Gb/s of the same pair).
func rulesOf(t Trial, soft bool) rules {
	r := rules{quiet: 0.01, usual: 0.02, loud: 0.10, least: leastBandwidth, accept: 5, careful: 2.5, contra: 0.2, noisy: soft && t.Unit != Bytes}
	switch {
	case t.Unit == Bytes:
		r.quiet, r.usual, r.loud = 0.005, 0.005, 0.005
	case t.Unit == Nanoseconds && soft:
		r.quiet, r.usual, r.loud, r.least = 0.15, 0.25, 0.5, leastLatency
	case t.Unit == Nanoseconds:
		r.quiet, r.usual, r.loud, r.least = 0.05, 0.10, 0.3, leastLatency
	case soft:
		r.quiet, r.usual, r.loud, r.least = 0.12, 0.25, 0.45, leastSoft
	}
	return r
}

// yesNo are the rules for ties that are good or bad without a measure between: those that
// broke, or fell out of their band. There is something outside to hold them against, so a
// whole rail may be blamed.
var yesNo = rules{quiet: 0.1, usual: 0.1, loud: 0.1, least: 0.5, accept: 2, contra: 0.45, whole: true}
