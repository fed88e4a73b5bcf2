package format

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/dump"
	"weft/internal/fact"
	"weft/internal/format/nvsmi"
	"weft/internal/format/rocmsmi"
	"weft/internal/unit"
)

const kfdDir = "/sys/class/kfd/kfd/topology/nodes"

var gpuReader = Reader{
	Name: "gpu",
	Why:  "GPUs: driver, memory, power, clocks, and what the compute driver calls them",
	Files: []File{
		{Dir: pciDir + "/*", Where: "vendor", Starts: []string{"0x1002"}, Names: []string{
			"mem_info_vram_total", "mem_info_gtt_total", "gpu_busy_percent", "hwmon/hwmon*/power1_average", "hwmon/hwmon*/power1_input", "hwmon/hwmon*/power1_cap", "hwmon/hwmon*/temp1_input", "hwmon/hwmon*/freq1_input"}, Quiet: true},
		{Dir: kfdDir + "/*", Names: []string{"properties", "name"}, Quiet: true},
		{Dir: "/proc/driver/nvidia", Names: []string{"version", "gpus/*/information"}},
		{Dir: "/sys/module/amdgpu", Names: []string{"version", "parameters/gttsize"}, Quiet: true},
		{Dir: "/sys/module/ttm/parameters", Names: []string{"pages_limit"}, Quiet: true},
		{Dir: "/opt/rocm*/.info", Names: []string{"version"}},
	},
	Cmds: []Cmd{
		{Run: "nvidia-smi -q -x", For: "/proc/driver/nvidia/version"},
		{Run: "nvidia-smi topo -m", For: "/proc/driver/nvidia/version", Quiet: true},
		{Run: "amd-smi static --json", For: "/sys/class/kfd", Quiet: true},
	},
	Read: readGPU,
}

// GPU makers by PCI vendor id.
var gpuVendors = map[uint16]string{0x10de: "NVIDIA", 0x1002: "AMD", 0x8086: "Intel"}

func readGPU(d *dump.Node, n *fact.Node) {
	for _, p := range n.PCI {
		vendor := gpuVendors[p.Vendor]
		// Display and 3D controllers and accelerators; the virtual displays of
		// BMCs have other vendors, and Intel's graphics are no concern here.
		if base := p.Class >> 16; base != 0x03 && base != 0x12 || vendor == "" || vendor == "Intel" {
			continue
		}
		g := &fact.GPU{BDF: p.BDF, Vendor: vendor, Device: p.Device, Bound: p.Driver == "nvidia" || p.Driver == "amdgpu"}
		if vendor == "AMD" {
			readAmdgpu(d, g)
		}
		n.GPUs = append(n.GPUs, g)
	}
	readNvidia(d, n)
	readROCm(d, n)
	slices.SortFunc(n.GPUs, func(a, b *fact.GPU) int { return strings.Compare(a.BDF, b.BDF) })
	for i, g := range n.GPUs {
		g.Index = i
	}
	s := &n.Settings
	for _, dir := range d.Dir("/opt") {
		if v := word(d, "/opt/"+dir+"/.info/version"); v != "" {
			s.ROCm = v
		}
	}
	if v, ok := number(d, "/sys/module/ttm/parameters/pages_limit").Get(); ok {
		s.TTMPages = fact.Some(int64(v))
	}
	if v, ok := number(d, "/sys/module/amdgpu/parameters/gttsize").Get(); ok {
		s.GTTSize = fact.Some(int64(v))
	}
}

func gpuAt(n *fact.Node, bdf string) *fact.GPU {
	for _, g := range n.GPUs {
		if g.BDF == bdf && bdf != "" {
			return g
		}
	}
	return nil
}

// readAmdgpu reads what the amdgpu driver puts beside the PCI device.
func readAmdgpu(d *dump.Node, g *fact.GPU) {
	dir := pciDir + "/" + g.BDF
	g.Seen = fact.Some(g.Bound)
	g.Memory, g.GTT = size(d, dir+"/mem_info_vram_total"), size(d, dir+"/mem_info_gtt_total")
	g.Util = number(d, dir+"/gpu_busy_percent")
	for _, hw := range d.Dir(dir + "/hwmon") {
		mon := dir + "/hwmon/" + hw
		g.Temp = milli(d, mon+"/temp1_input")
		for _, file := range []string{"power1_average", "power1_input"} {
			if uw, ok := number(d, mon+"/"+file).Get(); ok && !g.Power.Known() {
				g.Power = fact.Some(float64(uw) / 1e6)
			}
		}
		if uw, ok := number(d, mon+"/power1_cap").Get(); ok {
			g.PowerMax = fact.Some(float64(uw) / 1e6)
		}
		if hz, ok := number(d, mon+"/freq1_input").Get(); ok {
			g.Clock = fact.Some(hz / 1e6)
		}
	}
}

func size(d *dump.Node, file string) fact.Val[unit.Size] {
	if v, ok := number(d, file).Get(); ok {
		return fact.Some(unit.Size(v))
	}
	return fact.Val[unit.Size]{}
}

// readNvidia adds what the NVIDIA driver tells. A GPU that is on PCI and that the
// driver's tool does not list is not seen.
func readNvidia(d *dump.Node, n *fact.Node) {
	if text, ok := d.Get("/proc/driver/nvidia/version"); ok {
		m, _ := nvsmi.ParseVersion([]byte(text))
		n.Settings.GPUDriver = m.Version
		n.Settings.GPUOpen = fact.Some(m.Open)
	}
	log, told := nvidiaLog(d)
	fill(&n.Settings.GPUDriver, log.Driver)
	fill(&n.Settings.CUDA, log.CUDA)
	for _, q := range log.GPUs {
		g := gpuAt(n, q.BDF)
		if g == nil {
			g = &fact.GPU{BDF: q.BDF, Vendor: "NVIDIA", Bound: true}
			n.GPUs = append(n.GPUs, g)
		}
		fillNvidia(g, q)
		g.Driver = log.Driver
	}
	for _, g := range n.GPUs {
		if g.Vendor == "NVIDIA" && !g.Seen.Known() && told {
			g.Seen = fact.Some(false)
		}
	}
}

// nvidiaLog reads the form of nvidia-smi that tells most.
func nvidiaLog(d *dump.Node) (log nvsmi.Log, told bool) {
	for _, form := range []struct {
		is    func(cmd string) bool
		parse func([]byte) (nvsmi.Log, error)
	}{
		{func(cmd string) bool { return strings.Contains(cmd, "-x") }, nvsmi.ParseXML},
		{func(cmd string) bool { return strings.HasSuffix(cmd, " -q") }, nvsmi.ParseText},
		{func(cmd string) bool { return strings.Contains(cmd, "--query-gpu") }, nvsmi.ParseCSV},
		{func(cmd string) bool { return cmd == "nvidia-smi" }, nvsmi.ParseTable},
	} {
		for _, cmd := range d.Cmds("nvidia-smi") {
			if !form.is(cmd) {
				continue
			}
			text, _ := d.Cmd(cmd)
			if l, err := form.parse([]byte(text)); len(l.GPUs) > 0 || err == nil {
				return l, true
			}
		}
	}
	return log, false
}

func fillNvidia(g *fact.GPU, q nvsmi.GPU) {
	g.Seen = fact.Some(true)
	g.Name, g.Arch, g.UUID = q.Name, q.Architecture, q.UUID
	if q.DeviceID != nil {
		g.Device = *q.DeviceID
	}
	if q.MemoryTotalBytes != nil {
		g.Memory = fact.Some(unit.Size(*q.MemoryTotalBytes))
	}
	g.Power, g.PowerMax = val(q.PowerDrawW), val(q.PowerLimitW)
	g.Clock, g.ClockMax, g.Util = val(q.ClockSMMHz), val(q.ClockSMMaxMHz), val(q.UtilPercent)
	if q.TempC != nil {
		g.Temp = fact.Some(float64(*q.TempC))
	}
	if q.MIG != nil {
		g.MIG = map[bool]string{true: "Enabled", false: "Disabled"}[*q.MIG]
	}
	g.Throttle = q.ClockReasons
}

// val makes a fact of a pointer: nil is unknown.
func val[T any](p *T) fact.Val[T] {
	if p == nil {
		return fact.Val[T]{}
	}
	return fact.Some(*p)
}

// readROCm adds what AMD's compute driver and tools tell: above all the gfx name,
// which decides what software runs.
func readROCm(d *dump.Node, n *fact.Node) {
	for _, node := range d.Dir(kfdDir) {
		text, _ := d.Get(kfdDir + "/" + node + "/properties")
		k, err := rocmsmi.ParseNode([]byte(text))
		if err != nil && k.GFX == "" || !k.GPU {
			continue
		}
		g := gpuAt(n, k.BDF)
		if g == nil {
			g = &fact.GPU{BDF: k.BDF, Vendor: "AMD", Device: k.DeviceID, Bound: true}
			n.GPUs = append(n.GPUs, g)
		}
		g.Seen, g.Arch = fact.Some(true), k.GFX
	}
	for _, cmd := range append(d.Cmds("amd-smi"), d.Cmds("rocm-smi")...) {
		text, _ := d.Cmd(cmd)
		parse := rocmsmi.ParseROCm
		if strings.HasPrefix(cmd, "amd-smi") {
			parse = rocmsmi.ParseAMD
		}
		report, _ := parse([]byte(text))
		for i, q := range report.GPUs {
			g := gpuAt(n, q.BDF)
			if g == nil {
				if q.BDF == "" && len(n.GPUs) > 0 {
					continue
				}
				g = &fact.GPU{BDF: q.BDF, Vendor: "AMD", Bound: true}
				if q.BDF == "" {
					g.BDF = "gpu" + strconv.Itoa(i)
				}
				n.GPUs = append(n.GPUs, g)
			}
			g.Seen = fact.Some(true)
			fill(&g.Name, q.Name)
			fill(&g.Arch, q.GFX)
			if q.VRAMTotalBytes != nil && !g.Memory.Known() {
				g.Memory = fact.Some(unit.Size(*q.VRAMTotalBytes))
			}
			if q.GTTTotalBytes != nil && !g.GTT.Known() {
				g.GTT = fact.Some(unit.Size(*q.GTTTotalBytes))
			}
		}
		fill(&n.Settings.GPUDriver, report.Driver)
	}
	fill(&n.Settings.GPUDriver, word(d, "/sys/module/amdgpu/version"))
	for _, g := range n.GPUs {
		if g.Vendor == "AMD" {
			g.Driver = n.Settings.GPUDriver
			fill(&g.Name, gfxNames[g.Arch])
		}
	}
}

// gfxNames names the integrated GPUs that no tool names without ROCm.
var gfxNames = map[string]string{"gfx1151": "Radeon 8060S (Strix Halo)"}
