package forecast

import (
	"fmt"
	"slices"

	"weft/internal/fact"
	"weft/internal/platform"
	"weft/internal/trial"
	"weft/internal/unit"
)

// FromFacts makes nodes of what is known of a cluster. says tells what was left out or
// had to be taken from a table; err names the first node that cannot be forecast.
func FromFacts(c *fact.Cluster) (nodes []Node, f Fabric, says []string, err error) {
	for _, n := range c.Nodes {
		if n.Down != "" {
			says = append(says, n.Name+" is left out: it did not answer")
			continue
		}
		node, say, err := fromNode(n)
		if err != nil {
			return nil, f, says, err
		}
		if say != "" {
			says = append(says, say)
		}
		nodes = append(nodes, node)
	}
	if len(nodes) == 0 {
		return nil, f, says, fmt.Errorf("no node answered")
	}
	f = fabricOf(c)
	return nodes, f, says, nil
}

// fromNode takes the GPUs of the kind that there are most of.
func fromNode(n *fact.Node) (Node, string, error) {
	count := map[string]int{}
	kinds := map[string]Hardware{}
	var unknown error
	for _, g := range n.GPUs {
		h, err := gpuHardware(g)
		if err != nil { // the small one beside the display, most often
			unknown = fmt.Errorf("%s: GPU %s %s: %w", n.Name, g.BDF, g.Name, err)
			continue
		}
		key := fmt.Sprint(h.Name, h.Usable)
		count[key]++
		kinds[key] = h
	}
	if len(count) == 0 {
		if unknown == nil {
			unknown = fmt.Errorf("%s: no GPU was found on it", n.Name)
		}
		return Node{}, "", unknown
	}
	keys := make([]string, 0, len(count))
	for k := range count {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return int(kinds[b].Usable/unit.GiB - kinds[a].Usable/unit.GiB)
	})
	say := ""
	if left := len(n.GPUs) - count[keys[0]]; left > 0 {
		say = fmt.Sprintf("%s: GPUs unlike its %s are left out: %d", n.Name, kinds[keys[0]].Name, left)
	}
	return Node{Name: n.Name, HW: kinds[keys[0]], GPUs: count[keys[0]]}, say, nil
}

// gpuHardware is a GPU of the facts: the table by its name or architecture, its memory
// as it is, its bandwidth as platform knows it where the table does not.
func gpuHardware(g *fact.GPU) (Hardware, error) {
	h, err := HardwareByName(g.Name)
	if err != nil && g.Arch != "" {
		h, err = HardwareByName(g.Arch)
	}
	if rate, source, ok := platform.MemoryRate(g); ok && (err != nil || rate != h.Stated) {
		if err != nil {
			h = Hardware{Name: g.Name, Kind: kindOf(g.Vendor + " " + g.Name + " " + g.Arch), Source: source}
		}
		h.Stated, err = rate, nil
	}
	if err != nil {
		return h, err
	}
	memory, told := g.Memory.Get()
	gtt, unified := g.GTT.Get()
	switch {
	case unified && h.Name == "strix-halo": // what the GPU may map beside its own
		h.Usable = min(h.Usable, memory+gtt)
	case told && memory > unit.GiB && (h.Memory == 0 || memory < h.Memory*9/10 || memory > h.Memory*11/10):
		h.Memory, h.Usable = memory, memory*94/100
	}
	if h.Usable == 0 {
		return h, fmt.Errorf("how much memory it has was not read")
	}
	return h, nil
}

// fabricOf: RDMA when every node has an RDMA port that is up, at the rate of the
// slowest node's best; else TCP at the slowest node's best network interface.
func fabricOf(c *fact.Cluster) Fabric {
	f := Fabric{Transport: "rdma", Source: "facts"}
	for _, n := range c.Nodes {
		if n.Down != "" {
			continue
		}
		best := unit.Rate(0)
		for _, p := range n.Ports {
			if r, ok := p.Rate.Get(); ok && p.Up() && !p.Soft() {
				best = max(best, r)
			}
		}
		if best == 0 {
			f.Transport, f.Gbps = "tcp", 0
			break
		}
		if g := float64(best) / float64(unit.Gbps); f.Gbps == 0 || g < f.Gbps {
			f.Gbps = g
		}
	}
	if f.Transport == "rdma" {
		return f
	}
	for _, n := range c.Nodes {
		best := unit.Rate(0)
		for _, d := range n.Netdevs {
			if r, ok := d.Speed.Get(); ok && d.Oper == "up" {
				best = max(best, r)
			}
		}
		if g := float64(best) / float64(unit.Gbps); best > 0 && (f.Gbps == 0 || g < f.Gbps) {
			f.Gbps = g
		}
	}
	return f
}

// Measured puts what a proof's small all-reduce took in place of the constants: the
// smallest message that is no smaller than bytes and at most 64 KiB. ok is false where
// the proof has none.
func (f Fabric) Measured(p *trial.Proof, bytes float64) (Fabric, bool) {
	const most = 64 << 10
	for _, cell := range p.Cells {
		if cell.Trial != "nccl.allreduce" || cell.Collective == nil || cell.Collective.Nodes < 2 {
			continue
		}
		var row *trial.CollectiveRow
		for i, r := range cell.Collective.Rows {
			if float64(r.Bytes) >= bytes && r.Bytes <= most && len(r.Seconds) > 0 && (row == nil || r.Bytes < row.Bytes) {
				row = &cell.Collective.Rows[i]
			}
		}
		if row == nil {
			continue
		}
		sorted := slices.Clone(row.Seconds)
		slices.Sort(sorted)
		us := quantile(sorted, 0.5) * 1e6
		if !(us > 0 && us < 1e6) {
			continue
		}
		f.Sync, f.Nodes = us, cell.Collective.Nodes
		f.Source = fmt.Sprintf("proof %s: all-reduce of %d bytes among %d nodes in %.0f µs", p.ID, row.Bytes, cell.Collective.Nodes, us)
		if cell.Collective.Socket {
			f.Transport = "tcp"
		}
		return f, true
	}
	return f, false
}
