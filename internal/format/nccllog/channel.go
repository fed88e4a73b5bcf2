package nccllog

import (
	"bytes"
	"slices"
)

var (
	arrow = []byte(" -> ")
	viaIs = []byte(" via ")
)

// channel reads a line about one:
//
//	Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA
//	Ring 00 : 0 -> 1 [send] via NET/IB/0        (up to 2.4)
//	CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA
//	Channel 00/16 :    0   1   2   3            (the ring's order, from rank 0)
//	Channel 00 -> NET/IB/0  Channel 01 -> …     (as people sum it up)
func (p *Parser) channel(s speaker, m []byte) bool {
	rest, ok := after(m, "Channel ", "Ring ", "CollNet ", "Coll ")
	if !ok {
		return false
	}
	n, rest, ok := leading(rest)
	if !ok {
		return true // half a line
	}
	total := 0
	if len(rest) > 0 && rest[0] == '/' {
		if total, rest, ok = leading(rest[1:]); !ok {
			return true
		}
	}
	rest = bytes.TrimLeft(rest, " ")
	if bytes.HasPrefix(rest, []byte("-> ")) {
		p.summed(s, m)
		return true
	}
	if len(rest) == 0 || rest[0] != ':' {
		return true
	}
	rest = bytes.TrimLeft(rest[1:], " ")
	if !p.pair(s, rest, n) {
		p.ring(s, rest, total)
	}
	return true
}

// pair reads "1[1] -> 0[0] [receive] via NET/IB/0", or "0 [send] via COLLNET/…".
func (p *Parser) pair(s speaker, m []byte, channel int) bool {
	at := bytes.Index(m, viaIs)
	if at < 0 {
		return false
	}
	from, rest, ok := leading(m)
	if !ok {
		return false
	}
	to := -1
	if i := bytes.Index(rest[:len(rest)-(len(m)-at)], arrow); i >= 0 {
		if to, _, ok = leading(rest[i+len(arrow):]); !ok {
			return false
		}
	}
	recv := bytes.Contains(m[:at+1], []byte("[receive]"))
	send := bytes.Contains(m[:at+1], []byte("[send]"))
	me, peer := from, to
	if recv && to >= 0 {
		me, peer = to, from
	}
	via := m[at+len(viaIs):]
	ptr := []byte(nil)
	if i := bytes.Index(via, []byte(" comm 0x")); i >= 0 { // RCCL
		ptr = word(via[i+len(" comm "):])
		if j := bytes.Index(via[i:], []byte(" nRanks ")); j >= 0 {
			n, _, _ := leading(via[i+j+len(" nRanks "):])
			p.rcclMember(s, ptr, me, n)
		}
		via = via[:i]
	}
	if !recv && !send && to >= 0 && bytes.HasPrefix(via, []byte("NET/")) {
		if _, ok := p.ranks[procRank{s.proc, from}]; !ok {
			if _, ok := p.ranks[procRank{s.proc, to}]; ok {
				me, peer, recv = to, from, true
			}
		}
	}
	v, ok := p.via(via)
	if !ok || to < 0 && p.viaList[v].Kind != "COLLNET" { // half a line
		return true
	}
	way := sends // what has no direction is printed by the sender: P2P and SHM
	if recv {
		way = receives
	}
	p.use(p.member(s, ptr, me), v, channel, peer, way)
	return true
}

// summed reads "Channel 00 -> NET/IB/0/GDRDMA     Channel 01 -> NET/IB/1".
func (p *Parser) summed(s speaker, m []byte) {
	for range 256 {
		rest, ok := after(m, "Channel ")
		if !ok {
			return
		}
		n, rest, ok := leading(rest)
		if !ok {
			return
		}
		rest = bytes.TrimPrefix(bytes.TrimLeft(rest, " "), []byte("-> "))
		next := bytes.Index(rest, []byte("Channel "))
		if next < 0 {
			next = len(rest)
		}
		if v, ok := p.via(rest[:next]); ok {
			p.use(p.member(s, nil, -1), v, n, -1, unsaid)
		}
		m = rest[next:]
	}
}

// ring reads the order of a ring, which rank 0 prints: so the speaker is rank 0, and
// there are as many ranks as numbers.
func (p *Parser) ring(s speaker, m []byte, total int) {
	n := 0
	for rest := m; ; n++ {
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 {
			break
		}
		var ok bool
		if _, rest, ok = leading(rest); !ok {
			return // not a ring, or broken off
		}
		m = rest
	}
	if n == 0 {
		return
	}
	i := p.member(s, nil, 0)
	me := &p.log.Members[i]
	if me.NRanks == 0 && total > 0 {
		me.NRanks = n
	}
	me.Rings = max(me.Rings, total)
}

// via reads what follows the word via, as printed or as known from before.
func (p *Parser) via(text []byte) (int, bool) {
	if i, ok := p.vias[string(text)]; ok {
		return i, true
	}
	v, ok := parseVia(text)
	if !ok {
		return 0, false
	}
	i, ok := p.viaAt[v]
	if !ok {
		if len(p.viaList) == maxEvents {
			p.over("transports")
			return 0, false
		}
		i = len(p.viaList)
		p.viaList = append(p.viaList, v)
		p.viaAt[v] = i
	}
	if len(p.vias) < maxEvents && len(text) < 128 {
		p.vias[string(text)] = i
	}
	return i, true
}

// parseVia reads "NET/AWS Libfabric/0(2)/GDRDMA(PCI)/Shared", "P2P/CUMEM/read",
// "SHM/direct/direct", "direct shared memory".
func parseVia(b []byte) (Via, bool) {
	v := Via{Dev: -1, Proxy: -1}
	kind, rest, _ := bytes.Cut(b, []byte("/"))
	switch {
	case string(kind) == "NET" || string(kind) == "COLLNET":
		v.Kind = string(kind)
		for i := range len(rest) { // the name ends where /digit begins, and may hold spaces
			if i > 64 {
				return v, false
			}
			if rest[i] != '/' {
				continue
			}
			n, tail, ok := leading(rest[i+1:])
			if !ok {
				return v, false
			}
			v.Name, v.Dev = clip(rest[:i], 64), n
			v.flags(tail)
			return v, v.Name != ""
		}
		return v, false
	case string(kind) == "P2P":
		v.Kind = "P2P"
		for _, name := range []string{"direct pointer", "common device"} {
			if has(rest, name) {
				v.Name = name + clip(word(rest[len(name):]), 16)
				return v, true
			}
		}
		name := word(rest)
		if has(name, "indirect") { // P2P/indirect/3[3]: through another GPU
			name = name[:len("indirect")]
		}
		v.Name = clip(name, 32)
		return v, v.Name != ""
	case has(b, "SHM"):
		v.Kind = "SHM"
		v.Name = clip(word(rest), 32)
		return v, true
	case has(b, "direct shared memory"):
		v.Kind = "SHM"
		return v, true
	case has(b, "NVLS"):
		v.Kind = "NVLS"
		return v, true
	}
	return v, false
}

// flags reads what follows the number of a network device.
func (v *Via) flags(b []byte) {
	if len(b) > 0 && b[0] == '(' {
		if n, rest, ok := leading(b[1:]); ok && len(rest) > 0 && rest[0] == ')' {
			v.Proxy, b = n, rest[1:]
		}
	}
	b = word(b)
	v.GDR = bytes.Contains(b, []byte("/GDRDMA"))
	v.PCI = bytes.Contains(b, []byte("(PCI)"))
	v.Shared = bytes.Contains(b, []byte("/Shared"))
}

// direction is which way a channel's data goes.
type direction int

const (
	unsaid direction = iota
	sends
	receives
)

// use counts one channel line.
func (p *Parser) use(member, via, channel, peer int, way direction) {
	k := memberVia{member, via}
	i, ok := p.uses[k]
	if !ok {
		if len(p.log.Uses) == maxUses {
			p.over("transports of ranks")
			return
		}
		i = len(p.log.Uses)
		p.log.Uses = append(p.log.Uses, Use{Member: member, Via: p.viaList[via], At: p.at})
		p.uses[k] = i
	}
	u := &p.log.Uses[i]
	u.Channels.Add(channel)
	switch way {
	case sends:
		u.Sends++
	case receives:
		u.Recvs++
	}
	if peer < 0 || len(u.Peers) > 0 && u.Peers[len(u.Peers)-1] == peer {
		return
	}
	if at, found := slices.BinarySearch(u.Peers, peer); !found && len(u.Peers) < maxPeers {
		u.Peers = slices.Insert(u.Peers, at, peer)
	}
}

// after cuts one of the beginnings.
func after(b []byte, leads ...string) ([]byte, bool) {
	for _, l := range leads {
		if has(b, l) {
			return b[len(l):], true
		}
	}
	return b, false
}

// word returns the text up to the first space.
func word(b []byte) []byte {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i]
	}
	return b
}
