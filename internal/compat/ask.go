package compat

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
)

// Ask is what a person asks the matrix. What is named must work; what is left open
// is listed, and one that works is enough.
type Ask struct {
	GPUs     []string // platform's names; nil leaves them open
	Features []string
	Quants   []string
	Engines  []string
	NICs     []string
	OSes     []string
	Kernel   string
	ROCm     string
	Model    *Model
}

// Reply is what the matrix says.
type Reply struct {
	Cells   []Cell         `json:"cells"`
	Verdict string         `json:"verdict"` // one of Answers
	Counts  map[string]int `json:"counts"`
}

// Answer asks the matrix.
func (d *Data) Answer(a Ask) Reply {
	var r Reply
	quant := len(a.Quants) > 0 || len(a.Engines) > 0 || a.Model != nil
	kernel := a.Kernel != "" || a.ROCm != ""
	nic := (len(a.NICs) > 0 || len(a.OSes) > 0 && !kernel) && len(a.Features) == 0
	gpuFeatures, nicFeatures := d.split(a.Features)
	row := len(a.GPUs) > 0 && len(a.Features) == 0 && !quant && !kernel && !nic // a GPU's whole row
	gpus := orAll(a.GPUs, d.gpuNames())

	if row { // listed: nothing in particular is asked of it
		r.Cells = append(d.featureCells(gpus, d.featuresOf(true)), d.quantCells(gpus, a)...)
		r.Cells = append(r.Cells, d.kernelCells(gpus, a)...)
		r.Verdict = Yes
	}
	if len(gpuFeatures) > 0 {
		r.add(d.featureCells(gpus, gpuFeatures), Cell{GPU: mark(a.GPUs), Feature: "named"})
	}
	if quant {
		r.add(d.quantCells(gpus, a), Cell{GPU: mark(a.GPUs), Quant: mark(d.quantsOf(a)), Engine: mark(a.Engines)})
	}
	if kernel {
		r.add(d.kernelCells(gpus, a), Cell{GPU: mark(a.GPUs)})
	}
	if nic {
		r.add(d.systemCells(a), Cell{NIC: mark(a.NICs), OS: mark(a.OSes)})
	}
	switch {
	case len(nicFeatures) > 0 && (len(gpuFeatures) == 0 || len(a.NICs) > 0):
		r.add(d.cardCells(orAll(a.NICs, d.NICs), nicFeatures), Cell{NIC: mark(a.NICs), Feature: "named"})
	case len(a.NICs) > 0 && len(a.OSes) == 0 && len(a.Features) == 0: // listed
		r.Cells = append(r.Cells, d.cardCells(a.NICs, d.featuresOf(false))...)
	}
	r.count()
	return r
}

// add takes the cells of one table, and makes the verdict no better than theirs:
// cells that agree in what was named are alternatives, the best of which counts.
func (r *Reply) add(cells []Cell, named Cell) {
	best := map[Cell]string{}
	for _, c := range cells {
		var k Cell
		for _, p := range []struct{ key, value, named *string }{
			{&k.GPU, &c.GPU, &named.GPU}, {&k.Feature, &c.Feature, &named.Feature}, {&k.Quant, &c.Quant, &named.Quant},
			{&k.Engine, &c.Engine, &named.Engine}, {&k.NIC, &c.NIC, &named.NIC}, {&k.OS, &c.OS, &named.OS},
		} {
			if *p.named != "" {
				*p.key = *p.value
			}
		}
		if b, ok := best[k]; !ok || Better(c.Answer, b) {
			best[k] = c.Answer
		}
	}
	for _, b := range best {
		if r.Verdict == "" || Better(r.Verdict, b) {
			r.Verdict = b
		}
	}
	r.Cells = append(r.Cells, cells...)
}

func (r *Reply) count() {
	r.Counts = map[string]int{}
	for _, c := range r.Cells {
		r.Counts[c.Answer]++
	}
	if r.Verdict == "" {
		r.Verdict = Unknown
	}
}

// Better reports whether one answer is better than another.
func Better(a, b string) bool { return slices.Index(Answers, a) < slices.Index(Answers, b) }

// mark is not empty where something was named.
func mark(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "named"
}

func orAll(named, all []string) []string {
	if len(named) > 0 {
		return named
	}
	return all
}

func (d *Data) gpuNames() (out []string) {
	for _, g := range platform.GPUs {
		out = append(out, g.Match)
	}
	return out
}

// featuresOf lists the features of GPUs, or of NICs.
func (d *Data) featuresOf(gpu bool) (out []string) {
	for _, f := range d.Features {
		if gpu && f.GPU || !gpu && f.NIC {
			out = append(out, f.ID)
		}
	}
	return out
}

// split parts the features that were asked for into those of GPUs and of NICs; some
// are both.
func (d *Data) split(features []string) (gpu, nic []string) {
	for _, id := range features {
		f := d.Feature(id)
		if f != nil && f.GPU {
			gpu = append(gpu, id)
		}
		if f != nil && f.NIC {
			nic = append(nic, id)
		}
	}
	return gpu, nic
}

func (d *Data) featureCells(gpus, features []string) (out []Cell) {
	for _, g := range gpus {
		for _, f := range features {
			out = append(out, d.FeatureOf(g, f))
		}
	}
	return out
}

// quantsOf is what was asked, else what the model's checkpoint is.
func (d *Data) quantsOf(a Ask) []string {
	if len(a.Quants) == 0 && a.Model != nil && a.Model.Quant != "" {
		return []string{a.Model.Quant}
	}
	return a.Quants
}

// kinds are the kinds of model to answer for: both where nobody says.
func (a Ask) kinds() []string {
	if a.Model != nil && a.Model.Kind != "" {
		return []string{a.Model.Kind}
	}
	return []string{"dense", "moe"}
}

func (d *Data) quantCells(gpus []string, a Ask) (out []Cell) {
	quants := d.quantsOf(a)
	if len(quants) == 0 {
		for _, q := range d.Quants {
			quants = append(quants, q.ID)
		}
	}
	engines := a.Engines
	if len(engines) == 0 {
		for _, e := range d.Engines {
			engines = append(engines, e.ID)
		}
	}
	for _, g := range gpus {
		for _, q := range quants {
			for _, e := range engines {
				for _, kind := range a.kinds() {
					out = append(out, d.QuantOf(g, q, e, kind))
				}
			}
		}
	}
	return out
}

// Releases of ROCm that are asked about where nobody names one: the last of each
// range that the table knows.
var releases = []string{"6.4.4", "7.1.1", "7.2.0", "7.2.4", "7.10", "7.14.1"}

func (d *Data) kernelCells(gpus []string, a Ask) (out []Cell) {
	hosts := []fact.Host{{Kernel: a.Kernel}}
	hosts[0].Distro, hosts[0].Version = hostOf(a)
	rocms := []string{a.ROCm}
	switch {
	case a.Kernel == "" && a.ROCm == "": // the whole table
		rocms = releases
		hosts = []fact.Host{{Kernel: "6.18.4"}, {Kernel: "6.17"}}
	case a.Kernel == "":
		hosts = []fact.Host{{Kernel: "6.18.4"}, {Kernel: "6.17"}}
	case a.ROCm == "":
		rocms = releases
	}
	for _, g := range gpus {
		for _, h := range hosts {
			for _, v := range rocms {
				if c, ok := d.KernelOf(g, h, v); ok {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// hostOf is the asked system, or that of a kernel whose name tells it: Ubuntu calls
// its kernels generic and oem.
func hostOf(a Ask) (distro, version string) {
	if len(a.OSes) == 1 {
		distro = strings.TrimRight(a.OSes[0], "0123456789.")
		return distro, a.OSes[0][len(distro):]
	}
	if flavour := a.Kernel[strings.LastIndexByte(a.Kernel, '-')+1:]; flavour == "generic" || flavour == "oem" {
		return "ubuntu", ""
	}
	return "", ""
}

func (d *Data) systemCells(a Ask) (out []Cell) {
	oses := a.OSes
	if len(oses) == 0 {
		for _, o := range d.OSes {
			oses = append(oses, o.ID)
		}
	}
	for _, n := range orAll(a.NICs, d.NICs) {
		for _, o := range oses {
			out = append(out, d.SystemOf(n, o))
		}
	}
	return out
}

func (d *Data) cardCells(nics, features []string) (out []Cell) {
	for _, n := range nics {
		for _, f := range features {
			out = append(out, d.CardOf(n, f))
		}
	}
	return out
}
