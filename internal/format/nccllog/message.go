package nccllog

import "bytes"

// message reads what NCCL said. Its first letter decides where to look: nine of ten
// lines are of few kinds.
func (p *Parser) message(s speaker, m []byte, warn bool) {
	if len(m) == 0 {
		return
	}
	if warn {
		p.warning(s, m)
		return
	}
	switch m[0] {
	case 'C':
		switch {
		case p.channel(s, m):
		case has(m, "Could not open libibverbs"):
			p.event(s, Event{Kind: NoVerbs}, m)
		case has(m, "Call to ibv_"):
			p.verbsCall(s, m, false)
		}
	case 'R':
		switch {
		case p.channel(s, m):
		case has(m, "RCCL version"):
			p.version("RCCL", m[len("RCCL version"):], s.proc)
		case has(m, "RCCL: Detected 0 IB devices"):
			p.event(s, Event{Kind: NoDevice}, m)
		}
	case 'N':
		p.netLine(s, m)
	case 'B':
		p.bootstrap(s, m)
	case 'U':
		for _, lead := range []string{"Using network ", "Using internal Network "} {
			if has(m, lead) {
				p.network(s, m[len(lead):])
			}
		}
	case 'A':
		if lead := "Assigned NET plugin "; has(m, lead) {
			p.network(s, bytes.TrimSuffix(m[len(lead):], []byte(" to comm")))
		} else if lead := "Assigned GIN plugin "; has(m, lead) {
			p.log.Procs[s.proc].GIN = Said{clip(bytes.TrimSuffix(m[len(lead):], []byte(" to comm")), 64), p.at}
		}
	case 'P':
		p.pluginLine(s, m)
	case 'S':
		p.pluginLine(s, m)
	case 'E':
		if has(m, "External network plugin") && bytes.HasSuffix(m, []byte("is unsupported")) {
			p.event(s, Event{Kind: PluginOld}, m)
		}
	case 'F':
		switch {
		case has(m, "Failed to open libibverbs"):
			p.event(s, Event{Kind: NoVerbs}, m)
		case has(m, "Failed to initialize NET plugin "):
			p.event(s, Event{Kind: PluginFailed, Detail: clip(m[len("Failed to initialize NET plugin "):], 64)}, m)
		}
	case 'G':
		p.direct(s, m)
	case 'D':
		if has(m, "DMA-BUF is available") || has(m, "DMA_BUF Support Enabled") {
			set(&p.log.Procs[s.proc].DMABuf, p.at)
		}
	case 'T':
		if has(m, "Trees ") {
			p.trees(s, m)
		}
	case 'c', 'n', '[':
		if p.comm(s, m) {
			return
		}
		if has(m, "ncclOsDlopen(") && bytes.Contains(m, []byte("ccl-net.so) failed")) {
			p.without(&p.log.Procs[s.proc])
			return
		}
		p.result(s, m)
	default:
		if m[0] >= '0' && m[0] <= '9' {
			p.pair(s, m, -1)
			return
		}
		p.result(s, m)
	}
}

func has(b []byte, lead string) bool { return len(b) >= len(lead) && string(b[:len(lead)]) == lead }

// set keeps the first place.
func set(at *Place, now Place) {
	if at.Line == 0 {
		*at = now
	}
}

// network keeps what a process chose, the last word of it: a job may make communicators
// over different networks, but then its channels say so.
func (p *Parser) network(s speaker, m []byte) {
	p.log.Procs[s.proc].Network = Said{clip(m, 64), p.at}
}
