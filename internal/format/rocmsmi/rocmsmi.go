// Package rocmsmi reads what AMD's driver and tools say about GPUs and NICs:
// rocm-smi, amd-smi, rocminfo and the KFD topology. Pure: bytes in, structs out.
package rocmsmi

import (
	"strings"
)

// A Report is one answer of rocm-smi or amd-smi.
type Report struct {
	Driver string // version of amdgpu, "" when not told
	GPUs   []GPU
	Topo   Topo // told by rocm-smi -a --json; zero otherwise
}

// A GPU is what was said about one GPU. Empty strings and nil pointers were
// not said, or said as "N/A".
type GPU struct {
	Index        *int
	BDF          string // "0000:c4:00.0", as the kernel spells it
	Name         string
	GFX          string // "gfx1151"
	VendorID     *uint16
	DeviceID     *uint16
	UniqueID     string
	Serial       string
	VBIOS        string
	ComputeUnits *int
	NUMANode     *int // nil when the firmware names none

	VRAMTotalBytes *uint64
	VRAMUsedBytes  *uint64
	GTTTotalBytes  *uint64 // host memory that the GPU may use as its own
	GTTUsedBytes   *uint64

	PowerW      *float64
	PowerLimitW *float64
	PowerMaxW   *float64
	Throttle    string // "UNTHROTTLED", "THROTTLED"

	ClockGFXMHz    *int
	ClockGFXMaxMHz *int
	ClockMemMHz    *int
	ClockMemMaxMHz *int
	TempEdgeC      *int
	TempHotspotC   *int // rocm-smi: junction
	TempMemC       *int

	PCIeSpeedMTps     *int // 16000 is 16.0 GT/s
	PCIeWidthLanes    *int
	PCIeSpeedMaxMTps  *int
	PCIeWidthMaxLanes *int
	PCIeReplays       *uint64

	ECCCorrectable   *uint64
	ECCUncorrectable *uint64
}

// absent reports whether a tool gave words where a value would be.
func absent(v string) bool {
	switch v {
	case "", "N/A", "null", "None", "unknown", "Unknown", "Not supported", "0xffffffffffffffff":
		return true
	}
	return false
}

// lines calls f with each line of b, its number from 1, without line end,
// comments and the shell prompts that outputs are pasted with.
func lines(b []byte, f func(n int, line string)) {
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "$ ") {
			f(n, line)
		}
	}
}
