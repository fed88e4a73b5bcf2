package nccllog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func read(t *testing.T, text string) Log {
	t.Helper()
	l, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return l
}

// TestPrefixes wants the same speaker behind whatever launchers, runtimes and people put
// before and around NCCL's own prefix.
func TestPrefixes(t *testing.T) {
	const said = "NCCL INFO Using network IB"
	for _, line := range []string{
		"gpu7:4711:4712 [3] " + said,
		"gpu7:4711:4712 [3] " + said + "\r",
		"\x1b[32mgpu7:4711:4712 [3] " + said + "\x1b[0m",
		"[1,3]<stdout>:gpu7:4711:4712 [3] " + said,
		"[1,3]<stdout>: gpu7:4711:4712 [3] " + said,
		"[rank3]:gpu7:4711:4712 [3] " + said,
		"[default3]:gpu7:4711:4712 [3] " + said,
		"3: gpu7:4711:4712 [3] " + said,
		"[0] gpu7:4711:4712 [3] " + said,
		"(RayWorkerWrapper pid=4711, ip=10.0.0.2) gpu7:4711:4712 [3] " + said,
		"(EngineCore_DP0 pid=1) (RayWorkerWrapper pid=4711) gpu7:4711:4712 [3] " + said,
		"2026-02-03T04:05:06.789012345Z gpu7:4711:4712 [3] " + said,
		"2026-02-03T04:05:06.789Z stdout F gpu7:4711:4712 [3] " + said,
		"[2026-02-03 04:05:06] gpu7:4711:4712 [3] " + said,
		"job.log:[2026-02-03 04:05:06] gpu7:4711:4712 [3] " + said,
		`{"log":"gpu7:4711:4712 [3] ` + said + `\n","stream":"stderr","time":"2026-02-03T04:05:06Z"}`,
		"  | 2026-02-03T04:05:06.208-07:00 | gpu7:4711:4712 [3] " + said,
		" 12% 3/25 [00:01<00:07]\rgpu7:4711:4712 [3] " + said + "\r 16% 4/25",
	} {
		l := read(t, line+"\n")
		if len(l.Procs) != 1 || l.Procs[0].Host != "gpu7" || l.Procs[0].PID != 4711 || l.Procs[0].Network.Text != "IB" {
			t.Errorf("%q gives %+v", line, l.Procs)
		}
	}
	for line, host := range map[string]string{
		"gpu7:4711 [3] " + said:                 "gpu7",
		"gpu7 [3] " + said:                      "gpu7",
		"<hidden>:4711:4712 [3] " + said:        "<hidden>",
		"[3] " + said:                           "",
		said:                                    "",
		"a.b-c_d.example:1:2 [0] " + said:       "a.b-c_d.example",
		"node-ü:1:2 [0] " + said:                "node-ü",
		"gpu7:4711:4712 [3] x/y z.cc:1 " + said: "gpu7",
	} {
		if l := read(t, line); len(l.Procs) != 1 || l.Procs[0].Host != host || l.Procs[0].Network.Text != "IB" {
			t.Errorf("%q gives %+v, want host %q", line, l.Procs, host)
		}
	}
	ray := read(t, "(RayWorkerWrapper pid=4711, ip=10.0.0.2) gpu7:4711:4712 [3] "+said)
	if ray.Procs[0].IP != "10.0.0.2" {
		t.Errorf("the address of Ray's prefix: %q", ray.Procs[0].IP)
	}
}

// TestInterleaved reads ranks that wrote into each other's lines.
func TestInterleaved(t *testing.T) {
	l := read(t, "a1:1:2 [0] NCCL INFO Using network IB\n"+
		"a1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0a1:3:4 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/1/GDRDMA\n"+
		"  16777216   1048576  float  none  -1a1:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0\n"+
		"a1:3:4 [1] NCCL INFO Channel\n")
	if len(l.Procs) != 2 {
		t.Fatalf("%d processes, want 2: %+v", len(l.Procs), l.Procs)
	}
	if got := fmt.Sprint(l.Uses[0].Via, l.Uses[0].Channels.List(), l.Uses[1].Via.GDR, l.Said); got != "NET/IB [0 1] true 4" {
		t.Errorf("read %s", got)
	}
}

// TestWhoseChannel tells several communicators of one process apart.
func TestWhoseChannel(t *testing.T) {
	l := read(t, `h:1:10 [0] NCCL INFO ncclCommInitRank comm 0xa rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0x11 - Init START
h:1:20 [0] NCCL INFO [Rank 1] ncclCommInitRankConfig comm 0xb rank 1 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x22 - Init START
h:1:10 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
h:1:20 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0
h:1:10 [0] NCCL INFO ncclCommInitRank comm 0xa rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0x11 - Init COMPLETE
h:1:99 [0] NCCL INFO Channel 03/1 : 1[0] -> 0[0] [send] via NET/IB/0/Shared
h:1:10 [0] NCCL INFO comm 0xa rank 0 nranks 4 cudaDev 0 busId 1000 - Destroy COMPLETE
h:1:10 [0] NCCL INFO ncclCommSplit comm 0xa rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 parent 0xb splitCount 1 color 7 key 0- Init START
`)
	if len(l.Members) != 3 {
		t.Fatalf("%d members, want 3: the address 0xa was used twice: %+v", len(l.Members), l.Members)
	}
	if m := l.Members[2]; m.Parent != "0xb" || m.Color != "1/7" || !m.Started || m.Complete {
		t.Errorf("the split: %+v", m)
	}
	if m := l.Members[0]; !m.Complete || !m.Gone || m.ID != "0x11" {
		t.Errorf("the first: %+v", m)
	}
	for i, want := range []string{"0 P2P/CUMEM", "1 NET/IB", "1 NET/IB"} {
		if got := fmt.Sprintf("%d %s", l.Uses[i].Member, l.Uses[i].Via); got != want {
			t.Errorf("use %d is %s, want %s", i, got, want)
		}
	}
}

func TestVia(t *testing.T) {
	for text, want := range map[string]string{
		"NET/IB/0":                        "NET IB 0 -1 false false false",
		"NET/IB/3/GDRDMA":                 "NET IB 3 -1 true false false",
		"NET/IB/3/GDRDMA/Shared":          "NET IB 3 -1 true false true",
		"NET/IB/3(6)/GDRDMA(PCI)/Shared":  "NET IB 3 6 true true true",
		"NET/IBext_v8/12/GDRDMA":          "NET IBext_v8 12 -1 true false false",
		"NET/AWS Libfabric/1/GDRDMA(PCI)": "NET AWS Libfabric 1 -1 true true false",
		"NET/AWS Libfabric/2/GDRDMA comm 0x9bbf3b0 nRanks 4096": "NET AWS Libfabric 2 -1 true false false",
		"NET/Socket/0":            "NET Socket 0 -1 false false false",
		"NET/FasTrak/0/GDRDMA":    "NET FasTrak 0 -1 true false false",
		"COLLNET/SHARP/0/GDRDMA":  "COLLNET SHARP 0 -1 true false false",
		"P2P/IPC":                 "P2P IPC -1 -1 false false false",
		"P2P/IPC/read":            "P2P IPC/read -1 -1 false false false",
		"P2P/CUMEM/read/CE":       "P2P CUMEM/read/CE -1 -1 false false false",
		"P2P/MNNVL":               "P2P MNNVL -1 -1 false false false",
		"P2P/direct pointer":      "P2P direct pointer -1 -1 false false false",
		"P2P/direct pointer/read": "P2P direct pointer/read -1 -1 false false false",
		"P2P/indirect/3[b3000]":   "P2P indirect -1 -1 false false false",
		"SHM":                     "SHM  -1 -1 false false false",
		"SHM/direct/direct":       "SHM direct/direct -1 -1 false false false",
		"direct shared memory":    "SHM  -1 -1 false false false",
	} {
		v, ok := parseVia([]byte(text))
		if got := fmt.Sprint(v.Kind, " ", v.Name, " ", v.Dev, " ", v.Proxy, " ", v.GDR, " ", v.PCI, " ", v.Shared); !ok || got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "NET/", "NET/IB", "NET/IB/", "NET/IB/x", "NET//0", "P2P/", "elsewhere", "NET/" + strings.Repeat("x", 100) + "/0"} {
		if v, ok := parseVia([]byte(text)); ok {
			t.Errorf("%q is taken for %+v", text, v)
		}
	}
}

// TestChannelLines reads the line of every age.
func TestChannelLines(t *testing.T) {
	for line, want := range map[string]string{
		"Ring 00 : 0 -> 1 [send] via NET/IB/0":                                                                  "rank 0 NET/IB [0] 1/0 [1]",
		"Ring 00 : 0 -> 1 [receive] via NET/IB/0/GDRDMA":                                                        "rank 1 NET/IB [0] 0/1 [0]",
		"Ring 01 : 2[3d000] -> 3[3e000] via direct shared memory":                                               "rank 2 SHM [1] 1/0 [3]",
		"Ring 01 : 0[0] -> 1[1] via P2P/direct pointer":                                                         "rank 0 P2P/direct pointer [1] 1/0 [1]",
		"Channel 00 : 0[c1000] -> 1[c8000] via P2P/IPC":                                                         "rank 0 P2P/IPC [0] 1/0 [1]",
		"Channel 13/0 : 9[1] -> 10[2] [send] via NET/Socket/0":                                                  "rank 9 NET/Socket [13] 1/0 [10]",
		"Channel 01/1 : 3[1] -> 0[0] [receive] via NET/IB/10/GDRDMA/Shared":                                     "rank 0 NET/IB [1] 0/1 [3]",
		"Channel 00/0 : 4092[d6000] -> 0[d6000] [receive] via NET/AWS Libfabric/2/GDRDMA comm 0x9b nRanks 4096": "rank 0 NET/AWS Libfabric [0] 0/1 [4092]",
		"CollNet 02/0 : 5 [send] via COLLNET/SHARP/1/GDRDMA":                                                    "rank 5 COLLNET/SHARP [2] 1/0 []",
		"Coll 02 : 5 [receive] via COLLNET/SHARP/1":                                                             "rank 5 COLLNET/SHARP [2] 0/1 []",
		"3 -> 4 via NET/IB/0/GDRDMA":                                                                            "rank 3 NET/IB [] 1/0 [4]",
		"Channel 127/0 : 0[0] -> 1[1] via SHM/direct/direct":                                                    "rank 0 SHM/direct/direct [127] 1/0 [1]",
	} {
		l := read(t, "h:1:2 [0] NCCL INFO "+line)
		if len(l.Uses) != 1 {
			t.Errorf("%q gives %d uses", line, len(l.Uses))
			continue
		}
		u := l.Uses[0]
		if got := fmt.Sprintf("rank %d %s %v %d/%d %v", l.Members[u.Member].Rank, u.Via, u.Channels.List(), u.Sends, u.Recvs, u.Peers); got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
	ring := read(t, "h:1:2 [0] NCCL INFO Channel 00/08 :    0   5   4   7   6   3   2   1")
	if m := ring.Members[0]; m.Rank != 0 || m.NRanks != 8 || m.Rings != 8 {
		t.Errorf("the ring: %+v", m)
	}
	for _, line := range []string{"Channel", "Channel 00/0 : ", "Channel 00/0 : 1[1] -> via NET/IB/0", "Channel 00/0 : 1[1] -> 0[0] via nothing", "Ring 00 : 3 -> 0 -> 1", "Channel 99999999999/0 : 0 -> 1 via SHM"} {
		if l := read(t, "h:1:2 [0] NCCL INFO "+line); len(l.Uses) != 0 {
			t.Errorf("%q gives %+v", line, l.Uses)
		}
	}
}

// TestOld reads a log of 2.2, which did not write NCCL into its lines.
func TestOld(t *testing.T) {
	l := read(t, `n1:18553:18553 [0] INFO NET : Using interface enp3s0:192.0.2.103<0>
n1:18553:18553 [0] INFO NET/IB : Using interface enp3s0 for sideband communication
n1:18553:18553 [0] INFO Using internal Network Socket
NCCL version 2.2.13+cuda9.0
n1:18553:18612 [0] INFO comm 0x7fa42c00a3b0 rank 0 nranks 2
n1:18553:18611 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out
`)
	p := l.Procs[0]
	if p.Host != "n1" || p.Network.Text != "Socket" || len(p.Boot) != 1 || p.Boot[0].Name != "enp3s0" || l.Members[0].NRanks != 2 || l.Versions[0].Text != "2.2.13+cuda9.0" {
		t.Errorf("read %+v", l)
	}
	if e := l.Events[0]; e.Kind != Connect || e.Detail != "Connection timed out" {
		t.Errorf("the warning: %+v", e)
	}
	if _, err := Read(strings.NewReader("2026-01-01 12:00 [3] INFO all is well\napp[12] WARN something\n")); !errors.Is(err, ErrNot) {
		t.Errorf("another program's log: %v", err)
	}
}

func TestHCAList(t *testing.T) {
	for text, want := range map[string]string{
		" [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eno1:10.0.0.1<0>":                                      "mlx5_0/1 IB, mlx5_1/1 RoCE | ",
		" [0]mlx5_0:1/IB/SHARP ; OOB ib0:10.0.0.1<0>":                                                      "mlx5_0/1 IB sharp | ",
		" [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} [1]={[2] mlx5_0:1/RoCE, [3] mlx5_1:1/RoCE} [RO]; OOB": "mlx5_2/1 RoCE, mlx5_3/1 RoCE, mlx5_0/1 RoCE, mlx5_1/1 RoCE | 0=mlx5_2+mlx5_3 1=mlx5_0+mlx5_1",
		" [0]mlx5_0:1:2:0/IB [RO]; OOB":                                                                    "mlx5_0/1 IB | ",
		" [RO]; OOB enp3s0:10.0.0.1<0>":                                                                    " | ",
		" [0]mlx5_0:1/IB [1]mlx5_2:1/R":                                                                    "mlx5_0/1 IB | ",
		" [0]={[0] mlx5_2:1/RoCE, ":                                                                        "mlx5_2/1 RoCE | ",
	} {
		hcas, virtual := hcaList([]byte(text))
		var a, b []string
		for _, h := range hcas {
			s := fmt.Sprintf("%s/%d %s", h.Name, h.Port, h.Layer)
			if h.Sharp {
				s += " sharp"
			}
			a = append(a, s)
		}
		for _, h := range virtual {
			b = append(b, fmt.Sprintf("%d=%s", h.Index, h.Name))
		}
		if got := strings.Join(a, ", ") + " | " + strings.Join(b, " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestWarnings reads what NCCL warns of, in the words of several releases.
func TestWarnings(t *testing.T) {
	for line, want := range map[string]string{
		"NET/IB : Got completion with error 12, opcode 1, len 32478, vendor err 129":                                                                                                                                       "completion 12 129",
		"NET/IB : Got completion from peer 10.2.0.5<33092> with error 5, opcode 48, len 32764, vendor err 244 (Recv)":                                                                                                      "completion 5 244 peer 10.2.0.5<33092>",
		"NET/IB: Got completion from peer 10.2.0.5<33092> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=4 vendor_err=129 req_type=Send localGid ::ffff:10.2.0.4 remoteGids::ffff:10.2.0.5 hca mlx5_3": "completion 12 129 on mlx5_3 peer 10.2.0.5<33092> gids ::ffff:10.2.0.4 to ::ffff:10.2.0.5",
		"NET/IB/GIN: Got completion from peer 10.2.0.5<1> with status=11 opcode=2 len=0 vendor err 137 (Send) hca mlx5_0":                                                                                                  "completion 11 137 on mlx5_0 peer 10.2.0.5<1>",
		"Call to ibv_modify_qp failed with error No such device errno 19":                                                                                                                                                  "qp.modify 19 No such device",
		"Call to ibv_modify_qp failed with error Connection timed out":                                                                                                                                                     "qp.modify 110 Connection timed out",
		"Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.0.0.1, remote GID fe80::1":                                   "qp.modify 110 on mlx5_0:1 Connection timed out; local GID index 3, local GID ::ffff:10.0.0.1, remote GID fe80::1",
		"Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory":                                                                                                                                                "mr 12 ibv_reg_mr_iova2: Cannot allocate memory",
		"Call to ibv_create_qp failed with error Cannot allocate memory":                                                                                                                                                   "qp.create 0 ibv_create_qp: Cannot allocate memory",
		"Call to ibv_open_device failed":                                                                                            "device.open 0",
		"NET/IB : Unable to open device mlx5_7":                                                                                     "device.open 0 on mlx5_7",
		"NET/IB : mlx5_3:1 Got async event : port error":                                                                            "async 0 on mlx5_3:1 port error",
		"NET/IB : Got async event : port error":                                                                                     "async 0 port error",
		"NET/IB : mlx5_3:1 Got non-fatal async event: port error(10)":                                                               "async 0 on mlx5_3:1 port error",
		"NET/IB : mlx5_3:1 async fatal event on QP (0x7f): local work queue catastrophic error":                                     "async 0 on mlx5_3:1 local work queue catastrophic error",
		"NET/IB : mlx5_3:1 GID table changed":                                                                                       "async 0 on mlx5_3:1 GID table changed",
		"Mismatched NCCL version detected : rank 1 version 22705 rank 0 version 22703":                                              "version 0 rank 1 version 22705 rank 0 version 22703",
		"Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000":                                                       "gpu.same 0 rank 1 and rank 0 both on CUDA device 1000",
		"socketStartConnect: Connect to 10.0.0.82<38455> failed : Software caused connection abort":                                 "connect 0 Software caused connection abort peer 10.0.0.82<38455>",
		"socketPollConnect: connect to 10.0.0.82<38455> returned Connection refused":                                                "connect 0 Connection refused peer 10.0.0.82<38455>",
		"socketProgress: Connection closed by remote peer node2<42830>":                                                             "peer 0 peer node2<42830>",
		"Bootstrap : no socket interface found":                                                                                     "interface 0",
		"Error while creating shared memory segment /dev/shm/nccl-WU88OE (size 9637888), error: No space left on device (28)":       "shm 0 No space left on device",
		"Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)":                        "shm 0 No space left on device",
		"Error while attaching to shared memory segment /dev/shm/nccl-glnlGK (size 14156128), error: No such file or directory (2)": "shm 0 No such file or directory (2)",
		"Cuda failure 2 'out of memory'":                                                                                            "cuda 0 out of memory",
		`Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!`:                                  `kernel 0 Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!`,
		"NET/OFI Couldn't find any optimal provider":                                                                                "provider 0 NET/OFI Couldn't find any optimal provider",
		"[Proxy Service 11] Failed to execute operation Connect from rank 11, retcode 2":                                            "echo 0 [Proxy Service 11] Failed to execute operation Connect from rank 11, retcode 2",
		"The moon is at 0x7f6f18cb7f40 and 123456":                                                                                  "warning 0 The moon is at N and N",
	} {
		l := read(t, "\nh:1:2 [0] transport/net.cc:12 (func) NCCL WARN "+line+"\n")
		if len(l.Events) != 1 {
			t.Errorf("%q gives %d events", line, len(l.Events))
			continue
		}
		e := l.Events[0]
		got := fmt.Sprintf("%s %d", e.Kind, e.Number)
		if e.Kind == Completion {
			got += fmt.Sprintf(" %d", e.Vendor)
		}
		if e.Device != "" {
			got += " on " + e.Device
		}
		if e.Detail != "" {
			got += " " + e.Detail
		}
		if e.Peer != "" {
			got += " peer " + e.Peer
		}
		if e.GIDs != "" {
			got += " gids " + e.GIDs
		}
		if got != want {
			t.Errorf("%q\n is   %q\n want %q", line, got, want)
		}
	}
	// An attempt that will be made again is not a failure yet.
	if l := read(t, "h:1:2 [0] NCCL INFO Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, retrying 1/35 after 100 msec of sleep"); len(l.Events) != 0 {
		t.Errorf("a retry is taken for %+v", l.Events)
	}
	// Equal ones are counted, not kept.
	l := read(t, strings.Repeat("h:1:2 [0] x.cc:1 NCCL WARN NET/IB : mlx5_3:1 Got async event : port error\n", 5))
	if len(l.Events) != 1 || l.Events[0].Count != 5 || l.Events[0].At.Line != 1 || l.Events[0].Last.Line != 5 {
		t.Errorf("five of one: %+v", l.Events)
	}
}

// TestTorch reads what PyTorch says of NCCL.
func TestTorch(t *testing.T) {
	l := read(t, `[rank4]:[E321 02:07:08.414640780 ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600067 milliseconds before timing out.
[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=BROADCAST, Timeout(ms)=1800000) ran for 1802212 milliseconds before timing out.
torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
Last error:
NET/IB : Got completion from peer 10.42.0.2<47534> with error 12, opcode 48, len 32764, vendor err 129
`)
	if len(l.Stuck) != 2 || l.Stuck[0] != (Stuck{Rank: 4, Seq: 1580, Op: "ALLREDUCE", MS: 600067, At: Place{Line: 1}}) || l.Stuck[1].Rank != 1 || l.Stuck[1].Op != "BROADCAST" {
		t.Errorf("timeouts: %+v", l.Stuck)
	}
	if len(l.Versions) != 1 || l.Versions[0].Text != "2.21.5" {
		t.Errorf("versions: %+v", l.Versions)
	}
	if len(l.Events) != 2 || l.Events[0].Kind != Torch || l.Events[1].Kind != Completion || l.Events[1].Number != 12 || l.Events[1].Proc != -1 {
		t.Errorf("events: %+v", l.Events)
	}
}

func TestDirect(t *testing.T) {
	for line, want := range map[string]string{
		"NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'":                            "0 mlx5_0  false -1 -1",
		"NET/AWS Libfabric : GPU Direct RDMA Enabled for HCA 1 'rdmap0s6'":                "1 rdmap0s6  true -1 -1",
		"GPU Direct RDMA Enabled for GPU 81000 / HCA 1 (distance 6 <= 7), read 0":         "1  81000 true 6 7",
		"GPU Direct RDMA Disabled for GPU 0 / HCA 3 (distance 7 > 5)":                     "3  0 false 7 5",
		"NET/IB : GPU Direct RDMA Enabled for GPU 0[0] / HCA 0 (distance 4 >= 2), read 1": "0  0[0] true 4 2",
		"NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA 1 'roceP2p1s0f1":               "1 roceP2p1s0f1  true -1 -1",
		"NET/IB: Using GPU Direct RDMA (peermem) for device 2":                            "2   true -1 -1",
	} {
		l := read(t, "h:1:2 [0] NCCL INFO "+line)
		if len(l.Procs[0].Direct) != 1 {
			t.Errorf("%q gives %+v", line, l.Procs[0].Direct)
			continue
		}
		d := l.Procs[0].Direct[0]
		if got := fmt.Sprintf("%d %s %s %v %d %d", d.HCA, d.Name, d.GPU, d.Enabled, d.Distance, d.Limit); got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
}

// TestNotALog refuses what is none, and says what it is.
func TestNotALog(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "no line of NCCL",
		"hello\nworld\n":                 "no line of NCCL",
		"pip install nvidia-nccl-cu12\n": "no line of NCCL",
		"\x1f\x8b\x08\x00":               "compressed",
		"<system version=\"1\">\n<cpu/>": "NCCL_TOPO_DUMP_FILE",
		"<graphs version=\"1\">\n":       "NCCL_GRAPH_DUMP_FILE",
		`{"nccl_version": "2.28.9", "communicators": [`: "RAS: unexpected EOF",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	broken := io.MultiReader(strings.NewReader("h:1:2 [0] NCCL INFO Using network IB\n"), errReader{})
	if _, err := Read(broken); err == nil || err.Error() != "disk on fire" {
		t.Errorf("a reader that fails: %v", err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

// TestFiles keeps the file's number with every place.
func TestFiles(t *testing.T) {
	var p Parser
	for i, text := range []string{"a:1:1 [0] NCCL INFO Using network IB\n", "nothing here\n\nb:1:1 [0] NCCL INFO Using network Socket\n"} {
		if err := p.Add(fmt.Sprintf("f%d", i), strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	l, err := p.Log()
	if err != nil || len(l.Files) != 2 || l.Procs[1].Network.At != (Place{1, 3}) || l.Lines != 4 {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestLongLines cuts a line that does not end, and goes on behind it.
func TestLongLines(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 3*buffer+17)
	text := append([]byte("h:1:2 [0] NCCL INFO Using network IB\n"), long...)
	text = append(text, []byte("\nh:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n")...)
	l, err := Read(bytes.NewReader(text))
	if err != nil || l.Lines != 3 || len(l.Uses) != 1 || l.Uses[0].At.Line != 3 || l.Bytes != int64(len(text)) {
		t.Errorf("%d lines, %d bytes of %d, uses %+v, %v", l.Lines, l.Bytes, len(text), l.Uses, err)
	}
	if l.Over["bytes of lines longer than 64 KiB"] == 0 {
		t.Error("nothing says that a line was cut")
	}
}

// endless writes lines that are all different, to see that memory has a bound.
type endless struct {
	n, max int
	rest   []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.n == e.max {
			return 0, io.EOF
		}
		i := e.n
		e.n++
		e.rest = fmt.Appendf(nil, `h%d:%d:%d [%d] NCCL INFO comm 0x%x rank %d nranks 9999999 cudaDev 0 busId %x commId 0x%x - Init START
h%d:%d:%d [%d] NCCL INFO Channel %02d/0 : %d[0] -> %d[0] [send] via NET/net%d/%d
h%d:%d:%d [%d] x.cc:%d NCCL WARN unheard of %c%c%c%c
h%d:%d:%d [%d] NCCL INFO NCCL_V%d set by environment to %d.
NCCL version 2.%d.%d+cuda12.9
# Rank %d Group 0 Pid %d on h%d device 0 [0x00] GPU %d
[Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=X) ran for 1 milliseconds
`, i, i, i, i%8, i, i, i, i, i, i, i, i%8, i%128, i, i+1, i, i, i, i, i, i%8, i, 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576%26, i, i, i, i%8, i, i, i, i, i, i, i, i, i, i)
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestBounds reads more of everything than is kept.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 80 MB")
	}
	l, err := Read(&endless{max: 140_000})
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string][2]int{"procs": {len(l.Procs), maxProcs}, "members": {len(l.Members), maxMembers}, "uses": {len(l.Uses), maxUses}, "events": {len(l.Events), maxEvents},
		"gpus": {len(l.GPUs), maxGPUs}, "stuck": {len(l.Stuck), maxGPUs}, "versions": {len(l.Versions), maxProcs * maxVersions}} {
		if n[0] > n[1] || n[0] == 0 {
			t.Errorf("%d %s are kept, want 1 to %d", n[0], what, n[1])
		}
	}
	for _, p := range l.Procs {
		if len(p.Env) > maxEnv {
			t.Fatalf("%d variables of one process", len(p.Env))
		}
	}
	for _, what := range []string{"processes", "ranks of communicators", "problems", "GPUs", "timeouts"} {
		if l.Over[what] == 0 {
			t.Errorf("nothing says that %s were left out", what)
		}
	}
}
