package trial

import (
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/sample"
)

func TestCollectives(t *testing.T) {
	one := sample.RoCE("n", 4) // with one NIC of 200 Gb/s each, as in seed 001
	for i := range one.Want.Nodes {
		one.Want.Nodes[i].Data = one.Want.Nodes[i].Data[:1]
	}
	server, both := made(one), made(sample.RoCE("n", 2))
	sparks := made(sample.Sparks("spark"))
	tests := []struct {
		source       string
		c            *check.Case
		trial        string
		nodes, ranks int
		bytes        int64
		gbs          float64 // GB/s
		want         check.Status
		why          string
	}{
		{"seed 001: two nodes of four GPUs, 20 to 24", server, "nccl.allreduce", 2, 8, 1 << 30, 20, check.Pass, ""},
		{"seed 001", server, "nccl.allreduce", 2, 8, 1 << 30, 24, check.Pass, ""},
		{"seed 001: four nodes, 20 to 22", server, "nccl.allreduce", 4, 16, 1 << 30, 20, check.Pass, ""},
		{"seed 001: a fifth is no RDMA", server, "nccl.allreduce", 4, 16, 1 << 30, 4, check.Fail, "each rank's share"},
		{"playbooks PR 103: release build", sparks, "nccl.allgather", 2, 2, 16 << 30, 23.74, check.Pass, ""},
		{"playbooks PR 103: development build", sparks, "nccl.allgather", 2, 2, 16 << 30, 3.04, check.Fail, "each rank's share"},
		{"tonyd2wild PR 35: both halves, 161 Gb/s", sparks, "nccl.allreduce", 2, 2, 1 << 30, 161.0 / 8, check.Pass, ""},
		{"tonyd2wild PR 35: one half, 98 Gb/s", sparks, "nccl.allreduce", 2, 2, 1 << 30, 98.0 / 8, check.Fail, "one of the 2 ports"},
		{"between", server, "nccl.allreduce", 2, 8, 1 << 30, 18, check.Warn, ""},
		{"one of two NICs", both, "nccl.allreduce", 2, 8, 1 << 30, 23, check.Fail, "one of the 2 ports"},
		{"small messages", server, "nccl.allreduce", 2, 8, 1 << 20, 2, check.Unknown, "1 MiB show little"},
		{"one node with NVLink, 200 to 500", server, "nccl.allreduce", 1, 4, 1 << 30, 230, check.Pass, ""},
		{"one node with NVLink that is not used", server, "nccl.allreduce", 1, 4, 1 << 30, 20, check.Fail, ""},
		{"one rank", server, "nccl.allreduce", 1, 1, 1 << 30, 20, check.Unknown, "nobody to talk to"},
		{"Soft-RoCE", rxe(made(sample.RoCE("n", 2))), "nccl.allreduce", 2, 2, 1 << 30, 0.02, check.Unknown, "Soft-RoCE has no rate of its own"},
		{"all-to-all needs less", server, "nccl.alltoall", 4, 16, 1 << 30, 4, check.Pass, ""},
	}
	for _, tt := range tests {
		cell := Cell{Trial: tt.trial, Got: fact.Some(Amount(tt.gbs * 8e9)), Tests: 1,
			Collective: &Collective{Nodes: tt.nodes, Ranks: tt.ranks, Rows: []CollectiveRow{{Bytes: tt.bytes}}}}
		cells, problems := Judge(tt.c, []Cell{cell})
		if cells[0].Status != tt.want || !strings.Contains(cells[0].Why, tt.why) {
			t.Errorf("%s: %g GB/s is %v of %s by %q: %s", tt.source, tt.gbs, cells[0].Status, BitsPerSecond.Text(cells[0].Want.Or(0)), cells[0].Limiter, cells[0].Why)
		}
		if loud := tt.want == check.Fail || tt.want == check.Warn; loud != (len(problems) == 1) {
			t.Errorf("%s: problems %+v", tt.source, problems)
		}
	}
	cell := Cell{Trial: "nccl.allreduce", Got: fact.Some(Amount(8e9)), Collective: &Collective{Nodes: 2, Ranks: 2, Socket: true, Transport: "NET/Socket", Rows: []CollectiveRow{{Bytes: 1 << 30}}}}
	cells, problems := Judge(server, []Cell{cell})
	if cells[0].Status != check.Fail || !strings.Contains(cells[0].Why, "NET/Socket") || len(problems) != 1 {
		t.Errorf("sockets: %v %q %+v", cells[0].Status, cells[0].Why, problems)
	}
}

func TestPerNIC(t *testing.T) {
	if got := PerNIC(92*8e9, 4, 32); got != 71225806451 { // stas00's four nodes of eight: 8.9 GB/s a NIC
		t.Errorf("got %d", got)
	}
	if got := PerNIC(1e9, 1, 1); got != 0 {
		t.Errorf("one rank: got %d", got)
	}
}
