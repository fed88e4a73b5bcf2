package job

import (
	"fmt"
	"strings"
	"time"

	"weft/internal/format/raystatus"
)

// Sample is one look at a launch that starts.
type Sample struct {
	At    time.Time
	Lines int    // that all parts have said so far
	CPU   uint64 // nanoseconds that all parts have computed so far
	CPUOK bool   // CPU is known of every part
	GPU   []int  // per cent in use, of every GPU that could be asked
}

const (
	idleGPU = 5    // per cent: what a GPU shows that nobody uses
	idleCPU = 0.10 // of one processor, all parts together: pollers and heartbeats
	patient = 3    // times as long, where the processors compute and only GPUs are idle
)

// Hangs says that nothing has moved for as long as silence: no line, no GPU, no processor.
// Where processors are busy while GPUs are idle (compiling, unpacking) it waits longer; where
// GPUs cannot be asked, processors alone decide; where GPUs are busy it is no hang of this
// kind, and only a deadline ends it.
func Hangs(all []Sample, silence time.Duration) (why string, yes bool) {
	if len(all) < 3 || silence <= 0 {
		return "", false
	}
	last := all[len(all)-1]
	first := len(all) - 1
	for first > 0 && all[first-1].Lines == last.Lines && all[first-1].CPU <= last.CPU {
		first--
	}
	quiet := last.At.Sub(all[first].At)
	if quiet < silence || len(all)-first < 3 {
		return "", false
	}
	gpu, known := 0, false
	for _, s := range all[first+1:] {
		for _, g := range s.GPU {
			known, gpu = true, max(gpu, g)
		}
	}
	cpu := float64(last.CPU-all[first].CPU) / float64(quiet.Nanoseconds())
	busy := !last.CPUOK || !all[first].CPUOK || cpu > idleCPU
	switch {
	case known && gpu > idleGPU, !known && busy:
		return "", false
	case busy && quiet < patient*silence:
		return "", false
	}
	words := fmt.Sprintf("no word for %s", quiet.Round(time.Second))
	if known {
		words += fmt.Sprintf(", GPUs idle (%d %% at most)", gpu)
	} else {
		words += ", the GPUs could not be asked"
	}
	if last.CPUOK && all[first].CPUOK {
		words += fmt.Sprintf(", processors at %.0f %% of one", 100*cpu)
	}
	return words, true
}

// RaySays judges ray status: whether all is there, and if not, what is missing.
func (l *Launch) RaySays(s raystatus.Status, w *Wait) (ok bool, what string) {
	gpus := int(s.Total("GPU"))
	if s.Nodes() >= w.Nodes && gpus >= w.GPUs {
		return true, fmt.Sprintf("Ray has %d nodes and %d GPUs", s.Nodes(), gpus)
	}
	what = fmt.Sprintf("Ray has %d of %d nodes and %d of %d GPUs", s.Nodes(), w.Nodes, gpus, w.GPUs)
	for _, other := range []string{"TPU", "NPU", "HPU", "neuron_cores"} {
		if n := s.Total(other); n > 0 {
			what += fmt.Sprintf("; it counts %g as %s", n, other)
		}
	}
	if len(s.Failures) > 0 {
		what += "; lately failed: " + cut(strings.Join(s.Failures, ", "), 200)
	}
	return false, what
}
