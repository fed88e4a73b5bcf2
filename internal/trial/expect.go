package trial

import (
	"cmp"
	"fmt"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/unit"
)

// Expect says what a trial over a pair should give and what sets that: the weakest of the
// rates of both ports, less what the link layer takes at their MTU, and of every PCIe link
// behind them. What nothing sets is unknown, with the reason in Why.
func Expect(c *check.Case, t Trial, p Pair) Verdict {
	return newSides(c).expect(t, p).verdict()
}

// hope is an expectation while it is worked out.
type hope struct {
	want    Amount // 0 unknown
	limiter string
	could   Amount // what it would be were every PCIe link as wide as its ends allow and every packet full: like paths have the same
	why     string // why want is unknown
	skip    bool   // the trial does not apply here
}

func (h hope) verdict() Verdict {
	v := Verdict{Limiter: h.limiter, Status: check.Unknown, Why: h.why}
	if h.want > 0 {
		v.Want = fact.Some(h.want)
	}
	if h.skip {
		v.Status = check.Skip
	}
	return v
}

// expect says what to hope for from a trial over a pair.
func (ss *sides) expect(t Trial, p Pair) hope {
	switch {
	case t.Over == Cluster:
		return hope{why: "a collective is judged with its nodes, ranks and sizes"}
	case t.ID == "gpu.membw":
		return expectMemory(ss.at(p.A))
	}
	a, b := ss.at(p.A), ss.at(p.B)
	switch {
	case t.ID == "path.mtu":
		return expectMTU(a, b)
	case strings.HasPrefix(t.ID, "tcp."):
		return hope{why: "TCP is shown beside RDMA and not judged by itself"}
	case strings.HasSuffix(t.ID, ".lat"):
		return expectLatency(t, a, b)
	case t.ID == "rdma.loop.bw":
		return expectRate(a, a, duplex)
	case t.ID == "rdma.write.bibw":
		h := expectRate(a, b, duplex)
		h.want, h.could = 2*h.want, 2*h.could
		return h
	}
	return expectRate(a, b, oneWay)
}

// expectRate is the weakest of what both ends can carry.
func expectRate(a, b *side, ways ways) hope {
	for _, s := range []*side{a, b} {
		if s.none != "" {
			return hope{why: s.none, limiter: cmp.Or(a.shaped, b.shaped)}
		}
	}
	mtu := a.mtu
	if b.mtu != 0 && (mtu == 0 || b.mtu < mtu) {
		mtu = b.mtu
	}
	var h hope
	for _, s := range []*side{a, b} {
		if want := s.link.leaves(s.rate, mtu); h.want == 0 || want < h.want {
			h.want, h.limiter = want, s.rateWords(mtu, a, b)
		}
		if want := ways.through(s.pcie, s.maxRead); want > 0 && want < h.want {
			h.want, h.limiter = want, s.pcieWords
		}
		full := s.link.leaves(s.rate, s.link.full())
		if could := ways.through(s.pcieCould, s.maxRead); could > 0 && could < full {
			full = could
		}
		if h.could == 0 || full < h.could {
			h.could = full
		}
	}
	return h
}

// rateWords names a port as the limit, or the MTU where that takes a part.
func (s *side) rateWords(mtu int, a, b *side) string {
	if mtu == 0 || mtu >= s.link.full() {
		return s.portWords
	}
	small := a
	if b.mtu == mtu && a.mtu != mtu {
		small = b
	}
	if w, ok := s.mtuWords[mtuAt{mtu, small.End}]; ok {
		return w
	}
	w := fmt.Sprintf("MTU %d at %s, on %v", mtu, small.End, s.rate)
	if s.mtuWords == nil {
		s.mtuWords = map[mtuAt]string{}
	}
	if len(s.mtuWords) < 64 { // a cell of a large cluster does not make its own
		s.mtuWords[mtuAt{mtu, small.End}] = w
	}
	return w
}

type mtuAt struct {
	mtu int
	end End
}

// expectMTU is the smaller MTU of both interfaces: the largest packet that both take.
func expectMTU(a, b *side) hope {
	switch {
	case a.port != nil && a.port.IB() || b.port != nil && b.port.IB():
		return hope{why: "InfiniBand: the subnet manager sets the MTU of a path, see ib.mtu", skip: true}
	case a.netMTU == 0:
		return hope{why: "the MTU of " + a.End.String() + " was not read"}
	case b.netMTU == 0:
		return hope{why: "the MTU of " + b.End.String() + " was not read"}
	}
	s := a
	if b.netMTU < a.netMTU {
		s = b
	}
	return hope{want: Amount(s.netMTU), could: Amount(max(a.netMTU, b.netMTU)), limiter: fmt.Sprintf("MTU %d of %s", s.netMTU, s.End)}
}

// ways is whether data crosses a PCIe link in one direction or in both at once.
type ways bool

const (
	oneWay ways = false
	duplex ways = true
)

// through is what RDMA gets through a PCIe link. With data both ways, the requests for what
// is read share the way up with what is written: 24 bytes with their frame (PCIe 4.0, 2.2.1
// and 4.2.2) for every MaxReadReq bytes, 512 unless somebody raised it.
func (w ways) through(r unit.Rate, maxRead int) Amount {
	if w == duplex {
		return Amount(float64(r) * (1 - 24/float64(max(maxRead, 128))))
	}
	return Amount(r)
}
