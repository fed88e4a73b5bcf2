package sample

import (
	"fmt"
	"strconv"
	"strings"
)

// GPU is one accelerator.
type GPU struct {
	Model Model
	BDF   string
	MIG   string // "N/A", "Disabled", "Enabled"
}

// Model is a kind of GPU.
type Model struct {
	Vendor, Device uint16
	Class          uint32
	Name, Brand    string
	Arch           string // NVIDIA's name, or gfx1151
	MiB            int    // memory; 0 where the driver says N/A
	Watts          int
	MHz            int
	Max            Link
}

// The GPUs of the seed documents, and one of a data centre.
var (
	TeslaP4   = Model{0x10de, 0x1bb3, 0x030200, "Tesla P4", "Tesla", "Pascal", 7680, 75, 1531, Link{8, 16}}
	TeslaT4   = Model{0x10de, 0x1eb8, 0x030200, "Tesla T4", "NVIDIA", "Turing", 15360, 70, 1590, Link{8, 16}}
	A100      = Model{0x10de, 0x20b2, 0x030200, "NVIDIA A100-SXM4-80GB", "NVIDIA", "Ampere", 81920, 400, 1410, Link{16, 16}}
	RTX6000   = Model{0x10de, 0x2bb1, 0x030000, "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX", "Blackwell", 97887, 600, 3090, Link{32, 16}}
	GB10      = Model{0x10de, 0x2e12, 0x030200, "NVIDIA GB10", "NVIDIA", "Blackwell", 0, 0, 3003, Link{}}
	StrixHalo = Model{0x1002, 0x1586, 0x038000, "", "", "gfx1151", 512, 120, 2900, Link{16, 16}}
)

// NVIDIA is the driver.
type NVIDIA struct {
	Driver, CUDA string
	Open         bool // the open kernel module
}

// AddGPU puts a GPU below a bridge.
func (m *Machine) AddGPU(model Model, bdf, up string) *GPU {
	driver := "nvidia"
	if model.Vendor == 0x1002 {
		driver = "amdgpu"
	}
	m.plug(&PCI{BDF: bdf, Vendor: model.Vendor, Device: model.Device, Class: model.Class, Driver: driver, Max: model.Max, MaxRead: 512}, up)
	g := &GPU{Model: model, BDF: bdf, MIG: "N/A"}
	m.GPUs = append(m.GPUs, g)
	m.load(driver)
	return g
}

func (m *Machine) writeGPUs(w writer) {
	nvidia := false
	for i, g := range m.GPUs {
		if g.Model.Vendor == 0x1002 {
			m.writeAMD(w, g)
			continue
		}
		nvidia = true
		name := g.Model.Name
		w.file("/proc/driver/nvidia/gpus/"+g.BDF+"/information", fmt.Sprintf("Model: \t\t %s\nBus Location: \t %s\nDevice Minor: \t %d\n", name, g.BDF, i))
	}
	if nvidia {
		kind := "NVIDIA UNIX " + m.Arch + " Kernel Module  "
		if m.NVIDIA.Open {
			kind = "NVIDIA UNIX Open Kernel Module for " + m.Arch + "  "
		}
		w.file("/proc/driver/nvidia/version", "NVRM version: "+kind+m.NVIDIA.Driver+"  Release Build\nGCC version:  gcc version 13.3.0\n")
		w.cmd("nvidia-smi -q -x", m.nvsmi())
	}
	if m.ROCm != "" {
		w.line("/opt/rocm-"+m.ROCm+"/.info/version", m.ROCm)
	}
}

// nvsmi is nvidia-smi -q -x with the elements that weft reads.
func (m *Machine) nvsmi() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n\t<timestamp>%s</timestamp>\n\t<driver_version>%s</driver_version>\n\t<cuda_version>%s</cuda_version>\n\t<attached_gpus>%d</attached_gpus>\n",
		Now.Format("Mon Jan  2 15:04:05 2006"), m.NVIDIA.Driver, m.NVIDIA.CUDA, len(m.GPUs))
	for i, g := range m.GPUs {
		v := g.Model
		memory, draw, limit := itoa(v.MiB)+" MiB", fmt.Sprintf("%d.50 W", v.Watts/6), fmt.Sprintf("%d.00 W", v.Watts)
		if v.MiB == 0 { // unified memory has no frame buffer and no limit of its own
			memory, draw, limit = "N/A", "4.10 W", "N/A"
		}
		fmt.Fprintf(&b, "\t<gpu id=\"0000%s\">\n\t\t<product_name>%s</product_name>\n\t\t<product_brand>%s</product_brand>\n\t\t<product_architecture>%s</product_architecture>\n", strings.ToUpper(g.BDF), v.Name, v.Brand, v.Arch)
		fmt.Fprintf(&b, "\t\t<persistence_mode>Enabled</persistence_mode>\n\t\t<mig_mode>\n\t\t\t<current_mig>%s</current_mig>\n\t\t\t<pending_mig>%s</pending_mig>\n\t\t</mig_mode>\n", g.MIG, g.MIG)
		fmt.Fprintf(&b, "\t\t<uuid>GPU-00000000-0000-0000-%04d-%012d</uuid>\n\t\t<minor_number>%d</minor_number>\n", m.ID, i, i)
		fmt.Fprintf(&b, "\t\t<pci>\n\t\t\t<pci_bus_id>0000%s</pci_bus_id>\n\t\t\t<pci_device_id>%04X%04X</pci_device_id>\n\t\t</pci>\n", strings.ToUpper(g.BDF), v.Device, v.Vendor)
		fmt.Fprintf(&b, "\t\t<fb_memory_usage>\n\t\t\t<total>%s</total>\n\t\t</fb_memory_usage>\n\t\t<performance_state>P8</performance_state>\n", memory)
		b.WriteString("\t\t<clocks_event_reasons>\n\t\t\t<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>\n\t\t\t<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>\n\t\t</clocks_event_reasons>\n")
		b.WriteString("\t\t<utilization>\n\t\t\t<gpu_util>0 %</gpu_util>\n\t\t</utilization>\n\t\t<temperature>\n\t\t\t<gpu_temp>38 C</gpu_temp>\n\t\t</temperature>\n")
		fmt.Fprintf(&b, "\t\t<gpu_power_readings>\n\t\t\t<power_draw>%s</power_draw>\n\t\t\t<current_power_limit>%s</current_power_limit>\n\t\t</gpu_power_readings>\n", draw, limit)
		fmt.Fprintf(&b, "\t\t<clocks>\n\t\t\t<sm_clock>210 MHz</sm_clock>\n\t\t</clocks>\n\t\t<max_clocks>\n\t\t\t<sm_clock>%d MHz</sm_clock>\n\t\t</max_clocks>\n\t</gpu>\n", v.MHz)
	}
	b.WriteString("</nvidia_smi_log>\n")
	return b.String()
}

// writeAMD writes what amdgpu puts into sysfs: beside the PCI function and, for
// compute, in KFD's topology. The GPU may map all memory but 8 GiB.
func (m *Machine) writeAMD(w writer, g *GPU) {
	dir := pciDir + g.BDF
	pages := (m.MemoryGiB - 8) * (1 << 18)
	w.line(dir+"/mem_info_vram_total", strconv.Itoa(g.Model.MiB<<20))
	w.line(dir+"/mem_info_gtt_total", strconv.Itoa(pages*4096))
	w.line(dir+"/gpu_busy_percent", "0")
	w.line(dir+"/hwmon/hwmon3/power1_average", "9000000")
	w.line(dir+"/hwmon/hwmon3/temp1_input", "37000")
	w.line(dir+"/hwmon/hwmon3/freq1_input", "600000000")
	w.line("/sys/module/ttm/parameters/pages_limit", itoa(pages))
	w.line("/sys/module/amdgpu/parameters/gttsize", "-1")
	const kfd = "/sys/class/kfd/kfd/topology/nodes/"
	w.file(kfd+"0/properties", "cpu_cores_count 32\nsimd_count 0\ngfx_target_version 0\nvendor_id 0\ndevice_id 0\nlocation_id 0\ndomain 0\n")
	w.file(kfd+"1/properties", fmt.Sprintf("cpu_cores_count 0\nsimd_count 80\nsimd_per_cu 2\ngfx_target_version 110501\nvendor_id %d\ndevice_id %d\nlocation_id %d\ndomain 0\ndrm_render_minor 128\n",
		g.Model.Vendor, g.Model.Device, location(g.BDF)))
	w.line(kfd+"1/name", "ip discovery")
}

// location is KFD's location_id: bus, device and function in one number.
func location(bdf string) uint64 {
	bus, _ := strconv.ParseUint(bdf[5:7], 16, 8)
	dev, _ := strconv.ParseUint(bdf[8:10], 16, 8)
	fn, _ := strconv.ParseUint(bdf[11:], 16, 8)
	return bus<<8 | dev<<3 | fn
}
