package collective

import "slices"

// Put writes own memory into that of another rank.
type Put struct {
	To, From, At, Len int // rank; offset here; offset there; bytes
}

// Take waits for the next message of another rank, which then lies at At.
type Take struct {
	Of, At, Len int
}

// Sum adds two vectors: At = A + B.
type Sum struct {
	At, A, B, Len int
}

// Round is what one rank does without knowing more: puts, then takes, then sums.
type Round struct {
	Puts  []Put
	Takes []Take
	Sums  []Sum
}

// Arena is the memory of a rank, the same at every rank: two halves, each a vector and
// room for what others write, and a place for hops. A rank is in one group, whose ops use
// the halves in turn: the vector of one is what goes in, that of the other what comes out,
// which is the next op's input. Whoever begins the op after next has heard from all that
// they are done with this one, so nothing is overwritten that is still to be read or sent.
type Arena struct {
	Vector, Inbox, Land int // bytes
}

// ArenaFor has room for every op.
func ArenaFor(ops []Op) (a Arena) {
	for _, o := range ops {
		n := len(o.Ranks)
		switch o.Kind {
		case Hop:
			a.Land = max(a.Land, align(o.Bytes))
		case AllToAll:
			a.Vector, a.Inbox = max(a.Vector, align(o.Bytes*n)), max(a.Inbox, align(o.Bytes)*n)
		default:
			a.Vector, a.Inbox = max(a.Vector, align(o.Bytes)), max(a.Inbox, align(o.Bytes)*n)
		}
	}
	return a
}

// Size is how many bytes an arena has.
func (a Arena) Size() int { return 2*(a.Vector+a.Inbox) + a.Land }

// In is where the op of a turn finds its vector, and Out where it leaves it. A turn is an
// op of the rank's group.
func (a Arena) In(turn int) int    { return turn % 2 * (a.Vector + a.Inbox) }
func (a Arena) Out(turn int) int   { return a.In(turn + 1) }
func (a Arena) inbox(turn int) int { return a.In(turn) + a.Vector }
func (a Arena) land() int          { return 2 * (a.Vector + a.Inbox) }

// line is what pieces are aligned to.
const line = 64

func align(n int) int { return (n + line - 1) / line * line }

// part is the i-th of n parts of a vector; late ones may be empty.
func part(bytes, n, i int) (at, length int) {
	each := align((bytes + n - 1) / n)
	at = min(i*each, bytes)
	return at, min(each, bytes-at)
}

// Steps is what rank does in an op that it takes part in; nil when it does not.
func (o Op) Steps(rank int, a Arena, turn int) []Round {
	me := slices.Index(o.Ranks, rank)
	if me < 0 {
		return nil
	}
	s := stepper{Op: o, me: me, n: len(o.Ranks), in: a.In(turn), out: a.Out(turn), box: a.inbox(turn), land: a.land()}
	switch {
	case o.Kind == Hop:
		s.hop()
	case o.Kind == AllToAll:
		s.allToAll()
	case o.How == OneShot:
		s.oneShot()
	case o.How == TwoShot:
		s.twoShot()
	case o.How == Doubling:
		s.doubling()
	case o.How == Ring:
		s.ring()
	case o.How == Star:
		s.star()
	}
	return s.rounds
}

// stepper writes the rounds of one rank. Ranks are meant by their place in the op.
type stepper struct {
	Op
	me, n              int
	in, out, box, land int
	rounds             []Round
}

func (s *stepper) round() *Round {
	s.rounds = append(s.rounds, Round{})
	return &s.rounds[len(s.rounds)-1]
}

func (s *stepper) put(r *Round, to, from, at, length int) {
	if length > 0 {
		r.Puts = append(r.Puts, Put{s.Ranks[to], from, at, length})
	}
}

func (s *stepper) take(r *Round, of, at, length int) {
	if length > 0 {
		r.Takes = append(r.Takes, Take{s.Ranks[of], at, length})
	}
}

func (s *stepper) sum(r *Round, at, a, b, length int) {
	if length > 0 {
		r.Sums = append(r.Sums, Sum{at, a, b, length})
	}
}

// others are all places but one's own, beginning with the next: so that not everybody
// writes to the same one first.
func (s *stepper) others(yield func(int) bool) {
	for i := 1; i < s.n; i++ {
		if !yield((s.me + i) % s.n) {
			return
		}
	}
}

// slot is where in the inbox the message of a place, or of a round, lies.
func (s *stepper) slot(i, length int) int { return s.box + i*align(length) }

func (s *stepper) hop() {
	r := s.round()
	if s.me == 0 {
		s.put(r, 1, s.land, s.land, s.Bytes)
	} else {
		s.take(r, 0, s.land, s.Bytes)
	}
}

func (s *stepper) allToAll() {
	r := s.round()
	for p := range s.others {
		s.put(r, p, s.in+p*s.Bytes, s.slot(s.me, s.Bytes), s.Bytes)
	}
	for p := range s.others {
		s.take(r, p, s.slot(p, s.Bytes), s.Bytes)
		s.sum(r, s.out+p*s.Bytes, s.in+p*s.Bytes, s.slot(p, s.Bytes), s.Bytes)
	}
}

func (s *stepper) oneShot() {
	r := s.round()
	for p := range s.others {
		s.put(r, p, s.in, s.slot(s.me, s.Bytes), s.Bytes)
	}
	sum := s.in
	for p := range s.others {
		s.take(r, p, s.slot(p, s.Bytes), s.Bytes)
		s.sum(r, s.out, sum, s.slot(p, s.Bytes), s.Bytes)
		sum = s.out
	}
}

func (s *stepper) twoShot() {
	r := s.round()
	mine, length := part(s.Bytes, s.n, s.me)
	for p := range s.others {
		at, l := part(s.Bytes, s.n, p)
		s.put(r, p, s.in+at, s.slot(s.me, l), l)
	}
	sum := s.in + mine
	for p := range s.others {
		s.take(r, p, s.slot(p, length), length)
		s.sum(r, s.out+mine, sum, s.slot(p, length), length)
		sum = s.out + mine
	}
	s.gather(s.round())
}

// gather sends one's own part of the result to everybody, to where it belongs.
func (s *stepper) gather(r *Round) {
	mine, length := part(s.Bytes, s.n, s.me)
	for p := range s.others {
		s.put(r, p, s.out+mine, s.out+mine, length)
	}
	for p := range s.others {
		at, l := part(s.Bytes, s.n, p)
		s.take(r, p, s.out+at, l)
	}
}

func (s *stepper) doubling() {
	rounds := 0
	for 1<<rounds < s.n {
		rounds++
	}
	sum := s.in
	for i := range rounds {
		r := s.round()
		p := s.me ^ 1<<i
		s.put(r, p, sum, s.slot(2*i, s.Bytes), s.Bytes)
		s.take(r, p, s.slot(2*i, s.Bytes), s.Bytes)
		to := s.slot(2*i+1, s.Bytes) // not over what is being sent
		if i == rounds-1 {
			to = s.out
		}
		s.sum(r, to, sum, s.slot(2*i, s.Bytes), s.Bytes)
		sum = to
	}
}

func (s *stepper) ring() {
	right, left := (s.me+1)%s.n, (s.me+s.n-1)%s.n
	_, most := part(s.Bytes, s.n, 0)
	for i := range s.n - 1 {
		r := s.round()
		at, l := part(s.Bytes, s.n, (s.me+s.n-i)%s.n)
		from := s.out
		if i == 0 {
			from = s.in
		}
		s.put(r, right, from+at, s.slot(i, most), l)
		at, l = part(s.Bytes, s.n, (s.me+s.n-i-1)%s.n)
		s.take(r, left, s.slot(i, most), l)
		s.sum(r, s.out+at, s.in+at, s.slot(i, most), l)
	}
	for i := range s.n - 1 {
		r := s.round()
		at, l := part(s.Bytes, s.n, (s.me+1+s.n-i)%s.n)
		s.put(r, right, s.out+at, s.out+at, l)
		at, l = part(s.Bytes, s.n, (s.me+s.n-i)%s.n)
		s.take(r, left, s.out+at, l)
	}
}

func (s *stepper) star() {
	r := s.round()
	if s.me != 0 {
		s.put(r, 0, s.in, s.slot(s.me, s.Bytes), s.Bytes)
		s.take(s.round(), 0, s.out, s.Bytes)
		return
	}
	sum := s.in
	for p := range s.others {
		s.take(r, p, s.slot(p, s.Bytes), s.Bytes)
		s.sum(r, s.out, sum, s.slot(p, s.Bytes), s.Bytes)
		sum = s.out
	}
	r = s.round()
	for p := range s.others {
		s.put(r, p, s.out, s.out, s.Bytes)
	}
}
