# One rank of a collective measured by weft with PyTorch: RANK, WORLD_SIZE, LOCAL_RANK,
# MASTER_ADDR and MASTER_PORT as torchrun sets them; WEFT_OP, WEFT_SIZES and WEFT_SECONDS
# say what to measure. Rank 0 prints one JSON object a line; NCCL's own log is around it.
import datetime, json, os, sys, time

try:
    import torch
    import torch.distributed as dist
except ImportError as e:
    sys.exit("weft: no PyTorch: %s" % e)

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
local, nodes = int(os.environ["LOCAL_RANK"]), int(os.environ["WEFT_NODES"])
op, limit = os.environ["WEFT_OP"], float(os.environ["WEFT_SECONDS"])
if not torch.cuda.is_available():
    sys.exit("weft: PyTorch sees no GPU")
torch.cuda.set_device(local)
device = torch.device("cuda", local)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=90), device_id=device)


def prepare(size):
    """The call to measure and how many bytes it is said to move, as nccl-tests counts."""
    n = max(world, size // 4 // world * world)
    x = torch.ones(n, dtype=torch.float32, device=device)
    part = n // world
    mine = x[rank * part:(rank + 1) * part]
    if op == "all_reduce":
        return lambda: dist.all_reduce(x), n * 4
    if op == "all_gather":
        return lambda: dist.all_gather_into_tensor(x, mine), n * 4
    if op == "reduce_scatter":
        out = torch.empty(part, dtype=torch.float32, device=device)
        return lambda: dist.reduce_scatter_tensor(out, x), n * 4
    if op == "alltoall":
        out = torch.empty_like(x)
        return lambda: dist.all_to_all_single(out, x), n * 4
    if op == "broadcast":
        return lambda: dist.broadcast(x, 0), n * 4
    if op == "reduce":
        return lambda: dist.reduce(x, 0), n * 4
    if op == "sendrecv":
        out = torch.empty_like(x)
        to, source = (rank + 1) % world, (rank - 1) % world

        def ring():
            for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, to), dist.P2POp(dist.irecv, out, source)]):
                work.wait()
        return ring, n * 4
    sys.exit("weft: no such collective: " + op)


def right():
    """Whether a sum over all ranks is what it must be: corrupt data is worse than slow."""
    x = torch.full((1 << 20,), float(rank + 1), device=device)
    dist.all_reduce(x)
    return bool((x == world * (world + 1) / 2).all().item())


correct = right()
for size in (int(s) for s in os.environ["WEFT_SIZES"].split(",")):
    call, counted = prepare(size)
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    seconds, end = [], time.monotonic() + limit
    while True:
        begin = torch.cuda.Event(enable_timing=True)
        done = torch.cuda.Event(enable_timing=True)
        calls = 5
        dist.barrier()
        torch.cuda.synchronize()
        begin.record()
        for _ in range(calls):
            call()
        done.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(done) / 1e3 / calls)
        # all ranks must agree on when to stop
        stop = torch.tensor([1.0 if time.monotonic() > end or len(seconds) >= 200 else 0.0], device=device)
        dist.broadcast(stop, 0)
        if stop.item() > 0:
            break
    slowest = torch.tensor(seconds, device=device, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if rank == 0:
        # bus bandwidth as nccl-tests define it, in GB/s of the median call: weft computes its
        # own and the two are compared
        factor = {"all_reduce": 2 * (world - 1) / world, "all_gather": (world - 1) / world, "reduce_scatter": (world - 1) / world,
                  "alltoall": (world - 1) / world, "broadcast": 1, "reduce": 1, "sendrecv": 1}[op]
        middle = sorted(slowest.tolist())[len(seconds) // 2]
        print("\n" + json.dumps({
            "weft": "collective", "op": op, "bytes": counted, "seconds": slowest.tolist(), "ranks": world, "nodes": nodes,
            "nccl": ".".join(str(v) for v in torch.cuda.nccl.version()), "torch": torch.__version__,
            "gpu": torch.cuda.get_device_name(device), "correct": correct,
            "busbw": counted / middle * factor / 1e9}), flush=True)
dist.destroy_process_group()
