package nccllog

import "bytes"

// speaker is what stands before a message: "host:pid:tid [dev] file.cc:12 (func) ".
type speaker struct {
	proc, tid, dev int    // dev and tid are -1 when not told
	source         []byte // "transport/nvls.cc:598" of a warning
}

// maxPrefix is how far before a message its speaker is looked for: a host name has at
// most 255 bytes, the path of a source file in a development build more.
const maxPrefix = 1024

// who finds the speaker in the bytes before a message, and where its own part begins.
// What stands before that is a launcher's prefix, a time, or the half of another line.
func (p *Parser) who(b []byte) (s speaker, start int) {
	s = speaker{tid: -1, dev: -1, proc: -1}
	off := 0
	if len(b) > maxPrefix {
		off = len(b) - maxPrefix
		b = b[off:]
	}
	end := len(b)
	for range 8 { // a path may hold brackets, a time does
		end = bytes.LastIndexByte(b[:end], ']')
		if end < 0 {
			break
		}
		open := bytes.LastIndexByte(b[:end], '[')
		if open < 0 {
			break
		}
		dev, ok := number(b[open+1 : end])
		if !ok || open > 0 && b[open-1] != ' ' {
			end = open
			continue
		}
		word := bytes.TrimRight(b[:open], " ")
		if i := lastSpace(word); i >= 0 {
			start = i + 1
			word = word[i+1:]
		}
		s.dev, s.source = dev, bytes.TrimSpace(b[end+1:])
		var own int
		s.proc, s.tid, own = p.procOf(word, b)
		return s, off + start + own
	}
	if s.proc < 0 {
		s.proc = p.proc(nil, nil, 0, b)
	}
	return s, len(b) + off
}

// procOf reads "host:pid:tid". A name alone is a host, as people write it who hide
// the rest; nothing is nobody. It returns where in the word the host begins, too.
func (p *Parser) procOf(word, before []byte) (proc, tid, start int) {
	if bytes.Equal(word, p.lastKey) && len(word) > 0 {
		return p.last, p.lastTID, p.lastStart
	}
	tid = -1
	host, end, pid := word, len(word), 0
	if rest, n, ok := cutNumber(word); ok {
		host, pid = rest, n
		if shorter, m, ok := cutNumber(rest); ok {
			host, end, pid, tid = shorter, len(rest), m, n
		}
	} else if len(hostName(word)) != len(word) {
		return p.proc(nil, nil, 0, before), -1, 0
	}
	from := len(host) - len(hostName(host))
	proc = p.proc(word[from:end], host[from:], pid, before)
	start = max(from, len(host)-len(p.log.Procs[proc].Host))
	if tid >= 0 {
		p.lastKey = append(p.lastKey[:0], word...)
		p.last, p.lastTID, p.lastStart = proc, tid, start
	}
	return proc, tid, start
}

// proc returns the index of a process, made when it is new.
func (p *Parser) proc(key, host []byte, pid int, before []byte) int {
	if i, ok := p.procs[string(key)]; ok {
		return i
	}
	name := p.known(clip(host, 255))
	k := string(key)
	if name != string(host) { // half a line of another rank stood before the name
		k = name + string(key[len(host):])
		if i, ok := p.procs[k]; ok {
			return i
		}
	}
	if len(p.log.Procs) >= maxProcs-1 && len(key) > 0 { // one place is for lines without a speaker
		p.over("processes")
		return p.proc(nil, nil, 0, nil)
	}
	if len(k) > maxPrefix {
		k = k[:maxPrefix]
	}
	i := len(p.log.Procs)
	p.log.Procs = append(p.log.Procs, Proc{Host: name, PID: pid, IP: rayIP(before), First: p.at, GID: -1})
	p.procs[k] = i
	if name != "" {
		p.hosts[name] = true
	}
	return i
}

// known returns the host that a name ends with, where what stands before it are the
// figures of a table that was being written: "-1gpu7" is gpu7.
func (p *Parser) known(name string) string {
	if p.hosts[name] || name == "" {
		return name
	}
	for i := 1; i < len(name); i++ {
		if c := name[i-1]; c != '-' && c != '.' && (c < '0' || c > '9') {
			break
		}
		if p.hosts[name[i:]] {
			return name[i:]
		}
	}
	return name
}

// rayIP reads "(RayWorkerWrapper pid=581, ip=10.225.128.18)".
func rayIP(b []byte) string {
	i := bytes.Index(b, []byte("ip="))
	if i < 0 {
		return ""
	}
	b = b[i+3:]
	end := bytes.IndexAny(b, ") ,")
	if end < 0 || end > 45 {
		return ""
	}
	return clip(b[:end], 45)
}

// hostName returns the name at the end of a word, which a launcher may have put
// something before: "[1,3]<stdout>:gpu7", "(gpu7".
func hostName(word []byte) []byte {
	i := len(word)
	for i > 0 {
		c := word[i-1]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' || c >= 0x80 {
			i--
			continue
		}
		break
	}
	if i == len(word) && i > 1 && word[i-1] == '>' { // "<cluster_name>": somebody hid it
		if j := bytes.LastIndexByte(word, '<'); j >= 0 {
			return word[j:]
		}
	}
	return word[i:]
}

// cutNumber cuts ":123" from the end.
func cutNumber(b []byte) (rest []byte, n int, ok bool) {
	i := bytes.LastIndexByte(b, ':')
	if i < 0 {
		return b, 0, false
	}
	n, ok = number(b[i+1:])
	return b[:i], n, ok
}

// number reads digits, at most nine of them, and nothing else.
func number(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// leading reads the digits that a text begins with.
func leading(b []byte) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	n, ok = number(b[:i])
	return n, b[i:], ok
}

func lastSpace(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == ' ' || b[i] == '\t' || b[i] == '\r' {
			return i
		}
	}
	return -1
}
