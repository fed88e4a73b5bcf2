package rocmsmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Node is /sys/class/kfd/kfd/topology/nodes/N/properties: a CPU or a GPU
// as the compute driver sees it.
type Node struct {
	GPU         bool
	GFX         string // "gfx1151"; "" for a CPU
	BDF         string // "" for a CPU
	VendorID    uint16
	DeviceID    uint16
	SIMDs       int
	SIMDsPerCU  int // 0 when not told; compute units are SIMDs / SIMDsPerCU
	CPUCores    int
	RenderMinor int // N of /dev/dri/renderDN, 0 when not told
}

// ParseNode reads a KFD properties file: a name and a number on each line.
func ParseNode(b []byte) (Node, error) {
	values := map[string]uint64{}
	var errs []error
	lines(b, func(n int, line string) {
		f := strings.Fields(line)
		if len(f) != 2 {
			return
		}
		v, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %.120s %.120q is not a number", n, f[0], f[1]))
			return
		}
		values[f[0]] = v
	})
	if _, ok := values["simd_count"]; !ok && len(errs) == 0 {
		errs = append(errs, errors.New("no simd_count"))
	}
	small := func(name string) int { return int(min(values[name], 1<<31-1)) }
	node := Node{
		VendorID:    uint16(values["vendor_id"]),
		DeviceID:    uint16(values["device_id"]),
		SIMDs:       small("simd_count"),
		SIMDsPerCU:  small("simd_per_cu"),
		CPUCores:    small("cpu_cores_count"),
		RenderMinor: small("drm_render_minor"),
	}
	node.GFX = GFX(values["gfx_target_version"])
	node.GPU = node.SIMDs > 0 || node.GFX != ""
	if node.GPU {
		node.BDF = fmt.Sprintf("%04x:%s", uint32(values["domain"]), busOf(uint32(values["location_id"])))
	}
	return node, errors.Join(errs...)
}

// GFX names the instruction set of a gfx_target_version: two decimal digits
// each for minor and stepping, which the name spells in hexadecimal, so that
// 110501 is gfx1151 and 90010 is gfx90a. It is "" for 0, a CPU.
func GFX(version uint64) string {
	major, minor, step := version/10000, version/100%100, version%100
	if major == 0 || major > 99 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", major, minor, step)
}
