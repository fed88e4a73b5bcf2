// Package demo holds five clusters, one for each document that weft was made from,
// with the faults that the document tells of. They are constructed, not recorded:
// no such machine was read. Pure.
package demo

import "embed"

//go:embed clusters
var files embed.FS

// Cluster is one of them.
type Cluster struct {
	Name   string
	Title  string
	Story  string   // what happened, in two sentences
	From   string   // the document
	Faults []string // the checks that fail, and no others
	Warns  []string // the checks that warn, and no others; none is unknown
}

// Dump is what its nodes would have answered.
func (c Cluster) Dump() []byte { return c.read("dump") }

// Spec is its weft.yaml.
func (c Cluster) Spec() []byte { return c.read("yaml") }

func (c Cluster) read(ext string) []byte {
	b, err := files.ReadFile("clusters/" + c.Name + "." + ext)
	if err != nil {
		panic(err) // embedded with the program, and a test reads them all
	}
	return b
}

// All lists them in the order of the documents.
func All() []Cluster {
	return []Cluster{strixIB, kaiRack, ibLab, strixTP, sparkWS}
}

var (
	strixIB = Cluster{
		Name: "strix-ib", From: "Clustering with RDMA (Strix Halo wiki)",
		Title: "two Strix Halo mini PCs with used InfiniBand cards",
		Story: "Two Bosgame M5 got ConnectX-3 cards on M.2-to-OCuLink adapters and a cable between them, and the link came up but no packet crossed it.\n" +
			"Nothing on either machine is a subnet manager, so the ports wait in INIT; and the driver steers packets the slow way.",
		Faults: []string{"port.up"},
		Warns:  []string{"ib.steering"},
	}
	kaiRack = Cluster{
		Name: "kai-rack", From: "RDMA Setup in Practice + Cluster Uplink Design (Kentino wiki)",
		Title: "four training servers on 200 Gb/s RoCE",
		Story: "A rack of four servers with two ConnectX-6 and four GPUs each passes ping and then trains at a fraction of its speed.\n" +
			"Every node has one of the faults that a bench finds before such a rack ships: a port at half rate, no PFC, a small MTU, no peermem, drivers not built for the kernel, a clock that runs ahead, ssh on the data plane.",
		Faults: []string{"node.clock", "node.ofed", "port.rate", "roce.mtu", "roce.pfc", "roce.trust", "roce.tc", "gpu.direct", "nccl.env"},
		Warns:  []string{"plane.separate"},
	}
	ibLab = Cluster{
		Name: "ib-lab", From: "an InfiniBand and GPU lab of three Dell servers (a blog)",
		Title: "three used Dell servers on an InfiniBand switch",
		Story: "Three servers with ConnectX-4 cards, an old QDR switch and low-power GPUs were to learn GPUDirect, IPoIB in connected mode and NVIDIA's tools.\n" +
			"Two subnet managers race, one server still holds a ConnectX-3 that its RHEL 10 cannot drive, the plan asks T4 and P4 for MIG, and connected mode is not what mlx5 offers.",
		Faults: []string{"ib.sm", "ib.cx3", "gpu.matrix"},
		Warns:  []string{"pcie.numa", "ib.ipoib"},
	}
	strixTP = Cluster{
		Name: "strix-tp", From: "Three months wrong about why my 4-node AMD cluster was slow (a video, summarised)",
		Title: "four Strix Halo machines that were slow for three months",
		Story: "Four Minisforum machines with 100 Gb/s cards should run one model by tensor parallelism, and four nodes are hardly faster than one.\n" +
			"One card is of another vendor and one came up as iWARP, so RDMA has no common language; two nodes may not lock memory, the kernel is too old for ROCm, and the checkpoint is a mixture of experts in AWQ, which hangs.",
		Faults: []string{"node.memlock", "roce.irdma", "roce.mixed", "stack.rocm", "stack.quant"},
		Warns:  []string{"roce.gid.index"},
	}
	sparkWS = Cluster{
		Name: "spark-ws", From: "Heterogeneous Distributed Inference over RDMA (DGX Spark playbook)",
		Title: "a DGX Spark and a workstation on one cable",
		Story: "A DGX Spark and a workstation with a ConnectX-5 share a 100 Gb/s cable for distributed inference.\n" +
			"After a reboot the workstation is back at MTU 1500 and its RDMA device has another name than NCCL was told, and its user may not open /dev/infiniband; that the Spark uses one of its twin functions alone costs nothing at this rate.",
		Faults: []string{"node.devices", "roce.mtu", "nccl.env"},
		Warns:  []string{"node.aspm", "port.temp"},
	}
)
