package nccltests

import (
	"strings"
	"testing"
)

// TestProblems reads what runs end with. Those of mpirun were recorded of Open MPI 4.1.4
// on a machine without anything to run; the others are written after the sources, or as
// people report them.
func TestProblems(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		kind       Kind
		line       int
		host       string
		retry      bool
	}{
		{name: "system", kind: NCCLSystem, line: 1, host: "fastmoe", text: "fastmoe: Test NCCL failure common.cu:777 'unhandled system error'\n .. fastmoe pid 12: Test failure common.cu:844\n"},
		{name: "system, newer, under mpirun", kind: NCCLSystem, line: 1, host: "gpu1", text: "[1,0]<stdout>:gpu1: Test NCCL failure common.cu:1119 'unhandled system error (run with NCCL_DEBUG=INFO for details) / '\n"},
		{name: "system, of 2018", kind: NCCLSystem, line: 1, text: "NCCL failure common.cu:921 'unhandled system error'\n"},
		{name: "cuda within nccl", kind: NCCLCUDA, line: 1, host: "HCA-14", text: "HCA-14: Test NCCL failure common.cu:1204 'unhandled cuda error (run with NCCL_DEBUG=INFO for details) / '\n"},
		{name: "internal", kind: NCCLIntern, line: 1, host: "fengyun", text: "fengyun: Test NCCL failure common.cu:959 'internal error - please report this issue to the NCCL developers / '\n"},
		{name: "usage", kind: NCCLUsage, line: 1, host: "a", text: "a: Test NCCL failure common.cu:959 'invalid usage (run with NCCL_DEBUG=WARN for details) / Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000'\n"},
		{name: "remote", kind: NCCLRemote, line: 1, host: "a", retry: true, text: "a: Test NCCL failure common.cu:959 'remote process exited or there was a network error / '\n"},
		{name: "in the middle of a row", kind: NCCLRemote, line: 2, retry: true, text: head + " 8192 2048 float sum -1 35.15 0.23 0.23 0gpu1: Test NCCL failure common.cu:959 'remote process exited or there was a network error / '\n"},
		{name: "memory", kind: GPUMemory, line: 1, host: "gpu1", text: "gpu1: Test CUDA failure common.cu:892 'out of memory'\n"},
		{name: "no gpu", kind: NoGPU, line: 1, host: "gpu1", text: "gpu1: Test CUDA failure common.cu:1000 'no CUDA-capable device is detected'\n"},
		{name: "too few gpus", kind: NoGPU, line: 1, text: "Invalid number of GPUs: 8 requested but only 2 were found.\nPlease check the number of processes and GPUs per process.\n"},
		{name: "an older driver", kind: GPUBuild, line: 1, host: "gpu1", text: "gpu1: Test CUDA failure common.cu:1000 'CUDA driver version is insufficient for CUDA runtime version'\n"},
		{name: "another GPU", kind: GPUBuild, line: 1, host: "gpu1", text: "gpu1: Test CUDA failure verifiable.cu:10 'no kernel image is available for execution on the device'\n"},
		{name: "no fabric manager", kind: FabricDown, line: 1, host: "gpu1", text: "gpu1: Test CUDA failure common.cu:1000 'system not yet initialized'\n"},
		{name: "a broken GPU", kind: CUDA, line: 1, host: "gpu1", text: "gpu1: Test CUDA failure common.cu:1000 'uncorrectable ECC error encountered'\n"},
		{name: "hip", kind: CUDA, line: 1, host: "gpu1", text: "gpu1: Test HIP failure common.cu:1000 'unknown error'\n"},
		{name: "time out", kind: Timeout, line: 1, host: "gpu1", retry: true, text: "gpu1: Test timeout (60s) common.cu:400\n"},
		{name: "only where", kind: Failed, line: 1, host: "gpu1", text: " .. gpu1 pid 3164639: Test failure common.cu:844\n"},
		{name: "wrong results", kind: Corrupt, line: 2, text: head + strings.Replace(row8, "  0\n", "  7\n", 1)},
		{name: "wrong results, many", kind: Corrupt, line: 2, text: head + strings.Replace(row8, "0.23       0", "0.23 1e+06", 1)},
		{name: "a wrong sum", kind: Corrupt, line: 1, text: `{"weft":"collective","op":"all_reduce","bytes":1024,"seconds":[0.001],"ranks":2,"nodes":2,"correct":false}` + "\n"},
		{name: "out of bounds", kind: Corrupt, line: 1, text: "# Out of bounds values : 2 FAILED\n"},
		{name: "an error with a star", kind: Corrupt, line: 2, text: strings.ReplaceAll(head, "#wrong", "error") + " 8192 2048 float sum -1 35.15 0.23 0.23 2e-01* 30.33 0.27 0.27 0e+00\n"},
		{name: "below the limit", kind: BelowLimit, line: 1, text: "# Avg bus bandwidth    : 0.5 FAILED\n"},
		{name: "an old NCCL", kind: NotDone, line: 1, text: "NCCL 2.7 or later is needed for alltoall. This test was compiled with 2.4.\n"},

		{name: "slots", kind: NoSlots, line: 2, text: "--------------------------------------------------------------------------\nThere are not enough slots available in the system to satisfy the 64\nslots that were requested by the application:\n\n  hostname\n\nEither request fewer slots for your application, or make more slots\navailable for use.\n"},
		{name: "root", kind: MPIRoot, line: 1, text: "mpirun.openmpi has detected an attempt to run as root.\n\nRunning as root is *strongly* discouraged as any mistake (e.g., in\n"},
		{name: "no program", kind: Missing, line: 1, text: "mpirun.openmpi was unable to launch the specified application as it could not access\nor execute an executable:\n\nExecutable: /nosuch/all_reduce_perf\nNode: vm\n\nwhile attempting to start process rank 0.\n"},
		{name: "no ssh", kind: NoHosts, line: 1, text: "ssh: connect to host 127.0.0.9 port 22: Connection refused\n----\nORTE was unable to reliably start one or more daemons.\nThis usually is caused by:\n\n* not finding the required libraries and/or binaries on\n  one or more nodes.\n"},
		{name: "no hostfile", kind: NoHosts, line: 1, text: "Open RTE was unable to open the hostfile:\n    /nosuch\nCheck to make sure the path and filename are correct.\n"},
		{name: "a process failed", kind: Failed, line: 1, text: "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n"},
		{name: "no library", kind: Missing, line: 1, text: "[1,1]<stderr>:./all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open shared object file: No such file or directory\n"},
		{name: "no mpirun", kind: Missing, line: 1, text: "bash: line 1: mpirun: command not found\n"},

		{name: "torch, system", kind: NCCLSystem, line: 2, text: "Traceback (most recent call last):\n[rank0]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1333, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.18.1\n[rank0]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\n"},
		{name: "torch, no gpu", kind: NoGPU, line: 1, text: "RuntimeError: No CUDA GPUs are available\n"},
		{name: "no torch", kind: Missing, line: 1, text: "ModuleNotFoundError: No module named 'torch'\n"},
		{name: "torch, port", kind: PortTaken, line: 1, text: "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n"},
		{name: "torch, nobody came", kind: NoMeeting, line: 1, retry: true, text: "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29500).\n"},
		{name: "torch, hangs", kind: Timeout, line: 1, retry: true, text: "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)\n"},
		{name: "torch, only a child", kind: Failed, line: 1, text: "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Read([]byte(tc.text))
			if err != nil {
				t.Error(err)
			}
			p := got.Problem
			if p == nil {
				t.Fatalf("no problem in %q", tc.text)
			}
			if p.Kind != tc.kind || p.Line != tc.line || p.Host != tc.host || p.Retry != tc.retry || p.Said == "" || p.Why == "" || p.Next == "" {
				t.Errorf("got %+v", *p)
			}
		})
	}
}

func TestLessMemory(t *testing.T) {
	got, err := Read([]byte("# Reducing maxBytes to 27951912277 due to memory limitation\n" + head + row8))
	if err != nil || got.Problem != nil || len(got.Rows) != 1 || len(got.Warnings) != 1 || got.Warnings[0].Kind != LessMemory {
		t.Errorf("%+v, %v", got, err)
	}
}
