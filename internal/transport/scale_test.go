package transport

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"weft/internal/format/nccllog"
)

// TestScale judges a job of 4,096 ranks, and a log that is nothing but different names,
// in the time that a person waits for an answer.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 100 MB")
	}
	var b bytes.Buffer
	const nodes, gpus = 512, 8
	for r := range nodes * gpus {
		who := fmt.Sprintf("gpu%04d:%d:%d [%d] NCCL INFO ", r/gpus, 1000+r, 2000+r, r%gpus)
		fmt.Fprintf(&b, "%sncclCommInitRankConfig comm 0xa%d rank %d nranks %d cudaDev %d nvmlDev %d busId 1000 commId 0xc0ffee - Init START\n", who, r, r, nodes*gpus, r%gpus, r%gpus)
		fmt.Fprintf(&b, "%scomm 0xa%d rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0\n", who, r, r, nodes*gpus, nodes, gpus, r%gpus)
		for c := range 32 {
			fmt.Fprintf(&b, "%sChannel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d/GDRDMA\n", who, c, r, r%gpus, (r+gpus)%(nodes*gpus), r%gpus, r%gpus)
			fmt.Fprintf(&b, "%sChannel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM\n", who, c, r, r%gpus, r/gpus*gpus+(r+1)%gpus, (r+1)%gpus)
		}
		fmt.Fprintf(&b, "%sncclCommInitRankConfig comm 0xa%d rank %d nranks %d cudaDev %d nvmlDev %d busId 1000 commId 0xc0ffee - Init COMPLETE\n", who, r, r, nodes*gpus, r%gpus, r%gpus)
	}
	size := b.Len()
	began := time.Now()
	l, err := nccllog.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	read := time.Since(began)
	began = time.Now()
	v := Judge(l, Expect{})
	t.Logf("4,096 ranks: %d MB read in %v, judged in %v", size>>20, read, time.Since(began))
	if len(v.Rows) != 2 || FoldRanks(v.Rows[0].Ranks) != "0-4095" || v.Counts["fail"] != 0 || len(v.Over) != 0 {
		t.Errorf("%d rows, %v, %v", len(v.Rows), v.Counts, v.Over)
	}

	b.Reset()
	for i := range 40_000 {
		fmt.Fprintf(&b, "h%d:%d:1 [0] NCCL INFO comm 0x%x rank 0 nranks 2 cudaDev 0 busId 1 commId 0x%x - Init START\n", i%20000, i%20000, i, i)
		fmt.Fprintf(&b, "h%d:%d:1 [0] NCCL INFO comm 0x%x rank 0 nRanks 2 nNodes 2\n", i%20000, i%20000, 1_000_000+i)
		fmt.Fprintf(&b, "h%d:%d:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/n%d/0\n", i%20000, i%20000, i%5000)
		fmt.Fprintf(&b, "h%d:%d:1 [0] x.cc:1 NCCL WARN unheard of %c%c%c\n", i%20000, i%20000, 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26)
		fmt.Fprintf(&b, "# Rank %d Group 0 Pid %d on h%d device 0 [0x00] GPU\n", i, i%20000, i%20000)
	}
	size = b.Len()
	began = time.Now()
	if l, err = nccllog.Read(&b); err != nil {
		t.Fatal(err)
	}
	read = time.Since(began)
	began = time.Now()
	v = Judge(l, Expect{})
	took := time.Since(began)
	t.Logf("nothing but names: %d MB read in %v, judged in %v", size>>20, read, took)
	if took > time.Minute {
		t.Errorf("judged in %v", took)
	}
}
