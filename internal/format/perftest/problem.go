package perftest

import (
	"regexp"
	"strconv"
	"strings"
)

// A Kind is what a message means.
type Kind string

// The kinds of problems.
const (
	Missing     Kind = "missing"     // the program is not there, or cannot start
	BadOption   Kind = "option"      // this perftest does not know or allow the command line
	NoDevices   Kind = "devices"     // the node has no RDMA device
	NoDevice    Kind = "device"      // it has others
	NoAccess    Kind = "access"      // the device may not be opened
	PortDown    Kind = "port.down"   // the port is not active
	NoServer    Kind = "connect"     // nobody answers the client
	PortTaken   Kind = "listen"      // the server's TCP port is taken
	PeerGone    Kind = "peer"        // the other side ended first
	BadVersion  Kind = "version"     // the two sides are of versions that do not talk
	BadGID      Kind = "gid"         // the GIDs of the two sides do not fit
	QPFailed    Kind = "qp"          // the queue pairs could not be connected
	NoResources Kind = "resources"   // the device gave no queue pair, completion queue or domain
	NoMemory    Kind = "memory"      // memory could not be registered
	GPUMemory   Kind = "gpu.memory"  // memory of a GPU could not be registered
	NoGPU       Kind = "gpu"         // the GPU could not be used
	GPUBuild    Kind = "gpu.build"   // this perftest was built without that
	Completion  Kind = "completion"  // an operation failed: see Status
	PostFailed  Kind = "post"        // an operation was not taken
	Silence     Kind = "silence"     // messages stopped coming
	CMFailed    Kind = "rdma_cm"     // rdma_cm made no connection
	Clock       Kind = "clock"       // the processor's clock could not be measured: run it again
	BadMTU      Kind = "mtu"         // the MTU asked for is not possible
	Unsupported Kind = "unsupported" // the device cannot do it
	BelowLimit  Kind = "limit"       // less than --limit_bw or --limit_msgrate
	Crashed     Kind = "crash"       // the program was ended by a signal
	Failed      Kind = "failed"      // it ended without a number, and said no more than that
)

// The kinds of warnings: the run goes on.
const (
	Frequency Kind = "cpu.frequency" // processors run at different speeds
	NoPeak    Kind = "peak"          // the peak is not measured
	Ordering  Kind = "pcie.ordering" // relaxed ordering on a processor that is slow with it
	Inline    Kind = "inline"        // no inline data, or less than asked for
	OtherSize Kind = "size"          // another size or depth than was asked for
	Memlock   Kind = "memlock"       // little memory may be registered
	Driver    Kind = "driver"        // libibverbs found no driver for a device
	Untidy    Kind = "untidy"        // something could not be given back at the end
)

// Problem is a message that perftest printed, and what it means.
type Problem struct {
	Kind  Kind
	Line  int
	Said  string // the message as printed, without control characters, cut
	Why   string // what it means
	Next  string // what to do
	Retry bool   // the same command may succeed when it is run again

	// Of a failed completion: enum ibv_wc_status, and the card's own code.
	Status int
	Vendor int
}

// meaning is what a message tells by itself.
type meaning struct {
	kind      Kind
	why, next string
	retry     bool
}

// said recognises a message. A warning lets the run go on; a weak message follows from
// another, and counts when no other was printed.
func (r *reader) said(num int, line string) bool {
	low := strings.ToLower(line)
	for _, m := range warnings {
		if has(low, m.has) {
			if len(r.rep.Warnings) < maxWarnings {
				r.rep.Warnings = append(r.rep.Warnings, m.problem(num, line))
			}
			return true
		}
	}
	for _, m := range messages {
		if has(low, m.has) {
			r.problem(num, line, m.meaning)
			return true
		}
	}
	for _, m := range weak {
		if has(low, m.has) {
			if r.weak == nil {
				r.weak = new(m.problem(num, line))
			}
			return true
		}
	}
	return false
}

// has reports whether the parts of a pattern, apart by a star, are in s in that order.
func has(s, pattern string) bool {
	for part := range strings.SplitSeq(pattern, "*") {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return true
}

// problem files a message: the first is the cause, and what follows comes from it. The
// second line of a failed completion has its status.
func (r *reader) problem(num int, line string, m meaning) {
	p := m.problem(num, line)
	if m.kind == Completion {
		completion(&p, line)
		if old := r.rep.Problem; old != nil && old.Kind == Completion && old.Status == 0 && p.Status != 0 {
			p.Line = old.Line
			r.rep.Problem = &p
			return
		}
	}
	if m.kind == NoMemory {
		r.registration(&p, strings.ToLower(line))
	}
	if r.rep.Problem == nil {
		r.rep.Problem = &p
	}
}

// maxSaid is ours: three terminal lines.
const maxSaid = 240

func (m meaning) problem(num int, line string) Problem {
	return Problem{Kind: m.kind, Line: num, Said: clean(line), Why: m.why, Next: m.next, Retry: m.retry}
}

// clean makes a message safe to print.
func clean(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxSaid {
		s = strings.ToValidUTF8(s[:maxSaid], "")
	}
	return s
}

var (
	statusNumber = regexp.MustCompile(`(?i)status[ =:(]+(?:[a-z_ ]*\()?([0-9]{1,3})\b`)
	vendorCode   = regexp.MustCompile(`(?i)(?:syndrome?|vendor[ _]err)[ =:]+(0x[0-9a-f]{1,8})\b`)
)

// completion reads "Failed status 12: wr_id 0 syndrom 0x81" and what newer versions add in
// words.
func completion(p *Problem, line string) {
	if m := statusNumber.FindStringSubmatch(line); m != nil {
		p.Status, _ = strconv.Atoi(m[1])
	}
	if m := vendorCode.FindStringSubmatch(line); m != nil {
		n, _ := strconv.ParseUint(m[1], 0, 32)
		p.Vendor = int(n)
	}
	low := strings.ToLower(line)
	for _, s := range statuses {
		if s.number == p.Status || p.Status == 0 && strings.Contains(low, s.words) {
			p.Status, p.Why, p.Next = s.number, s.words+": "+s.why, s.next
			return
		}
	}
}

// registration tells why memory could not be registered: of a GPU, or too much of the
// host's for the limit.
func (r *reader) registration(p *Problem, low string) {
	errno := ""
	if _, after, ok := strings.Cut(low, "error="); ok {
		errno = after
	}
	switch {
	case r.rep.Memory == "" && errno != "14" && errno != "93":
		return
	case errno == "93" || errno == "95": // EPROTONOSUPPORT, EOPNOTSUPP
		p.Why = "the kernel, its driver or libibverbs cannot register a dma-buf of this GPU"
		p.Next = "use a driver with dma-buf (for NVIDIA the open kernel modules), or load nvidia-peermem and leave dma-buf out"
	default:
		p.Why = "the NIC's driver cannot reach this GPU's memory: no peer memory module is loaded"
		p.Next = "load nvidia-peermem (amdgpu needs a kernel with peer memory), or use dma-buf"
	}
	p.Kind = GPUMemory
}
