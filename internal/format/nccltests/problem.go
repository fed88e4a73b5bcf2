package nccltests

import (
	"regexp"
	"strings"
)

// A Kind is what a message means.
type Kind string

// The kinds of problems.
const (
	Corrupt    Kind = "corrupt"       // results were wrong
	NCCLSystem Kind = "nccl.system"   // a system call or a library failed: mostly the network
	NCCLCUDA   Kind = "nccl.cuda"     // CUDA failed within NCCL
	NCCLIntern Kind = "nccl.internal" // NCCL met what it did not expect
	NCCLUsage  Kind = "nccl.usage"    // NCCL was used wrongly: two ranks on one GPU
	NCCLRemote Kind = "nccl.remote"   // another rank went away
	CUDA       Kind = "cuda"          // CUDA or HIP failed
	NoGPU      Kind = "gpu"           // there is no GPU, or there are fewer
	GPUMemory  Kind = "gpu.memory"    // its memory is full
	GPUBuild   Kind = "gpu.build"     // the program was not built for this GPU or driver
	FabricDown Kind = "gpu.fabric"    // NVSwitches wait for the fabric manager
	NoMPI      Kind = "mpi.built"     // the processes measured themselves
	NoSlots    Kind = "mpi.slots"     // more processes than slots
	NoHosts    Kind = "mpi.hosts"     // nodes could not be reached or started
	MPIRoot    Kind = "mpi.root"      // mpirun does not run as root
	MPITCP     Kind = "mpi.tcp"       // ranks found no way to each other over TCP
	Missing    Kind = "missing"       // a program, a library or a module is not there
	Timeout    Kind = "timeout"       // an operation did not end
	PortTaken  Kind = "listen"        // the port of the rendezvous is taken
	NoMeeting  Kind = "rendezvous"    // the ranks did not all come
	NotDone    Kind = "unsupported"   // the operation is not to be had here
	BelowLimit Kind = "limit"         // less than NCCL_TESTS_MIN_BW
	Crashed    Kind = "crash"         // a process was ended by a signal
	Failed     Kind = "failed"        // it ended without a number, and said no more
	NCCLWarns  Kind = "nccl.warn"     // a warning
	LessMemory Kind = "size"          // a warning: the largest sizes are left out
)

// Problem is a message that was printed, and what it means.
type Problem struct {
	Kind  Kind
	Line  int    // 0 where no single line says so
	Host  string // that said it; "" where it is not told
	Said  string // the message as printed, without control characters, cut
	Why   string // what it means
	Next  string // what to do
	Retry bool   // the same command may succeed when it is run again
}

// meaning is what a message tells by itself.
type meaning struct {
	kind      Kind
	why, next string
	retry     bool
}

var saysHost = regexp.MustCompile(`^(?:\.\. )?(\S{1,64}?)(?: pid \d+)?: Test (?:NCCL |CUDA |HIP )?(?:failure|timeout)`)

// said recognises a message. The first is the cause; a weak one follows from another,
// and counts when no other was printed.
func (r *reader) said(num int, line string) bool {
	low := strings.ToLower(line)
	for _, m := range warnings {
		if strings.Contains(low, m.has) {
			if len(r.rep.Warnings) < maxWarnings {
				r.rep.Warnings = append(r.rep.Warnings, m.problem(num, line))
			}
			return true
		}
	}
	for _, m := range messages {
		if strings.Contains(low, m.has) {
			r.problem(num, line, m.meaning)
			return true
		}
	}
	for _, m := range weak {
		if strings.Contains(low, m.has) {
			if r.weak == nil {
				r.weak = new(m.problem(num, line))
			}
			return true
		}
	}
	return false
}

func (r *reader) problem(num int, line string, m meaning) {
	if r.rep.Problem == nil {
		r.rep.Problem = new(m.problem(num, line))
	}
}

func (m meaning) problem(num int, line string) Problem {
	p := Problem{Kind: m.kind, Line: num, Said: clean(line), Why: m.why, Next: m.next, Retry: m.retry}
	if h := saysHost.FindStringSubmatch(line); h != nil {
		p.Host = clean(h[1])
	}
	return p
}

// maxSaid is ours: three terminal lines.
const maxSaid = 240

// clean makes foreign text safe to print.
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
	return strings.TrimSpace(s)
}
