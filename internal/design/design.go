// Package design works out a cluster before it is bought: the uplink by what is
// read, the switches by what is sent, every cable, address and AS number, and the
// FRR configuration of each switch. Every figure has its arithmetic beside it.
// Pure.
package design

import (
	"fmt"
	"net/netip"

	"weft/internal/unit"
)

// Ask is what a person wants and knows, as flags say it. "" and 0 mean: take the
// default, which Design.Assumed then names with its source.
type Ask struct {
	Nodes    int    // of the cluster; with inference nodes beside it, of its training part
	GPUs     int    // per node
	Workload string // pretrain, vision, finetune, inference
	Fabric   string // words: direct, switch or clos; roce or infiniband; a rate

	NIC   string // a rate or a model
	Slot  string // "pcie3 x4", "2x pcie5 x4", "spark"
	Rails int    // data ports per node

	Ports            int     // of a switch
	Oversubscription float64 // 3 is 3:1
	PerGPU           string  // what one GPU reads: "62.5Mb/s", "1GB/s"
	ModelSize        string  // "70B" parameters of two bytes, or "140GB"
	Checkpoint       string  // "280GB"; default twice the weights
	BurstTime        float64 // seconds that a checkpoint, or new weights, may take

	InferenceNodes int // beside the training cluster
	InferenceGPUs  int

	HostLength  float64 // metres from node to switch, or from node to node
	SpineLength float64 // metres from leaf to spine, and to the router
	BFD         bool
	NoBMC       bool
	Net         string // the block that all addresses come from
	Name        string // of nodes, before their number
	PortName    string // of switch ports, before their number
	Accept      []string
}

// Bad is an ask that cannot be answered: which field, and why.
type Bad struct {
	Field string // as the flag is called: "slot"
	Value string
	Why   string
	Flag  string // a flag to say, or to say otherwise, and its value; may be empty
	To    string
}

func (b *Bad) Error() string {
	if b.Value == "" {
		return "--" + b.Field + ": " + b.Why
	}
	return "--" + b.Field + " " + b.Value + ": " + b.Why
}

func bad(field string, value any, format string, args ...any) error {
	return &Bad{Field: field, Value: fmt.Sprint(value), Why: fmt.Sprintf(format, args...)}
}

// An Assumed value was not asked for: what it is, and where it comes from.
type Assumed struct {
	Field  string `json:"field"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// A Line is one figure with its arithmetic: "sustained", "4 × 4 × 1 = 16 Gb/s".
type Line struct {
	What string `json:"what"`
	How  string `json:"how"`
}

// Design is the answer.
type Design struct {
	Workload string    `json:"workload"`
	Nodes    int       `json:"nodes"`
	GPUs     int       `json:"gpus_per_node"`
	Assumed  []Assumed `json:"assumed"`

	Card        Card      `json:"card"`
	Fabrics     []*Fabric `json:"fabrics"`
	Transfers   Transfers `json:"transfers"`
	Manage      Manage    `json:"management"`
	Lossless    Lossless  `json:"lossless"`
	Devices     []*Device `json:"devices"`
	Cables      []Cable   `json:"cables"`
	Addresses   []Address `json:"addresses"`
	Bill        []Item    `json:"bill_of_materials"`
	Notes       []string  `json:"notes"`
	Net         Net       `json:"net"`
	ask         Ask       // with defaults
	loose       bool      // nobody said how much oversubscription is too much
	at          map[string]*Device
	portAddress map[string]map[string]netip.Prefix
}

// Fabric is one RDMA fabric: training and inference each have their own.
type Fabric struct {
	Name     string    `json:"name"` // "training", or "inference"
	Workload string    `json:"workload"`
	Nodes    int       `json:"nodes"`
	GPUs     int       `json:"gpus_per_node"`
	Rails    int       `json:"rails"`
	Layer    string    `json:"layer"` // "Ethernet" or "InfiniBand"
	Rate     unit.Rate `json:"rate"`  // of a port, bit/s
	Shape    string    `json:"shape"` // "none", "direct", "switch", "clos"
	Why      string    `json:"why"`   // this shape
	Ports    int       `json:"ports_per_switch"`
	Switch   string    `json:"switch_example"`
	Leaves   int       `json:"leaves"` // of all planes; 1 for a single switch
	Spines   int       `json:"spines"`
	Planes   []Plane   `json:"planes"`
	Uplink   Uplink    `json:"uplink"`
	Lines    []Line    `json:"arithmetic"`
	Flows    []Line    `json:"flows"` // what one flow gets, and all together
	node     string    // names of nodes, before their number
	prefix   string    // of switch names
	block    int       // first block of /16 in the net
}

// Plane is one Clos: the rails that meet in it, and how a leaf's ports are used.
type Plane struct {
	Rails    []int   `json:"rails"` // from 1
	PerRail  int     `json:"leaves_per_rail"`
	Leaves   int     `json:"leaves"`
	Spines   int     `json:"spines"`
	Down     int     `json:"node_ports_per_leaf"`
	Up       int     `json:"spine_ports_per_leaf"`
	Parallel int     `json:"links_per_leaf_and_spine"`
	Edge     int     `json:"uplink_ports"`         // of a leaf or a spine, at most
	EdgeAt   string  `json:"uplinks_at,omitempty"` // "leaf" or "spine"
	Ratio    float64 `json:"oversubscription"`
}

// Roles of devices.
const (
	RoleNode   = "node"
	RoleSwitch = "switch"
	RoleLeaf   = "leaf"
	RoleSpine  = "spine"
	RoleRouter = "router"
	RoleManage = "management"
	RoleAccess = "access"
	RoleOffice = "office" // the owner's own network, which weft does not design
)

// Device is a box with ports.
type Device struct {
	Name     string       `json:"name"`
	Role     string       `json:"role"`
	Fabric   string       `json:"fabric,omitempty"`
	Plane    int          `json:"plane,omitempty"` // from 1
	Rail     int          `json:"rail,omitempty"`  // of a leaf, from 1
	Ports    int          `json:"ports,omitempty"`
	AS       uint32       `json:"as,omitempty"`
	Loopback netip.Addr   `json:"loopback,omitzero"`
	Own      netip.Prefix `json:"announces,omitzero"` // of a leaf: its nodes
	Config   string       `json:"frr,omitempty"`
	group    int          // of a leaf: which nodes
	border   bool         // it has an uplink
	cables   []int        // into Design.Cables
}

// Planes of cables.
const (
	Data       = "data"
	UplinkLine = "uplink"
	Management = "management"
	Access     = "access"
)

// End is one end of a cable.
type End struct {
	Device string `json:"device"`
	Port   string `json:"port"`
}

func (e End) String() string { return e.Device + ":" + e.Port }

// Cable joins two ports.
type Cable struct {
	Plane    string    `json:"plane"`
	A        End       `json:"a"`
	B        End       `json:"b"`
	Rate     unit.Rate `json:"rate"`
	Metres   float64   `json:"metres"`
	Medium   string    `json:"medium"`
	from, to *Device
}

// Address is one address of one port.
type Address struct {
	Device  string       `json:"device"`
	Port    string       `json:"port"`
	Address netip.Prefix `json:"address"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	Route   string       `json:"route,omitempty"` // what is reached through the gateway
	Use     string       `json:"use"`
}
