// Package platform is what weft knows of hardware that no fact tells: what a NIC
// or a GPU can do, which machines are narrow by design, which firmware or kernel
// is too old, which quantisation runs where. Data in one place, each row with
// its source. Pure.
package platform

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/unit"
)

// NIC is a network card that can do RDMA.
type NIC struct {
	Vendor, Device uint16    // PCI ids
	Name           string    // "ConnectX-7"
	VF             bool      // a virtual function: its rate and firmware are its parent's
	Driver         string    // RDMA driver: "mlx5_ib"
	Modules        []string  // kernel modules it needs: mlx5_core, mlx5_ib
	Rate           unit.Rate // fastest port of the family; 0 unknown
	MinFirmware    string    // oldest that works well, as ethtool -i spells it; "" none known
	GPUDirect      bool      // the card and its driver can reach GPU memory
	DMABuf         string    // first kernel whose driver registers dma-buf memory: "5.12"; "" unknown or never
	Layers         []string  // "InfiniBand", "Ethernet"
	Note           string    // what a buyer wishes to have known
	Source         string
}

// GPU is a GPU model or family.
type GPU struct {
	Match    string            // word of the name that the driver gives ("H100", "GeForce RTX 40*" for a beginning), or "gfx1151"
	Vendor   string            // "NVIDIA", "AMD"
	Devices  []uint16          // PCI device ids, for a GPU whose driver tells no name; may be empty
	Arch     string            // "Turing"
	Class    string            // "datacenter", "workstation", "geforce", "integrated"
	Direct   string            // GPUDirect RDMA: "yes", "no", "conditional"
	Features map[string]string // feature → "yes", "no", "unclear: why"; every one of Features
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
	i, ok := nicAt[uint32(d.Vendor)<<16|uint32(d.Device)]
	if !ok {
		return NIC{}, false
	}
	return NICs[i], true
}

// nicAt finds a NIC by its ids: checks ask for every port of every node.
var nicAt = func() map[uint32]int {
	at := make(map[uint32]int, len(NICs))
	for i, n := range NICs {
		at[uint32(n.Vendor)<<16|uint32(n.Device)] = i
	}
	return at
}()

// GPUOf returns what is known of a GPU: by its name or gfx architecture, where
// the longest match wins, else by its PCI ids.
func GPUOf(g *fact.GPU) (GPU, bool) {
	var best GPU
	for _, k := range GPUs {
		if len(k.Match) > len(best.Match) && (g.Arch == k.Match || hasWord(g.Name, k.Match)) {
			best = k
		}
	}
	if best.Match != "" {
		return best, true
	}
	for _, k := range GPUs {
		if k.Vendor == g.Vendor && slices.Contains(k.Devices, g.Device) {
			return k, true
		}
	}
	return GPU{}, false
}

// hasWord reports whether word stands in name between characters that are
// neither letters nor digits, so that "L4" is not "L40S". A "*" at its end lets
// letters and digits follow.
func hasWord(name, word string) bool {
	word, open := strings.CutSuffix(word, "*")
	for from := 0; ; {
		i := strings.Index(name[from:], word)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || !alnum(name[i-1])) && (open || end == len(name) || !alnum(name[end])) {
			return true
		}
		from = i + 1
	}
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Of returns the platform a node is, if weft knows it.
func Of(n *fact.Node) (Platform, bool) {
	for _, g := range n.GPUs {
		switch {
		case strings.Contains(g.Name, "GB10") || g.Vendor == "NVIDIA" && g.Device == 0x2e12:
			return Spark, true
		case g.Arch == "gfx1151" || g.Vendor == "AMD" && g.Device == 0x1586:
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

// Twin returns the other PCIe function of the same Spark port: rocep1s0f0 and
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
