package nccllog

import "bytes"

var (
	mNCCL = []byte("NCCL ")
	mInfo = []byte("INFO ")
	mWarn = []byte("WARN ")
)

// line reads one line. It may hold several messages, when ranks wrote into each
// other's lines, or none.
func (p *Parser) line(b []byte) {
	b = bytes.TrimRight(b, " \t\r\n")
	if bytes.IndexByte(b, 0x1b) >= 0 {
		b = uncolour(b)
	}
	if len(b) == 0 {
		return
	}
	if p.quoted {
		p.quoted = false
		p.quote(b)
		return
	}
	from, said := 0, false // from: where what belongs to no message yet begins
	for pos := 0; ; {
		at, next, warn := marker(b, pos)
		if at < 0 {
			break
		}
		s, _ := p.who(b[from:at])
		end := len(b)
		if more, _, _ := marker(b, next); more >= 0 {
			_, cut := p.who(b[next:more])
			end = next + cut
		}
		p.message(s, message(b, next, end), warn)
		said = true
		from, pos = end, end
		if pos < next {
			pos = next
		}
	}
	if said {
		p.said = true
		p.log.Said++
		return
	}
	if p.other(b) {
		p.said = true
		p.log.Said++
	}
}

// message cuts what belongs to one message: a carriage return begins a progress bar,
// and a container runtime wraps lines in JSON.
func message(b []byte, from, to int) []byte {
	m := b[from:to]
	if i := bytes.IndexByte(m, '\r'); i >= 0 {
		m = m[:i]
	}
	if b[0] == '{' {
		if i := bytes.Index(m, []byte(`\n"`)); i >= 0 {
			m = m[:i]
		}
	}
	return bytes.TrimRight(m, " \t")
}

// marker finds the next "NCCL INFO " or "NCCL WARN ", where it begins and where its
// message does. Releases up to 2.2 left out the "NCCL".
func marker(b []byte, from int) (at, next int, warn bool) {
	for {
		i := bytes.Index(b[from:], mNCCL)
		if i < 0 {
			return -1, 0, false
		}
		i += from
		rest := b[i+len(mNCCL):]
		switch {
		case bytes.HasPrefix(rest, mInfo):
			return i, i + len(mNCCL) + len(mInfo), false
		case bytes.HasPrefix(rest, mWarn):
			return i, i + len(mNCCL) + len(mWarn), true
		}
		from = i + len(mNCCL)
	}
}

// old reads a line of 2.2 or older: "host:pid:tid [dev] INFO …".
func (p *Parser) old(b []byte) bool {
	for _, m := range [][]byte{mInfo, mWarn} {
		i := bytes.Index(b, m)
		if i < 2 || b[i-1] != ' ' {
			continue
		}
		head := b[:i]
		if n := len(head); n > maxPrefix {
			head = head[n-maxPrefix:]
		}
		word := bytes.TrimRight(head, " ")
		if j := bytes.LastIndexByte(word, '['); j > 0 && m[0] == 'I' { // "[0] INFO"
			if _, ok := number(bytes.TrimSuffix(word[j+1:], []byte("]"))); !ok {
				continue
			}
			word = bytes.TrimRight(word[:j], " ")
		} else if j := bytes.Index(word, []byte(" [")); j > 0 && m[0] == 'W' { // "[0] file.h:360 WARN"
			word = word[:j]
		} else {
			continue
		}
		if k := lastSpace(word); k >= 0 {
			word = word[k+1:]
		}
		rest, _, ok := cutNumber(word)
		if !ok {
			continue
		}
		if _, _, ok = cutNumber(rest); !ok {
			continue
		}
		s, _ := p.who(head)
		p.message(s, message(b, i+len(m), len(b)), m[0] == 'W')
		return true
	}
	return false
}

// uncolour takes away what colours a terminal: ESC [ … letter.
func uncolour(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != 0x1b {
			out = append(out, b[i])
			continue
		}
		if i+1 < len(b) && b[i+1] == '[' {
			i += 2
			for i < len(b) && (b[i] < 0x40 || b[i] > 0x7e) {
				i++
			}
		}
	}
	return out
}
