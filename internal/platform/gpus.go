package platform

// GPUs lists the GPUs that weft knows.
var GPUs = []GPU{
	{Match: "GB10", Arch: "Blackwell", Class: "integrated", Direct: "no",
		Note: "unified memory; GPUDirect RDMA is absent by design", Source: "research/community.md item 22"},
	{Match: "gfx1151", Arch: "RDNA 3.5", Class: "integrated", Direct: "no",
		Note: "unified memory; mlx5 refuses hipMalloc memory", Source: "research/community.md item 22"},
}
