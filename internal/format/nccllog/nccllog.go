// Package nccllog reads the debug logs of NCCL and RCCL, of any release and behind
// any launcher's prefix: who spoke, which communicators there were, what each channel
// went through, what was offered, and what went wrong. Pure: bytes in, a Log out. It
// concludes nothing: that a log names a device does not mean that it was used.
package nccllog

// Place is where something stands in the input.
type Place struct {
	File int `json:"file"` // in Log.Files
	Line int `json:"line"` // from 1
}

// Log is what one or more files say together.
type Log struct {
	Files []string `json:"files"`
	Lines int      `json:"lines"`
	Said  int      `json:"said"` // lines that NCCL wrote
	Bytes int64    `json:"bytes"`

	Procs   []Proc   `json:"procs"`
	Members []Member `json:"members"`
	Uses    []Use    `json:"uses"`
	Events  []Event  `json:"events"`
	GPUs    []GPU    `json:"gpus"` // from the heading of nccl-tests
	Stuck   []Stuck  `json:"stuck"`

	Versions []Version `json:"versions"`
	RAS      []RAS     `json:"ras,omitempty"`

	// Over says what was left out because a limit was met; all empty for an honest log.
	Over map[string]int `json:"over,omitempty"`
}

// Proc is one process, as the prefix of its lines tells it: "host:pid:tid [dev]".
type Proc struct {
	Host  string `json:"host"` // "" when the lines have no prefix
	PID   int    `json:"pid"`
	IP    string `json:"ip,omitempty"` // where a launcher's prefix tells it
	First Place  `json:"first"`

	Versions []string `json:"versions,omitempty"` // one process may load two libraries
	Network  Said     `json:"network"`            // "Using network X": what was chosen
	Plugin   Plugin   `json:"plugin"`
	Provider Said     `json:"provider"` // of libfabric: "efa", "tcp"
	GIN      Said     `json:"gin"`      // what GPUs send through by themselves: "GIN_IB_GDAKI"

	HCAs    []HCA   `json:"hcas,omitempty"`    // offered, not therefore used
	HCAsAt  Place   `json:"hcas_at"`           // where they are listed
	Virtual []HCA   `json:"virtual,omitempty"` // devices that NCCL made of several
	Sockets []Iface `json:"sockets,omitempty"` // offered to NET/Socket
	Boot    []Iface `json:"boot,omitempty"`    // bootstrap
	BootAt  Place   `json:"boot_at"`

	Env    []Setting `json:"env,omitempty"`
	Direct []Direct  `json:"direct,omitempty"` // GPUDirect per HCA
	DMABuf Place     `json:"dmabuf"`           // a line says that the GPU can

	QPs    int   `json:"qps"` // queue pairs made: RDMA was connected
	QPAt   Place `json:"qp_at"`
	GID    int   `json:"gid"`     // index of the last of them; -1 unknown
	GIDFar bool  `json:"gid_far"` // false: a link-local GID

	Wording int   `json:"wording"` // see the wordings in plugin.go; 0 not told
	WordAt  Place `json:"word_at"`
}

// Said is a word and where it was said; empty when it was not.
type Said struct {
	Text string `json:"text,omitempty"`
	At   Place  `json:"at"`
}

// Plugin is what became of an external net plugin.
type Plugin struct {
	State string `json:"state,omitempty"` // "none", "loaded", "" not told
	Name  string `json:"name,omitempty"`  // "IBext_v8", "AWS Libfabric"
	Path  string `json:"path,omitempty"`
	At    Place  `json:"at"`
}

// HCA is one RDMA port that NCCL listed.
type HCA struct {
	Index int    `json:"index"`
	Name  string `json:"name"` // "mlx5_0"
	Port  int    `json:"port"`
	Layer string `json:"layer"` // "IB", "RoCE"
	Sharp bool   `json:"sharp,omitempty"`
}

// Iface is a network interface and its address, as printed.
type Iface struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
}

// Setting is a variable that NCCL took from the environment or a file.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	At    Place  `json:"at"`
}

// Direct says whether GPUDirect RDMA is possible with an HCA.
type Direct struct {
	HCA      int    `json:"hca"`
	Name     string `json:"name,omitempty"`
	GPU      string `json:"gpu,omitempty"` // "" is any
	Enabled  bool   `json:"enabled"`
	Distance int    `json:"distance"` // -1 not told
	Limit    int    `json:"limit"`    // -1 not told
	At       Place  `json:"at"`
}

// Member is one rank of one communicator in one process.
type Member struct {
	Proc   int    `json:"proc"`
	Rank   int    `json:"rank"`
	NRanks int    `json:"nranks"` // 0 unknown
	NNodes int    `json:"nnodes"` // 0 unknown
	Locals int    `json:"locals"` // ranks on its node; 0 unknown
	Dev    int    `json:"dev"`    // -1 unknown
	BusID  string `json:"bus,omitempty"`
	Ptr    string `json:"ptr,omitempty"` // the communicator's address in the process
	ID     string `json:"id,omitempty"`  // the same in every process: commId
	Parent string `json:"parent,omitempty"`
	Color  string `json:"color,omitempty"` // of a split: "count/color"
	MNNVL  bool   `json:"mnnvl,omitempty"`
	NVLS   bool   `json:"nvls,omitempty"`
	Rings  int    `json:"rings"` // channels of the rings, where told

	Started  bool  `json:"started"`
	Complete bool  `json:"complete"`
	Gone     bool  `json:"gone"` // destroyed or aborted
	At       Place `json:"at"`
}

// Via is what a channel goes through.
type Via struct {
	Kind   string `json:"kind"`             // "NET", "P2P", "SHM", "COLLNET"
	Name   string `json:"name,omitempty"`   // "IB", "AWS Libfabric", "CUMEM", "direct/direct"
	Dev    int    `json:"dev"`              // of a network; -1 none
	Proxy  int    `json:"proxy"`            // the rank whose GPU sends for this one (PXN); -1 none
	GDR    bool   `json:"gdr,omitempty"`    // GPUDirect RDMA
	PCI    bool   `json:"pci,omitempty"`    // forced over PCIe
	Shared bool   `json:"shared,omitempty"` // connection shared by channels
}

// String writes it as NCCL does, without the device.
func (v Via) String() string {
	if v.Name == "" {
		return v.Kind
	}
	return v.Kind + "/" + v.Name
}

// Use is how often one rank said that it goes through something.
type Use struct {
	Member   int      `json:"member"`
	Via      Via      `json:"via"`
	Channels Channels `json:"channels"`
	Sends    int      `json:"sends"`
	Recvs    int      `json:"recvs"`
	Peers    []int    `json:"peers,omitempty"` // sorted; at most maxPeers
	At       Place    `json:"at"`
}

// GPU is what nccl-tests says of a rank.
type GPU struct {
	Rank int    `json:"rank"`
	PID  int    `json:"pid"`
	Host string `json:"host"`
	Dev  int    `json:"dev"`
	Name string `json:"name"`
	At   Place  `json:"at"`
}

// Version is a version of the library, and who said so.
type Version struct {
	Library string `json:"library"` // "NCCL", "RCCL"
	Text    string `json:"text"`
	ROCm    string `json:"rocm,omitempty"`
	Proc    int    `json:"proc"` // -1: the line does not say
	At      Place  `json:"at"`
}

// Stuck is a rank whose collective did not end in time, as PyTorch's watchdog says.
type Stuck struct {
	Rank int    `json:"rank"`
	Seq  int    `json:"seq"` // -1 not told
	Op   string `json:"op,omitempty"`
	MS   int    `json:"ms"` // how long it waited
	At   Place  `json:"at"`
}

// Limits of what is kept, whatever the log holds. A job of 4,096 ranks stays below.
const (
	maxLine    = 64 << 10 // bytes of a line that are looked at; NCCL's own are below 8 KiB
	maxFiles   = 65_536
	maxProcs   = 32_768
	maxMembers = 131_072
	maxUses    = 262_144
	maxPeers   = 64
	maxEvents  = 8_192
	maxEnv     = 64 // per process
	maxHCAs    = 128
	maxGPUs    = 32_768
	maxText    = 300
)
