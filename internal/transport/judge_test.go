package transport

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/internal/check"
	"weft/internal/fact"
	"weft/internal/format/nccllog"
)

// script writes logs by hand: "1.0 text" is said by process 1, GPU 0, on host n1; a line
// that begins with = is written as it is.
func script(t *testing.T, lines ...string) nccllog.Log {
	t.Helper()
	var b strings.Builder
	for _, l := range lines {
		if raw, ok := strings.CutPrefix(l, "="); ok {
			b.WriteString(raw + "\n")
			continue
		}
		who, text, _ := strings.Cut(l, " ")
		node, dev, _ := strings.Cut(who, ".")
		level := "NCCL INFO"
		if w, ok := strings.CutPrefix(text, "WARN "); ok {
			level, text = "x.cc:1 NCCL WARN", w
		}
		fmt.Fprintf(&b, "n%s:%s%s1:%s%s2 [%s] %s %s\n", node, node, dev, node, dev, dev, level, text)
	}
	log, err := nccllog.Read(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return log
}

// ranks writes the communicator lines of a job: n nodes with g GPUs each.
func ranks(n, g int, complete bool) (lines []string) {
	for r := range n * g {
		who := fmt.Sprintf("%d.%d", r/g+1, r%g)
		comm := fmt.Sprintf("comm 0xa%d rank %d", r, r)
		lines = append(lines,
			fmt.Sprintf("%s ncclCommInitRank %s nranks %d cudaDev %d nvmlDev %d busId 1000 commId 0xc0ffee - Init START", who, comm, n*g, r%g, r%g),
			fmt.Sprintf("%s %s nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0", who, comm, n*g, n, g, r%g))
		if complete {
			lines = append(lines, fmt.Sprintf("%s ncclCommInitRank %s nranks %d cudaDev %d nvmlDev %d busId 1000 commId 0xc0ffee - Init COMPLETE", who, comm, n*g, r%g, r%g))
		}
	}
	return lines
}

// via writes the channel lines between two nodes with one GPU each.
func via(one, two string) []string {
	return []string{
		"1.0 Channel 00/0 : 1[0] -> 0[0] [receive] via NET/" + one, "1.0 Channel 00/0 : 0[0] -> 1[0] [send] via NET/" + one,
		"2.0 Channel 00/0 : 0[0] -> 1[0] [receive] via NET/" + two, "2.0 Channel 00/0 : 1[0] -> 0[0] [send] via NET/" + two,
	}
}

func both(list ...any) (out []string) {
	for _, l := range list {
		switch l := l.(type) {
		case string:
			out = append(out, l)
		case []string:
			out = append(out, l...)
		}
	}
	return out
}

const (
	listed1 = "1.0 NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eno1:10.0.0.1<0>"
	listed2 = "2.0 NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eno1:10.0.0.2<0>"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		log    []string
		expect Expect
		want   seen
	}{
		{name: "InfiniBand with GPUDirect", log: both(listed1, listed2, ranks(2, 1, true), via("IB/0/GDRDMA", "IB/0/GDRDMA")),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectYes, expect: "rdma"}},
		{name: "2.4 lists sockets and uses InfiniBand", log: both("1.0 NET/Socket : Using [0]ib0:10.0.0.1<0>", "1.0 NET/Plugin : No plugin found (libnccl-net.so).", "1.0 NET/IB : Using [0]mlx5_0:1/IB ; OOB ib0:10.0.0.1<0>", "=NCCL version 2.4.7+cuda10.0",
			"1.0 comm 0x7f0001 rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init START", "1.0 Ring 00 : 1 -> 0 [receive] via NET/IB/0/GDRDMA", "1.0 Ring 00 : 0 -> 1 [send] via NET/IB/0/GDRDMA", "1.0 comm 0x7f0001 rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init COMPLETE"),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectYes, expect: "rdma"}},
		{name: "2.4 that did fall back", log: both("1.0 NET/Socket : Using [0]eno1:10.0.0.1<0>", "1.0 NET/IB : No device found.", "1.0 Ring 00 : 0 -> 1 [send] via NET/Socket/0"),
			want: seen{between: "NET/Socket", rdma: "false", found: []string{"unknown nccl.socket: NET/Socket, because no RDMA device was found"}}},
		{name: "one node on sockets", log: both(listed1, "2.0 Failed to open libibverbs.so[.1]", "1.0 Using network IB", "2.0 Using network Socket", ranks(2, 1, false)),
			want: seen{between: "NET/IB, NET/Socket", expect: "rdma", found: []string{"fail nccl.socket: NET/Socket, because libibverbs could not be opened", "fail nccl.networks: NET/IB and NET/Socket", "skip nccl.init"}}},
		{name: "disabled by a variable, ports unknown", log: both("1.0 NCCL_IB_DISABLE set by environment to 1.", "2.0 NCCL_IB_DISABLE set by environment to 1.", ranks(2, 1, true), via("Socket/0", "Socket/0")),
			want: seen{between: "NET/Socket", rdma: "false", found: []string{"warn nccl.socket: NET/Socket, because NCCL_IB_DISABLE=1 is set"}}},
		{name: "NCCL_IB_HCA names nothing", log: both("1.0 NCCL_IB_HCA set to mlx5_9", "1.0 NET/IB : No device found.", "1.0 Using network Socket", ranks(2, 1, true)[:3]),
			want: seen{between: "NET/Socket", rdma: "false", expect: "rdma", found: []string{"fail nccl.socket: NET/Socket, because no active RDMA port matches NCCL_IB_HCA=mlx5_9"}}},
		{name: "sockets over IPoIB", log: both("1.0 NET/IB : No device found.", "1.0 NET/Socket : Using [0]ib0:10.0.0.1<0>", "1.0 Using network Socket"),
			want: seen{between: "NET/Socket", rdma: "false", expect: "rdma", found: []string{"fail nccl.socket"}}},
		{name: "sockets, and nothing is known", log: both(ranks(2, 1, true), via("Socket/0", "Socket/0")),
			want: seen{between: "NET/Socket", rdma: "false", found: []string{"unknown nccl.socket: NET/Socket"}}},
		{name: "sockets, expected", log: both(ranks(2, 1, true), via("Socket/0", "Socket/0")), expect: Expect{Want: "socket", Why: "--expect socket"},
			want: seen{between: "NET/Socket", rdma: "false", expect: "socket"}},
		{name: "one node needs no network", log: both("1.0 NET/IB : No device found.", "1.0 Using network Socket", "1.1 Using network Socket", ranks(1, 2, true), "1.0 Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", "1.1 Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM"),
			want: seen{inside: "P2P/CUMEM", found: []string{"skip nccl.device"}}},
		{name: "one machine that plays two nodes", log: []string{"=h:1:1 [0] NCCL INFO comm 0xa rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0", "=h:2:2 [0] NCCL INFO comm 0xb rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
			"=h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0", "=h:2:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0"},
			want: seen{between: "NET/Socket", rdma: "false", found: []string{"unknown nccl.socket"}}},
		{name: "no GPUDirect on GB10", log: both("=#  Rank  0 Group  0 Pid   101 on n1 device  0 [0000:01:00] NVIDIA GB10", "=#  Rank  1 Group  0 Pid   201 on n2 device  0 [0000:01:00] NVIDIA GB10", ranks(2, 1, true), via("IB/0", "IB/0")),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectNo, expect: "rdma", found: []string{"skip nccl.direct: without GPUDirect RDMA, as expected on NVIDIA GB10"}}},
		{name: "no GPUDirect on H100", log: both("=#  Rank  0 Group  0 Pid   101 on n1 device  0 [0000:01:00] NVIDIA H100 80GB HBM3", "=#  Rank  1 Group  0 Pid   201 on n2 device  0 [0000:01:00] NVIDIA H100 80GB HBM3", ranks(2, 1, true), via("IB/0", "IB/0")),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectNo, expect: "rdma", found: []string{"fail nccl.direct: without GPUDirect RDMA"}}},
		{name: "no GPUDirect: too far", log: both("1.0 GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 7 > 5)", ranks(2, 1, true)[:3], via("IB/0", "IB/0")[:2]),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectNo, expect: "rdma", found: []string{"warn nccl.direct: without GPUDirect RDMA: GPU and NIC are too far apart (NCCL's distance 7, limit 5)"}}},
		{name: "no GPUDirect: asked for", log: both("1.0 NCCL_NET_GDR_LEVEL set by environment to LOC", ranks(2, 1, true)[:3], via("IB/0", "IB/0")[:2]),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectNo, expect: "rdma", found: []string{"warn nccl.direct: without GPUDirect RDMA: NCCL_NET_GDR_LEVEL=LOC is set"}}},
		{name: "GPUDirect for receives", log: both(ranks(2, 1, true)[:3], "1.0 Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA", "1.0 Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0"),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectReceives, expect: "rdma", found: []string{"skip nccl.direct: GPUDirect RDMA for receives only"}}},
		{name: "GPUDirect is possible", log: both("1.0 NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'", "1.0 Using network IB", ranks(2, 1, true)[:3]),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectPossible, expect: "rdma"}},
		{name: "NVLink between nodes", log: both(ranks(2, 1, true), "1.0 Channel 00/0 : 0[0] -> 1[0] via P2P/MNNVL", "2.0 Channel 00/0 : 1[0] -> 0[0] via P2P/MNNVL"),
			want: seen{between: "P2P/MNNVL", rdma: "true"}},
		{name: "libfabric over EFA", log: both("1.0 NET/OFI Selected Provider is efa (found 4 nics)", "2.0 NET/OFI Selected provider is efa, fabric is efa-direct", ranks(2, 1, true), via("AWS Libfabric/1/GDRDMA", "AWS Libfabric/1/GDRDMA")),
			want: seen{between: "NET/AWS Libfabric", rdma: "true", direct: DirectYes, expect: "rdma"}},
		{name: "libfabric over TCP", log: both("1.0 NET/OFI Selected Provider is tcp;ofi_rxm (found 1 nics)", ranks(2, 1, true)[:3], via("AWS Libfabric/0", "")[:2]),
			want: seen{between: "NET/AWS Libfabric", rdma: "false", found: []string{"fail nccl.provider: libfabric over tcp;ofi_rxm"}}},
		{name: "the plugin of HPC-X", log: both("1.0 P2P plugin IBext_v8", "2.0 P2P plugin IBext_v8", ranks(2, 1, true), via("IBext_v8/0/GDRDMA/Shared", "IBext_v8/0/GDRDMA")),
			want: seen{between: "NET/IBext_v8", rdma: "true", direct: DirectYes, expect: "rdma"}},
		{name: "SHARP", log: both(ranks(2, 1, true), via("IB/0/GDRDMA", "IB/0/GDRDMA"), "1.0 CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA"),
			want: seen{between: "COLLNET/SHARP, NET/IB", rdma: "true", direct: DirectYes, expect: "rdma"}},
		{name: "an unknown plugin", log: both(ranks(2, 1, true), via("Wonder/0", "Wonder/0")),
			want: seen{between: "NET/Wonder", found: []string{"warn nccl.socket: NET/Wonder"}}},
		{name: "plugin on one node, one network", log: both("1.0 Plugin Path : /opt/x/libnccl-net.so", "2.0 NET/Plugin: Could not find: libnccl-net.so.", "1.0 Using network IB", "2.0 Using network IB", ranks(2, 1, true)),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma"}},
		{name: "asymmetric, hangs", log: both("1.0 NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB e:1.1.1.1<0>", listed2, "1.0 Using network IB", "2.0 Using network IB", ranks(2, 1, false)),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma", found: []string{"fail nccl.hcas: 1 RDMA port: mlx5_0", "skip nccl.init"}}},
		{name: "asymmetric, works", log: both("1.0 NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1.1.1.1<0>", listed2, ranks(2, 1, true), via("IB/0/GDRDMA", "IB/0/GDRDMA")),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectYes, expect: "rdma", found: []string{"warn nccl.hcas: 1 RDMA port: mlx5_0"}}},
		{name: "two versions", log: both("1.0 NCCL version 2.27.6+cuda12.9", "2.0 NCCL version 2.26.2+cuda12.9", "3.0 NCCL version 2.27.6+cuda12.9", "1.0 Using network IB"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma", found: []string{"fail nccl.version: 2.26.2+cuda12.9"}}},
		{name: "NCCL itself saw two versions", log: both("1.0 WARN Mismatched NCCL version detected : rank 1 version 22705 rank 0 version 22703"),
			want: seen{found: []string{"fail nccl.version: rank 1 version 22705 rank 0 version 22703", "unknown nccl.lines"}}},
		{name: "a development build", log: both("1.0 NCCL version 2.28.0-dev+cuda12.9", "1.0 Using network IB"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma", found: []string{"warn nccl.build: NCCL 2.28.0-dev+cuda12.9, a development build"}}},
		{name: "RCCL's packages say HEAD", log: both("1.0 RCCL version : 2.27.7-HEAD:29e1567", "=HIP version  : 7.2.53211", "=ROCm version : 7.2.4.0-93-97f5574fe2", "1.0 Using network IB"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma"}},
		{name: "two libraries in one process", log: both("1.0 NCCL version 2.27.6+cuda12.9", "1.0 NCCL version 2.26.2+cuda12.9", "2.0 NCCL version 2.27.6+cuda12.9", "1.0 Using network IB"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma"}},
		{name: "lines without a host", log: []string{"= [0] NCCL INFO Channel 00/02 :    0   1   2   3", "= [0] NCCL INFO Ring 00 : 3[41000] -> 0[1b000] [receive] via NET/IB/0", "= [0] NCCL INFO Ring 00 : 0[1b000] -> 1[1c000] via P2P/IPC", "= [1] NCCL INFO Ring 00 : 1[1b000] -> 2[1c000] [send] via NET/IB/0"},
			want: seen{between: "NET/IB", rdma: "true", direct: DirectNo, inside: "P2P/IPC", expect: "rdma", found: []string{"warn nccl.direct: without GPUDirect RDMA"}}},
		{name: "NVLink SHARP", log: both(ranks(1, 2, false), "=n1:101:102 [0] transport/nvls.cc:598 NCCL WARN Cuda failure 1 'invalid argument'"),
			want: seen{found: []string{"fail nccl.cuda: CUDA: NVLS: invalid argument", "unknown nccl.lines", "skip nccl.init"}}},
		{name: "the card refused", log: both("1.0 WARN NET/IB : mlx5_0:1 Got async event : local access violation work queue error", "1.0 Using network IB"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma", found: []string{"fail nccl.async: mlx5_0:1: local access violation work queue error"}}},
		{name: "locked memory", log: both(listed1, "1.0 Using network IB", ranks(2, 1, false)[:2], "1.0 WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "1.0 transport/net_ib.cc:1 -> 2"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma", found: []string{"fail nccl.memory: ibv_reg_mr_iova2: Cannot allocate memory", "skip nccl.init"}}},
		{name: "a dead peer is an echo", log: both(ranks(2, 1, true), via("IB/0/GDRDMA", "IB/0/GDRDMA"), "1.0 WARN socketProgress: Connection closed by remote peer n2<42830>", "2.0 WARN NET/IB : Got completion from peer 10.0.0.1<33092> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_0", "2.0 transport/net.cc:1134 -> 6"),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectYes, expect: "rdma", found: []string{"fail nccl.completion: completion error 12 (transport retry exceeded), vendor error 129, on mlx5_0", "skip nccl.peer"}}},
		{name: "a dead peer alone", log: both(ranks(2, 1, true)[:3], via("IB/0/GDRDMA", "")[:2], "1.0 WARN socketProgress: Connection closed by remote peer n2<42830>"),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectYes, expect: "rdma", found: []string{"fail nccl.peer: connection closed by the peer"}}},
		{name: "a loopback", log: both("1.0 Bootstrap : Using lo:127.0.0.1<0>", "2.0 Bootstrap : Using eno1:10.0.0.2<0>", ranks(2, 1, false), "2.0 WARN socketStartConnect: Connect to 127.0.0.1<38455> failed : Connection refused"),
			want: seen{found: []string{"fail nccl.connect: cannot connect: Connection refused", "fail nccl.bootstrap: bootstrap over lo (127.0.0.1)", "unknown nccl.lines", "skip nccl.init"}}},
		{name: "a link-local bootstrap that works", log: both("1.0 Bootstrap: Using enp1s0f0np0:fe80::1%enp1s0f0np0<0>", ranks(2, 1, true), via("IB/0/GDRDMA", "IB/0/GDRDMA")),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectYes, expect: "rdma", found: []string{"warn nccl.bootstrap: bootstrap over enp1s0f0np0"}}},
		{name: "bootstrap over a data port of weft.yaml", log: both("1.0 Bootstrap: Using enp9s0np0:10.99.0.2<0>", ranks(2, 1, true), via("IB/0/GDRDMA", "IB/0/GDRDMA")), expect: Expect{Want: "rdma", Why: "weft.yaml", Netdevs: []string{"enp9s0np0"}},
			want: seen{between: "NET/IB", rdma: "true", direct: DirectYes, expect: "rdma", found: []string{"warn nccl.bootstrap: bootstrap over enp9s0np0"}}},
		{name: "one rank never came up", log: both(ranks(2, 1, true)[:3], ranks(2, 1, false)[2:], via("IB/0/GDRDMA", "IB/0/GDRDMA")),
			want: seen{between: "NET/IB", rdma: "true", direct: DirectYes, expect: "rdma", found: []string{"fail nccl.init: initialisation did not finish, while other ranks"}}},
		{name: "the network inside a node", log: both(ranks(1, 2, true), "1.0 NCCL_P2P_DISABLE set by environment to 1", "1.0 NCCL_SHM_DISABLE set by environment to 1", "1.0 Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0"),
			want: seen{inside: "NET/IB", expect: "rdma", found: []string{"warn nccl.inside: NET/IB between GPUs of one node, because NCCL_P2P_DISABLE=1 and NCCL_SHM_DISABLE=1"}}},
		{name: "P2P turned off", log: both(ranks(1, 2, true), "1.0 NCCL_P2P_DISABLE set by environment to 1", "1.0 Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"),
			want: seen{inside: "SHM/direct/direct", found: []string{"warn nccl.inside: SHM/direct/direct between GPUs of one node, because NCCL_P2P_DISABLE=1"}}},
		{name: "SHM where there is no other way", log: both(ranks(1, 2, true), "1.0 Channel 00 : 0[0] -> 1[1] via SHM/direct/direct"),
			want: seen{inside: "SHM/direct/direct"}},
		{name: "ranks that differ", log: both("1.0 NCCL_ALGO set by environment to Ring", "2.0 NCCL_ALGO set by environment to Tree", "3.0 NCCL_ALGO set by environment to Ring", "1.0 Using network IB"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma", found: []string{"fail nccl.settings: NCCL_ALGO=Tree"}}},
		{name: "no shared memory", log: both(ranks(1, 2, false), "1.0 WARN Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)"),
			want: seen{found: []string{"fail nccl.shm: shared memory: No space left on device", "unknown nccl.lines", "skip nccl.init"}}},
		{name: "a warning nobody knows", log: both(ranks(1, 1, true), "1.0 WARN the moon is full"),
			want: seen{found: []string{"warn nccl.warning: the moon is full"}}},
		{name: "errors without a cause", log: both(ranks(2, 1, false)[:2], "1.0 proxy.cc:679 -> 3"),
			want: seen{found: []string{"fail nccl.error: calls returned 3 (internal error)", "unknown nccl.lines", "skip nccl.init"}}},
		{name: "no InfiniBand is not an error", log: both("1.0 Failed to open libibverbs.so[.1]", "1.0 transport/net_ib.cc:852 -> 3", "1.0 Failed to initialize NET plugin IB", "1.0 Assigned NET plugin Socket to comm", ranks(2, 1, true)[:3]),
			want: seen{between: "NET/Socket", rdma: "false", found: []string{"unknown nccl.socket: NET/Socket, because libibverbs could not be opened"}}},
		{name: "the missing rank", log: both(ranks(1, 3, true), "1.0 Channel 00 : 0[0] -> 1[1] via P2P/CUMEM", stuck(0, 12, "ALLREDUCE"), stuck(2, 12, "ALLREDUCE")),
			want: seen{inside: "P2P/CUMEM", found: []string{"fail nccl.timeout: ALLREDUCE number 12 timed out after 600 s"}}},
		{name: "ranks out of step", log: both(ranks(1, 2, true), "1.0 Channel 00 : 0[0] -> 1[1] via P2P/CUMEM", stuck(0, 12, "ALLREDUCE"), stuck(1, 11, "BROADCAST")),
			want: seen{inside: "P2P/CUMEM", found: []string{"fail nccl.timeout: ALLREDUCE number 12", "fail nccl.timeout: BROADCAST number 11"}}},
		{name: "PyTorch repeats what NCCL said", log: both("1.0 WARN NET/IB : Got completion from peer 10.0.0.1<1> with error 12, opcode 0, len 0, vendor err 129", "=Last error:", "=NET/IB : Got completion from peer 10.0.0.1<1> with error 12, opcode 0, len 0, vendor err 129"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma", found: []string{"fail nccl.completion"}}},
		{name: "a fault of its own below a flush", log: both("1.0 WARN NET/IB : Got completion with error 5, opcode 0, len 0, vendor err 244", "1.0 WARN NET/IB : Got completion with error 11, opcode 0, len 0, vendor err 137"),
			want: seen{between: "NET/IB", rdma: "true", expect: "rdma", found: []string{"fail nccl.completion: completion error 11 (remote operation error), vendor error 137", "skip nccl.completion: completion error 5 (flushed)"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			check1(t, Judge(script(t, c.log...), c.expect), c.want)
		})
	}
}

func stuck(rank, seq int, op string) string {
	return fmt.Sprintf("=[rank%d]:[E321 ProcessGroupNCCL.cpp:607] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.", rank, rank, seq, op)
}

// TestFolds wants one line of what is equal, with ranks, nodes and devices folded.
func TestFolds(t *testing.T) {
	lines := ranks(4, 8, true)
	for r := range 32 {
		who := fmt.Sprintf("%d.%d", r/8+1, r%8)
		peer := (r + 8) % 32
		lines = append(lines, who+" NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [3]mlx5_3:1/IB [4]mlx5_4:1/IB [5]mlx5_5:1/IB [6]mlx5_6:1/IB [7]mlx5_7:1/IB [RO]; OOB e:1.1.1.1<0>")
		for c := range 16 {
			gdr := "/GDRDMA"
			if r/8 == 3 {
				gdr = ""
			}
			lines = append(lines, fmt.Sprintf("%s Channel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d%s", who, c, r, r%8, peer, r%8, r%8, gdr),
				fmt.Sprintf("%s Channel %02d/0 : %d[%d] -> %d[%d] via P2P/CUMEM", who, c, r, r%8, r/8*8+(r+1)%8, (r+1)%8))
		}
		// A tensor-parallel communicator of the node's eight ranks.
		lines = append(lines, fmt.Sprintf("%s ncclCommInitRankConfig comm 0xb%d rank %d nranks 8 cudaDev %d nvmlDev %d busId 1000 commId 0xbeef%d - Init START", who, r, r%8, r%8, r%8, r/8),
			fmt.Sprintf("%s comm 0xb%d rank %d nRanks 8 nNodes 1 localRanks 8 localRank %d MNNVL 0", who, r, r%8, r%8),
			fmt.Sprintf("%s Channel 00/0 : %d[%d] -> %d[%d] via P2P/CUMEM", who, r%8, r%8, (r+1)%8, (r+1)%8),
			fmt.Sprintf("%s ncclCommInitRankConfig comm 0xb%d rank %d nranks 8 cudaDev %d nvmlDev %d busId 1000 commId 0xbeef%d - Init COMPLETE", who, r, r%8, r%8, r%8, r/8))
	}
	v := Judge(script(t, lines...), Expect{})
	var got []string
	for _, r := range v.Rows {
		got = append(got, fmt.Sprintf("%d of %d: ranks %s on %d, %s, %d channels, %s %v %s", r.Comms, r.Size, FoldRanks(r.Ranks), len(r.Hosts), r.Where, r.Most, r.Transport, len(r.Devices), r.Direct))
	}
	want := []string{
		"1 of 32: ranks 24-31 on 1, between nodes, 16 channels, NET/IB 8 no",
		"1 of 32: ranks 0-23 on 3, between nodes, 16 channels, NET/IB 8 yes",
		"1 of 32: ranks 0-31 on 4, inside a node, 16 channels, P2P/CUMEM 0 ",
		"4 of 8: ranks 0-7 on 4, inside a node, 1 channels, P2P/CUMEM 0 ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	n := 0
	for _, f := range v.Findings {
		if f.Status == check.Warn {
			n++
			if FoldRanks(f.Ranks) != "24-31" || len(f.Hosts) != 1 || f.ID != idDirect {
				t.Errorf("the finding: %+v", f)
			}
		}
	}
	if n != 1 || v.Ranks != 32 || v.Seen != 32 || v.Nodes != 4 || len(v.Comms) != 5 {
		t.Errorf("%d warnings, %d ranks, %d seen, %d nodes, %d communicators", n, v.Ranks, v.Seen, v.Nodes, len(v.Comms))
	}
}

// TestSplits puts the halves of a split communicator together by parent, count and colour.
func TestSplits(t *testing.T) {
	lines := ranks(2, 2, true)
	for r := range 4 {
		lines = append(lines, fmt.Sprintf("%d.%d ncclCommSplit comm 0xd%d rank %d nranks 2 cudaDev %d nvmlDev %d busId 1000 parent 0xa%d splitCount 1 color %d key 0- Init START", r/2+1, r%2, r, r/2, r%2, r%2, r, r%2),
			fmt.Sprintf("%d.%d Channel 00/0 : %d[%d] -> %d[%d] [send] via NET/IB/0/GDRDMA", r/2+1, r%2, r/2, r%2, 1-r/2, r%2))
	}
	v := Judge(script(t, lines...), Expect{})
	if len(v.Comms) != 3 {
		t.Fatalf("%d communicators, want 3", len(v.Comms))
	}
	for _, c := range v.Comms[1:] {
		if len(c.Ranks) != 2 || c.Ranks[0].Dev != c.Ranks[1].Dev || c.Ranks[0].Host == c.Ranks[1].Host || len(c.Ranks[0].Uses) != 1 {
			t.Errorf("a split of %+v", c.Ranks)
		}
	}
}

// TestFacts uses what is known of the nodes: their GPUs, and their RDMA ports.
func TestFacts(t *testing.T) {
	c := fact.Cluster{Nodes: []*fact.Node{{Name: "n1", GPUs: []*fact.GPU{{Name: "NVIDIA GB10"}}, Ports: []*fact.Port{{Name: "rocep1s0f0/1", State: "ACTIVE"}}}, {Name: "n2", GPUs: []*fact.GPU{{Vendor: "AMD", Arch: "gfx1151"}}}}}
	v := Judge(script(t, both(ranks(2, 1, true), via("IB/0", "IB/0"))...), Expect{Facts: &c})
	check1(t, v, seen{between: "NET/IB", rdma: "true", direct: DirectNo, expect: "rdma", found: []string{"skip nccl.direct: without GPUDirect RDMA, as expected on NVIDIA GB10", "skip nccl.direct: without GPUDirect RDMA, as expected on gfx1151"}})
	v = Judge(script(t, both(ranks(2, 1, true), via("Socket/0", "Socket/0"))...), Expect{Facts: &c})
	check1(t, v, seen{between: "NET/Socket", rdma: "false", expect: "rdma", found: []string{"fail nccl.socket: NET/Socket"}})
}

// TestSameAnswer: the same log, the same words.
func TestSameAnswer(t *testing.T) {
	log := script(t, both(listed1, "2.0 Failed to open libibverbs.so[.1]", "1.0 Using network IB", "2.0 Using network Socket", "3.0 Using network Wonder", "1.0 NCCL_ALGO set by environment to Ring", "2.0 NCCL_ALGO set by environment to Tree", ranks(2, 1, false))...)
	first, err := json.Marshal(Judge(log, Expect{}))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _ := json.Marshal(Judge(log, Expect{})); string(again) != string(first) {
			t.Fatalf("answers differ:\n%s\n%s", first, again)
		}
	}
}

// TestNextCommandsExist wants every check that a finding sends people to.
func TestNextCommandsExist(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"weft check ([^"]*)"`).FindAllStringSubmatch(string(b), -1) {
			for _, id := range strings.Fields(m[1]) {
				seen++
				id = strings.Trim(id, "'")
				if !slices.ContainsFunc(check.All, func(c check.Check) bool { ok, _ := path.Match(id, c.ID); return ok }) {
					t.Errorf("%s: no check is called %s", file, id)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d checks are named", seen)
	}
}

// TestDocumented wants a heading of docs/nccl.md for every finding.
func TestDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/nccl.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range IDs {
		if !strings.Contains(string(b), "| `"+id+"` |") {
			t.Errorf("docs/nccl.md does not explain %s", id)
		}
	}
}

func TestFoldRanks(t *testing.T) {
	for want, list := range map[string][]int{"": nil, "0": {0}, "0-2,5": {2, 0, 1, 5, 5}, "7": {-1, 7}} {
		if got := FoldRanks(list); got != want {
			t.Errorf("%v folds to %q, want %q", list, got, want)
		}
	}
}
