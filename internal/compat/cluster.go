package compat

import (
	"cmp"
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/nodeset"
	"weft/internal/platform"
	"weft/internal/spec"
)

// Cluster judges a cluster against the whole matrix. What weft.yaml asks for, the
// bond of kernel and ROCm, and the drivers of the NICs count for the verdict; the
// rest is told.
func (d *Data) Cluster(nodes []*fact.Node, w spec.Workload) Reply {
	j := judge{Data: d, w: w, rows: map[string][]Cell{}, at: map[Cell]int{}, on: map[int][]string{}}
	for _, n := range nodes {
		if n.Down != "" {
			continue
		}
		for _, g := range d.gpusOf(n) {
			j.gpu(n, g)
		}
		for _, p := range n.PCI {
			if nic, ok := platform.NICOf(p); ok && !nic.VF && p.PhysFn == "" {
				j.nic(n, p, nic)
			}
		}
	}
	for i := range j.cells {
		j.cells[i].Nodes = nodeset.Fold(j.on[i])
	}
	slices.SortStableFunc(j.cells, func(a, b Cell) int { return tableOrder(a.Table) - tableOrder(b.Table) })
	r := Reply{Cells: j.cells, Verdict: verdict(j.cells)}
	r.count()
	return r
}

// Workload tells the model of weft.yaml; nil when it names none.
func (d *Data) Workload(w spec.Workload) *Model {
	if w.Model == "" && w.Quant == "" {
		return nil
	}
	m, err := d.FindModel(w.Model)
	if err != nil {
		m = Model{Name: w.Model, Kind: "dense", Why: "weft.yaml does not say moe: true"}
	}
	if w.MoE {
		m.Kind, m.Why = "moe", "weft.yaml"
	}
	if w.Quant != "" {
		m.Quant = w.Quant
		if q, err := d.FindQuant(w.Quant); err == nil {
			m.Quant = q
		}
	}
	return &m
}

// judge gathers cells, equal ones of several nodes once.
type judge struct {
	*Data
	w     spec.Workload
	cells []Cell
	rows  map[string][]Cell // GPU → its row
	at    map[Cell]int
	on    map[int][]string // index of a cell → its nodes
}

func (j *judge) add(n *fact.Node, c Cell) {
	i, ok := j.at[c]
	if !ok {
		i = len(j.cells)
		j.at[c] = i
		j.cells = append(j.cells, c)
	}
	if on := j.on[i]; len(on) == 0 || on[len(on)-1] != n.Name { // nodes come one after the other
		j.on[i] = append(on, n.Name)
	}
}

func (j *judge) gpu(n *fact.Node, g *fact.GPU) {
	match, ok := j.gpuOf(g)
	if !ok {
		j.add(n, Cell{Table: GPUFeature, GPU: cmp.Or(g.Name, g.Arch, g.Vendor+" GPU"), Answer: Unknown, How: "weft does not know this GPU", Asked: true})
		return
	}
	if j.rows[match] == nil {
		j.rows[match] = j.row(match)
	}
	for _, c := range j.rows[match] {
		j.add(n, c)
	}
	if c, ok := j.KernelOf(match, n.Host, n.Settings.ROCm); ok {
		c.Asked = true
		j.add(n, c)
	}
}

// row is all that the matrix says of a GPU, whatever node it is in.
func (j *judge) row(gpu string) (out []Cell) {
	for _, f := range j.Features {
		if f.GPU {
			c := j.FeatureOf(gpu, f.ID)
			c.Asked = j.asksFeature(f.ID)
			out = append(out, c)
		}
	}
	for _, f := range j.w.Features {
		if _, err := j.FindFeature(f); err != nil {
			out = append(out, Cell{Table: GPUFeature, GPU: gpu, Feature: f, Answer: Unknown, How: "weft knows no such feature", Asked: true})
		}
	}
	m := j.Workload(j.w)
	kinds := []string{"dense", "moe"}
	if m != nil {
		kinds = []string{m.Kind}
	}
	for _, q := range j.Quants {
		for _, e := range j.Engines {
			for _, kind := range kinds {
				c := j.QuantOf(gpu, q.ID, e.ID, kind)
				c.Asked = m != nil && m.Quant == q.ID
				out = append(out, c)
			}
		}
	}
	if m != nil && m.Quant != "" && !known(j.Quants, m.Quant) {
		out = append(out, Cell{Table: GPUQuant, GPU: gpu, Quant: m.Quant, Model: m.Kind, Answer: Unknown, How: "weft knows no such quantisation", Asked: true})
	}
	return out
}

func (j *judge) asksFeature(id string) bool {
	return slices.ContainsFunc(j.w.Features, func(f string) bool {
		found, err := j.FindFeature(f)
		return err == nil && found == id
	})
}

// nic judges a card. What the node shows beats a table that does not know: a card
// with an RDMA port has its driver.
func (j *judge) nic(n *fact.Node, p *fact.PCI, nic platform.NIC) {
	os := j.OSOf(n.Host)
	c := j.SystemOf(nic.Name, os)
	if os == "" {
		c.OS, c.How = cmp.Or(n.Host.OS, n.Host.Distro), "weft's table does not have this system"
	}
	port := portOf(n, p)
	switch {
	case port != nil && c.Answer == Unknown:
		c.Answer, c.How, c.Source, c.Where = Yes, "it has an RDMA port here", "read from the node", "/sys/class/infiniband"
	case port != nil && c.Answer == No:
		c.Answer, c.How = Partly, "a driver that is not the system's own drives it here: "+c.How
	}
	c.Asked = true
	j.add(n, c)
	if f, ok := j.FirmwareOf(nic.Name, firmwareOf(n, p)); ok {
		f.Asked = true
		j.add(n, f)
	}
	for _, f := range j.Features {
		if f.NIC {
			c := j.CardOf(nic.Name, f.ID)
			c.Asked = f.ID == "gpudirect" && j.asksFeature(f.ID)
			j.add(n, c)
		}
	}
}

func portOf(n *fact.Node, p *fact.PCI) *fact.Port {
	for _, port := range n.Ports {
		if port.BDF == p.BDF {
			return port
		}
	}
	return nil
}

// firmwareOf is the version that people compare: what ethtool -i says first.
func firmwareOf(n *fact.Node, p *fact.PCI) string {
	for _, d := range n.Netdevs {
		if d.BDF == p.BDF {
			version, _, _ := strings.Cut(d.Firmware, " ")
			return version
		}
	}
	return ""
}

// gpusOf returns one GPU of each model of a node. What only shows pictures is left
// out: display chips, and the small GPU inside an AMD processor where the node has a
// GPU that weft knows.
func (d *Data) gpusOf(n *fact.Node) (out []*fact.GPU) {
	var strange []*fact.GPU
	seen := map[string]bool{}
	for _, g := range n.GPUs {
		if g.Vendor != "NVIDIA" && g.Vendor != "AMD" {
			continue
		}
		match, ok := d.gpuOf(g)
		name := cmp.Or(match, g.Name, g.Arch)
		switch {
		case seen[name]:
		case ok:
			out = append(out, g)
		default:
			strange = append(strange, g)
		}
		seen[name] = true
	}
	for _, g := range strange {
		if len(out) == 0 || g.Vendor != "AMD" {
			out = append(out, g)
		}
	}
	return out
}

// verdict is the worst of what counts. Engines are alternatives: the best of them
// counts.
func verdict(cells []Cell) string {
	worst := Yes
	engines := map[[2]string]string{} // GPU and quantisation → best answer
	for _, c := range cells {
		switch {
		case !c.Asked:
		case c.Table == GPUQuant:
			k := [2]string{c.GPU, c.Quant}
			if b, ok := engines[k]; !ok || Better(c.Answer, b) {
				engines[k] = c.Answer
			}
		case Better(worst, c.Answer):
			worst = c.Answer
		}
	}
	for _, b := range engines {
		if Better(worst, b) {
			worst = b
		}
	}
	if len(cells) == 0 {
		return Unknown
	}
	return worst
}

func tableOrder(table string) int {
	return slices.Index([]string{GPUFeature, GPUQuant, KernelROCm, NICOS, Firmware, NICFeature}, table)
}

// GPUsOf lists the GPUs of a cluster that weft knows, by platform's names.
func (d *Data) GPUsOf(nodes []*fact.Node) (out []string) {
	for _, n := range nodes {
		for _, g := range d.gpusOf(n) {
			if match, ok := d.gpuOf(g); ok && !slices.Contains(out, match) {
				out = append(out, match)
			}
		}
	}
	return out
}

// gpuOf tells a GPU as platform does, else by a name that people have for it in what
// a tool calls it: "Arcturus GL-XL [Instinct MI100]".
func (d *Data) gpuOf(g *fact.GPU) (match string, ok bool) {
	if known, ok := platform.GPUOf(g); ok {
		return known.Match, true
	}
	const short = 5 // shorter names occur by chance
	name, length := plainKey(g.Name), 0
	for _, k := range d.GPUs {
		if gpuRow(k.ID).Vendor != g.Vendor {
			continue
		}
		for _, alias := range k.Also {
			if a := plainKey(alias); len(a) >= short && len(a) > length && !strings.HasSuffix(a, "*") && strings.Contains(name, a) {
				match, length = k.ID, len(a)
			}
		}
	}
	return match, match != ""
}
