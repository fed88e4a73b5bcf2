package platform

import (
	"strings"

	"weft/internal/fact"
)

// Quant says whether a quantisation runs on a GPU, as vLLM serves it.
type Quant struct {
	On      string // a GPU row's Match ("gfx1151", "GB10"), an architecture ("Hopper") or a vendor ("AMD")
	Quant   string // "awq"
	MoE     string // "yes": mixtures of experts alone; "no": dense models alone; "": both
	Verdict string // "works", "broken", "unknown"
	Note    string // how it works or breaks
	Instead string // what to use where it is broken or unknown
	Source  string
}

const (
	vllmTable = "vLLM documentation, quantization: supported hardware"
	vllmFP8   = "vLLM documentation, FP8 W8A8"
	vllmINT8  = "vLLM documentation, INT8 W8A8"
	vllmCUDA  = "vLLM documentation, installation: compute capability 7.5 or higher (read 2026-11-15)"
	llamaGGUF = "GGUF (llama.cpp)"
)

// Quants lists the combinations that weft knows; the more specific row wins.
var Quants = []Quant{
	{On: "gfx1151", Quant: "awq", MoE: "yes", Verdict: "broken", Note: "loading hangs silently, then the GPUs idle", Instead: "w4a16", Source: "seed 003"},
	{On: "gfx1151", Quant: "awq", MoE: "no", Verdict: "unknown", Note: "a dense 405B ran under some kernels and hung under others", Instead: "w4a16", Source: "seed 003"},
	{On: "gfx1151", Quant: "w4a16", Verdict: "works", Note: "also for large mixtures of experts", Source: "seed 003"},
	{On: "gfx1151", Quant: "gptq", MoE: "yes", Verdict: "broken", Note: "the generic 4-bit expert kernel deadlocks", Instead: "w4a16", Source: "github.com/vllm-project/vllm pull 46186"},
	{On: "gfx1151", Quant: "fp8", MoE: "yes", Verdict: "broken", Note: "expert kernels fail and the hardware has no FP8", Instead: "w4a16", Source: "github.com/vllm-project/vllm pull 46186"},
	{On: "gfx1151", Quant: "fp8", MoE: "no", Verdict: "unknown", Note: "the hardware has no FP8", Instead: "w4a16", Source: amdDoc},

	{On: "gfx942", Quant: "fp8", Verdict: "works", Source: vllmFP8},
	{On: "gfx950", Quant: "fp8", Verdict: "works", Source: vllmTable},
	{On: "gfx1201", Quant: "fp8", Verdict: "unknown", Note: "the hardware has FP8; nobody has reported the kernels", Instead: "w4a16", Source: amdDoc},
	{On: "gfx1100", Quant: "fp8", Verdict: "unknown", Note: "the hardware has no FP8", Instead: "w4a16", Source: amdDoc},
	{On: "gfx908", Quant: "fp8", Verdict: "unknown", Note: "the hardware has no FP8", Instead: "bf16", Source: amdDoc},
	{On: "gfx90a", Quant: "fp8", Verdict: "unknown", Note: "the hardware has no FP8", Instead: "bf16", Source: amdDoc},
	{On: "AMD", Quant: "awq", Verdict: "unknown", Note: "vLLM's table has AWQ unsupported on AMD, though Triton kernels run on some", Instead: "w4a16", Source: vllmTable},
	{On: "AMD", Quant: "gptq", Verdict: "unknown", Note: "vLLM's table has GPTQ unsupported on AMD, though Triton kernels run on some", Instead: "w4a16", Source: vllmTable},
	{On: "AMD", Quant: "int8", Verdict: "works", Note: "by a Triton kernel, symmetric quantisation alone", Source: "github.com/vllm-project/vllm pulls 12282, 26668, 57331"},
	{On: "gfx942", Quant: "nvfp4", Verdict: "works", Note: "by emulation: it saves memory, not time", Source: "github.com/vllm-project/vllm pulls 35733, 35737"},
	{On: "gfx950", Quant: "nvfp4", Verdict: "works", Note: "by emulation: it saves memory, not time", Source: "github.com/vllm-project/vllm pulls 35733, 35737"},
	{On: "AMD", Quant: "nvfp4", Verdict: "broken", Note: "NVFP4 is NVIDIA's format", Instead: "fp8 where the GPU has it, else w4a16", Source: vllmTable},
	{On: "AMD", Quant: "bf16", Verdict: "works", Source: amdDoc},
	{On: "AMD", Quant: "fp16", Verdict: "works", Source: amdDoc},

	{On: "GB10", Quant: "nvfp4", Verdict: "works", Note: "vLLM up to 0.29 picks weight-only kernels on sm_121 by itself", Source: "github.com/unslothai/unsloth pull 10417"},
	{On: "Blackwell", Quant: "nvfp4", Verdict: "works", Source: vllmTable},
	{On: "Blackwell", Quant: "fp8", Verdict: "works", Source: vllmFP8},
	{On: "Blackwell", Quant: "int8", Verdict: "broken", Note: "no INT8 kernels from compute capability 10.0 on", Instead: "fp8", Source: vllmINT8},
	{On: "Hopper", Quant: "fp8", Verdict: "works", Source: vllmFP8},
	{On: "Ada Lovelace", Quant: "fp8", Verdict: "works", Source: vllmFP8},
	{On: "Ampere", Quant: "fp8", Verdict: "works", Note: "as weight-only W8A16: it saves memory, not time", Source: vllmFP8},
	{On: "Turing", Quant: "fp8", Verdict: "works", Note: "as weight-only W8A16: it saves memory, not time", Source: vllmFP8},
	{On: "Hopper", Quant: "nvfp4", Verdict: "works", Note: "as weight-only FP4: it saves memory, not time", Source: vllmTable},
	{On: "Ada Lovelace", Quant: "nvfp4", Verdict: "works", Note: "as weight-only FP4: it saves memory, not time", Source: vllmTable},
	{On: "Ampere", Quant: "nvfp4", Verdict: "works", Note: "as weight-only FP4: it saves memory, not time", Source: vllmTable},
	{On: "Turing", Quant: "nvfp4", Verdict: "unknown", Note: "vLLM's Marlin kernels cover Turing in part", Instead: "awq", Source: vllmTable},
	{On: "Turing", Quant: "bf16", Verdict: "broken", Note: "bfloat16 wants compute capability 8.0: vLLM refuses to start", Instead: "fp16", Source: "github.com/vllm-project/vllm issue 1157"},
	{On: "Pascal", Quant: "fp8", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Pascal", Quant: "nvfp4", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Pascal", Quant: "awq", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Pascal", Quant: "gptq", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Pascal", Quant: "int8", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Pascal", Quant: "w4a16", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Pascal", Quant: "bf16", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Pascal", Quant: "fp16", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Kepler", Quant: "fp8", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Kepler", Quant: "nvfp4", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Kepler", Quant: "awq", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Kepler", Quant: "gptq", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Kepler", Quant: "int8", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Kepler", Quant: "w4a16", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Kepler", Quant: "bf16", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "Kepler", Quant: "fp16", Verdict: "broken", Note: "vLLM starts at Turing", Instead: llamaGGUF, Source: vllmCUDA},
	{On: "NVIDIA", Quant: "awq", Verdict: "works", Source: vllmTable},
	{On: "NVIDIA", Quant: "gptq", Verdict: "works", Source: vllmTable},
	{On: "NVIDIA", Quant: "w4a16", Verdict: "works", Source: vllmTable},
	{On: "NVIDIA", Quant: "int8", Verdict: "works", Source: vllmTable},
	{On: "NVIDIA", Quant: "bf16", Verdict: "works", Source: vllmTable},
	{On: "NVIDIA", Quant: "fp16", Verdict: "works", Source: vllmTable},
}

// QuantOf returns what is known of a quantisation on a GPU: first by model, then
// by architecture, then by vendor. ok is false where nothing is known.
func QuantOf(g *fact.GPU, quant string, moe bool) (q Quant, ok bool) {
	known, _ := GPUOf(g)
	quant = strings.ToLower(quant)
	for _, on := range []string{known.Match, g.Arch, known.Arch, g.Vendor} {
		for _, row := range Quants {
			if on == "" || row.On != on || row.Quant != quant || row.MoE != "" && (row.MoE == "yes") != moe {
				continue
			}
			return row, true
		}
	}
	return Quant{}, false
}
