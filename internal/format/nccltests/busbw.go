package nccltests

import (
	"fmt"
	"math"
	"strings"

	"weft/internal/unit"
)

// factors are the bus bandwidth over the algorithm bandwidth for n ranks, as the getBw
// functions of nccl-tests have them (doc/PERFORMANCE.md there says why).
var factors = map[string]func(n float64) float64{
	"allreduce":     func(n float64) float64 { return 2 * (n - 1) / n },
	"allreducebias": func(n float64) float64 { return 2 * (n - 1) / n }, // rccl-tests
	"allgather":     part,
	"reducescatter": part,
	"alltoall":      part,
	"alltoallv":     part,
	"gather":        part,
	"scatter":       part,
	"hypercube":     one, // its algorithm bandwidth is less: see BusBW
	"broadcast":     one,
	"reduce":        one,
	"sendrecv":      one,
}

func part(n float64) float64 { return (n - 1) / n }
func one(float64) float64    { return 1 }

// BusBW returns the algorithm bandwidth and the bus bandwidth of an operation. bytes is
// the size that nccl-tests prints: for a gather, a scatter, an all-gather, a
// reduce-scatter and an all-to-all what all ranks hold together. The op is written as
// programs, PyTorch or people do: "all_reduce", "AllReduce", "all_reduce_perf".
func BusBW(op string, bytes int64, seconds float64, ranks int) (alg, bus unit.Rate, err error) {
	factor, ok := factors[key(op)]
	switch {
	case !ok:
		return 0, 0, fmt.Errorf("operation %.40q is not known", op)
	case bytes < 0 || ranks < 1 || !(seconds > 0) || math.IsInf(seconds, 1):
		return 0, 0, fmt.Errorf("%s: %d bytes in %g seconds over %d ranks", op, bytes, seconds, ranks)
	}
	a := float64(bytes) * 8 / seconds
	if key(op) == "hypercube" {
		a *= part(float64(ranks))
	}
	b := a * factor(float64(ranks))
	if max(a, b) > maxRate {
		return 0, 0, fmt.Errorf("%s: %d bytes in %g seconds is more than can be", op, bytes, seconds)
	}
	return unit.Rate(math.Round(a)), unit.Rate(math.Round(b)), nil
}

// key is an operation without what writers add: "all_to_all_single" is "alltoall".
func key(op string) string {
	op = strings.ToLower(op)
	op = strings.TrimSuffix(op, "_mpi")
	op = strings.TrimSuffix(op, "_perf")
	op = strings.TrimSuffix(op, "_single")
	op = strings.TrimSuffix(op, "_into_tensor")
	op = strings.TrimSuffix(op, "_tensor")
	op = strings.NewReplacer("_", "", "-", "", " ", "").Replace(op)
	if op == "batchisendirecv" {
		return "sendrecv"
	}
	return op
}

// maxRate is more than any link of a machine: a broken clock, not a fast network.
const maxRate = 1e17 // bits a second
