package transport

import (
	"bytes"
	"encoding/json"
	"testing"

	"weft/internal/check"
	"weft/internal/fixture"
	"weft/internal/format/nccllog"
)

// FuzzJudge: whatever was read, judging ends, says the same twice, and never calls a log
// fine that does not tell what was used.
func FuzzJudge(f *testing.F) {
	fixture.Seed(f, "nccl_*", "rccl_*", "vllm_ray_worker*", "nccl-tests_broadcast_socket*")
	f.Add([]byte("h:1:1 [0] NCCL INFO comm 0xa rank 0 nRanks 2 nNodes 2 localRanks 1\nh:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := nccllog.Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		v := Judge(l, Expect{})
		one, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if two, _ := json.Marshal(Judge(l, Expect{})); !bytes.Equal(one, two) {
			t.Fatalf("two answers:\n%s\n%s", one, two)
		}
		for i, x := range v.Findings {
			if x.ID == "" || x.Got == "" || x.Count < 1 || i > 0 && x.Status > v.Findings[i-1].Status {
				t.Fatalf("finding %d: %+v", i, x)
			}
		}
		loud := v.Counts[check.Fail.String()] + v.Counts[check.Unknown.String()] + v.Counts[check.Warn.String()]
		if rdma, ok := v.RDMA.Get(); ok && !rdma && v.Expect.Want == "" && loud == 0 {
			t.Fatalf("sockets, nothing expected, and nobody says so: %s", one)
		}
		if v.Next == "" {
			t.Fatal("no next command")
		}
	})
}
