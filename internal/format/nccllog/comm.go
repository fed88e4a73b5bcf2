package nccllog

import "bytes"

// comm reads a line about a communicator:
//
//	ncclCommInitRank comm 0x55cc rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1c000 commId 0x65e0 - Init START
//	comm 0x7fe9 rank 2 nranks 8 cudaDev 2 busId 86000 - Init COMPLETE
//	comm 0x36a7 rank 0 nRanks 1 nNodes 1 localRanks 1 localRank 0 MNNVL 0
func (p *Parser) comm(s speaker, m []byte) bool {
	i := bytes.Index(m, []byte("comm 0x"))
	if i < 0 || i > 64 {
		return false
	}
	m = m[i+len("comm "):]
	ptr := word(m)
	if len(ptr) > 24 {
		return true // no address of this world
	}
	v := Member{Rank: -1, Dev: -1}
	start := bytes.Contains(m, []byte("Init START"))
	id, parent, count, color := []byte(nil), []byte(nil), []byte(nil), []byte(nil)
	for rest := m[len(ptr):]; ; {
		var key, value []byte
		key, rest = field(rest)
		if key == nil {
			break
		}
		switch string(key) {
		case "rank", "nranks", "nRanks", "nNodes", "localRanks", "cudaDev", "MNNVL", "busId", "commId", "parent", "splitCount", "color":
			value, rest = field(rest)
		default:
			continue
		}
		n, isNumber := number(value)
		switch string(key) {
		case "busId":
			v.BusID = clip(value, 16)
		case "commId":
			id = value
		case "parent":
			parent = value
		case "splitCount":
			count = value
		case "color":
			color = value
		}
		if !isNumber {
			continue
		}
		switch string(key) {
		case "rank":
			v.Rank = n
		case "nranks", "nRanks":
			v.NRanks = n
		case "nNodes":
			v.NNodes = n
		case "localRanks":
			v.Locals = n
		case "cudaDev":
			v.Dev = n
		case "MNNVL":
			v.MNNVL = n > 0
		}
	}
	if v.Rank < 0 {
		if bytes.Contains(m, []byte("NVLS")) || bytes.Contains(m, []byte("nvls")) {
			if at, ok := p.ptrs[pointer{s.proc, string(ptr)}]; ok {
				p.log.Members[at].NVLS = true
			}
		}
		return true
	}
	at, known := p.ptrs[pointer{s.proc, string(ptr)}]
	if known && start {
		old := &p.log.Members[at]
		known = !old.Started && !old.Gone // the address was used before
	}
	if known && p.log.Members[at].Rank != v.Rank {
		known = false
	}
	if !known {
		if at, known = p.adopt(s, v.Rank, ptr); !known {
			if at = p.add(s.proc, v.Rank); at < 0 {
				return true
			}
			p.log.Members[at].Ptr = clip(ptr, 24)
		}
		p.ptrs[pointer{s.proc, string(ptr)}] = at
	}
	me := &p.log.Members[at]
	me.NRanks = max(me.NRanks, v.NRanks)
	me.NNodes = max(me.NNodes, v.NNodes)
	me.Locals = max(me.Locals, v.Locals)
	me.MNNVL = me.MNNVL || v.MNNVL
	if v.Dev >= 0 {
		me.Dev = v.Dev
	}
	if v.BusID != "" {
		me.BusID = v.BusID
	}
	if len(id) > 0 && string(id) != "0x0" {
		me.ID = clip(id, 24)
	}
	if len(parent) > 0 && string(parent) != "0x0" && string(parent) != "(nil)" {
		me.Parent, me.Color = clip(parent, 24), clip(count, 12)+"/"+clip(color, 12)
	}
	me.Started = me.Started || start
	switch {
	case bytes.Contains(m, []byte("Init COMPLETE")):
		me.Complete = true
	case bytes.Contains(m, []byte("Destroy COMPLETE")), bytes.Contains(m, []byte("Abort COMPLETE")):
		me.Gone = true
	}
	p.ranks[procRank{s.proc, v.Rank}] = at
	if s.tid >= 0 && len(p.threads) < maxMembers {
		p.threads[thread{s.proc, s.tid}] = at
	}
	return true
}

// field cuts the next word.
func field(b []byte) (word, rest []byte) {
	b = bytes.TrimLeft(b, " ")
	if len(b) == 0 {
		return nil, nil
	}
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

// adopt takes a member that was made before its communicator was named: the log began
// later, or rank 0 printed its rings first.
func (p *Parser) adopt(s speaker, rank int, ptr []byte) (int, bool) {
	at, ok := p.ranks[procRank{s.proc, rank}]
	if !ok || p.log.Members[at].Ptr != "" {
		return 0, false
	}
	p.log.Members[at].Ptr = clip(ptr, 24)
	return at, true
}

// add makes a member; -1 when there are too many.
func (p *Parser) add(proc, rank int) int {
	if len(p.log.Members) == maxMembers {
		p.over("ranks of communicators")
		return -1
	}
	p.log.Members = append(p.log.Members, Member{Proc: proc, Rank: rank, Dev: -1, At: p.at})
	return len(p.log.Members) - 1
}

// member finds whose channel a line tells of: by the communicator's address where it
// is printed, else by what the thread worked on last, else by the process's newest
// communicator in which it has this rank. A rank of -1 is not told.
func (p *Parser) member(s speaker, ptr []byte, rank int) int {
	if ptr != nil {
		if at, ok := p.ptrs[pointer{s.proc, string(ptr)}]; ok {
			return at
		}
	}
	if at, ok := p.threads[thread{s.proc, s.tid}]; ok && s.tid >= 0 && p.log.Members[at].Rank == rank {
		return at
	}
	if at, ok := p.ranks[procRank{s.proc, rank}]; ok {
		return at
	}
	at := p.add(s.proc, rank)
	if at < 0 {
		return 0
	}
	if s.dev >= 0 {
		p.log.Members[at].Dev = s.dev
	}
	p.ranks[procRank{s.proc, rank}] = at
	return at
}

// rcclMember notes a rank from RCCL's channel lines, which name the communicator.
func (p *Parser) rcclMember(s speaker, ptr []byte, rank, nranks int) {
	k := pointer{s.proc, string(ptr)}
	if at, ok := p.ptrs[k]; ok && p.log.Members[at].Rank == rank || len(ptr) > 24 {
		return
	}
	at, ok := p.adopt(s, rank, ptr)
	if !ok {
		if at = p.add(s.proc, rank); at < 0 {
			return
		}
		p.log.Members[at].Ptr = clip(ptr, 24)
	}
	me := &p.log.Members[at]
	me.NRanks = max(me.NRanks, nranks)
	if s.dev >= 0 && me.Dev < 0 {
		me.Dev = s.dev
	}
	p.ptrs[k] = at
	p.ranks[procRank{s.proc, rank}] = at
}

// trees reads RCCL's "Trees [0] 17/24/-1->16->0 … comm 0x56 nRanks 32 busId 17000":
// the number in the middle is the speaker's rank.
func (p *Parser) trees(s speaker, m []byte) {
	i := bytes.Index(m, []byte(" comm 0x"))
	a := bytes.Index(m, []byte("->"))
	if i < 0 || a < 0 || a > i {
		return
	}
	rank, _, ok := leading(m[a+2:])
	if !ok {
		return
	}
	rest := m[i+len(" comm "):]
	ptr := word(rest)
	n := 0
	if j := bytes.Index(rest, []byte(" nRanks ")); j >= 0 {
		n, _, _ = leading(rest[j+len(" nRanks "):])
	}
	p.rcclMember(s, ptr, rank, n)
}
