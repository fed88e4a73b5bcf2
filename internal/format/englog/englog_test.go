package englog

import (
	"strings"
	"testing"
	"unicode/utf8"

	"weft/internal/fixture"
)

// lines are what engines really said (issue trackers, ../shared/fixtures), and what each is.
var lines = []struct {
	line string
	id   string
	kind Kind
	what string
}{
	{"[2026-04-20 17:24:52,119 W 1 1] rpc_client.h:153: Failed to connect to GCS at address 172.16.11.65:41000 within 5 seconds.", "ray.join", Wait, "this node has not reached the Ray head 172.16.11.65:41000 for 5 s"},
	{"ray.exceptions.RpcError: Timed out while waiting for GCS to become available.", "ray.join", Fail, ""},
	{"(EngineCore pid=84) INFO 06-07 18:13:55 [ray_utils.py:464] Waiting for creating a placement group of specs for 150 seconds. specs=[{'GPU': 1.0}, {'GPU': 1.0}]. Check `ray status`", "ray.placement", Wait, "Ray has had no place for [{'GPU': 1.0}, {'GPU': 1.0}] for 150 s"},
	{"ValueError: Tensor parallel size (2) exceeds available GPUs (1)", "ray.gpus", Fail, "2 ranks are asked for and 1 GPUs are there"},
	{"NING 04-01 02:45:50 ray_utils.py:320] The number of required GPUs exceeds the total number of available GPUs in the placement group.", "ray.gpus", Wait, ""},
	{"[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=134217728, NumelOut=134217728, Timeout(ms)=600000) ran for 600059 milliseconds before timing out.", "nccl.timeout", Fail, "a collective (ALLREDUCE) did not end in 600059 ms"},
	{"torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.", "nccl.timeout", Fail, ""},
	{"spark2:411:733 [0] transport/net_ib.cc:771 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out", "nccl.qp", Fail, "NCCL could not connect two RDMA ports: Connection timed out"},
	{"node1:1:1 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "rdma.memlock", Fail, ""},
	{"RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)", "nccl.error", Fail, ""},
	{"k8s19:2361:2361 [0] NCCL INFO NET/IB : No device found.", "nccl.fallback", Warn, ""},
	{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.77 GiB", "gpu.oom", Fail, "the GPU's memory is full: 2.00 GiB"},
	{"ValueError: Free memory on device (67.24/79.25 GiB) on startup is less than desired GPU memory utilization (0.9, 71.33 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.", "gpu.taken", Fail, "67.24 of 79.25 GiB of GPU memory are free, and the engine was told to take 71.33"},
	{"ValueError: To serve at least one request with the models's max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the available KV cache memory (9.5 GiB).", "kv.small", Fail, "a sequence of 131072 tokens does not fit into what is left for the KV cache"},
	{"ERROR 11-18 18:07:28 engine.py:366] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", "kv.small", Fail, ""},
	{"RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "kv.small", Fail, ""},
	{"(raylet) 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed: Memory on the node (IP: 10.0.0.2, ID: ab) exceeded the memory usage threshold", "ray.killed", Fail, ""},
	{"weft-serve-x.service: A process of this unit has been killed by the OOM killer.", "host.oom", Fail, ""},
	{"weft-serve-x.service: Main process exited, code=killed, status=9/KILL", "host.killed", Fail, "it was killed"},
	{"OSError: You are trying to access a gated repo. huggingface_hub.errors.GatedRepoError: 403 Client Error.", "model.gated", Fail, ""},
	{"OSError: foo/bar is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'", "model.gone", Fail, ""},
	{"OSError: We couldn't connect to 'https://huggingface.co' to load this file", "model.offline", Fail, ""},
	{"OSError: [Errno 98] Address already in use", "port.taken", Fail, ""},
	{"Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "gpu.none", Fail, "no GPU is seen where the engine runs nvidia.com/gpu=all"},
	{"RuntimeError: CUDA error: no kernel image is available for execution on the device", "gpu.kernel", Fail, ""},
	{"vllm: error: unrecognized arguments: --nnodes 2", "engine.flag", Fail, "the engine does not know an argument: --nnodes 2"},
	{"0.00.386.093 E RPC server version mismatch: 4.0.1", "rpc.join", Fail, "an RPC server cannot be used: 4.0.1"},
	{"0.00.386.102 E Failed to connect to 10.0.0.185:50052", "rpc.join", Fail, "an RPC server cannot be used: 10.0.0.185:50052"},
	{"(EngineCore_0 pid=132079) ERROR [core.py:396] EngineCore failed to start.", "engine.died", Fail, ""},
	{"ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.", "ray.actor", Fail, ""},
	{"weft-serve-x.service: Start request repeated too quickly.", "start.limit", Fail, ""},
	{"\x1b[36m(RayWorkerWrapper pid=12, ip=10.0.0.2)\x1b[0m \rLoading safetensors checkpoint shards:   0% Completed | 0/16\rLoading safetensors checkpoint shards:  31% Completed | 5/16 [00:01<00:01,  5.99it/s]", "load.shards", Progress, "loading weights: 31 % (5/16)"},
	{"INFO:     Application startup complete.", "ready", Ready, "it serves"},
	{"Starting RPC server v2.0.0", "rpc.ready", Ready, ""},
}

func TestLines(t *testing.T) {
	for _, x := range lines {
		e, ok := Read(x.line)
		if !ok || e.ID != x.id || e.Kind != x.kind || x.what != "" && e.What != x.what {
			t.Errorf("%s\n is %q %s %q, want %q %s %q", x.line, e.ID, e.Kind, e.What, x.id, x.kind, x.what)
		}
	}
	for _, ordinary := range []string{
		"INFO 07-20 17:27:16 api_server.py:212] vLLM API server version 0.5.2",
		"ggml_vulkan: Found 1 Vulkan devices:",
		"[2025-06-13 10:30:17 TP0] Decode batch. #running-req: 1, #token: 148, gen throughput (token/s): 73.26",
		"k8s17:581:581 [0] NCCL INFO Channel 00/0 : 16[17000] -> 18[21000] via P2P/IPC comm 0x5609976f9470 nRanks 32",
		"k8s17:581:581 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
		"INFO 01-01 00:00:00 [gpu_worker.py:790] Free memory on device (104.1/121.63 GiB) on startup.",
		"INFO 01-01 args: Namespace(model='x', trust_remote_code=True)",
		"requests.exceptions.ConnectionError: HTTPSConnectionPool",
		"INFO: 10.0.0.1:5 - \"GET /health HTTP/1.1\" 200 OK",
		"INFO: 10.0.0.1:5 - \"POST /v1/chat/completions HTTP/1.1\" 404 Not Found",
		"WARNING: Host ('0.0.0.0') is != '127.0.0.1'",
	} {
		if e, ok := Read(ordinary); ok && e.Kind == Fail {
			t.Errorf("an ordinary line is a failure: %s: %+v", ordinary, e)
		}
	}
}

// TestEveryFailureSaysWhatToDo wants three parts of every failure, and that each is met above.
func TestEveryFailureSaysWhatToDo(t *testing.T) {
	for _, r := range Rules {
		if r.Kind != Progress && r.Kind != Ready && (r.What == "" || r.Why == "" || r.Do == "") {
			t.Errorf("%s does not say what, why and what to do", r.ID)
		}
		if strings.HasSuffix(r.What, ".") || strings.HasSuffix(r.Why, ".") {
			t.Errorf("%s ends with a full stop", r.ID)
		}
	}
}

// TestFixtures wants nothing but what is there of real logs.
func TestFixtures(t *testing.T) {
	for name, want := range map[string]string{
		"vllm_placement_group_wait.txt":           "ray.placement ray.gpus",
		"vllm_spark_launch_cluster_linklocal.txt": "ray.gpus",
		"vllm_ray_r9700_connect_log.txt":          "",
		"vllm_pp2_startup_log_0.5.2.txt":          "",
		"vllm_ray_worker_nccl_p2p_32ranks.txt":    "",
		"vllm_gpu_worker_uma_memory_line.txt":     "",
		"vllm_bench_serve_hetero_fp8_30b.txt":     "",
		"sglang_decode_batch_log.txt":             "",
		"llama_rpc_server_startup_strix.txt":      "",
		"llama_bench_rpc_4node_strix.txt":         "",
	} {
		var r Reader
		b := fixture.Read(t, name)
		r.Add(b[:len(b)/2]) // in pieces that end anywhere
		r.Add(b[len(b)/2:])
		r.Flush()
		var got []string
		for _, e := range r.Events {
			got = append(got, e.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestWorstIsTheCause(t *testing.T) {
	var r Reader
	r.Add([]byte("ActorDiedError\nEngineCore failed to start.\n(RayWorkerWrapper pid=3, ip=10.0.0.2) torch.OutOfMemoryError: CUDA out of memory.\nActorDiedError\n"))
	e, ok := Worst(r.Events)
	if !ok || e.ID != "gpu.oom" || e.Host != "10.0.0.2" || len(r.Events) != 3 {
		t.Errorf("%+v, %v of %+v", e, ok, r.Events)
	}
	if e, ok := Worst([]Event{{ID: "ray.actor", Kind: Fail}}); !ok || e.ID != "ray.actor" {
		t.Errorf("an echo alone is said: %+v", e)
	}
	if _, ok := Worst([]Event{{ID: "ray.placement", Kind: Wait}}); ok {
		t.Error("a wait is no failure")
	}
}

// TestLast wants the engine's last words, not those of systemd after it.
func TestLast(t *testing.T) {
	var r Reader
	r.Add([]byte("Started weft-serve-x.service - weft serve x: engine.\nValueError: this\nweft-serve-x.service: Main process exited, code=exited, status=1/FAILURE\nweft-serve-x.service: Failed with result 'exit-code'.\nweft-serve-x.service: Start request repeated too quickly.\nFailed to start weft-serve-x.service - weft serve x: engine.\n"))
	if len(r.Last) != 1 || r.Last[0] != "ValueError: this" || r.Lines != 6 || len(r.Events) != 1 || r.Events[0].ID != "start.limit" {
		t.Errorf("%q %+v", r.Last, r.Events)
	}
}

// TestBounded wants flat memory, whatever comes.
func TestBounded(t *testing.T) {
	var r Reader
	bar := []byte(strings.Repeat("x", 1<<20))
	for range 50 {
		r.Add(bar)
	}
	for range 10_000 {
		r.Add([]byte("Failed to connect to GCS at address 10.0.0.1:6379 within 5 seconds.\n"))
	}
	if cap(r.rest) > 4<<20 || len(r.Last) > maxLast || len(r.Events) != 1 {
		t.Errorf("%d bytes, %d lines, %d events", cap(r.rest), len(r.Last), len(r.Events))
	}
}

func FuzzReader(f *testing.F) {
	for _, x := range lines {
		f.Add([]byte(x.line+"\n"), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var whole, cutUp Reader
		whole.Add(b)
		whole.Flush()
		n := 0
		if len(b) > 0 {
			n = max(cut, -cut) % len(b)
			n = max(n, 0)
		}
		cutUp.Add(b[:n])
		cutUp.Add(b[n:])
		cutUp.Flush()
		if len(b) < maxLine && (len(whole.Events) != len(cutUp.Events) || whole.Lines != cutUp.Lines) {
			t.Errorf("cut at %d: %+v, whole: %+v", n, cutUp.Events, whole.Events)
		}
		for _, e := range whole.Events {
			if utf8.Valid(b) && !utf8.ValidString(e.Line) && len(b) < maxLine {
				t.Errorf("%q", e.Line)
			}
		}
	})
}
