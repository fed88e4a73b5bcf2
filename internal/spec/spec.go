// Package spec is weft.yaml: what the owner of a cluster wants. Pure: errors
// carry line and column.
package spec

import "time"

// Spec is what the owner wants. Its zero value wants nothing in particular: one
// unconfigured machine is judged by its own facts alone.
type Spec struct {
	Name      string   `yaml:"name"`
	Purpose   string   `yaml:"purpose"`    // "training", "inference", "both" or ""
	SSHConfig string   `yaml:"ssh_config"` // what ssh is given with -F; "" is the person's own; relative to the folder of weft.yaml
	Nodes     []Node   `yaml:"nodes"`      // in the order written
	Data      Data     `yaml:"data"`       // the data plane
	Workload  Workload `yaml:"workload"`   // what will run on it
	Cables    []Cable  `yaml:"cables"`     // which port is wired to which, where the owner says so
	Accept    []Accept `yaml:"accept"`     // findings the owner lives with

	Sysctl map[string]string `yaml:"sysctl"` // kernel settings, by sysctl's names: "vm.swappiness" → "10"
}

// Node is one machine.
type Node struct {
	Name string     `yaml:"name"`
	SSH  string     `yaml:"ssh"`  // what ssh is given; "" is the name, "local" is this machine
	Data []DataPort `yaml:"data"` // its data-plane ports; none means: every RDMA port in use
}

// DataPort is one RDMA port that should carry the data plane.
type DataPort struct {
	Port    string `yaml:"port"`    // "mlx5_0/1"
	Netdev  string `yaml:"netdev"`  // "" for InfiniBand without IPoIB
	Address string `yaml:"address"` // "192.168.200.1/24"; "" when none is wanted
}

// Data is what the data plane should be.
type Data struct {
	Layer    string `yaml:"layer"`    // "roce", "infiniband", "iwarp" or "" when any will do
	MTU      int    `yaml:"mtu"`      // netdev MTU; 0 is the default of the layer
	Switch   string `yaml:"switch"`   // "none" for direct cables, "lossless", "plain", "" unknown
	Priority int    `yaml:"priority"` // RDMA priority; 0 is the default, 3
	DSCP     int    `yaml:"dscp"`     // RDMA DSCP; 0 is the default, 26
	IPoIB    string `yaml:"ipoib"`    // "connected", "datagram" or ""

	NCCLConf bool `yaml:"nccl_conf"` // NCCL's variables stand in /etc/nccl.conf on every node
}

// Workload is what will run on the cluster.
type Workload struct {
	Model    string   `yaml:"model"`     // "Qwen/Qwen3-235B-A22B"
	Quant    string   `yaml:"quant"`     // "awq", "w4a16", "fp8", "nvfp4", "bf16"
	MoE      bool     `yaml:"moe"`       // a mixture of experts
	MemoryGB int      `yaml:"memory_gb"` // GPU memory wanted per node
	Features []string `yaml:"features"`  // GPU features asked for: mig nvlink vgpu fp8 nvfp4 tensor-cores gpudirect fabric-manager
}

// Cable says that two ports are wired together: "spark1:mlx5_0/1".
type Cable struct {
	A string `yaml:"a"`
	B string `yaml:"b"`
}

// Accept is a finding the owner lives with, why, and until when.
type Accept struct {
	Check  string `yaml:"check"`
	Nodes  string `yaml:"nodes"` // a node set; "" is all
	Reason string `yaml:"reason"`
	Until  string `yaml:"until"` // the last day, "2027-01-31"; "" is for good
}

// Over reports whether the acceptance has run out at that time.
func (a Accept) Over(now time.Time) bool {
	last, err := time.Parse(time.DateOnly, a.Until)
	return err == nil && now.After(last.AddDate(0, 0, 1))
}

// Node returns the named node, or nil.
func (s *Spec) Node(name string) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i]
		}
	}
	return nil
}
