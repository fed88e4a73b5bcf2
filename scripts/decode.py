# Decodes one token with random weights in the shape of a dense model: batch 1, a KV cache of
# 512 tokens, bf16. As one CUDA graph, and eager (the host launches each kernel). What came
# of it is in docs/forecast.md. Wants PyTorch and a GPU of 80 GB: python3 scripts/decode.py
import time, json, torch, torch.nn.functional as F
dev, dt = "cuda", torch.bfloat16
SHAPES = {"Qwen3-0.6B": (28, 1024, 16, 8, 128, 3072, 151936), "Qwen2.5-7B": (28, 3584, 28, 4, 128, 18944, 152064),
          "Qwen2.5-14B": (48, 5120, 40, 8, 128, 13824, 152064), "Qwen2.5-32B": (64, 5120, 40, 8, 128, 27648, 152064)}
CTX = 512
def rms(x, w): return F.rms_norm(x, (x.shape[-1],), w)
class M:
    def __init__(s, L, h, nh, nkv, d, ff, V):
        s.L, s.h, s.nh, s.nkv, s.d = L, h, nh, nkv, d
        mk = lambda *a: torch.empty(*a, device=dev, dtype=dt).normal_(std=0.02)
        s.layers = [(mk((nh+2*nkv)*d, h), mk(h, nh*d), mk(2*ff, h), mk(h, ff), torch.ones(h, device=dev, dtype=dt), torch.ones(h, device=dev, dtype=dt),
                     mk(1, nkv, CTX, d), mk(1, nkv, CTX, d)) for _ in range(L)]
        s.head = mk(V, h); s.norm = torch.ones(h, device=dev, dtype=dt); s.emb = mk(V, h)
        s.cos = torch.ones(d, device=dev, dtype=dt); s.sin = torch.zeros(d, device=dev, dtype=dt)
    def rope(s, x):
        a, b = x.chunk(2, -1)
        return x * s.cos + torch.cat((-b, a), -1) * s.sin
    def step(s, tok):
        x = F.embedding(tok, s.emb)
        for qkv, o, gu, dn, n1, n2, K, V in s.layers:
            y = F.linear(rms(x, n1), qkv)
            q, k, v = y.split([s.nh*s.d, s.nkv*s.d, s.nkv*s.d], -1)
            q = s.rope(q.view(1, 1, s.nh, s.d).transpose(1, 2)); k = s.rope(k.view(1, 1, s.nkv, s.d).transpose(1, 2)); v = v.view(1, 1, s.nkv, s.d).transpose(1, 2)
            K[:, :, -1:] = k; V[:, :, -1:] = v
            a = F.scaled_dot_product_attention(q, K, V, enable_gqa=True)
            x = x + F.linear(a.transpose(1, 2).reshape(1, 1, -1), o)
            g, u = F.linear(rms(x, n2), gu).chunk(2, -1)
            x = x + F.linear(F.silu(g) * u, dn)
        return F.linear(rms(x, s.norm), s.head).argmax(-1)
@torch.no_grad()
def main():
    for name, shape in SHAPES.items():
        m = M(*shape); tok = torch.zeros(1, 1, dtype=torch.long, device=dev)
        for _ in range(3): m.step(tok)
        torch.cuda.synchronize()
        def timed(f, n):
            out = []
            for _ in range(n):
                t = time.perf_counter(); f(); torch.cuda.synchronize(); out.append((time.perf_counter()-t)*1e3)
            out.sort(); return out[len(out)//2]
        def host(n):
            out = []
            for _ in range(n):
                torch.cuda.synchronize(); t = time.perf_counter(); m.step(tok); out.append((time.perf_counter()-t)*1e3)
            out.sort(); return out[len(out)//2]
        eager, hostms = timed(lambda: m.step(tok), 50), host(50)
        s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s): m.step(tok)
        torch.cuda.current_stream().wait_stream(s)
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g): m.step(tok)
        graph = timed(g.replay, 100)
        print(json.dumps({"model": name, "graph_ms": round(graph, 3), "eager_ms": round(eager, 3), "host_ms": round(hostms, 3), "layers": shape[0]}), flush=True)
        del m, g; torch.cuda.empty_cache()
main()
