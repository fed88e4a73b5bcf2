package trial

import (
	"cmp"
	"strings"

	"weft/internal/unit"
)

// quick is how quick a family of ports is with 2 bytes, at the slow end of what was
// published, and from where on it is broken.
type quick struct {
	words   string
	typical Amount // nanoseconds
	broken  Amount
}

// latencyMargin is how many times the published figure is still healthy: those are of two
// tuned hosts and at most one switch. Each further switch adds 0.2 to 0.5 µs, three of them
// are on the way through a spine, and a host with its power saving on adds as much again.
// It leaves 3 µs for 100 Gb/s, between the 2.5 µs that NVIDIA's validation tests for and the
// 5 µs of Oracle's (research/anchors.md, table D).
const latencyMargin = 2

// readMargin is how much longer a read takes than a write: it goes there and back. The
// same table has 4.5 µs for a read where it has 2.5 µs for a write.
const readMargin = 1.8

// brokenLatency is from where on ConnectX-class hardware is broken through one switch
// (CHECKS.md, expected numbers).
const brokenLatency = 5 * 1000

// quickOf returns how quick a port should be; ok is false where nobody published it.
func quickOf(s *side) (q quick, ok bool) {
	switch s.port.Driver {
	case "mlx4", "mlx5":
		q.broken = brokenLatency
		switch rate := s.port.Rate.Or(0); { // the port's own: what twins share is no delay
		case rate >= 400*unit.Gbps:
			q.words, q.typical = "400 Gb/s", 1100 // NDR 0.8 to 1.1 (CHECKS.md)
		case rate >= 200*unit.Gbps:
			q.words, q.typical = "200 Gb/s", 1300 // HDR 0.9 to 1.3
		case rate >= 100*unit.Gbps:
			q.words, q.typical = "100 Gb/s", 1500 // EDR 1.0 to 1.5
		case s.link == infiniBand:
			q.words, q.typical = "InfiniBand of 56 Gb/s and less", 1500 // FDR 1.12; slower ones are on newer cards
		default:
			q.words, q.typical, q.broken = "Ethernet of 50 Gb/s and less", 2610, 2*brokenLatency // ConnectX-4 Lx, 25 Gb/s (data/network.csv)
		}
		return q, true
	case "irdma":
		if s.link == roce {
			return quick{"E810", 5230, 0}, true // 5.23 (data/network.csv, kyuz0)
		}
	}
	return quick{}, false
}

// expectLatency is what the slower of two ends may take.
func expectLatency(t Trial, a, b *side) hope {
	var slow quick
	for _, s := range []*side{a, b} {
		switch {
		case s.soft != "":
			return hope{why: s.soft + " is as quick as its processor: nobody can say how quick that should be", limiter: cmp.Or(a.shaped, b.shaped)}
		case s.port == nil:
			return hope{why: s.none}
		}
		q, ok := quickOf(s)
		if !ok {
			return hope{why: "no latency is published for " + s.End.String() + " (" + s.port.Driver + ")"}
		}
		if q.typical > slow.typical {
			slow = q
		}
	}
	h := hope{want: slow.typical * latencyMargin, could: slow.typical}
	h.limiter = "twice the latency published for " + slow.words + ", " + Nanoseconds.Text(slow.typical)
	if isRead(t.ID) {
		h.want = Amount(float64(h.want) * readMargin)
		h.limiter += ", and as much more as a read needs"
	}
	return h
}

// latencyBroken is from where on a latency is broken and not only slow.
func latencyBroken(t Trial, a, b *side, want Amount) Amount {
	limit := Amount(0)
	for _, s := range []*side{a, b} {
		if s.port == nil {
			continue
		}
		if q, ok := quickOf(s); ok {
			limit = max(limit, q.broken)
		}
	}
	if isRead(t.ID) {
		limit = Amount(float64(limit) * readMargin)
	}
	if limit == 0 || limit < want { // E810: nobody published a limit; twice of what is healthy
		limit = 2 * want
	}
	return limit
}

// isRead reports whether the data of a trial comes from the end that is asked.
func isRead(id string) bool { return strings.HasPrefix(id, "rdma.read.") }
