// Package platform is what weft knows of hardware that no fact tells: what a NIC
// or a GPU can do, which machines are narrow by design, which firmware is too
// old. Data in one place, each row with its source. Pure.
package platform

import (
	"strings"

	"weft/internal/fact"
	"weft/internal/unit"
)

// NIC is a network card that can do RDMA.
type NIC struct {
	Vendor, Device uint16    // PCI ids
	Name           string    // "ConnectX-7"
	Driver         string    // RDMA driver: "mlx5_ib"
	Modules        []string  // kernel modules it needs: mlx5_core, mlx5_ib
	Rate           unit.Rate // fastest port of the family; 0 unknown
	MinFirmware    string    // oldest that works well; "" none known
	GPUDirect      bool      // the card and its driver can reach GPU memory
	Layers         []string  // "InfiniBand", "Ethernet"
	Note           string    // what a buyer wishes to have known
	Source         string
}

// GPU is a GPU model or family.
type GPU struct {
	Match    string            // substring of the name that the driver gives, or "gfx1151"
	Devices  []uint16          // PCI device ids; may be empty
	Arch     string            // "Turing"
	Class    string            // "datacenter", "workstation", "geforce", "integrated"
	Direct   string            // GPUDirect RDMA: "yes", "no", "conditional"
	Features map[string]string // feature → "yes", "no", "unclear: why"
	Note     string
	Source   string
}

// Platform is a whole machine with habits.
type Platform struct {
	ID     string // "spark", "strix-halo"
	Name   string
	Note   string
	Source string
}

// NICOf returns what is known of a PCI device as a NIC.
func NICOf(d *fact.PCI) (NIC, bool) {
	for _, n := range NICs {
		if n.Vendor == d.Vendor && n.Device == d.Device {
			return n, true
		}
	}
	return NIC{}, false
}

// GPUOf returns what is known of a GPU. The longest match wins.
func GPUOf(g *fact.GPU) (GPU, bool) {
	var best GPU
	for _, k := range GPUs {
		if len(k.Match) > len(best.Match) && (strings.Contains(g.Name, k.Match) || g.Arch == k.Match) {
			best = k
		}
	}
	return best, best.Match != ""
}

// Of returns the platform a node is, if weft knows it.
func Of(n *fact.Node) (Platform, bool) {
	for _, g := range n.GPUs {
		switch {
		case strings.Contains(g.Name, "GB10"):
			return Spark, true
		case g.Arch == "gfx1151":
			return StrixHalo, true
		}
	}
	return Platform{}, false
}

// Machines with habits.
var (
	Spark = Platform{
		ID: "spark", Name: "DGX Spark (GB10)",
		Note:   "each QSFP port is two PCIe functions of 32 GT/s x4; both must be used to reach the port's 200 Gb/s",
		Source: "research/community.md items 1 and 2; research/anchors.md table D",
	}
	StrixHalo = Platform{
		ID: "strix-halo", Name: "Strix Halo (gfx1151)",
		Note:   "a NIC hangs on an M.2 or OCuLink slot of four lanes",
		Source: "seeds/000; research/community.md item 19",
	}
)

// Twins returns the other PCIe function of the same Spark port: rocep1s0f0 and
// roceP2p1s0f0 are twins. ok is false off a Spark.
func Twin(n *fact.Node, p *fact.Port) (twin *fact.Port, ok bool) {
	if pl, known := Of(n); !known || pl.ID != "spark" {
		return nil, false
	}
	for _, q := range n.Ports {
		if q != p && q.Num == p.Num && sameSparkPort(p.BDF, q.BDF) {
			return q, true
		}
	}
	return nil, false
}

// sameSparkPort: the twins differ in the PCI domain and agree in bus, device and
// function (0000:01:00.0 and 0002:01:00.0).
func sameSparkPort(a, b string) bool {
	da, ra, _ := strings.Cut(a, ":")
	db, rb, _ := strings.Cut(b, ":")
	return da != db && ra == rb && ra != ""
}
