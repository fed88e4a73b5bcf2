package nvsmi

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// A field is one value of a GPU and where each form of nvidia-smi tells it:
// the path of XML elements, the path of headings in the text of -q, and the
// name of the --query-gpu column. Empty where that form does not.
type field struct {
	xml, text, csv string
	set            setter
}

// A setter reads a value that is not absent into a GPU.
type setter func(g *GPU, v string) error

// fields lists every value that weft reads. Older releases call the same
// value by other names; each name has its line.
var fields = []field{
	{"", "", "index", integer(func(g *GPU) **int { return &g.Index }, "")},
	{"product_name", "Product Name", "name", text(func(g *GPU) *string { return &g.Name })},
	{"product_brand", "Product Brand", "", text(func(g *GPU) *string { return &g.Brand })},
	{"product_architecture", "Product Architecture", "", text(func(g *GPU) *string { return &g.Architecture })},
	{"uuid", "GPU UUID", "uuid", text(func(g *GPU) *string { return &g.UUID })},
	{"", "", "gpu_uuid", text(func(g *GPU) *string { return &g.UUID })},
	{"serial", "Serial Number", "serial", text(func(g *GPU) *string { return &g.Serial })},
	{"vbios_version", "VBIOS Version", "vbios_version", text(func(g *GPU) *string { return &g.VBIOS })},
	{"addressing_mode", "Addressing Mode", "addressing_mode", text(func(g *GPU) *string { return &g.Addressing })},
	{"gpu_recovery_action", "GPU Recovery Action", "gpu_recovery_action", text(func(g *GPU) *string { return &g.Recovery })},
	{"", "", "compute_cap", text(func(g *GPU) *string { return &g.ComputeCap })},

	{"pci/pci_bus_id", "PCI/Bus Id", "pci.bus_id", busID},
	{"", "", "gpu_bus_id", busID},
	{"pci/pci_device_id", "PCI/Device Id", "pci.device_id", ids(func(g *GPU) (v, d **uint16) { return &g.VendorID, &g.DeviceID })},
	{"pci/pci_sub_system_id", "PCI/Sub System Id", "pci.sub_device_id", ids(func(g *GPU) (v, d **uint16) { return &g.SubsystemVendorID, &g.SubsystemDeviceID })},
	{"pci/pci_gpu_link_info/pcie_gen/current_link_gen", "PCI/GPU Link Info/PCIe Generation/Current", "pcie.link.gen.current", integer(func(g *GPU) **int { return &g.PCIeGen }, "")},
	{"", "", "pcie.link.gen.gpucurrent", integer(func(g *GPU) **int { return &g.PCIeGen }, "")},
	{"pci/pci_gpu_link_info/pcie_gen/max_link_gen", "PCI/GPU Link Info/PCIe Generation/Max", "pcie.link.gen.max", integer(func(g *GPU) **int { return &g.PCIeGenMax }, "")},
	{"pci/pci_gpu_link_info/pcie_gen/max_device_link_gen", "PCI/GPU Link Info/PCIe Generation/Device Max", "pcie.link.gen.gpumax", integer(func(g *GPU) **int { return &g.PCIeGenDeviceMax }, "")},
	{"pci/pci_gpu_link_info/pcie_gen/max_host_link_gen", "PCI/GPU Link Info/PCIe Generation/Host Max", "pcie.link.gen.hostmax", integer(func(g *GPU) **int { return &g.PCIeGenHostMax }, "")},
	{"pci/pci_gpu_link_info/link_widths/current_link_width", "PCI/GPU Link Info/Link Width/Current", "pcie.link.width.current", integer(func(g *GPU) **int { return &g.PCIeWidthLanes }, "x")},
	{"pci/pci_gpu_link_info/link_widths/max_link_width", "PCI/GPU Link Info/Link Width/Max", "pcie.link.width.max", integer(func(g *GPU) **int { return &g.PCIeWidthMaxLanes }, "x")},
	{"pci/replay_counter", "PCI/Replays Since Reset", "", count(func(g *GPU) **uint64 { return &g.PCIeReplays })},

	{"fb_memory_usage/total", "FB Memory Usage/Total", "memory.total", bytesOf(func(g *GPU) **uint64 { return &g.MemoryTotalBytes })},
	{"fb_memory_usage/used", "FB Memory Usage/Used", "memory.used", bytesOf(func(g *GPU) **uint64 { return &g.MemoryUsedBytes })},
	{"bar1_memory_usage/total", "BAR1 Memory Usage/Total", "", bytesOf(func(g *GPU) **uint64 { return &g.BAR1TotalBytes })},

	{"gpu_power_readings/average_power_draw", "GPU Power Readings/Average Power Draw", "power.draw", watts(func(g *GPU) **float64 { return &g.PowerDrawW })},
	{"gpu_power_readings/power_draw", "GPU Power Readings/Power Draw", "", watts(func(g *GPU) **float64 { return &g.PowerDrawW })},
	{"power_readings/power_draw", "Power Readings/Power Draw", "", watts(func(g *GPU) **float64 { return &g.PowerDrawW })},
	{"gpu_power_readings/current_power_limit", "GPU Power Readings/Current Power Limit", "power.limit", watts(func(g *GPU) **float64 { return &g.PowerLimitW })},
	{"power_readings/power_limit", "Power Readings/Power Limit", "enforced.power.limit", watts(func(g *GPU) **float64 { return &g.PowerLimitW })},
	{"gpu_power_readings/default_power_limit", "GPU Power Readings/Default Power Limit", "power.default_limit", watts(func(g *GPU) **float64 { return &g.PowerDefaultLimitW })},
	{"power_readings/default_power_limit", "Power Readings/Default Power Limit", "", watts(func(g *GPU) **float64 { return &g.PowerDefaultLimitW })},
	{"gpu_power_readings/max_power_limit", "GPU Power Readings/Max Power Limit", "power.max_limit", watts(func(g *GPU) **float64 { return &g.PowerMaxLimitW })},
	{"power_readings/max_power_limit", "Power Readings/Max Power Limit", "", watts(func(g *GPU) **float64 { return &g.PowerMaxLimitW })},

	{"clocks/sm_clock", "Clocks/SM", "clocks.current.sm", integer(func(g *GPU) **int { return &g.ClockSMMHz }, "MHz")},
	{"clocks/mem_clock", "Clocks/Memory", "clocks.current.memory", integer(func(g *GPU) **int { return &g.ClockMemMHz }, "MHz")},
	{"max_clocks/sm_clock", "Max Clocks/SM", "clocks.max.sm", integer(func(g *GPU) **int { return &g.ClockSMMaxMHz }, "MHz")},
	{"max_clocks/mem_clock", "Max Clocks/Memory", "clocks.max.memory", integer(func(g *GPU) **int { return &g.ClockMemMaxMHz }, "MHz")},
	{"performance_state", "Performance State", "pstate", text(func(g *GPU) *string { return &g.PState })},
	{"utilization/gpu_util", "Utilization/GPU", "utilization.gpu", integer(func(g *GPU) **int { return &g.UtilPercent }, "%")},
	{"temperature/gpu_temp", "Temperature/GPU Current Temp", "temperature.gpu", integer(func(g *GPU) **int { return &g.TempC }, "C")},
	{"temperature/memory_temp", "Temperature/Memory Current Temp", "temperature.memory", integer(func(g *GPU) **int { return &g.MemTempC }, "C")},

	{"persistence_mode", "Persistence Mode", "persistence_mode", flag(func(g *GPU) **bool { return &g.Persistence })},
	{"mig_mode/current_mig", "MIG Mode/Current", "mig.mode.current", flag(func(g *GPU) **bool { return &g.MIG })},
	{"ecc_mode/current_ecc", "ECC Mode/Current", "ecc.mode.current", flag(func(g *GPU) **bool { return &g.ECC })},

	{"ecc_errors/volatile/sram_correctable", "ECC Errors/Volatile/SRAM Correctable", "", count(func(g *GPU) **uint64 { return &g.Volatile.SRAMCorrectable })},
	{"ecc_errors/volatile/sram_uncorrectable", "ECC Errors/Volatile/SRAM Uncorrectable", "", count(func(g *GPU) **uint64 { return &g.Volatile.SRAMUncorrectable })},
	{"ecc_errors/volatile/sram_uncorrectable_parity", "ECC Errors/Volatile/SRAM Uncorrectable Parity", "", sum(func(g *GPU) **uint64 { return &g.Volatile.SRAMUncorrectable })},
	{"ecc_errors/volatile/sram_uncorrectable_secded", "ECC Errors/Volatile/SRAM Uncorrectable SEC-DED", "", sum(func(g *GPU) **uint64 { return &g.Volatile.SRAMUncorrectable })},
	{"ecc_errors/volatile/dram_correctable", "ECC Errors/Volatile/DRAM Correctable", "", count(func(g *GPU) **uint64 { return &g.Volatile.DRAMCorrectable })},
	{"ecc_errors/volatile/dram_uncorrectable", "ECC Errors/Volatile/DRAM Uncorrectable", "", count(func(g *GPU) **uint64 { return &g.Volatile.DRAMUncorrectable })},
	{"ecc_errors/aggregate/sram_correctable", "ECC Errors/Aggregate/SRAM Correctable", "", count(func(g *GPU) **uint64 { return &g.Aggregate.SRAMCorrectable })},
	{"ecc_errors/aggregate/sram_uncorrectable", "ECC Errors/Aggregate/SRAM Uncorrectable", "", count(func(g *GPU) **uint64 { return &g.Aggregate.SRAMUncorrectable })},
	{"ecc_errors/aggregate/sram_uncorrectable_parity", "ECC Errors/Aggregate/SRAM Uncorrectable Parity", "", sum(func(g *GPU) **uint64 { return &g.Aggregate.SRAMUncorrectable })},
	{"ecc_errors/aggregate/sram_uncorrectable_secded", "ECC Errors/Aggregate/SRAM Uncorrectable SEC-DED", "", sum(func(g *GPU) **uint64 { return &g.Aggregate.SRAMUncorrectable })},
	{"ecc_errors/aggregate/dram_correctable", "ECC Errors/Aggregate/DRAM Correctable", "", count(func(g *GPU) **uint64 { return &g.Aggregate.DRAMCorrectable })},
	{"ecc_errors/aggregate/dram_uncorrectable", "ECC Errors/Aggregate/DRAM Uncorrectable", "", count(func(g *GPU) **uint64 { return &g.Aggregate.DRAMUncorrectable })},

	{"retired_pages/multiple_single_bit_retirement/retired_count", "Retired Pages/Single Bit ECC", "", count(func(g *GPU) **uint64 { return &g.RetiredSingle })},
	{"retired_pages/double_bit_retirement/retired_count", "Retired Pages/Double Bit ECC", "", count(func(g *GPU) **uint64 { return &g.RetiredDouble })},
	{"retired_pages/pending_blacklist", "Retired Pages/Pending Page Blacklist", "", flag(func(g *GPU) **bool { return &g.RetiredPending })},
	{"remapped_rows/remapped_row_corr", "Remapped Rows/Correctable Error", "", count(func(g *GPU) **uint64 { return &g.RemappedCorr })},
	{"remapped_rows/remapped_row_unc", "Remapped Rows/Uncorrectable Error", "", count(func(g *GPU) **uint64 { return &g.RemappedUncorr })},
	{"remapped_rows/remapped_row_pending", "Remapped Rows/Pending", "", flag(func(g *GPU) **bool { return &g.RemapPending })},
	{"remapped_rows/remapped_row_failure", "Remapped Rows/Remapping Failure Occurred", "", flag(func(g *GPU) **bool { return &g.RemapFailed })},

	{"fabric/state", "Fabric/State", "fabric.state", text(func(g *GPU) *string { return &g.FabricState })},
	{"fabric/status", "Fabric/Status", "fabric.status", text(func(g *GPU) *string { return &g.FabricStatus })},
}

var (
	byXML  = indexed(func(f field) string { return f.xml })
	byText = indexed(func(f field) string { return f.text })
	byCSV  = indexed(func(f field) string { return f.csv })
)

func indexed(key func(field) string) map[string]setter {
	m := make(map[string]setter, len(fields))
	for _, f := range fields {
		if k := key(f); k != "" {
			m[k] = f.set
		}
	}
	return m
}

// put reads one value into g, when the form has a field of that name.
func put(from map[string]setter, g *GPU, name, v string) error {
	set := from[name]
	if set == nil || absent(v) {
		return nil
	}
	if err := set(g, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func text(at func(*GPU) *string) setter {
	return func(g *GPU, v string) error { *at(g) = v; return nil }
}

func integer(at func(*GPU) **int, unit string) setter {
	return func(g *GPU, v string) error {
		n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(v, unit)))
		if err != nil {
			return fmt.Errorf("%q is not a number", v)
		}
		*at(g) = &n
		return nil
	}
}

func count(at func(*GPU) **uint64) setter {
	return func(g *GPU, v string) error {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a count", v)
		}
		*at(g) = &n
		return nil
	}
}

// sum adds to what is there, for one value that is told in two parts.
func sum(at func(*GPU) **uint64) setter {
	return func(g *GPU, v string) error {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a count", v)
		}
		if p := *at(g); p != nil {
			n += *p
		}
		*at(g) = &n
		return nil
	}
}

// The names mean powers of two: NVML counts bytes and nvidia-smi divides by 1024.
func bytesOf(at func(*GPU) **uint64) setter {
	return func(g *GPU, v string) error {
		num, unit, _ := strings.Cut(v, " ")
		n, err := strconv.ParseUint(num, 10, 64)
		shift, known := map[string]uint{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]
		if err != nil || !known || n > 1<<62>>shift {
			return fmt.Errorf("%q is not a memory size", v)
		}
		n <<= shift
		*at(g) = &n
		return nil
	}
}

func watts(at func(*GPU) **float64) setter {
	return func(g *GPU, v string) error {
		w, err := strconv.ParseFloat(strings.TrimSuffix(v, " W"), 64)
		if err != nil || w != w || w < 0 || w > 1e6 {
			return fmt.Errorf("%q is not a power in W", v)
		}
		*at(g) = &w
		return nil
	}
}

func flag(at func(*GPU) **bool) setter {
	return func(g *GPU, v string) error {
		var on bool
		switch v {
		case "Enabled", "Yes", "Active":
			on = true
		case "Disabled", "No", "Not Active":
		default:
			return fmt.Errorf("%q is neither on nor off", v)
		}
		*at(g) = &on
		return nil
	}
}

func busID(g *GPU, v string) error {
	bdf, ok := printed.BDF(v)
	if !ok {
		return fmt.Errorf("%q is not a PCI address", v)
	}
	g.BDF = bdf
	return nil
}

// ids reads "27B010DE": the device, then the vendor, as one register.
func ids(at func(*GPU) (vendor, device **uint16)) setter {
	return func(g *GPU, v string) error {
		n, err := strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, 32)
		if err != nil {
			return fmt.Errorf("%q is not a PCI id", v)
		}
		vendor, device := at(g)
		lo, hi := uint16(n), uint16(n>>16)
		*vendor, *device = &lo, &hi
		return nil
	}
}
