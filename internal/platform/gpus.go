package platform

import "strings"

// Features lists what a workload may ask of a GPU.
var Features = []string{"mig", "nvlink", "vgpu", "fp8", "nvfp4", "tensor-cores", "gpudirect", "fabric-manager", "time-slicing", "dcgm", "nim"}

// Instead says what to use where a feature is absent.
var Instead = map[string]string{
	"mig":            "share the GPU by time-slicing (no isolation), or give each job a whole one",
	"nvlink":         "GPUs of one node talk over PCIe, nodes over RDMA: keep tensor parallelism inside what that carries",
	"vgpu":           "pass the whole GPU through to one virtual machine",
	"fp8":            "a w4a16 or INT8 checkpoint",
	"nvfp4":          "an FP8 checkpoint where the GPU has FP8, else w4a16",
	"tensor-cores":   "weight-only quantisation; mixed precision gains little here",
	"gpudirect":      "leave it: NCCL stages through host memory by itself, and prints that GPU Direct RDMA is disabled",
	"fabric-manager": "nothing: it runs NVSwitch boards and is not needed elsewhere",
	"time-slicing":   "one job per GPU",
	"dcgm":           "the vendor's own tool: nvidia-smi, or amd-smi",
	"nim":            "vLLM with a checkpoint that fits this GPU",
}

// has writes a feature map: the features a GPU has, "feature: why" for each that
// nobody could tell, and no for the rest.
func has(yes string, unclear ...string) map[string]string {
	m := make(map[string]string, len(Features))
	for _, f := range Features {
		m[f] = "no"
	}
	for _, f := range strings.Fields(yes) {
		m[f] = "yes"
	}
	for _, u := range unclear {
		f, why, _ := strings.Cut(u, ": ")
		m[f] = "unclear: " + why
	}
	return m
}

// Where the rows come from, and what nobody could tell.
const (
	migDoc     = "NVIDIA MIG user guide, supported GPUs (v610)"
	directDoc  = "NVIDIA GPUDirect RDMA guide: Tesla and Quadro class"
	sparkDoc   = "NVIDIA DGX Spark porting guide, CUDA: GPUDirect RDMA; research/community.md item 22"
	geforceDoc = "github.com/NVIDIA/gdrcopy issue 211 (NVIDIA: GeForce class has no GPUDirect RDMA)"
	amdDoc     = "ROCm documentation, accelerator and data type support"
	conditions = "wants a ConnectX-4 or newer under the same PCIe root"
	partitions = "AMD's own partition modes are not MIG, xGMI is not NVLink, amd-smi stands for DCGM"

	nvswitchOnly = "fabric-manager: on boards with NVSwitch alone (8-GPU HGX, DGX); 4-GPU boards have none"
	vgpuList     = "vgpu: see NVIDIA's list of vGPU products for this board"
	nimOld       = "nim: modern profiles assume newer GPUs and more memory; see the model's own list"
	nimList      = "nim: see the model's own list"
	sliceGeForce = "time-slicing: the device plugin does it, NVIDIA supports it on data-centre GPUs"
	dcgmGeForce  = "dcgm: GeForce gets a part of it"
	sliceAMD     = "time-slicing: NVIDIA's device plugin does it; for AMD's none is known"
	directRDNA   = "gpudirect: dma-buf may work where the whole memory is in the BAR; nobody has reported it on such a cluster"
	wmma         = "tensor-cores: matrix instructions on the shader units, no separate cores"
)

// GPUs lists the GPUs that weft knows.
var GPUs = []GPU{
	{Match: "K20*", Vendor: "NVIDIA", Devices: []uint16{0x101e, 0x101f, 0x1020, 0x1021, 0x1022, 0x1026, 0x1028}, Arch: "Kepler", Class: "datacenter", Direct: "conditional",
		Features: has("gpudirect", "time-slicing: R470 is the last driver for Kepler", "dcgm: R470 is the last driver for Kepler", nimOld), Note: conditions, Source: "seed 002; " + ids23},
	{Match: "P4", Vendor: "NVIDIA", Devices: []uint16{0x1bb3}, Arch: "Pascal", Class: "datacenter", Direct: "conditional",
		Features: has("gpudirect vgpu time-slicing dcgm", nimOld), Note: conditions, Source: "seed 002; " + ids23},
	{Match: "P100", Vendor: "NVIDIA", Devices: []uint16{0x15f7, 0x15f8}, Arch: "Pascal", Class: "datacenter", Direct: "conditional",
		Features: has("gpudirect vgpu time-slicing dcgm", nimOld), Note: conditions, Source: "seed 002; " + ids23},
	{Match: "P100-SXM2", Vendor: "NVIDIA", Devices: []uint16{0x15f9}, Arch: "Pascal", Class: "datacenter", Direct: "conditional",
		Features: has("gpudirect vgpu nvlink time-slicing dcgm", nimOld), Note: conditions, Source: "seed 002; " + ids23},
	{Match: "T4", Vendor: "NVIDIA", Devices: []uint16{0x1eb8}, Arch: "Turing", Class: "datacenter", Direct: "conditional",
		Features: has("gpudirect vgpu tensor-cores time-slicing dcgm", nimOld), Note: conditions, Source: "seed 002; " + ids23},
	{Match: "A100", Vendor: "NVIDIA", Devices: []uint16{0x20b0, 0x20b1, 0x20b2, 0x20b3, 0x20b5, 0x20f1}, Arch: "Ampere", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect vgpu mig nvlink tensor-cores time-slicing dcgm nim", nvswitchOnly), Source: migDoc + "; " + directDoc + "; " + ids23},
	{Match: "A30", Vendor: "NVIDIA", Devices: []uint16{0x20b7}, Arch: "Ampere", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect vgpu mig nvlink tensor-cores time-slicing dcgm", nimList), Source: migDoc + "; " + directDoc + "; " + ids23},
	{Match: "H100", Vendor: "NVIDIA", Devices: []uint16{0x2321, 0x2330, 0x2331, 0x2336, 0x2337, 0x2338, 0x2339}, Arch: "Hopper", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect vgpu mig nvlink fp8 tensor-cores time-slicing dcgm nim", nvswitchOnly), Source: migDoc + "; " + directDoc + "; " + ids26},
	{Match: "H200", Vendor: "NVIDIA", Devices: []uint16{0x2335, 0x233b}, Arch: "Hopper", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect vgpu mig nvlink fp8 tensor-cores time-slicing dcgm nim", nvswitchOnly), Source: migDoc + "; " + directDoc + "; " + ids26},
	{Match: "GH200", Vendor: "NVIDIA", Devices: []uint16{0x2342, 0x2348}, Arch: "Hopper", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect mig nvlink fp8 tensor-cores time-slicing dcgm", vgpuList, nimList, nvswitchOnly), Source: migDoc + "; " + directDoc + "; " + ids26},
	{Match: "B200", Vendor: "NVIDIA", Devices: []uint16{0x2901, 0x2909}, Arch: "Blackwell", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect mig nvlink fp8 nvfp4 tensor-cores time-slicing dcgm nim", vgpuList, nvswitchOnly), Source: migDoc + "; " + directDoc + "; " + ids26},
	{Match: "GB200", Vendor: "NVIDIA", Devices: []uint16{0x2941}, Arch: "Blackwell", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect mig nvlink fp8 nvfp4 tensor-cores time-slicing dcgm nim", vgpuList, nvswitchOnly), Source: migDoc + "; " + directDoc + "; " + ids26},
	{Match: "L4", Vendor: "NVIDIA", Devices: []uint16{0x27b8}, Arch: "Ada Lovelace", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect vgpu fp8 tensor-cores time-slicing dcgm nim"), Source: directDoc + "; " + ids23},
	{Match: "L40S", Vendor: "NVIDIA", Devices: []uint16{0x26b9}, Arch: "Ada Lovelace", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect vgpu fp8 tensor-cores time-slicing dcgm nim"), Source: directDoc + "; " + ids26},
	{Match: "RTX PRO 6000 Blackwell", Vendor: "NVIDIA", Devices: []uint16{0x2bb1, 0x2bb4, 0x2bb5}, Arch: "Blackwell", Class: "workstation", Direct: "yes",
		Features: has("gpudirect mig fp8 nvfp4 tensor-cores time-slicing dcgm nim", "vgpu: the Server Edition alone is on NVIDIA's list"), Source: migDoc + "; " + directDoc + "; " + ids26},

	{Match: "GeForce RTX 30*", Vendor: "NVIDIA", Arch: "Ampere", Class: "geforce", Direct: "no",
		Features: has("tensor-cores", sliceGeForce, dcgmGeForce, nimList), Note: "NVIDIA's driver keeps GPUDirect RDMA from GeForce", Source: geforceDoc},
	{Match: "GeForce RTX 3090*", Vendor: "NVIDIA", Devices: []uint16{0x2203, 0x2204}, Arch: "Ampere", Class: "geforce", Direct: "no",
		Features: has("tensor-cores nvlink", sliceGeForce, dcgmGeForce, nimList), Note: "NVIDIA's driver keeps GPUDirect RDMA from GeForce; a bridge joins two by NVLink", Source: geforceDoc + "; " + ids23},
	{Match: "GeForce RTX 40*", Vendor: "NVIDIA", Devices: []uint16{0x2684, 0x2685, 0x2702, 0x2704, 0x2782}, Arch: "Ada Lovelace", Class: "geforce", Direct: "no",
		Features: has("tensor-cores fp8", sliceGeForce, dcgmGeForce, nimList), Note: "NVIDIA's driver keeps GPUDirect RDMA from GeForce", Source: geforceDoc + "; " + ids26},
	{Match: "GeForce RTX 50*", Vendor: "NVIDIA", Devices: []uint16{0x2b85, 0x2b87, 0x2c02, 0x2c05, 0x2f04}, Arch: "Blackwell", Class: "geforce", Direct: "no",
		Features: has("tensor-cores fp8 nvfp4", sliceGeForce, dcgmGeForce, nimList), Note: "NVIDIA's driver keeps GPUDirect RDMA from GeForce", Source: geforceDoc + "; " + ids26},
	{Match: "GB10", Vendor: "NVIDIA", Devices: []uint16{0x2e12}, Arch: "Blackwell", Class: "integrated", Direct: "no",
		Features: has("tensor-cores fp8 nvfp4 nim", "time-slicing: nobody has reported it", "dcgm: unified memory leaves its memory counters empty"),
		Note:     "unified memory; GPUDirect RDMA is absent by design", Source: sparkDoc + "; " + ids26},

	{Match: "gfx908", Vendor: "AMD", Devices: []uint16{0x7388, 0x738c, 0x738e}, Arch: "CDNA", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect tensor-cores", sliceAMD), Note: "MI100; " + partitions, Source: amdDoc + "; " + ids23 + "; fixtures rocm-smi_mi100_rocm602.json"},
	{Match: "gfx90a", Vendor: "AMD", Devices: []uint16{0x7408, 0x740c, 0x740f}, Arch: "CDNA 2", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect tensor-cores", sliceAMD), Note: "MI210, MI250, MI250X; " + partitions, Source: amdDoc + "; " + ids23},
	{Match: "gfx942", Vendor: "AMD", Devices: []uint16{0x74a0, 0x74a1, 0x74a2, 0x74a5, 0x74a9, 0x74b5, 0x74b9, 0x74bd}, Arch: "CDNA 3", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect tensor-cores fp8", sliceAMD), Note: "MI300A, MI300X, MI308X, MI325X; " + partitions, Source: amdDoc + "; vLLM documentation, FP8 W8A8; " + ids26},
	{Match: "gfx950", Vendor: "AMD", Devices: []uint16{0x75a0, 0x75a3}, Arch: "CDNA 4", Class: "datacenter", Direct: "yes",
		Features: has("gpudirect tensor-cores fp8", sliceAMD), Note: "MI350X, MI355X: MXFP4 in hardware, which is not NVFP4; " + partitions, Source: amdDoc + "; " + ids26},
	{Match: "gfx1100", Vendor: "AMD", Devices: []uint16{0x7448, 0x7449, 0x744a, 0x744b, 0x744c, 0x745e}, Arch: "RDNA 3", Class: "workstation", Direct: "conditional",
		Features: has("", directRDNA, sliceAMD, wmma), Note: "RX 7900, Pro W7800, W7900", Source: amdDoc + "; " + ids26 + "; fixtures rccl_debug_7900xtx_rocm7.14.txt"},
	{Match: "gfx1151", Vendor: "AMD", Devices: []uint16{0x1586}, Arch: "RDNA 3.5", Class: "integrated", Direct: "no",
		Features: has("", sliceAMD, wmma), Note: "unified memory; mlx5 refuses hipMalloc memory", Source: "research/community.md item 22; " + ids26},
	{Match: "gfx1201", Vendor: "AMD", Devices: []uint16{0x7550, 0x7551}, Arch: "RDNA 4", Class: "workstation", Direct: "conditional",
		Features: has("fp8", directRDNA, sliceAMD, wmma), Note: "RX 9070, AI PRO R9700", Source: amdDoc + "; " + ids26 + "; fixtures rocminfo_gfx1201_isa.txt"},
}
