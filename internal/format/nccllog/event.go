package nccllog

import (
	"bytes"
)

// A Kind is what a message means.
type Kind string

const (
	NoVerbs      Kind = "verbs.missing" // libibverbs could not be opened
	NoDevice     Kind = "device.none"   // no RDMA port was found
	OpenFailed   Kind = "device.open"   // Device could not be opened
	QueryFailed  Kind = "device.query"  // Device, or a port of it, could not be asked
	QPFailed     Kind = "qp.modify"     // Number: errno; Device; Detail: GIDs and states
	QPCreate     Kind = "qp.create"     // a queue pair or completion queue could not be made; Detail: why
	MRFailed     Kind = "mr"            // memory could not be registered; Detail: why
	CallFailed   Kind = "verbs.call"    // another call of libibverbs; Detail: which and why
	Completion   Kind = "completion"    // Number: status; Vendor; Peer; Device
	Async        Kind = "async"         // Device; Detail: the event
	PluginFailed Kind = "plugin.failed" // Detail: its name
	PluginOld    Kind = "plugin.old"    // made for another release
	Provider     Kind = "provider"      // libfabric has none that fits
	Mismatch     Kind = "version"       // Detail: which rank has which
	SameGPU      Kind = "gpu.same"      // Detail: the ranks
	Connect      Kind = "connect"       // Peer; Detail: why
	PeerGone     Kind = "peer"          // a connection was closed from afar; Peer
	Truncated    Kind = "truncated"     // ranks disagree on the size of a message
	NoInterface  Kind = "interface"     // no network interface for the bootstrap
	SHM          Kind = "shm"           // shared memory; Detail: why
	CUDA         Kind = "cuda"          // Detail: the error's name
	NoP2P        Kind = "p2p"           // GPUs that should reach each other do not
	Kernel       Kind = "kernel"        // a setting that RCCL misses; Detail: which
	Harmless     Kind = "harmless"      // known not to matter
	Echo         Kind = "echo"          // follows from an error elsewhere
	Warning      Kind = "warning"       // not known
	Result       Kind = "result"        // a call chain that returned Number
	Torch        Kind = "torch"         // PyTorch says that NCCL failed; Detail: the class
)

// Event is something that went wrong, or might have, however often it was said.
type Event struct {
	Kind   Kind   `json:"kind"`
	Proc   int    `json:"proc"` // -1: not told
	Dev    int    `json:"dev"`  // -1: not told
	Rank   int    `json:"rank"` // where the line itself says it; -1
	Device string `json:"device,omitempty"`
	Peer   string `json:"peer,omitempty"` // of the first
	GIDs   string `json:"gids,omitempty"` // of the first: "::ffff:10.0.0.1 to ::ffff:10.0.0.2"
	Number int    `json:"number"`         // see the kinds
	Vendor int    `json:"vendor"`         // of a completion; -1 not told
	Detail string `json:"detail,omitempty"`
	Text   string `json:"text"` // the message, as it first came
	Count  int    `json:"count"`
	At     Place  `json:"at"`   // the first
	Last   Place  `json:"last"` // the last
}

type eventKey struct {
	kind           Kind
	proc, dev, num int
	device, detail string
}

// event keeps one, or counts it with its like.
func (p *Parser) event(s speaker, e Event, text []byte) int {
	e.Proc, e.Dev, e.Rank = s.proc, s.dev, -1
	if e.Kind != Completion {
		e.Vendor = -1
	}
	return p.keep(e, text)
}

func (p *Parser) keep(e Event, text []byte) int {
	k := eventKey{e.Kind, e.Proc, e.Dev, e.Number, e.Device, e.Detail}
	if i, ok := p.events[k]; ok {
		p.log.Events[i].Count++
		p.log.Events[i].Last = p.at
		return i
	}
	if len(p.log.Events) == maxEvents {
		p.over("problems")
		return -1
	}
	e.Text, e.Count, e.At, e.Last = clip(text, maxText), 1, p.at, p.at
	p.log.Events = append(p.log.Events, e)
	p.events[k] = len(p.log.Events) - 1
	return len(p.log.Events) - 1
}

// result reads "transport/net.cc:1134 -> 6": an error on its way up.
func (p *Parser) result(s speaker, m []byte) {
	i := bytes.Index(m, arrow)
	if i < 0 || i > 128 {
		return
	}
	at := bytes.LastIndexByte(m[:i], ':')
	if at < 0 {
		return
	}
	if _, ok := number(m[at+1 : i]); !ok || bytes.IndexByte(m[:at], '.') < 0 {
		return
	}
	if code, _, ok := leading(m[i+len(arrow):]); ok && code > 0 && code < 16 && code != 7 { // 7: in progress
		p.event(s, Event{Kind: Result, Number: code}, m)
	}
}
