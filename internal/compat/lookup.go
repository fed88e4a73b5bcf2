package compat

import (
	"slices"
	"strings"

	"weft/internal/fact"
	"weft/internal/platform"
)

// gpuRow returns platform's row of a GPU.
func gpuRow(match string) platform.GPU {
	for _, g := range platform.GPUs {
		if g.Match == match {
			return g
		}
	}
	return platform.GPU{Match: match}
}

// rankGPU says how closely a rule means a GPU: by name, by architecture, by vendor,
// as all; 0 not at all.
func rankGPU(on []string, g platform.GPU) int {
	switch {
	case slices.Contains(on, g.Match):
		return 4
	case g.Arch != "" && slices.Contains(on, g.Arch):
		return 3
	case g.Vendor != "" && slices.Contains(on, g.Vendor):
		return 2
	case slices.Contains(on, "*"):
		return 1
	}
	return 0
}

// rankNIC says how closely a rule means a NIC: by name, or by driver.
func rankNIC(on []string, n platform.NIC) int {
	switch {
	case slices.Contains(on, n.Name):
		return 2
	case slices.Contains(on, n.Driver):
		return 1
	}
	return 0
}

// FeatureOf answers a feature of a GPU.
func (d *Data) FeatureOf(gpu, feature string) Cell {
	var best said
	top, g := 0, gpuRow(gpu)
	for _, r := range d.features {
		if n := rankGPU(r.on, g); r.feature == feature && n > top {
			best, top = r.said, n
		}
	}
	return d.withInstead(d.fill(Cell{Table: GPUFeature, GPU: gpu, Feature: feature}, best, top > 0))
}

// withInstead says what to use where a feature is absent.
func (d *Data) withInstead(c Cell) Cell {
	if f := d.Feature(c.Feature); c.Answer == No && f != nil {
		c.Instead = f.Instead
	}
	return c
}

// QuantOf answers whether an engine runs a quantisation on a GPU. The GPU decides
// first, then whether the rule names the quantisation, then whether it names dense
// models or mixtures of experts.
func (d *Data) QuantOf(gpu, quant, engine, model string) Cell {
	var best said
	top, g := 0, gpuRow(gpu)
	for _, r := range d.quants {
		rank := rankGPU(r.on, g) * 4
		if rank == 0 || !slices.Contains(r.engines, engine) || r.model != "any" && r.model != model {
			continue
		}
		switch {
		case slices.Contains(r.quants, quant):
			rank += 2
		case !slices.Contains(r.quants, "*"):
			continue
		}
		if r.model == model {
			rank++
		}
		if rank > top {
			best, top = r.said, rank
		}
	}
	return d.fill(Cell{Table: GPUQuant, GPU: gpu, Quant: quant, Engine: engine, Model: model}, best, top > 0)
}

// KernelOf answers whether a kernel and a ROCm release go together on a GPU. The
// oldest kernels that carry the fixes are platform's. ok is false where weft knows
// of no such bond.
func (d *Data) KernelOf(gpu string, h fact.Host, rocm string) (c Cell, ok bool) {
	g := gpuRow(gpu)
	need, ok := platform.KernelMinOf(&fact.GPU{Vendor: g.Vendor, Arch: g.Match}, h)
	if !ok {
		return c, false
	}
	c = Cell{Table: KernelROCm, GPU: gpu, Kernel: h.Kernel, ROCm: rocm}
	state := "fixed"
	reached, read := platform.AtLeast(h.Kernel, need.Min)
	switch {
	case !read:
		return d.undecided(c, h.Kernel, need), true
	case !reached && need.Distro == "ubuntu":
		state = "ubuntu-older"
	case !reached:
		state = "older"
	}
	if rocm == "" {
		c.Answer, c.How = Yes, "it carries the fixes; take ROCm 7.2, 7.11 or newer with it"
		switch state {
		case "older":
			c.Answer, c.How = Partly, "unstable: "+need.Why
		case "ubuntu-older":
			c.Answer, c.How = No, need.Why
		}
		if !reached {
			c.Instead = "kernel " + need.Min + " or newer, best " + need.Recommended
		}
		return d.cite(c, "rdna35"), true
	}
	for _, r := range d.kernels {
		if rankGPU(r.on, g) > 0 && r.kernel == state && r.has(rocm) {
			c = d.fill(c, r.said, true)
			if own := ownROCm(h); own != "" && c.Answer != Yes {
				c.Answer, c.How = Partly, strings.TrimPrefix(c.How+"; ", "; ")+"that is for AMD's own binaries: "+own+" packages a ROCm that fits its kernel"
			}
			if state != "fixed" {
				c.Instead = "kernel " + need.Min + " or newer, best " + need.Recommended
			}
			return c, true
		}
	}
	return d.fill(c, said{}, false), true
}

// ownROCm names a distribution that packages ROCm with the fixes itself (rdna35,
// below its table); "" for others.
func ownROCm(h fact.Host) string {
	switch newer, _ := platform.AtLeast(h.Version, "43"); {
	case h.Distro == "fedora" && newer:
		return "Fedora " + h.Version
	case h.Distro == "ubuntu" && h.Version == "26.04":
		return "Ubuntu 26.04"
	case h.Distro == "arch":
		return "Arch Linux"
	}
	return ""
}

// undecided answers for a ROCm release where the kernel is not known, or cannot be
// read: what kernel it wants.
func (d *Data) undecided(c Cell, kernel string, need platform.KernelMin) Cell {
	c.Answer, c.How = Unknown, "the kernel is not known; it must be "+need.Min+" or newer, best "+need.Recommended
	if kernel != "" {
		c.How = "the kernel's version does not begin with a number; it must be " + need.Min + " or newer"
	}
	return d.cite(c, "rdna35")
}

// cite gives a cell that follows from another table a source, and the newest day
// that a row gives for it.
func (d *Data) cite(c Cell, id string) Cell {
	c.Source, c.Where, c.Date = d.sources[id].Title, d.sources[id].Where, d.newest[id]
	return c
}

func (r kernelRule) has(rocm string) bool {
	if r.from == "" {
		return true
	}
	from, ok := platform.AtLeast(rocm, r.from)
	// 7.10.3 is inside 7.9-7.10: only as many numbers as the end has are compared.
	to, _ := platform.AtLeast(r.to, cutVersion(rocm, strings.Count(r.to, ".")+1))
	return ok && from && to
}

func cutVersion(v string, n int) string {
	parts := strings.Split(v, ".")
	return strings.Join(parts[:min(n, len(parts))], ".")
}

// nicRow returns platform's row of a NIC by name.
func nicRow(name string) platform.NIC {
	for _, n := range platform.NICs {
		if n.Name == name {
			return n
		}
	}
	return platform.NIC{Name: name}
}

// SystemOf answers whether an operating system has a driver for a NIC.
func (d *Data) SystemOf(nic, os string) Cell {
	var best said
	top, n := 0, nicRow(nic)
	for _, r := range d.systems {
		if k := rankNIC(r.on, n); slices.Contains(r.oses, os) && k > top {
			best, top = r.said, k
		}
	}
	return d.fill(Cell{Table: NICOS, NIC: nic, OS: os}, best, top > 0)
}

// CardOf answers a feature of a NIC.
func (d *Data) CardOf(nic, feature string) Cell {
	var best said
	top, n := 0, nicRow(nic)
	for _, r := range d.cards {
		if k := rankNIC(r.on, n); r.feature == feature && k > top {
			best, top = r.said, k
		}
	}
	return d.withInstead(d.fill(Cell{Table: NICFeature, NIC: nic, Feature: feature}, best, top > 0))
}

// FirmwareOf answers whether the firmware of a NIC is new enough; ok is false where
// no oldest one is known.
func (d *Data) FirmwareOf(nic, version string) (c Cell, ok bool) {
	n := nicRow(nic)
	if n.MinFirmware == "" {
		return c, false
	}
	c = Cell{Table: Firmware, NIC: nic, Version: version, Answer: Yes}
	reached, read := platform.AtLeast(version, n.MinFirmware)
	switch {
	case !read:
		c.Answer, c.How = Unknown, "want NVM "+n.MinFirmware+" or newer (ethtool -i); the version was not read"
	case !reached:
		c.Answer, c.How = Partly, "older firmware misbehaves with RDMA; want NVM "+n.MinFirmware+" or newer"
	}
	return d.cite(c, "platform"), true
}
