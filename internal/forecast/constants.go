package forecast

// Constants are the numbers of the model that no data sheet gives. Each is global:
// one value for every model, cluster and source. docs/forecast.md says where each
// comes from; weft forecast fit makes them again.
type Constants struct {
	// Part of the stated memory bandwidth that decoding reaches.
	Achieved      float64 `json:"achieved"`       // GPUs
	AchievedUltra float64 `json:"achieved_ultra"` // Apple's Ultra chips, which are two
	AchievedCPU   float64 `json:"achieved_cpu"`   // processors

	// Part of that again which the fused mixture kernels of vLLM and its like reach
	// with a few tokens.
	FusedCUDA float64 `json:"fused_cuda"` // CUDA, and CDNA, for which there is no measurement
	FusedRDNA float64 `json:"fused_rdna"` // Radeon: gfx1151

	// For each layer, µs: norms, rotary, routing, the gaps between kernels.
	LayerLlama float64 `json:"layer_llama"`
	LayerGraph float64 `json:"layer_graph"`
	LayerMetal float64 `json:"layer_metal"` // llama.cpp on Apple's GPUs
	LayerMLX   float64 `json:"layer_mlx"`
	Eager      float64 `json:"eager"` // more, when the host launches each kernel

	// A small collective, µs: between two nodes, and more for each doubling of them.
	RDMA        float64 `json:"sync_rdma"` // NCCL, RCCL
	RDMAMore    float64 `json:"sync_rdma_more"`
	TCP         float64 `json:"sync_tcp"` // NCCL, RCCL over sockets
	TCPMore     float64 `json:"sync_tcp_more"`
	Thunder     float64 `json:"sync_thunderbolt"` // MLX over RDMA on Thunderbolt
	ThunderMore float64 `json:"sync_thunderbolt_more"`
	Socket      float64 `json:"sync_socket"` // distributed-llama on small boards, for a width of 4096 and in proportion
	SocketMore  float64 `json:"sync_socket_more"`

	// A hop of llama.cpp's RPC to the next stage, µs.
	HopTCP  float64 `json:"hop_tcp"`
	HopRDMA float64 `json:"hop_rdma"`
}

// Default are the constants as fitted: see docs/forecast.md.
var Default = Constants{
	Achieved: 0.788, AchievedUltra: 0.694, AchievedCPU: 0.67,
	FusedCUDA: 0.642, FusedRDNA: 0.0819,
	LayerLlama: 26.2, LayerGraph: 32, LayerMetal: 128, LayerMLX: 59.3, Eager: 283,
	RDMA: 68.4, RDMAMore: 21.8, TCP: 169, TCPMore: 134,
	Thunder: 54.6, ThunderMore: 31.9, Socket: 923, SocketMore: 279,
	HopTCP: 6380, HopRDMA: 4230,
}

// Constants that are measured by themselves and not fitted to tokens/s.
const (
	// A one-shot exchange over RDMA in place of NCCL's ring: 10.9 µs between two Sparks,
	// 16.9 among four (christopherowen/dgx-spark-networking README, 10 KiB).
	oneShot, oneShotMore = 10.9, 6

	// Inside a node: all_gather of 8 KiB between two ranks takes 21.8 µs (pytorch
	// issue 195719, ROCm); NCCL's fixed cost of a step is 10 to 12 µs (NVIDIA/nccl
	// issue 2409).
	insidePCIe, insideNVLink = 21.8, 11.0

	// A hop of vLLM's pipeline between nodes is one send and one receive of NCCL, about
	// half a collective: no measurement of it was found.
	hopOfSync = 0.5
)

// achieved is the part of the stated bandwidth that decoding reaches.
func (c Constants) achieved(h Hardware) float64 {
	switch {
	case h.Achieved > 0:
		return h.Achieved
	case h.Kind == "ultra":
		return c.AchievedUltra
	case h.Kind == "cpu":
		return c.AchievedCPU
	}
	return c.Achieved
}

// fused is the part of that which routed experts reach.
func (c Constants) fused(e Engine, h Hardware) float64 {
	switch {
	case !e.Fused:
		return 1
	case h.Kind == "rdna":
		return c.FusedRDNA
	}
	return c.FusedCUDA
}

// layer is µs for each layer.
func (c Constants) layer(e Engine, h Hardware) float64 {
	us := c.LayerLlama
	switch {
	case e.Layer == "mlx":
		us = c.LayerMLX
	case h.Kind == "metal" || h.Kind == "ultra":
		us = c.LayerMetal
	case e.Layer == "graph":
		us = c.LayerGraph
	}
	if e.Eager {
		us += c.Eager
	}
	return us
}
