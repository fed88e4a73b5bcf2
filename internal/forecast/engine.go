package forecast

import (
	"slices"
	"strings"
)

// Engine is a program that serves models: how it stores weights, what it can split,
// and which constants describe it.
type Engine struct {
	Name    string   `json:"name"`
	Weights string   `json:"weights"` // "gguf", "mlx", "flat", "hf"
	Layer   string   `json:"-"`       // which per-layer cost: "llama", "graph", "mlx", "dllama"
	Eager   bool     `json:"eager"`   // kernels are launched one by one
	Fused   bool     `json:"-"`       // mixture layers run in a fused kernel of their own
	Sync    string   `json:"-"`       // whose collectives: "nccl", "mlx", "dllama"
	Hop     string   `json:"-"`       // who hands on between stages: "rpc", "nccl"
	Splits  []string `json:"splits"`  // "tp", "pp"
	Near    bool     `json:"near"`    // tensor parallel within a node alone: between nodes it hands layers on
	Kernels float64  `json:"kernels"` // part of the usual bandwidth that its kernels reach; 0 is all
	Experts bool     `json:"-"`       // tensor parallel splits routed experts and the head alone
	Runtime float64  `json:"runtime"` // GiB of a rank beside weights and cache: assumed, see docs/forecast.md
	about   string
}

var engines = []Engine{
	{Name: "vllm", Weights: "hf", Layer: "graph", Fused: true, Sync: "nccl", Hop: "nccl", Splits: []string{"tp", "pp"}, Runtime: 3, about: "vLLM with CUDA or HIP graphs, its default"},
	{Name: "vllm-eager", Weights: "hf", Layer: "graph", Eager: true, Fused: true, Sync: "nccl", Hop: "nccl", Splits: []string{"tp", "pp"}, Runtime: 2, about: "vLLM with --enforce-eager"},
	{Name: "sglang", Weights: "hf", Layer: "graph", Fused: true, Sync: "nccl", Hop: "nccl", Splits: []string{"tp", "pp"}, Runtime: 3, about: "SGLang; as vLLM, it was not fitted by itself"},
	{Name: "trt-llm", Weights: "hf", Layer: "graph", Fused: true, Sync: "nccl", Hop: "nccl", Splits: []string{"tp", "pp"}, Runtime: 3, about: "TensorRT-LLM; as vLLM, it was not fitted by itself"},
	{Name: "llama.cpp", Weights: "gguf", Layer: "llama", Sync: "nccl", Hop: "rpc", Splits: []string{"pp", "tp"}, Near: true, Runtime: 1, about: "llama.cpp, layers over GPUs and, with RPC, over nodes"},
	// antirez/ds4: 14.3 tokens/s of DeepSeek V4 Flash on a Spark, 8.6 GB read for each
	// (data/sync-cost.csv): 0.57 of what others reach; its tensor parallelism splits
	// experts and vocabulary alone.
	{Name: "ds4", Weights: "gguf", Layer: "llama", Sync: "nccl", Hop: "rpc", Splits: []string{"tp", "pp"}, Kernels: 0.57, Experts: true, Runtime: 1, about: "antirez/ds4, for DeepSeek V4"},
	{Name: "exo", Weights: "mlx", Layer: "mlx", Sync: "mlx", Hop: "mlx", Splits: []string{"tp", "pp"}, Runtime: 2, about: "exo with MLX"},
	{Name: "mlx", Weights: "mlx", Layer: "mlx", Sync: "mlx", Hop: "mlx", Splits: []string{"tp", "pp"}, Runtime: 2, about: "MLX"},
	{Name: "distributed-llama", Weights: "flat", Layer: "dllama", Sync: "dllama", Hop: "dllama", Splits: []string{"tp"}, Runtime: 0.5, about: "distributed-llama: tensor parallel over sockets"},
}

// EngineNames lists the engines.
func EngineNames() []string {
	var out []string
	for _, e := range engines {
		out = append(out, e.Name)
	}
	return out
}

// kernels is the part of the usual bandwidth that its kernels reach.
func (e Engine) kernels() float64 {
	if e.Kernels > 0 {
		return e.Kernels
	}
	return 1
}

// syncs is the collectives of a layer: after attention and after the experts, or after
// the experts alone.
func (e Engine) syncs() int {
	if e.Experts {
		return 1
	}
	return 2
}

// About says what an engine is.
func (e Engine) About() string { return e.about }

// Can reports whether the engine splits models this way.
func (e Engine) Can(l Layout) bool {
	return (l.TP <= 1 || slices.Contains(e.Splits, "tp")) && (l.PP <= 1 || slices.Contains(e.Splits, "pp"))
}

// words of engines as people write them, longest first where one holds another.
var engineWords = []struct{ word, name string }{
	{"vllmeager", "vllm-eager"}, {"enforceeager", "vllm-eager"}, {"vllm", "vllm"}, {"sglang", "sglang"}, {"tensorrt", "trt-llm"}, {"trtllm", "trt-llm"},
	{"distributedllama", "distributed-llama"}, {"dllama", "distributed-llama"},
	{"llama.cpp", "llama.cpp"}, {"llamacpp", "llama.cpp"}, {"ollama", "llama.cpp"}, {"lmstudio", "llama.cpp"}, {"ds4", "ds4"}, {"ikllama", "llama.cpp"}, {"llamabench", "llama.cpp"}, {"koboldcpp", "llama.cpp"},
	{"exo", "exo"}, {"mlx", "mlx"}, {"gguf", "llama.cpp"}, {"vulkan", "llama.cpp"}, // only llama.cpp and its kin compute with Vulkan
}

// EngineByName finds an engine in a text like "vLLM 0.19.1rc1" or "llama.cpp RPC
// (Vulkan)". mode is "eager", "graph" or "".
func EngineByName(text, mode string) (Engine, error) {
	want := fold(strings.ReplaceAll(text, "/", " "))
	for _, w := range engineWords {
		if !strings.Contains(want, w.word) {
			continue
		}
		name := w.name
		switch {
		case strings.HasPrefix(name, "vllm") && (mode == "eager" || mode == "" && strings.Contains(want, "eager")):
			name = "vllm-eager"
		case mode == "graph" && name == "vllm-eager":
			name = "vllm"
		}
		e := engines[slices.IndexFunc(engines, func(e Engine) bool { return e.Name == name })]
		if mode == "eager" && e.Layer == "graph" {
			e.Eager = true
		}
		return e, nil
	}
	return Engine{}, &Unknown{"engine", text, nearest(text, EngineNames())}
}
