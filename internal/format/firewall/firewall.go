// Package firewall reads what nftables, firewalld and ufw say, and answers
// whether they let a new connection in. Pure: bytes in, answers out.
//
// The answer is about one IPv4 packet that opens a connection to the host
// itself. What cannot be evaluated and could decide otherwise makes the
// answer Unknown: never a guess.
package firewall

import (
	"net/netip"
	"strconv"
	"strings"
)

// A Verdict is what happens to a packet.
type Verdict string

const (
	Allowed Verdict = "allowed"
	Blocked Verdict = "blocked"
	Unknown Verdict = "unknown"
)

// A Query is the packet asked about. An empty Interface and a zero Source are
// not known; rules about them may then go either way.
type Query struct {
	Proto     string // "tcp" or "udp"
	Port      uint16 // of the destination
	Interface string // where it comes in
	Source    netip.Addr
}

// An Answer is a verdict and the rule or policy behind it: the one that
// blocks, or the first that might.
type Answer struct {
	Verdict Verdict
	Why     string
}

// Chain returns the chain of nftables that the answer is about, as nft takes it:
// "inet filter input"; "" when it is about none.
func (a Answer) Chain() string {
	chain, ok := strings.CutPrefix(a.Why, chainWord)
	chain, _, _ = strings.Cut(chain, ": ")
	if !ok {
		return ""
	}
	return chain
}

const chainWord = "chain "

// A tri is the outcome of a condition: no, maybe, yes.
type tri int

const (
	no tri = iota
	maybe
	yes
)

func is(b bool) tri {
	if b {
		return yes
	}
	return no
}

func (t tri) not() tri { return yes - t }

// anyOf is a logical or over n conditions.
func anyOf(n int, f func(int) tri) tri {
	out := no
	for i := 0; i < n && out != yes; i++ {
		out = max(out, f(i))
	}
	return out
}

// fate collects what may still happen to a packet.
type fate uint8

const (
	accept fate = 1 << iota
	drop
	next  // on to the next rule
	leave // out of this chain, to the one that jumped here or the policy
)

const anything = accept | drop | next | leave

// from reports whether the query's source is in an address or prefix.
func (q Query) from(s string) tri {
	if p, err := netip.ParsePrefix(s); err == nil {
		if p.Addr().Is6() {
			return no
		}
		if !q.Source.IsValid() {
			return maybe
		}
		return is(p.Contains(q.Source))
	}
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return maybe
	case a.Is6():
		return no
	case !q.Source.IsValid():
		return maybe
	}
	return is(a == q.Source)
}

// on reports whether the packet comes in on the named interface.
func (q Query) on(name string) tri {
	if q.Interface == "" {
		return maybe
	}
	if head, ok := strings.CutSuffix(name, "*"); ok {
		return is(strings.HasPrefix(q.Interface, head))
	}
	return is(q.Interface == name)
}

// ports reports whether the port is in a list like "22,8000:8010", with the
// given character between the ends of a range.
func (q Query) ports(list, dash string) tri {
	parts := strings.Split(list, ",")
	return anyOf(len(parts), func(i int) tri {
		lo, hi, ranged := strings.Cut(parts[i], dash)
		if !ranged {
			hi = lo
		}
		a, err := strconv.ParseUint(lo, 10, 16)
		b, err1 := strconv.ParseUint(hi, 10, 16)
		if err != nil || err1 != nil {
			return maybe
		}
		return is(uint64(q.Port) >= a && uint64(q.Port) <= b)
	})
}

// A judge walks rules in order and remembers who may drop.
type judge struct {
	may   fate
	drops []string
}

// rule takes one rule: whether it applies and what it then does. It reports
// whether a later rule can still matter.
func (j *judge) rule(applies tri, does fate, who string) bool {
	if applies == no {
		return true
	}
	if does&drop != 0 {
		j.drops = append(j.drops, who)
	}
	j.may |= does &^ next
	return applies == maybe || does&next != 0
}

func (j *judge) answer() Answer {
	switch {
	case j.may&drop == 0:
		return Answer{Verdict: Allowed}
	case j.may&accept == 0:
		return Answer{Blocked, j.drops[len(j.drops)-1]} // the last is the one that is sure
	}
	return Answer{Unknown, j.drops[0]}
}
