package nccllog

import (
	"bytes"
	"fmt"
	"testing"
)

// made writes the log of a job as NCCL 2.27 would: nodes × gpus ranks, over a network,
// with rings of some channels. The ranks take turns, as they do behind mpirun.
func made(nodes, gpus, channels int, via func(rank int) string) []byte {
	var b bytes.Buffer
	n := nodes * gpus
	host := func(r int) string { return fmt.Sprintf("gpu%02d", r/gpus+1) }
	say := func(r int, format string, args ...any) {
		fmt.Fprintf(&b, "%s:%d:%d [%d] NCCL INFO %s\n", host(r), 4000+r, 5000+r, r%gpus, fmt.Sprintf(format, args...))
	}
	say(0, "Bootstrap: Using eno1:10.1.0.1<0>")
	say(0, "NCCL version 2.27.6+cuda12.9")
	for r := range n {
		say(r, "NET/Plugin: Could not find: libnccl-net.so. ")
		line := "NET/IB : Using"
		for d := range gpus {
			line += fmt.Sprintf(" [%d]mlx5_%d:1/RoCE", d, d)
		}
		say(r, "%s [RO]; OOB eno1:10.1.0.%d<0>", line, r/gpus+1)
		say(r, "Using network IB")
		say(r, "ncclCommInitRankConfig comm 0x55550%04x rank %d nranks %d cudaDev %d nvmlDev %d busId %x000 commId 0x5f3759df - Init START", r, r, n, r%gpus, r%gpus, 16+r%gpus)
	}
	for r := range n {
		say(r, "comm 0x55550%04x rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0", r, r, n, nodes, gpus, r%gpus)
	}
	for c := range channels {
		for r := range n {
			next, before := (r+1)%n, (r+n-1)%n
			if next/gpus == r/gpus {
				say(r, "Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM", c, r, r%gpus, next, next%gpus)
			} else {
				say(r, "Channel %02d/0 : %d[%d] -> %d[%d] [send] via NET/%s", c, r, r%gpus, next, next%gpus, via(r))
			}
			if before/gpus != r/gpus {
				say(r, "Channel %02d/0 : %d[%d] -> %d[%d] [receive] via NET/%s", c, before, before%gpus, r, r%gpus, via(r))
			}
		}
	}
	for r := range n {
		say(r, "ncclCommInitRankConfig comm 0x55550%04x rank %d nranks %d cudaDev %d nvmlDev %d busId %x000 commId 0x5f3759df - Init COMPLETE", r, r, n, r%gpus, r%gpus, 16+r%gpus)
	}
	return b.Bytes()
}

func direct(rank int) string { return fmt.Sprintf("IB/%d/GDRDMA", rank%8) }

// BenchmarkRead is how quick a log is read: 8 nodes of 8 GPUs, mostly channel lines,
// the slowest kind.
func BenchmarkRead(b *testing.B) {
	log := made(8, 8, 64, direct)
	for len(log) < 16<<20 {
		log = append(log, log...)
	}
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(log)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadOther is the same for lines that are not NCCL's.
func BenchmarkReadOther(b *testing.B) {
	line := []byte("2026-03-01 12:00:00,123 INFO worker.py:88 step 1200 loss 2.31 lr 3.0e-4 tokens/s 51234 grad 1.2\n")
	log := append(made(1, 2, 2, direct), bytes.Repeat(line, (16<<20)/len(line))...)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(log)); err != nil {
			b.Fatal(err)
		}
	}
}
