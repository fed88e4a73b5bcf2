package nccllog

import "bytes"

// other reads a line without NCCL's marker: a version, nccl-tests' heading, PyTorch's
// watchdog, a summary that somebody wrote, or a line of release 2.2. It reports
// whether the line is about NCCL.
func (p *Parser) other(b []byte) bool {
	if p.goesOn(b) {
		return true
	}
	if b[0] == '#' {
		return p.heading(b)
	}
	if bytes.Contains(b, []byte("CCL")) {
		return p.aboutNCCL(b)
	}
	if has(b, "Channel ") {
		n := len(p.log.Uses)
		p.channel(speaker{proc: p.nobody(), tid: -1, dev: -1}, b)
		return len(p.log.Uses) > n
	}
	if has(b, "ROCm version") {
		if n := len(p.log.Versions); n > 0 && p.log.Versions[n-1].ROCm == "" {
			p.log.Versions[n-1].ROCm = clip(bytes.TrimLeft(b[len("ROCm version"):], " :"), 64)
		}
		return false
	}
	if i := bytes.Index(b, []byte("Last error:")); i >= 0 && i < 64 {
		p.quoted = true
		return false
	}
	return p.old(b)
}

// nobody is the process of lines without a prefix.
func (p *Parser) nobody() int { return p.proc(nil, nil, 0, nil) }

// heading reads nccl-tests: "#  Rank  0 Group  0 Pid 1134070 on gpu03 device  0 [0000:11:00] NVIDIA H100 80GB HBM3".
func (p *Parser) heading(b []byte) bool {
	b = bytes.TrimLeft(b, "# ")
	rest, ok := after(b, "Rank ")
	if !ok {
		return false
	}
	g := GPU{At: p.at}
	g.Rank, rest, ok = leading(bytes.TrimLeft(rest, " "))
	i := bytes.Index(rest, []byte("Pid "))
	if !ok || i < 0 {
		return false
	}
	g.PID, rest, ok = leading(bytes.TrimLeft(rest[i+len("Pid "):], " "))
	rest, on := after(bytes.TrimLeft(rest, " "), "on ")
	if !ok || !on {
		return false
	}
	host, rest := field(rest)
	g.Host = clip(host, 255)
	rest, ok = after(bytes.TrimLeft(rest, " "), "device ")
	if !ok {
		return false
	}
	g.Dev, rest, _ = leading(bytes.TrimLeft(rest, " "))
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) > 0 && rest[0] == '[' {
		if j := bytes.IndexByte(rest, ']'); j >= 0 {
			rest = bytes.TrimLeft(rest[j+1:], " ")
		}
	}
	g.Name = clip(rest, 64)
	if len(p.log.GPUs) == maxGPUs {
		p.over("GPUs")
		return true
	}
	p.log.GPUs = append(p.log.GPUs, g)
	return true
}

// aboutNCCL reads a line that has NCCL or RCCL in it.
func (p *Parser) aboutNCCL(b []byte) bool {
	switch {
	case bytes.Contains(b, []byte("Watchdog caught collective operation timeout")):
		p.stuck(b)
		return true
	case bytes.Contains(b, []byte("[lib] load RCCL version")):
		p.version("RCCL", b[bytes.Index(b, []byte("version"))+len("version"):], -1)
		return true
	}
	for _, lib := range []string{"NCCL", "RCCL"} {
		i := bytes.Index(b, []byte(lib+" version"))
		if i < 0 {
			continue
		}
		p.version(lib, b[i+len(lib+" version"):], -1)
		if class := torchError(b); class != "" {
			p.keep(Event{Kind: Torch, Proc: -1, Dev: -1, Rank: torchRank(b), Vendor: -1, Detail: class}, b)
		}
		return true
	}
	return false
}

// torchErrors are NCCL's results, as PyTorch words them.
var torchErrors = []string{"unhandled cuda error", "unhandled system error", "internal error", "invalid argument", "invalid usage",
	"remote process exited or there was a network error"}

func torchError(b []byte) string {
	if !bytes.Contains(b, []byte("NCCL error")) {
		return ""
	}
	for _, e := range torchErrors {
		if bytes.Contains(b, []byte(e)) {
			return e
		}
	}
	return ""
}

// stuck reads "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12,
// OpType=ALLREDUCE, …, Timeout(ms)=600000) ran for 600067 milliseconds before timing out."
func (p *Parser) stuck(b []byte) {
	k := Stuck{Rank: torchRank(b), Seq: -1, At: p.at}
	if i := bytes.Index(b, []byte("SeqNum=")); i >= 0 {
		if n, _, ok := leading(b[i+len("SeqNum="):]); ok {
			k.Seq = n
		}
	}
	k.Op = between(b, "OpType=", ",")
	if i := bytes.Index(b, []byte("ran for ")); i >= 0 {
		k.MS, _, _ = leading(b[i+len("ran for "):])
	}
	if len(p.log.Stuck) == maxGPUs {
		p.over("timeouts")
		return
	}
	p.log.Stuck = append(p.log.Stuck, k)
}

// torchRank reads "[Rank 3]", "[PG ID 0 PG GUID 0(default_pg) Rank 3]" or "[rank3]:".
func torchRank(b []byte) int {
	for _, lead := range []string{"Rank ", "[rank"} {
		if i := bytes.Index(b, []byte(lead)); i >= 0 {
			if n, _, ok := leading(b[i+len(lead):]); ok {
				return n
			}
		}
	}
	return -1
}

// quote reads the error that PyTorch repeats after "Last error:", which is the text of
// a warning.
func (p *Parser) quote(b []byte) {
	rank := -1
	if has(b, "[rank") {
		rank = torchRank(b)
		if i := bytes.Index(b, []byte("]: ")); i >= 0 {
			b = b[i+3:]
		}
	}
	n := len(p.log.Events)
	p.warning(speaker{proc: -1, tid: -1, dev: -1}, b)
	if len(p.log.Events) > n {
		p.log.Events[n].Rank = rank
	}
	p.said = true
	p.log.Said++
}
