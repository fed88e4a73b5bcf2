package rocmsmi

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"weft/internal/format/printed"
)

// A setter reads a value with its unit, "" when none is told, into a GPU.
type setter func(g *GPU, v, unit string) error

// rocmFields are the keys of rocm-smi --json, in lower case.
var rocmFields = map[string]setter{
	"device name":   text(func(g *GPU) *string { return &g.Name }),
	"card series":   text(func(g *GPU) *string { return &g.Name }),
	"device id":     id(func(g *GPU) **uint16 { return &g.DeviceID }),
	"gfx version":   text(func(g *GPU) *string { return &g.GFX }),
	"unique id":     text(func(g *GPU) *string { return &g.UniqueID }),
	"serial number": text(func(g *GPU) *string { return &g.Serial }),
	"vbios version": text(func(g *GPU) *string { return &g.VBIOS }),
	"pci bus":       busID,

	"vram total memory (b)":      size(func(g *GPU) **uint64 { return &g.VRAMTotalBytes }, "B"),
	"vram total used memory (b)": size(func(g *GPU) **uint64 { return &g.VRAMUsedBytes }, "B"),
	"gtt total memory (b)":       size(func(g *GPU) **uint64 { return &g.GTTTotalBytes }, "B"),
	"gtt total used memory (b)":  size(func(g *GPU) **uint64 { return &g.GTTUsedBytes }, "B"),

	"average graphics package power (w)":        watts(func(g *GPU) **float64 { return &g.PowerW }),
	"current socket graphics package power (w)": watts(func(g *GPU) **float64 { return &g.PowerW }),
	"max graphics package power (w)":            watts(func(g *GPU) **float64 { return &g.PowerLimitW }), // the cap in force

	"sclk clock speed:":                 integer(func(g *GPU) **int { return &g.ClockGFXMHz }),
	"mclk clock speed:":                 integer(func(g *GPU) **int { return &g.ClockMemMHz }),
	"temperature (sensor edge) (c)":     integer(func(g *GPU) **int { return &g.TempEdgeC }),
	"temperature (sensor junction) (c)": integer(func(g *GPU) **int { return &g.TempHotspotC }),
	"temperature (sensor memory) (c)":   integer(func(g *GPU) **int { return &g.TempMemC }),

	"pcie clock level":     pcieLevel,
	"pcie replay count":    count(func(g *GPU) **uint64 { return &g.PCIeReplays }),
	"(topology) numa node": numa,
}

// amdFields are the paths of amd-smi --json.
var amdFields = map[string]setter{
	"gpu":                          integer(func(g *GPU) **int { return &g.Index }),
	"asic/market_name":             text(func(g *GPU) *string { return &g.Name }),
	"asic/vendor_id":               id(func(g *GPU) **uint16 { return &g.VendorID }),
	"asic/device_id":               id(func(g *GPU) **uint16 { return &g.DeviceID }),
	"asic/asic_serial":             text(func(g *GPU) *string { return &g.UniqueID }),
	"asic/num_compute_units":       integer(func(g *GPU) **int { return &g.ComputeUnits }),
	"asic/target_graphics_version": text(func(g *GPU) *string { return &g.GFX }),
	"board/product_serial":         text(func(g *GPU) *string { return &g.Serial }),
	"vbios/version":                text(func(g *GPU) *string { return &g.VBIOS }),
	"bus/bdf":                      busID,
	"bus/max_pcie_width":           integer(func(g *GPU) **int { return &g.PCIeWidthMaxLanes }),
	"bus/max_pcie_speed":           speed(func(g *GPU) **int { return &g.PCIeSpeedMaxMTps }),
	"numa/node":                    numa,
	"vram/size":                    size(func(g *GPU) **uint64 { return &g.VRAMTotalBytes }, "MB"),

	"limit/max_power":               watts(func(g *GPU) **float64 { return &g.PowerMaxW }),
	"limit/socket_power":            watts(func(g *GPU) **float64 { return &g.PowerLimitW }),
	"limit/ppt0/max_power_limit":    watts(func(g *GPU) **float64 { return &g.PowerMaxW }),
	"limit/ppt0/socket_power_limit": watts(func(g *GPU) **float64 { return &g.PowerLimitW }),

	"power/socket_power":          watts(func(g *GPU) **float64 { return &g.PowerW }),
	"power/throttle_status":       text(func(g *GPU) *string { return &g.Throttle }),
	"clock/gfx_0/clk":             integer(func(g *GPU) **int { return &g.ClockGFXMHz }),
	"clock/gfx_0/max_clk":         integer(func(g *GPU) **int { return &g.ClockGFXMaxMHz }),
	"clock/mem_0/clk":             integer(func(g *GPU) **int { return &g.ClockMemMHz }),
	"clock/mem_0/max_clk":         integer(func(g *GPU) **int { return &g.ClockMemMaxMHz }),
	"temperature/edge":            integer(func(g *GPU) **int { return &g.TempEdgeC }),
	"temperature/hotspot":         integer(func(g *GPU) **int { return &g.TempHotspotC }),
	"temperature/mem":             integer(func(g *GPU) **int { return &g.TempMemC }),
	"pcie/width":                  integer(func(g *GPU) **int { return &g.PCIeWidthLanes }),
	"pcie/speed":                  speed(func(g *GPU) **int { return &g.PCIeSpeedMTps }),
	"pcie/replay_count":           count(func(g *GPU) **uint64 { return &g.PCIeReplays }),
	"mem_usage/total_vram":        size(func(g *GPU) **uint64 { return &g.VRAMTotalBytes }, "MB"),
	"mem_usage/used_vram":         size(func(g *GPU) **uint64 { return &g.VRAMUsedBytes }, "MB"),
	"mem_usage/total_gtt":         size(func(g *GPU) **uint64 { return &g.GTTTotalBytes }, "MB"),
	"mem_usage/used_gtt":          size(func(g *GPU) **uint64 { return &g.GTTUsedBytes }, "MB"),
	"ecc/total_correctable_count": count(func(g *GPU) **uint64 { return &g.ECCCorrectable }),
	"ecc/total_uncorrectable_count": count(func(g *GPU) **uint64 {
		return &g.ECCUncorrectable
	}),
}

// put reads one value into g when there is a field of that name. A value may
// be told plain or as an object of value and then unit; values keeps it until
// the unit comes.
func put(from map[string]setter, g *GPU, values map[string]string, name, v string) error {
	unit := ""
	if base, ok := strings.CutSuffix(name, "/unit"); ok {
		name, unit = base, v
		if v, ok = values[base]; !ok {
			return nil
		}
	} else if base, ok := strings.CutSuffix(name, "/value"); ok {
		name = base
	}
	set := from[name]
	if set == nil || absent(v) {
		return nil
	}
	values[name] = v
	if err := set(g, v, unit); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func text(at func(*GPU) *string) setter {
	return func(g *GPU, v, _ string) error { *at(g) = v; return nil }
}

// number reads the number at the start of "(800Mhz)", "45.0", "7.222" and "16".
func number(v string) (float64, error) {
	v = strings.Trim(v, "()")
	end := strings.IndexFunc(v, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' })
	if end < 0 {
		end = len(v)
	}
	n, err := strconv.ParseFloat(v[:end], 64)
	if err != nil || math.Abs(n) > 1e9 {
		return 0, fmt.Errorf("%.120q is not a number", v)
	}
	return n, nil
}

func integer(at func(*GPU) **int) setter {
	return func(g *GPU, v, _ string) error {
		n, err := number(v)
		if err != nil {
			return err
		}
		k := int(math.Round(n))
		*at(g) = &k
		return nil
	}
}

func watts(at func(*GPU) **float64) setter {
	return func(g *GPU, v, _ string) error {
		n, err := number(v)
		if err != nil {
			return err
		}
		*at(g) = &n
		return nil
	}
}

func count(at func(*GPU) **uint64) setter {
	return func(g *GPU, v, _ string) error {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return fmt.Errorf("%.120q is not a count", v)
		}
		*at(g) = &n
		return nil
	}
}

// size reads a memory size. amd-smi says MB and divides by 1024 twice.
func size(at func(*GPU) **uint64, usual string) setter {
	return func(g *GPU, v, unit string) error {
		if unit == "" {
			unit = usual
		}
		n, err := strconv.ParseUint(v, 10, 64)
		shift, known := map[string]uint{"B": 0, "KB": 10, "MB": 20, "GB": 30}[unit]
		if err != nil || !known || n > 1<<62>>shift {
			*at(g) = nil // read a moment ago in the usual unit
			return fmt.Errorf("%.120q %.120s is not a memory size", v, unit)
		}
		n <<= shift
		*at(g) = &n
		return nil
	}
}

func speed(at func(*GPU) **int) setter {
	return func(g *GPU, v, _ string) error {
		n, err := number(v)
		if err != nil {
			return err
		}
		k := int(math.Round(n * 1000))
		*at(g) = &k
		return nil
	}
}

func id(at func(*GPU) **uint16) setter {
	return func(g *GPU, v, _ string) error {
		n, err := strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, 16)
		if err != nil {
			return fmt.Errorf("%.120q is not a PCI id", v)
		}
		k := uint16(n)
		*at(g) = &k
		return nil
	}
}

func busID(g *GPU, v, _ string) error {
	bdf, ok := printed.BDF(v)
	if !ok {
		return fmt.Errorf("%.120q is not a PCI address", v)
	}
	g.BDF = bdf
	return nil
}

// numa reads a NUMA node; -1 is the kernel's word for none.
func numa(g *GPU, v, _ string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("%.120q is not a NUMA node", v)
	}
	if n >= 0 {
		g.NUMANode = &n
	}
	return nil
}

// pcieLevel reads "1 (16.0GT/s x16)".
func pcieLevel(g *GPU, v, _ string) error {
	_, rest, ok := strings.Cut(v, "(")
	gts, lanes, ok1 := strings.Cut(strings.TrimSuffix(rest, ")"), "GT/s x")
	n, err := number(gts)
	w, err1 := strconv.Atoi(lanes)
	if !ok || !ok1 || err != nil || err1 != nil {
		return fmt.Errorf("%.120q is not a PCIe level", v)
	}
	mt := int(math.Round(n * 1000))
	g.PCIeSpeedMTps, g.PCIeWidthLanes = &mt, &w
	return nil
}
