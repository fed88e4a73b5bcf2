package nccllog

import (
	"bytes"
	"strings"
)

// warnings are what NCCL warns of, by words that its releases share.
var warnings = []struct {
	has  string
	kind Kind
}{
	{"Got completion", Completion},
	{"Unable to open device ", OpenFailed},
	{"Unable to query", QueryFailed},
	{"Call to ibv_", CallFailed}, // told apart by verbsCall
	{"async error event", Async},
	{"async event", Async},
	{"async fatal event", Async},
	{"GID table changed", Async},
	{"libibverbs.so", NoVerbs},
	{"Mismatched NCCL version", Mismatch},
	{"Duplicate GPU detected", SameGPU},
	{"no socket interface found", NoInterface},
	{"no interface found", NoInterface},
	{"No interface found", NoInterface},
	{"No IP interface found", NoInterface},
	{"Connection closed by remote peer", PeerGone},
	{"Connection reset by peer", PeerGone},
	{"Connection refused by peer", PeerGone},
	{"Connect to ", Connect},
	{"connect to ", Connect},
	{"Call to connect", Connect},
	{"Message truncated", Truncated},
	{"shared memory segment", SHM},
	{"posix_fallocate failed", SHM},
	{"failed to extend /dev/shm", SHM},
	{"P2P is disabled between", NoP2P},
	{"Could not enable P2P between", NoP2P},
	{"from kernel command line", Kernel},
	{"from environment which can lead", Kernel},
	{"NUMA auto balancing", Kernel},
	{"Cuda failure", CUDA},
	{"Failed to CUDA", CUDA},
	{"HIP failure", CUDA},
	{"optimal provider", Provider},
	{"No eligible providers", Provider},
	{"Failed to initialize any NET plugin", PluginFailed},
	{"Failed to execute operation", Echo},
	{"Error encountered progressing operation", Echo},
	{"recv failed while polling", Echo},
	{"communicator encountered a fatal error", Echo},
	{"Accept failed", Echo},
	{"Timed out waiting for", Echo},
	{"cuMem support requires", Harmless},
	{"LL cutoff points not detected", Harmless},
	{"ncclCommAbort", Harmless},
}

// warning reads a message that NCCL warned with.
func (p *Parser) warning(s speaker, m []byte) {
	for _, w := range warnings {
		if !bytes.Contains(m, []byte(w.has)) {
			continue
		}
		p.warned(s, w.kind, m)
		return
	}
	p.event(s, Event{Kind: Warning, Detail: plain(m)}, m)
}

func (p *Parser) warned(s speaker, kind Kind, m []byte) {
	e := Event{Kind: kind}
	switch kind {
	case Completion:
		p.completion(s, m)
		return
	case CallFailed:
		p.verbsCall(s, m, true)
		return
	case OpenFailed:
		e.Device = between(m, "Unable to open device ", "")
	case QueryFailed:
		e.Device = between(m, "device ", "")
	case Async:
		e.Device = between(m, "NET/IB : ", " ")
		if strings.Contains(e.Device, " ") || !strings.Contains(e.Device, ":") {
			e.Device = "" // older releases do not name it
		}
		e.Detail = asyncWord(m)
	case Connect:
		e.Peer = between(m, "onnect to ", " ")
		e.Detail = lastPart(m)
	case PeerGone:
		e.Peer = between(m, "remote peer ", "")
		if e.Peer == "" {
			e.Peer = between(m, "from ", " ")
		}
	case SHM:
		if bytes.Contains(m, []byte("No space left")) || bytes.Contains(m, []byte("failed to extend")) {
			e.Detail = "No space left on device"
		} else if i := bytes.Index(m, []byte("error: ")); i >= 0 {
			e.Detail = clip(m[i+len("error: "):], 80)
		}
	case CUDA:
		if e.Detail = between(m, "'", "'"); e.Detail == "" {
			e.Detail = plain(m)
		}
		if bytes.Contains(s.source, []byte("nvls")) {
			e.Detail = "NVLS: " + e.Detail
		}
	case Mismatch, SameGPU:
		e.Detail = lastPart(m)
	case NoP2P, Kernel, Harmless, Echo, PluginFailed, Provider:
		e.Detail = plain(m)
	}
	p.event(s, e, m)
}

// completion reads all of these:
//
//	Got completion with error 12, opcode 1, len 32478, vendor err 129
//	Got completion from peer 10.2.0.5<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv)
//	Got completion from peer 10.2.0.5<33092> with status=12 opcode=1 len=0 vendor err 129 (Send) localGid … hca mlx5_0
//	Got completion from peer 10.2.0.5<33092> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=… vendor_err=129 … hca mlx5_0
func (p *Parser) completion(s speaker, m []byte) {
	e := Event{Kind: Completion, Vendor: -1, Number: -1}
	e.Peer = between(m, "from peer ", " ")
	e.Device = between(m, " hca ", " ")
	for _, lead := range []string{"with error ", "status="} {
		i := bytes.Index(m, []byte(lead))
		if i < 0 {
			continue
		}
		rest := m[i+len(lead):]
		if open := bytes.IndexByte(rest, '('); open >= 0 && open < 40 && (rest[0] < '0' || rest[0] > '9') {
			rest = rest[open+1:]
		}
		if n, _, ok := leading(rest); ok {
			e.Number = n
		}
	}
	e.Vendor = vendor(m)
	if from, to := between(m, "localGid ", " "), between(m, "remoteGids", " "); from != "" && to != "" {
		e.GIDs = from + " to " + to
	}
	p.wrapped = p.event(s, e, m)
	p.wrapLine = p.at.Line
}

func vendor(m []byte) int {
	for _, lead := range []string{"vendor err ", "vendor_err="} {
		if i := bytes.Index(m, []byte(lead)); i >= 0 {
			if n, _, ok := leading(m[i+len(lead):]); ok {
				return n
			}
		}
	}
	return -1
}

// goesOn completes a completion whose line was broken in two.
func (p *Parser) goesOn(b []byte) bool {
	if p.wrapped < 0 || p.at.Line != p.wrapLine+1 {
		return false
	}
	e := &p.log.Events[p.wrapped]
	n := vendor(b)
	if e.Vendor >= 0 || n < 0 {
		return false
	}
	e.Vendor = n
	e.Text = clip(append([]byte(e.Text+" "), b...), maxText)
	return true
}

// verbsCall reads "Call to ibv_modify_qp failed with error No such device errno 19" and
// "Call to ibv_modify_qp failed with 19 No such device, on dev mlx5_0:1, curr state INIT,
// next state RTR, local GID index 3, local GID ::ffff:10.0.0.1, remote GID …".
func (p *Parser) verbsCall(s speaker, m []byte, warn bool) {
	call := between(m, "Call to ", " ")
	why := ""
	if i := bytes.Index(m, []byte("failed with ")); i >= 0 {
		rest := bytes.TrimPrefix(m[i+len("failed with "):], []byte("error "))
		why = clip(rest, 200)
	}
	e := Event{Kind: CallFailed, Detail: call + ": " + why}
	switch {
	case call == "ibv_modify_qp" && !warn:
		return // it will be tried again
	case call == "ibv_modify_qp":
		e.Kind = QPFailed
		e.Number, e.Detail = errnoOf(why)
		e.Device = between(m, "on dev ", ",")
		if i := strings.Index(why, "local GID index"); i >= 0 {
			e.Detail += "; " + why[i:]
		}
	case strings.HasPrefix(call, "ibv_create_"):
		e.Kind = QPCreate
		e.Detail = call + ": " + strings.Split(why, " errno")[0]
	case strings.HasPrefix(call, "ibv_reg_"):
		e.Kind = MRFailed
		e.Detail = call + ": " + strings.Split(why, " errno")[0]
		e.Number, _ = errnoOf(why)
	case call == "ibv_open_device":
		e.Kind = OpenFailed
		e.Detail = ""
	case call == "ibv_set_ece" || call == "ibv_query_ece":
		e.Kind = Harmless // an option of newer cards
	case !warn:
		return
	}
	p.event(s, e, m)
}

// errnos are the errors that verbs calls meet, as strerror words them: some releases
// print only the words.
var errnos = map[string]int{
	"Cannot allocate memory": 12, "Bad address": 14, "No such device": 19, "Invalid argument": 22,
	"No data available": 61, "Operation not supported": 95, "Network is unreachable": 101,
	"Connection timed out": 110, "No route to host": 113, "Operation not permitted": 1, "Permission denied": 13,
	"Resource temporarily unavailable": 11, "No space left on device": 28, "Protocol not supported": 93,
}

// errnoOf reads "No such device errno 19" or "19 No such device, on dev …".
func errnoOf(why string) (int, string) {
	words := why
	if n, rest, ok := leading([]byte(strings.TrimPrefix(why, "-"))); ok {
		text, _, _ := strings.Cut(strings.TrimSpace(string(rest)), ",")
		return n, text
	}
	words, number, _ := strings.Cut(words, " errno ")
	n, _, ok := leading([]byte(number))
	if !ok {
		words, _, _ = strings.Cut(words, ",")
		n = errnos[words]
	}
	return n, words
}

// asyncWord returns the event: "port error".
func asyncWord(m []byte) string {
	i := bytes.LastIndex(m, []byte(": "))
	if i < 0 {
		return plain(m)
	}
	w := m[i+2:]
	if j := bytes.LastIndexByte(w, '('); j > 0 { // "port error(10)"
		w = w[:j]
	}
	if bytes.Contains(m, []byte("GID table changed")) {
		return "GID table changed"
	}
	return clip(bytes.TrimSpace(w), 64)
}

// lastPart is the reason at the end: "… failed : Connection refused".
func lastPart(m []byte) string {
	if i := bytes.LastIndex(m, []byte(" : ")); i >= 0 {
		return clip(m[i+3:], 120)
	}
	for _, lead := range []string{"returned ", "failed with error ", "failed: "} {
		if i := bytes.Index(m, []byte(lead)); i >= 0 {
			return clip(m[i+len(lead):], 120)
		}
	}
	return ""
}

// between cuts what stands after a and before z; all of the rest when z is "".
func between(m []byte, a, z string) string {
	i := bytes.Index(m, []byte(a))
	if i < 0 {
		return ""
	}
	m = m[i+len(a):]
	if z != "" {
		j := bytes.Index(m, []byte(z))
		if j >= 0 {
			m = m[:j]
		}
	}
	return clip(bytes.TrimSpace(m), 128)
}

// plain makes one text of what differs only in its figures: addresses, sizes, ports.
func plain(m []byte) string {
	if len(m) > maxText {
		m = m[:maxText]
	}
	out := make([]byte, 0, len(m))
	for i := 0; i < len(m); i++ {
		c := m[i]
		digit := c >= '0' && c <= '9'
		if digit && i > 0 && (isWord(m[i-1]) || m[i-1] == '.') && !(m[i-1] >= '0' && m[i-1] <= '9') && m[i-1] != 'x' {
			out = append(out, c) // mlx5_0 keeps its name
			continue
		}
		if !digit {
			out = append(out, c)
			continue
		}
		j := i
		for j < len(m) && (m[j] >= '0' && m[j] <= '9' || m[j] >= 'a' && m[j] <= 'f' || m[j] == 'x' || m[j] == '.' && j+1 < len(m) && m[j+1] >= '0' && m[j+1] <= '9') {
			j++
		}
		if j-i <= 2 && (j == len(m) || !isWord(m[j])) {
			out = append(out, m[i:j]...) // small numbers mean something
		} else {
			out = append(out, "N"...)
		}
		i = j - 1
	}
	return clip(bytes.TrimSpace(out), maxText)
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
