package transport

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"weft/internal/fixture"
	"weft/internal/format/nccllog"
)

// seen is what a careful reader takes from a log.
type seen struct {
	between string // the transport between nodes
	rdma    string // "true", "false", "" unknown
	direct  string
	inside  string
	expect  string   // what the log shows to be expected
	found   []string // "status id: part of got" of everything that is not a pass
}

// fixtures are what real jobs printed; see the source named in each.
var fixtures = map[string]seen{
	"nccl_debug_227_bootstrap_socket_ifname.txt": { // sharing nothing but how it began
		found: []string{"unknown nccl.lines: no line says which transport"}},
	"nccl_debug_asymmetric_hca_channels.txt": {between: "NET/IB", rdma: "true", direct: DirectSome, expect: "rdma",
		found: []string{"fail nccl.open: erdma_1 could not be opened", "warn nccl.direct: some channels without GPUDirect RDMA: device 1"}},
	"nccl_debug_async_port_error_flap.txt": {expect: "rdma",
		found: []string{"fail nccl.async: mlx5_32:1 lost its link twice and came back", "unknown nccl.lines"}},
	"nccl_debug_bond_roce_ibext.txt": {between: "NET/IBext_v8", rdma: "true", expect: "rdma",
		found: []string{"fail nccl.completion: completion error 12 (transport retry exceeded), vendor error 129"}},
	"nccl_debug_e810_init_complete.txt": {
		found: []string{"unknown nccl.lines"}},
	"nccl_debug_gdr_disabled_roce.txt": {between: "NET/IB", rdma: "true", direct: DirectNo, expect: "rdma",
		found: []string{"unknown nccl.init: initialisation is not complete", "warn nccl.direct: without GPUDirect RDMA: neither nvidia_peermem nor dma-buf works with mlx5_[0-1]"}},
	"nccl_debug_gin_net_plugin_229.txt": {between: "NET/IB", rdma: "true", expect: "rdma",
		found: []string{"unknown nccl.init"}},
	"nccl_debug_ib_error12_vendor129.txt": {between: "NET/IB", rdma: "true", expect: "rdma",
		found: []string{"fail nccl.completion: completion error 12 (transport retry exceeded), vendor error 129", "warn nccl.layers: InfiniBand ibP111p0s0 and RoCE rdmaP1111p0s2"}},
	"nccl_debug_ib_sharp_ibext_v8.txt": {expect: "rdma",
		found: []string{"unknown nccl.lines: no line says", "warn nccl.bootstrap: bootstrap over ib0.0065"}},
	"nccl_debug_ibv_modify_qp_errno19_gid0.txt": {between: "NET/IB", rdma: "true", expect: "rdma",
		found: []string{"fail nccl.qp: ibv_modify_qp: No such device (errno 19), GID index 0 (link-local)", "skip nccl.warning: Call to ibv_set_ece"}},
	"nccl_debug_init_complete_timings_2.2x.txt": {
		found: []string{"warn nccl.alone: 2 processes, each alone"}},
	"nccl_debug_net_lines.txt": {expect: "rdma", // lists of several jobs: what is offered decides nothing
		found: []string{"unknown nccl.lines: no line says", "warn nccl.layers: InfiniBand mlx5_[0-7] and RoCE mlx5_bond_0"}},
	"nccl_debug_no_libibverbs_socket_vllm.txt": {between: "NET/Socket", rdma: "false",
		found: []string{"unknown nccl.socket: NET/Socket, because libibverbs could not be opened"}},
	"nccl_debug_roce_bootstrap_h100.txt": {between: "NET/IB", rdma: "true", expect: "rdma",
		found: []string{"warn nccl.version: words its messages like another release than dgxh100-3"}},
	"nccl_debug_socket_fallback_no_ib_in_container.txt": {between: "NET/Socket", rdma: "false", expect: "rdma",
		found: []string{"fail nccl.socket: NET/Socket, because no RDMA device was found"}},
	"nccl_debug_spark_ray_channels.txt": {between: "NET/IB", rdma: "true", expect: "rdma"},
	"nccl_plugin_mismatch_between_nodes.txt": {expect: "rdma",
		found: []string{"fail nccl.plugin: no net plugin", "unknown nccl.lines"}},
	"rccl_debug_7900xtx_rocm7.14.txt": {
		found: []string{"unknown nccl.device: no RDMA device was found", "unknown nccl.lines", "warn nccl.build: RCCL 2.30.4-HEAD:2b22ab0 of ROCm 7.14.0.0-9999", "warn nccl.bootstrap: bootstrap over eth0 (172.17.0.2)", "skip nccl.warning: cuMem"}},
	"nccl-tests_broadcast_socket_no_libibverbs.txt": {between: "NET/Socket", rdma: "false",
		found: []string{"unknown nccl.socket: NET/Socket, because libibverbs could not be opened"}},
	"vllm_ray_worker_nccl_p2p_32ranks.txt": {inside: "P2P/IPC",
		found: []string{"unknown nccl.lines: no line says what carries the traffic between nodes"}},
	"rccl_ras_v2283_connection_reset.txt": {found: []string{"unknown nccl.ras: read socket: Connection reset by peer"}},
	"rccl_ras_v2283_degraded.txt":         {found: []string{"fail nccl.ras: INCOMPLETE: Missing communicator data from 1 rank"}},
	"rccl_ras_v2283_healthy.txt":          {},
	"rccl_ras_v2289_degraded.json":        {found: []string{"fail nccl.ras: ERROR: asynchronous error 5", "fail nccl.ras: INCOMPLETE: no data from it"}},
	"rccl_ras_v2289_healthy.json":         {},
}

func TestFixtures(t *testing.T) {
	for _, name := range fixture.All(t) {
		if _, ok := fixtures[name]; !ok && (strings.HasPrefix(name, "nccl_debug") || strings.HasPrefix(name, "nccl_plugin") || strings.HasPrefix(name, "rccl_")) {
			t.Errorf("%s is read by no test", name)
		}
	}
	for name, want := range fixtures {
		t.Run(name, func(t *testing.T) {
			l, err := nccllog.Read(bytes.NewReader(fixture.Read(t, name)))
			if err != nil {
				t.Fatal(err)
			}
			check1(t, Judge(l, Expect{}), want)
		})
	}
}

func check1(t *testing.T, v Verdict, want seen) {
	t.Helper()
	rdma := ""
	if r, ok := v.RDMA.Get(); ok {
		rdma = fmt.Sprint(r)
	}
	if v.Between != want.between || rdma != want.rdma || v.Direct != want.direct || strings.Join(v.Inside, ", ") != want.inside || v.Expect.Want != want.expect {
		t.Errorf("between %q, rdma %q, direct %q, inside %q, expect %q (%s)\nwant    %q, rdma %q, direct %q, inside %q, expect %q", v.Between, rdma, v.Direct, strings.Join(v.Inside, ", "), v.Expect.Want, v.Expect.Why,
			want.between, want.rdma, want.direct, want.inside, want.expect)
	}
	var loud []string
	for _, f := range v.Findings {
		if f.Status.String() != "pass" {
			loud = append(loud, fmt.Sprintf("%s %s: %s", f.Status, f.ID, f.Got))
		}
	}
	bad := len(loud) != len(want.found)
	for i := range min(len(loud), len(want.found)) {
		bad = bad || !strings.HasPrefix(loud[i], want.found[i])
	}
	if bad {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(loud, "\n  "), strings.Join(want.found, "\n  "))
	}
	if v.Next == "" {
		t.Error("no next command")
	}
}

// TestFixturesRanks looks closer at some: whose a finding is, and where it stands.
func TestFixturesRanks(t *testing.T) {
	for name, want := range map[string]string{
		"nccl_debug_gdr_disabled_roce.txt":              "nccl.direct ranks 0 on [hostname1] line 6",
		"nccl-tests_broadcast_socket_no_libibverbs.txt": "nccl.socket ranks 0-1 on [v100-gpu-1 v100-gpu-5] line 8",
		"rccl_ras_v2283_degraded.txt":                   "nccl.ras ranks 6 on [10.194.132.77] line 26",
		"nccl_plugin_mismatch_between_nodes.txt":        "nccl.plugin ranks  on [HGX-H100-11] line 2",
		"nccl_debug_ib_error12_vendor129.txt":           "nccl.completion ranks  on [node-2] line 3",
		"nccl_debug_bond_roce_ibext.txt":                "nccl.completion ranks  on [hostname-test] line 5",
	} {
		l, err := nccllog.Read(bytes.NewReader(fixture.Read(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(want, " ")
		for _, f := range Judge(l, Expect{}).Findings {
			if f.ID == id {
				if got := fmt.Sprintf("%s ranks %s on %v %s", f.ID, FoldRanks(f.Ranks), f.Hosts, f.At); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
		}
	}
	l, err := nccllog.Read(bytes.NewReader(fixture.Read(t, "nccl_debug_gin_net_plugin_229.txt")))
	if err != nil {
		t.Fatal(err)
	}
	if v := Judge(l, Expect{}); v.Ranks != 8 || v.Seen != 1 || fmt.Sprint(v.GIN) != "[GIN_IB_GDAKI]" || len(v.Hosts) != 2 {
		t.Errorf("%d ranks, %d seen, GIN %v, hosts %v", v.Ranks, v.Seen, v.GIN, v.Hosts)
	}
}

// TestFixturesExpect: with the owner's word, the same log is a failure or fine.
func TestFixturesExpect(t *testing.T) {
	for _, c := range []struct{ name, expect, want string }{
		{"nccl_debug_no_libibverbs_socket_vllm.txt", "rdma", "fail"},
		{"nccl_debug_no_libibverbs_socket_vllm.txt", "socket", "pass"},
		{"nccl_debug_no_libibverbs_socket_vllm.txt", "any", "pass"},
		{"nccl-tests_broadcast_socket_no_libibverbs.txt", "rdma", "fail"},
		{"nccl_debug_socket_fallback_no_ib_in_container.txt", "socket", "pass"},
		{"nccl_debug_spark_ray_channels.txt", "socket", "fail"},
		{"nccl_debug_spark_ray_channels.txt", "any", "pass"},
	} {
		l, err := nccllog.Read(bytes.NewReader(fixture.Read(t, c.name)))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range Judge(l, Expect{Want: c.expect, Why: "--expect " + c.expect}).Findings {
			if f.ID == idSocket {
				got = f.Status.String()
			}
		}
		if got != c.want {
			t.Errorf("%s with --expect %s: %q, want %s", c.name, c.expect, got, c.want)
		}
	}
}
