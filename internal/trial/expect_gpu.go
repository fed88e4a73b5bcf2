package trial

import (
	"fmt"
	"strings"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/platform"
)

// memoryShare is the part of a GPU's stated memory bandwidth that copies reach, reading and
// writing together; refreshing and turning the bus take the rest. An H200 gave 4152 of 4800
// GB/s, 86 %, to weft's own copies.
const memoryShare = 0.85

// expectMemory is what copies inside a GPU's memory should reach, by its model.
func expectMemory(s *side) hope {
	if s.node == nil {
		return hope{why: s.none}
	}
	var gpu *fact.GPU
	for _, g := range s.node.GPUs {
		if s.Port == "" || s.Port == fmt.Sprintf("gpu%d", g.Index) {
			gpu = g
			break
		}
	}
	if gpu == nil {
		return hope{why: "nothing is known of " + s.End.String()}
	}
	name := gpu.Name
	if name == "" {
		name = strings.TrimSpace(gpu.Vendor + " " + gpu.Arch)
	}
	rate, _, ok := platform.MemoryRate(gpu)
	if !ok {
		return hope{why: "weft does not know how quick the memory of " + name + " should be"}
	}
	want := Amount(float64(rate) * memoryShare)
	return hope{want: want, could: want, limiter: fmt.Sprintf("memory of %s, %d GB/s", name, rate/8e9)}
}

// staged is how many times slower GPU memory is than host memory where every transfer is
// copied through the host (CHECKS.md: five times; half of that is no other thing either).
const staged = 2.5

// judgeDirect holds RDMA between GPU memories against the same between host memories, which
// it should reach within a few per cent (CHECKS.md, expected numbers).
func judgeDirect(got, high, host Amount) Verdict {
	v := Verdict{Want: fact.Some(host), Limiter: "what the same pair reaches between the memories of the hosts"}
	v.Status = band(got, high, host)
	switch {
	case float64(max(got, high))*staged < float64(host):
		v.Status, v.Why = check.Fail, "every transfer is copied through host memory: GPUDirect is not used"
	case v.Status != check.Pass:
		v.Why = fmt.Sprintf("%d %% of what host memory reaches: the way between GPU and NIC is long or narrow", 100*got/max(host, 1))
	}
	return v
}
